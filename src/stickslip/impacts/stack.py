"""Impacts of stacks of states: a compiled loop on several threads, the reference for what it leaves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import Array, require_numbers
from stickslip.contact.planar import PlanarSolver
from stickslip.impacts import kernel as kernel
from stickslip.impacts.books import Books
from stickslip.impacts.impact import Impact, _Setting, no_closed_contact, separating
from stickslip.impacts.several import Problems, groups, newton_several, poisson_several
from stickslip.laws import ImpactLaw, Walton
from stickslip.laws.base import several_contacts
from stickslip.laws.newton import coupled
from stickslip.laws.scalar import NEWTON
from stickslip.mechanisms.generate import module_or_plain
from stickslip.mechanisms.penetration import check_penetration, held_velocities
from stickslip.mechanisms.system import CONTACT, System

CHUNK = 1 << 14  # states that one thread takes at a time; bounds the memory


@dataclass(frozen=True)
class _Stack:
    """k states in a row, and the shape they came in."""

    system: System
    law: ImpactLaw
    Q: Array  # (k, f)
    U: Array
    P: Array  # (k, parameters) or (1, parameters)
    t: float
    gap_tol: float
    depth: float  # deepest penetration that is accepted [m]
    solver: PlanarSolver
    shape: tuple[int, ...]

    def setting(self, i: int) -> _Setting:
        p = self.P[i if len(self.P) > 1 else 0]
        return _Setting(self.system, self.law, self.Q[i], self.U[i], p, self.t, self.gap_tol, self.solver)

    def single(self, key: Any) -> Impact:
        i = np.arange(len(self.Q)).reshape(self.shape)[key]
        if np.ndim(i):
            raise IndexError(f"a stack of shape {self.shape} needs one index per axis, got {key!r}.")
        return self.setting(int(i)).impact()


def stack_of_impacts(
    system: System,
    q: Array,
    u: Array,
    law: ImpactLaw,
    params: Mapping[Any, Any] | None,
    t: float,
    gap_tol: float,
    depth: float,
    solver: PlanarSolver,
) -> Impact:
    """`impact` of states with leading axes; q, u and the values of `params` are broadcast against each other."""
    stack = _stack(system, q, u, law, params or {}, t, gap_tol, depth, solver)
    k = len(stack.Q)
    results = Books.room(k, system.n_contacts, system.n_dof)
    scale, solved = np.ones(k), np.ones(k, dtype=bool)
    if law.code >= 0 and solver.name == "auto" and not system.has_friction_laws and not len(system.constraints):
        _run(stack, results)
        left = np.flatnonzero(results.status == kernel.LEFT)
    else:  # no kernel of the law, another solver, friction that depends on slip, constraints: the reference takes it
        _evaluate(stack, slice(None))  # for its checks
        left = np.arange(k)
    for i in left:
        p = stack.P[i if len(stack.P) > 1 else 0]
        stack.U[i] = held_velocities(system, stack.Q[i], stack.U[i], p, t, depth)
        books, answer = stack.setting(int(i)).computed()
        results.put_rows(int(i), books.rows(0))
        scale[i], solved[i] = answer.scale, answer.solved
    told = f"{int(solved.sum())} of {k} solved"
    return Impact.of(
        results, stack.shape, stack, scale=scale.reshape(stack.shape), solved=solved.reshape(stack.shape), status=told
    )


def _stack(
    system: System,
    q: Array,
    u: Array,
    law: ImpactLaw,
    params: Mapping[Any, Any],
    t: float,
    gap_tol: float,
    depth: float,
    solver: PlanarSolver,
) -> _Stack:
    f = system.n_dof
    for name, state in (("q", q), ("u", u)):
        if state.ndim == 0 or state.shape[-1] != f:
            raise ValueError(f"{name} must have shape (..., {f}), one number per coordinate, got {state.shape}.")
        if not np.all(np.isfinite(state)):
            raise ValueError(f"{name} must be finite, got {np.sum(~np.isfinite(state))} entries that are not.")
    for key, value in params.items():
        require_numbers(value, f"parameter {str(key)!r}")
    varied = {str(key): np.asarray(value, dtype=float) for key, value in params.items() if np.ndim(value)}
    fixed = {key: value for key, value in params.items() if not np.ndim(value)}
    try:
        shape = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], *(value.shape for value in varied.values()))
    except ValueError:
        sizes = ", ".join(f"{key} {value.shape}" for key, value in varied.items())
        raise ValueError(
            f"the stacks do not fit together: q {q.shape}, u {u.shape}{', ' if sizes else ''}{sizes}."
        ) from None
    k = int(np.prod(shape))
    Q = np.array(np.broadcast_to(q, (*shape, f))).reshape(k, f)  # copies: writable, as the kernel was compiled for
    U = np.array(np.broadcast_to(u, (*shape, f))).reshape(k, f)
    system.parameter_vector({key: value.flat[0] if value.size else 0.0 for key, value in varied.items()})  # the names
    P = system.parameter_vector(fixed)[None, :]
    if varied:
        P = np.repeat(P, k, axis=0)
        for key, value in varied.items():
            if not np.all(np.isfinite(value)):
                raise ValueError(f"parameter {key!r} must be finite, got {np.sum(~np.isfinite(value))} that are not.")
            P[:, system.parameter_names.index(key)] = np.broadcast_to(value, shape).reshape(k)
    return _Stack(system, law, Q, U, P, t, gap_tol, depth, solver, shape)


def _run(stack: _Stack, results: Books) -> None:
    """All chunks, on as many threads as there are processors; the first alone, so that it compiles once."""
    k = len(stack.Q)
    parts = [slice(i, min(k, i + CHUNK)) for i in range(0, k, CHUNK)]
    for part in parts[:1]:
        _chunk(stack, results, part)
    workers = min(len(parts) - 1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    if workers > 0:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda part: _chunk(stack, results, part), parts[1:]))
    several = np.flatnonzero(results.status == kernel.MULTIPLE)
    for i in range(0, len(several), CHUNK):  # not on threads: the stacked LCPs are solved in parallel themselves
        _several(stack, results, several[i : i + CHUNK])


def _evaluate(stack: _Stack, part: Any) -> tuple[kernel.Model, kernel.Coefficients]:
    """Model and coefficients of some of the states, coefficients checked."""
    system = stack.system
    Q, U, P = stack.Q[part], stack.U[part], (stack.P[part] if len(stack.P) > 1 else stack.P)
    k, n, f = len(Q), system.n_contacts, system.n_dof
    model = kernel.Model(*(np.empty((k, *shape)) for shape in ((f, f), (n,), (n, f), (n, f), (n, 2))))
    mu, eps_N, eps_T, threshold = (np.empty((k, n)) for _ in range(4))
    module: Any = module_or_plain(system, "local", "auto")
    module.evaluate(Q, U, np.full(k, stack.t), P, *model[:2], tuple(model[2:]), (mu, eps_N, eps_T, threshold))
    deepest = np.argmin(np.where(np.array(system.contact_kinds) == CONTACT, model.g, 0.0).min(axis=1, initial=0.0))
    check_penetration(system, model.g[deepest], stack.depth, "q", "is given")
    wrong = ~((mu >= 0.0) & (mu < np.inf) & (np.minimum(eps_N, eps_T) >= 0.0) & (np.maximum(eps_N, eps_T) <= 1.0))
    if wrong.any():
        i = int(np.flatnonzero(wrong.any(axis=1))[0])
        p = P[i if len(P) > 1 else 0]
        system.check_parameters(p)
        system.laws_at(Q[i], stack.t, p, U[i], np.flatnonzero(model.g[i] <= stack.gap_tol).tolist())
    eps_N, eps_T = stack.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
    return model, kernel.Coefficients(mu, np.ascontiguousarray(eps_N), np.ascontiguousarray(eps_T))


def _chunk(stack: _Stack, results: Books, part: slice) -> None:
    """States with one closed contact; the others are marked."""
    law = stack.law
    model, coefficients = _evaluate(stack, part)
    options = kernel.Options(
        law.single,
        isinstance(law, Walton),
        bool(getattr(law, "dissipative", False)),
        float(getattr(law, "stiffness_ratio", 1.0)),
        stack.gap_tol,
        float(stack.solver.tol),
    )
    kinds = np.array(stack.system.contact_kinds, np.int64)
    kernel.strike(law.code, options, kinds, stack.U[part], model, coefficients, results.rows(part))
    status = results.status[part]
    failed = np.flatnonzero((status != kernel.SOLVED) & (status < kernel.MULTIPLE))
    if len(failed):
        _complain(stack, results, part.start + int(failed[0]), model.g[failed[0]])


def _several(stack: _Stack, results: Books, states: np.ndarray) -> None:
    """States with several closed contacts, in groups whose states agree in which contacts are closed and frictional."""
    (M, g, W_N, W_T, w_hat), (mu, eps_N, eps_T) = _evaluate(stack, states)
    closed = results.closed[states]
    for group in groups(closed, (mu > 0.0) & np.any(W_T != 0.0, axis=2)):
        rows, index = states[group], np.flatnonzero(closed[group[0]])
        pick = np.ix_(group, index)
        speed = np.abs(stack.U[rows])[:, :, None]
        size = np.abs(w_hat[pick]) + np.concatenate([np.abs(W[pick]) @ speed for W in (W_N, W_T)], axis=2)
        problems = Problems.of(M[group], W_N[pick], W_T[pick], results.before[np.ix_(rows, index)], size, mu[pick])
        eps = np.stack([eps_N[pick], eps_T[pick]], axis=-1)
        newton = stack.law.code == NEWTON
        Lambda, residual = (newton_several if newton else poisson_several)(problems, eps)
        left = problems.may_jam() | ~(residual <= stack.solver.tol)
        results.Lambda[np.ix_(rows, index)] = Lambda
        results.book[rows, kernel.RESIDUAL] = residual
        results.status[rows] = np.where(left, kernel.LEFT, kernel.SOLVED)
        books = results.rows(rows)
        model = kernel.Model(M[group], g[group], W_N[group], W_T[group], w_hat[group])
        dissipative = bool(getattr(stack.law, "dissipative", False))
        kernel.finish(stack.U[rows], model, mu[group], dissipative, books)
        results.put_rows(rows, books)
        results.book[rows, kernel.UNSCALED] = np.nan if newton else results.book[rows, kernel.ENERGY]


def _complain(stack: _Stack, results: Books, i: int, g: Array) -> None:
    """Raise what is wrong with state i."""
    system, where = stack.system, f"state {tuple(int(x) for x in np.unravel_index(i, stack.shape))} of the stack: "
    status = results.status[i]
    kinds = np.array(system.contact_kinds)
    if status == kernel.NO_CLOSED:
        raise ValueError(where + no_closed_contact(system, g, kinds, stack.gap_tol))
    if status == kernel.SEPARATING:
        closed = (kinds == kernel.CONTACT) & (g <= stack.gap_tol)
        slowest = int(np.argmin(np.where(closed, results.before[i, :, 0], np.inf)))
        raise ValueError(where + separating(system.contact_names[slowest], float(results.before[i, slowest, 0])))
    if status == kernel.SEVERAL:
        raise ValueError(where + several_contacts(type(stack.law).__name__, int(np.sum(g <= stack.gap_tol))))
    if status == kernel.COUPLED:
        raise ValueError(where + coupled(float(stack.setting(i).closed.local.G_NT[0, 0])))
    raise ValueError(where + "the mass matrix is not positive definite, or a gap or velocity is not a number.")
