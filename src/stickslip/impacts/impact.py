"""`impact`: one instantaneous impact of a system under a chosen law, with every solution and the energy book open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import Array, real_array, real_number
from stickslip.contact.planar import AugmentedLagrangian, PlanarProblem, PlanarSolver, all_solutions, solver_from
from stickslip.contact.spatial import SpatialProblem
from stickslip.impacts.books import Books
from stickslip.impacts.kernel import (
    ENERGY,
    ENERGY_NORMAL,
    ENERGY_TANGENTIAL,
    KINETIC_BEFORE,
    RESIDUAL,
    STATE_NAMES,
    UNSCALED,
    ZERO_VELOCITY,
    reverses,
    state_of,
)
from stickslip.laws import ImpactLaw, LawSolution, Phase, law_from
from stickslip.laws.scalar import from_below
from stickslip.mechanisms.inertia import Contradiction, Inertia, require_free
from stickslip.mechanisms.penetration import (
    PENETRATION_TOLERANCE,
    check_state,
    gap_tolerance,
    held_velocities,
    penetration_tolerance,
)
from stickslip.mechanisms.steppers.contact_problem import StepProblem, spatial_rows, with_tangents
from stickslip.mechanisms.steppers.sliding import Sliding
from stickslip.mechanisms.system import CLUTCH, CONTACT, TANGENT, System, require_system
from stickslip.mechanisms.tangents import require_for_tangents

SLOWEST, FASTEST = 1e-100, 1e100  # velocities whose products and quotients stay numbers


@dataclass(frozen=True, eq=False)
class Impact:
    """Result of `impact`.  Of a stack of states all arrays have the stack's axes in front, here (...).

    Attributes
    ----------
    u : velocities after the impact, (..., f)
    normal_impulse, tangential_impulse : of every contact of the system [N s], (..., n); zero where open
    normal_velocity_before, normal_velocity_after, tangential_velocity_before, tangential_velocity_after : (..., n)
    contact_state : names by [PG05] section 5, (..., n): "backward slip" (Lambda_T = mu Lambda_N), "stick"
        (|Lambda_T| < mu Lambda_N), "forward slip" (Lambda_T = -mu Lambda_N); "frictionless"; "released" for a closed
        contact without an impulse, "open".  `state_code` has them as numbers, the places in `Impact.STATES`
    reversal : the tangential velocity changes its sign, (..., n)
    energy_before : kinetic energy before, u^T M u / 2 [J]
    energy_change : T^+ - T^- [J], as the work Lambda . (gamma^- + gamma^+) / 2 of the impulses: no cancellation
    energy_normal, energy_tangential : its two parts [J]
    energy_unscaled : what Poisson's law would have changed with scale = 1 [J]; nan for the other laws
    scale : by which Poisson's dissipative form reduced the coefficients; 1 where it did not
    law : the law; system : the system
    residual, solved, status : worst violation of the law's own conditions, and what happened
    phases : of an impact that was integrated (Stronge); none of a stack
    solutions : every solution of the law at this state, as a tuple of `Impact`; computed when asked for
    """

    STATES = STATE_NAMES

    u: Array
    normal_impulse: Array
    tangential_impulse: Array
    normal_velocity_before: Array
    normal_velocity_after: Array
    tangential_velocity_before: Array
    tangential_velocity_after: Array
    state_code: np.ndarray
    reversal: np.ndarray
    energy_before: Any
    energy_change: Any
    energy_normal: Any
    energy_tangential: Any
    energy_unscaled: Any
    scale: Any
    residual: Any
    solved: Any
    status: str
    law: ImpactLaw
    system: System = field(repr=False)
    phases: tuple[Phase, ...] = ()
    _setting: Any = field(default=None, repr=False)

    @classmethod
    def of(
        cls, books: Books, shape: tuple[int, ...], setting: Any, *, scale: Any, solved: Any, status: str,
        phases: tuple[Phase, ...] = (),
    ) -> Impact:  # fmt: skip
        """Make the result of a stack of states from its books; `shape` is (...), () for one state."""

        def shaped(array: np.ndarray) -> np.ndarray:
            return array.reshape(*shape, *array.shape[1:])

        Lambda, before, after = shaped(books.Lambda), shaped(books.before), shaped(books.after)
        book: Any = np.moveaxis(shaped(books.book), -1, 0) if shape else books.book[0].tolist()
        return cls(
            u=shaped(books.u),
            normal_impulse=Lambda[..., 0],
            tangential_impulse=Lambda[..., 1],
            normal_velocity_before=before[..., 0],
            normal_velocity_after=after[..., 0],
            tangential_velocity_before=before[..., 1],
            tangential_velocity_after=after[..., 1],
            state_code=shaped(books.state),
            reversal=shaped(books.reversal),
            energy_before=book[KINETIC_BEFORE],
            energy_change=book[ENERGY],
            energy_normal=book[ENERGY_NORMAL],
            energy_tangential=book[ENERGY_TANGENTIAL],
            energy_unscaled=book[UNSCALED],
            scale=scale,
            residual=book[RESIDUAL],
            solved=solved,
            status=status,
            law=setting.law,
            system=setting.system,
            phases=phases,
            _setting=setting,
        )

    @property
    def contact_state(self) -> np.ndarray:
        return np.array(STATE_NAMES)[self.state_code]

    @property
    def energy_after(self) -> Any:
        """Kinetic energy after the impact [J]."""
        return self.energy_before + self.energy_change

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the stack; () of a single state."""
        return self.u.shape[:-1]

    @cached_property
    def solutions(self) -> tuple[Impact, ...]:
        if self.shape:
            raise ValueError(f"solutions are listed for one state; this is a stack {self.shape}: ask hit[i].solutions.")
        return tuple(self._setting.solutions())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single impact has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Impact:
        """The impact of one state of a stack, computed anew with phases and solutions."""
        if not self.shape:
            raise TypeError("a single impact cannot be indexed")
        return self._setting.single(key)

    def __str__(self) -> str:
        if self.shape:
            return f"{self.law.name} impacts, stack {self.shape}: {self.status}"
        lines = [
            f"{self.system.name}, {self.law}: {self.status}",
            f"{'contact':<16}{'state':<15}{'Lambda_N':>12}{'Lambda_T':>12}{'gamma_N':>22}{'gamma_T':>24}",
        ]
        for i, name in enumerate(self.system.contact_names):
            N = f"{self.normal_velocity_before[i]:10.5g} -> {self.normal_velocity_after[i]:8.5g}"
            T = f"{self.tangential_velocity_before[i]:12.5g} -> {self.tangential_velocity_after[i]:8.5g}"
            impulses = f"{self.normal_impulse[i]:12.6g}{self.tangential_impulse[i]:12.6g}"
            lines.append(f"{name:<16}{self.contact_state[i]:<15}{impulses}{N}{T}")
        lines.append(
            f"kinetic energy {self.energy_before:.6g} J, change {self.energy_change:.6g} J "
            f"(normal {self.energy_normal:.6g}, tangential {self.energy_tangential:.6g})"
        )
        return "\n".join(lines)


def impact(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    law: str | ImpactLaw | None = None,
    *,
    params: Mapping[Any, Any] | None = None,
    t: float = 0.0,
    gap_tol: float = 1e-9,
    penetration_tol: float = PENETRATION_TOLERANCE,
    solver: str | PlanarSolver = "auto",
) -> Impact:
    """One instantaneous impact of all closed contacts: M (u^+ - u^-) = W_N Lambda_N + W_T Lambda_T, [PG05] eq. (6).

    Parameters
    ----------
    q, u : coordinates and velocities before, shape (f,); or stacks (..., f), solved by a compiled loop
    law : `Newton()` where it is not given, `Poisson()`, `Stronge()`, `Walton()`, or the name of one
    params : parameters by name; arrays, one value per state, in a stack
    t : time [s]
    gap_tol : contacts with a gap of at most this are closed [m]
    penetration_tol : deepest penetration, and largest |g| of a constraint, that is accepted [m]
    solver : of the contact problems

    Constraints answer the impact by impulses of their own, which stand in `tangential_impulse`.

    At a normal velocity of zero the impact is the limit of one that is approached from below ([PG05] section 6): none
    for moderate friction, an impact without collision where friction is supercritical; `solutions` lists both.

    Raises
    ------
    ValueError : no closed contact, all closed contacts separate, coefficients out of range, or a law for one contact
        where several are closed.

    Examples
    --------
    >>> import stickslip as ss
    >>> bar = ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=0.3).system
    >>> hit = ss.impact(bar, [0.0, 2**-0.5, 0.25 * 3.141592653589793], [0.5, -1.0, 0.0])
    >>> hit.contact_state.tolist(), float(hit.normal_impulse.round(6)[0])
    (['forward slip'], 0.731707)
    """
    require_system(system)
    rule, time, depth = law_from(law), real_number(t, "t"), penetration_tolerance(penetration_tol)
    gap_tol = gap_tolerance(gap_tol)
    chosen = solver_from(solver)
    require_for_tangents(system, chosen, rule)
    q, u = (_numbers(values, name, system.n_dof) for values, name in ((q, "q"), (u, "u")))
    _require_moderate(u)
    if params is not None and not isinstance(params, Mapping):
        system.parameter_vector(params)  # says what it must be
    if q.ndim > 1 or u.ndim > 1 or any(np.ndim(value) for value in (params or {}).values()):
        from stickslip.impacts.stack import stack_of_impacts

        system.require_planar("a stack of impacts")
        return stack_of_impacts(system, q, u, rule, params, time, gap_tol, depth, chosen)
    q, u, p = system.check(q, u, params, time, ("q", "u"))
    check_state(system, q, time, p, depth)
    u = held_velocities(system, q, u, p, time, depth)
    return impact_at(system, rule, q, u, p, time, gap_tol, chosen)


def _numbers(values: ArrayLike, name: str, f: int) -> Array:
    return real_array(values, f"{name} must be {f} numbers, or a stack of shape (..., {f}), got {values!r}.")


def _require_moderate(u: Array) -> None:
    """Raise where velocities are so large or small that their products leave the range of double precision."""
    sizes = np.abs(u).max(axis=-1, initial=0.0) if u.ndim else np.abs(u)
    wrong = np.isfinite(sizes) & (sizes > 0.0) & ((sizes < SLOWEST) | (sizes > FASTEST))
    if wrong.any():
        raise ValueError(
            f"the largest velocity in u must lie between {SLOWEST:g} and {FASTEST:g}, or be zero, got "
            f"{sizes[wrong].flat[0]:g}; impulses are proportional to velocities: scale u."
        )


def impact_at(
    system: System,
    law: ImpactLaw,
    q: Array,
    u: Array,
    p: Array,
    t: float,
    gap_tol: float,
    solver: PlanarSolver,
    sticks: Array | None = None,
) -> Impact:
    """The impact of one state whose coordinates, velocities and parameters were checked before.

    `sticks` (n,) tells which contacts stuck before: where friction depends on slip, their static coefficient holds them
    until they slip.
    """
    return _Setting(system, law, q, u, p, t, gap_tol, solver, sticks).impact()


@dataclass(frozen=True)
class _Setting:
    """One state with law, tolerance and solver; kept for `solutions`, which may be asked for later."""

    system: System
    law: ImpactLaw
    q: Array
    u: Array
    p: Array
    t: float
    gap_tol: float
    solver: PlanarSolver
    sticks: Array | None = None

    @cached_property
    def closed(self) -> StepProblem:
        """The contact problem; where friction depends on slip, with the coefficients that belong to its solution."""
        problem = closed_contacts(self.system, self.t, self.q, self.u, self.p, self.gap_tol)
        sliding = Sliding(self.system, self.p, self.sticks)
        again = sliding.active
        while again:
            problem = sliding.applied(problem)
            arguments = self._arguments(problem)
            answer = self.law.at(problem.index).solve(*arguments)
            u = problem.end_velocity(answer.Lambda_N, answer.Lambda_T)
            again = answer.solved and sliding.moved(problem, answer.Lambda_N, answer.Lambda_T, u)
        if sliding.exhausted:
            raise ValueError(f"the impact was not solved: {sliding.complaint()}.")
        return problem

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of `ImpactLaw.solve`."""
        return self._arguments(self.closed)

    def _arguments(self, problem: StepProblem) -> tuple[Any, ...]:
        system, index, local = self.system, problem.index, problem.local
        _, eps_N, eps_T, _ = system.laws_at(self.q, self.t, self.p, self.u, index)
        eps_N, eps_T = self.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        return local, local.c_N, local.c_T, eps_N[index], eps_T[index], FromBelow(self.solver.tol, inner=self.solver)

    def computed(self) -> tuple[Books, LawSolution]:
        """The books of the impact, and the law's own answer."""
        arguments = self.arguments  # first: it counts the numbers of the law
        answer = self.law.at(self.closed.index).solve(*arguments)
        return self._books(answer), answer

    def impact(self) -> Impact:
        return self._result(*self.computed())

    def solutions(self) -> list[Impact]:
        self.system.require_planar("the list of all solutions")
        problem, _, _, eps_N, eps_T, solver = self.arguments
        answers = self.law.at(self.closed.index).solutions(problem, eps_N, eps_T, solver, all_solutions)
        return [self._result(self._books(answer), answer) for answer in answers]

    def _result(self, books: Books, answer: LawSolution) -> Impact:
        return Impact.of(
            books, (), self, scale=answer.scale, solved=answer.solved, status=answer.status, phases=answer.phases
        )

    def _along(self, answer: LawSolution, i: int) -> float:
        """Tangential impulse of row i; with two tangents the share of the bound, against the slip."""
        local = self.closed.local
        if isinstance(local, SpatialProblem) and i in local.space.first:
            share = local.space.shares(local.mu, answer.Lambda_N, answer.Lambda_T)
            return -float(share[local.space.first == i][0] * local.mu[i] * answer.Lambda_N[i])
        return float(answer.Lambda_T[i])

    def _books(self, answer: LawSolution) -> Books:
        problem, n = self.closed, self.system.n_contacts
        books = Books.room(1, n, self.system.n_dof)
        u = books.u[0] = problem.end_velocity(answer.Lambda_N, answer.Lambda_T)
        W_N, W_T, w_hat = self.system.geometry(self.q, self.t, self.p)
        before = np.stack([W_N @ self.u, W_T @ self.u], axis=-1) + w_hat
        before[problem.index, 0] = problem.local.c_N  # zeros are exact there
        after = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
        books.before[0], books.after[0] = before, after
        Lambda = books.Lambda[0]
        Lambda[problem.index] = np.stack([answer.Lambda_N, answer.Lambda_T], axis=-1)
        Lambda[problem.inertia.index, 1] = problem.reactions(u, answer.Lambda_N, answer.Lambda_T)
        for i, k in enumerate(problem.index):
            local = problem.local
            pushed = answer.Lambda_N[i], self._along(answer, i), local.mu[i]
            books.state[0, k] = state_of(*pushed, bool(local.tangential[i]))
            if self.system.contact_kinds[k] == TANGENT:
                books.state[0, k] = books.state[0, k - 1]
            books.reversal[0, k] = reverses(before[k, 1], after[k, 1], local.size_T[i])
        work = (Lambda * (0.5 * (before + after) - w_hat)).sum(axis=0)
        kinetic = 0.5 * self.u @ problem.M @ self.u
        books.book[0] = work.sum(), work[0], work[1], kinetic, answer.residual, answer.energy_unscaled
        return books


def closed_contacts(system: System, t: float, q: Array, u: Array, p: Array, gap_tol: float) -> StepProblem:
    """The contact problem of a pure impact; c_N, c_T are the velocities before it, round-off zeros made exact.

    Contacts with a gap of at most gap_tol that may be there, and clutches: one that is overtaken engages at once.
    Dry friction with a load-independent bound and springs have no impulses.
    """
    g, kinds = system.start_gap(q, t, p), np.array(system.contact_kinds, dtype=int)
    touching = (kinds == CONTACT) & (g <= gap_tol)
    index = np.flatnonzero(with_tangents(kinds, touching | (kinds == CLUTCH)))
    problem = impact_problem(system, t, q, u, p, index)
    engages = (kinds[index] == CLUTCH) & (problem.local.c_N < 0.0)
    if not touching.any() and not engages.any():
        raise ValueError(no_closed_contact(system, g, kinds, gap_tol))
    gamma_N = np.where(kinds[index] == TANGENT, np.inf, problem.local.c_N)
    if np.all(gamma_N > 0.0):
        fastest = int(np.argmin(gamma_N))
        raise ValueError(separating(system.contact_names[problem.index[fastest]], float(gamma_N[fastest])))
    return problem


def impact_problem(system: System, t: float, q: Array, u: Array, p: Array, index: np.ndarray) -> StepProblem:
    """The contact problem of a pure impact between the contacts `index`, whatever their gaps; see `closed_contacts`."""
    g, directions = system.gap(q, t, p), system.geometry(q, t, p)
    inertia = Inertia.at(system, q, t, p, directions=directions)
    W_N, W_T, w_hat = (rows[index] for rows in directions)
    size_N = np.abs(w_hat[:, 0]) + np.abs(W_N) @ np.abs(u)
    size_T = np.abs(w_hat[:, 1]) + np.abs(W_T) @ np.abs(u)
    gamma_N = W_N @ u + w_hat[:, 0]
    gamma_N[np.abs(gamma_N) <= ZERO_VELOCITY * size_N] = 0.0
    found = StepProblem.of(
        index, g, inertia, (u, u), (W_N, W_T, w_hat), u_loose=u, c_N=gamma_N, c_T=W_T @ u + w_hat[:, 1],
        place=(q, t), space=spatial_rows(system, index), mu=system.laws_at(q, t, p, u)[0][index],
        a=np.zeros(len(index)), size_N=size_N, size_T=size_T,
    )  # fmt: skip
    if inertia:
        try:
            require_free(system, index, found.V_N, gamma_N, size_N)
        except Contradiction as problem:
            raise ValueError(f"{problem}.") from None
    return found


def no_closed_contact(system: System, g: Array, kinds: np.ndarray, gap_tol: float) -> str:
    if not np.any(kinds == CONTACT):
        return f"system {system.name!r} has no unilateral contact: nothing can collide."
    nearest = int(np.argmin(np.where(kinds == CONTACT, g, np.inf)))
    return (
        f"no contact is closed: the smallest gap is {g[nearest]:.6g} m at {system.contact_names[nearest]!r}, "
        f"gap_tol = {gap_tol:g} m; an impact needs a closed contact."
    )


def separating(name: str, velocity: float) -> str:
    return (
        f"all closed contacts separate, {name!r} with {velocity:.6g} m/s: an impact needs a normal velocity of zero "
        "or less at one of them."
    )


@dataclass(frozen=True)
class FromBelow(PlanarSolver):
    """Another solver, but c_N = 0 stands for the limit c_N -> 0 from below, [PG05] section 6.

    One contact is solved in closed form.  For several, the problem is solved a little below zero; that tells which
    contacts push, stick and slip, and the impulses follow from those equations at c_N = 0.
    """

    inner: PlanarSolver = field(default_factory=lambda: solver_from("auto"))

    name = "from below"
    in_space = True
    shift = 1e-7

    def _solve(self, problem: PlanarProblem) -> tuple[Array, Array, int, str]:
        zero = problem.normal & (problem.c_N == 0.0) & (problem.mu > 0.0) & problem.tangential & (problem.a == 0.0)
        if problem.in_space:  # a limit for one direction of slip
            zero[:] = False
        if zero.any() and problem.contacts == 1:
            alpha, beta, delta = (float(G[0, 0]) for G in (problem.G_NN, problem.G_TT, problem.G_NT))
            N, T = from_below(alpha, beta, delta, 0.0, float(problem.c_T[0]), float(problem.mu[0]))
            return np.array([N]), np.array([T]), 1, "solved in closed form"
        if zero.any():
            size = float(max(problem.size_N.max(), problem.size_T.max()))
            near = self.inner.solve(replace(problem, c_N=problem.c_N - self.shift * size * zero))
            bound = problem.bound(near.Lambda_N)
            slip = np.where(np.abs(near.Lambda_T) >= bound * (1.0 - 1e-9), np.sign(near.Lambda_T), 0.0)
            slip = np.where(problem.tangential & (problem.mu > 0.0), slip, 2.0)
            N, T = AugmentedLagrangian._branch(problem, near.Lambda_N > 0.0, slip)
            if near.solved and problem.residual(N, T) <= self.tol:
                return N, T, near.iterations, "solved: limit from below"
        answer = self.inner.solve(problem)
        return answer.Lambda_N, answer.Lambda_T, answer.iterations, answer.status
