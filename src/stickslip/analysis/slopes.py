"""Derivatives of the functions of a system by all they depend on: complex steps, exact to round-off.

A function of z = (q, u, t, p) that is made of sums, products and elementary functions has a complex continuation, and
Im r(z + i h d) / h is its derivative in the direction d, without cancellation, for any tiny h (Squire and Trapp 1998).
The text of the model functions is executed with such numbers.  Systems given as functions, and laws with functions of
their own, are differentiated by central differences of order 8 instead.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.analysis.differences import derivative
from stickslip.checks import Array
from stickslip.events.modes import Mode
from stickslip.mechanisms.system import CLUTCH, CONSTRAINT, CONTACT, System

if TYPE_CHECKING:
    from stickslip.analysis.saltation import ImpactBranch

_TINY = 1e-30  # length of a complex step
_STEP = 1e-3  # of differences, relative, where they are not cut
_SINGULAR = 1e-11  # pivots below this share: rows that other rows imply


def _magnitude(x: Any) -> Any:
    """|x| with its derivative."""
    return np.where(np.real(x) < 0.0, -x, x)[()]


def _atan2(y: Any, x: Any) -> Any:
    """The angle of (x, y) with its derivative (x dy - y dx) / (x^2 + y^2)."""
    a, b = np.real(y), np.real(x)
    return np.arctan2(a, b) + 1j * (b * np.imag(y) - a * np.imag(x)) / (a * a + b * b)


def _error_function(x: Any) -> Any:
    from scipy.special import erf

    return erf(np.real(x)) + 2j / math.sqrt(math.pi) * np.exp(-(np.real(x) ** 2)) * np.imag(x)


class _ComplexMath:
    """The names of `math` that model functions use, for complex numbers with tiny imaginary parts."""

    pi, e, inf, nan = math.pi, math.e, math.inf, math.nan
    sin, cos, tan, sinh, cosh, tanh, exp = np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.exp
    asin, acos, atan, asinh, atanh = np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arctanh
    acosh, log, sqrt, pow = np.arccosh, np.log, np.sqrt, np.power
    fabs = staticmethod(_magnitude)
    atan2 = staticmethod(_atan2)
    erf = staticmethod(_error_function)

    @staticmethod
    def erfc(x: Any) -> Any:
        return 1.0 - _error_function(x)

    @staticmethod
    def floor(x: Any) -> Any:
        return np.floor(np.real(x))

    @staticmethod
    def ceil(x: Any) -> Any:
        return np.ceil(np.real(x))


class _Remainders(ast.NodeTransformer):
    """Writes a % b, which complex numbers do not have, as a - b floor(a / b)."""

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mod):
            return node
        floor = ast.Attribute(ast.Name("math", ast.Load()), "floor", ast.Load())
        turns = ast.Call(floor, [ast.BinOp(node.left, ast.Div(), node.right)], [])
        return ast.BinOp(node.left, ast.Sub(), ast.BinOp(node.right, ast.Mult(), turns))


@dataclass(frozen=True, eq=False)
class Parts:
    """Values of the model functions at K points; the last axis of every array counts the points."""

    M: Array
    h: Array
    W_N: Array
    W_T: Array
    w_hat: Array
    zeta: Array
    gamma: Array
    mu: Array
    eps_N: Array
    eps_T: Array
    a: Array


class Slopes:
    """The functions of a system with their derivatives by z = (q, u, t, p), (2 f + 1 + m,).

    exact : by complex steps; else by differences
    error : worst share by which differences are in doubt
    """

    def __init__(self, system: System) -> None:
        self.system, self.f, self.n = system, system.n_dof, system.n_contacts
        self.m = len(system.parameter_names)
        self.exact = not system.inject
        self.error = 0.0
        self._namespace: dict[str, Any] = {}
        if self.exact:
            # `abs`, `max` and `min` hide those of Python, which know no complex numbers or lose the derivative
            self._namespace = {
                "math": _ComplexMath(), "dev": lambda function: function, "abs": _magnitude,
                "sincos": lambda x: (np.sin(x), np.cos(x)),
            }  # fmt: skip
            for text in (system.source(), system.drift_source()):
                tree = ast.fix_missing_locations(_Remainders().visit(ast.parse(text)))
                exec(compile(tree, f"<derivatives of {system.name}>", "exec"), self._namespace)

    # -- values at many points -------------------------------------------------------------------------------

    def call(self, name: str, inputs: tuple[Array, ...], shapes: tuple[tuple[int, ...], ...]) -> tuple[Array, ...]:
        """A model function at K points: the last axis of its inputs and outputs counts them."""
        points = inputs[0].shape[-1]
        outputs = tuple(np.zeros((*shape, points), complex if self.exact else float) for shape in shapes)
        if not self.exact:
            for k in range(points):
                single = tuple(np.empty(shape) for shape in shapes)
                self.system._evaluate(name, tuple(x[..., k] if x.ndim > 1 else float(x[k]) for x in inputs), single)
                for whole, part in zip(outputs, single, strict=True):
                    whole[..., k] = part
            return outputs
        function = self._namespace[name]
        with np.errstate(all="ignore"):
            try:
                function(*inputs, *outputs)
            except (TypeError, ValueError):  # a condition, which arrays have not: point by point
                for k in range(points):
                    function(*(x[..., k] for x in inputs), *(x[..., k] for x in outputs))
        return outputs

    def split(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """q (f, K), u (f, K), t (K,), p (m, K) of points Z."""
        f = self.f
        return Z[:f], Z[f : 2 * f], Z[2 * f], Z[2 * f + 1 :]

    def gap(self, Z: Array) -> Array:
        """Gaps, (n, K)."""
        q, _, t, p = self.split(Z)
        return self.call("gap", (q, t, p), ((self.n,),))[0]

    def kinks(self, Z: Array) -> Array:
        """Levels of the kinks, (j, K)."""
        q, _, t, p = self.split(Z)
        return self.call("kinks", (q, t, p), ((len(self.system.kink_contacts),),))[0]

    def parts(self, Z: Array, approaches: bool = False) -> Parts:
        """Terms of the equations of motion and of impacts; `approaches`: coefficients are those of an impact."""
        f, n = self.f, self.n
        q, u, t, p = self.split(Z)
        (M,) = self.call("mass", (q, t, p), ((f, f),))
        (h,) = self.call("force", (q, u, t, p), ((f,),))
        W_N, W_T, w_hat = self.call("geometry", (q, t, p), ((n, f), (n, f), (n, 2)))
        (zeta,) = self.call("drift", (q, u, t, p), ((n, 2),))
        gamma = np.stack([np.einsum("njk,jk->nk", W_N, u), np.einsum("njk,jk->nk", W_T, u)], axis=1) + w_hat
        room = ((n,),) * 4
        if self.system.state_laws:
            mu, eps_N, eps_T, a = self.call(
                "laws_at", (q, t, p, np.stack(self._approach(M, W_N, gamma, approaches))), room
            )
        else:
            mu, eps_N, eps_T, a = self.call("laws", (p,), room)
        return Parts(M, h, W_N, W_T, w_hat, zeta, gamma, mu, eps_N, eps_T, a)

    def _approach(self, M: Array, W_N: Array, gamma: Array, approaches: bool) -> tuple[Array, Array]:
        """Speeds of approach and inertias, (n, K) each, as in `System.laws_at`."""
        V = np.linalg.solve(np.moveaxis(M, -1, 0), np.moveaxis(W_N, -1, 0).swapaxes(1, 2))  # (K, f, n)
        alpha = np.einsum("njk,kjn->nk", W_N, V)
        there = np.real(alpha) > 0.0
        inertia = np.where(there, 1.0 / np.where(there, alpha, 1.0), math.inf)
        speed = -gamma[:, 0]
        nothing = np.zeros_like(speed)
        return (np.where(np.real(speed) > 0.0, speed, nothing) if approaches else nothing), inertia

    def friction(self, Z: Array, speed: Array) -> Array:
        """Coefficients of contacts that slip with `speed` (n, K), (n, K)."""
        q, _, t, p = self.split(Z)
        name, inputs = ("friction_at", (q, t, p, speed)) if self.system.state_laws else ("friction", (p, speed))
        return self.call(name, inputs, ((self.n,),))[0]

    # -- derivatives -----------------------------------------------------------------------------------------

    def slopes(self, function: Callable[[Array], Array], z: Array, D: Array) -> Array:
        """Derivatives of r = function(Z), (rows, K), at points z (N, P) in directions D (N, K): (rows, P, K)."""
        N, P, K = z.shape[0], z.shape[1], D.shape[1]

        def at(Z: Array) -> Array:
            out = function(Z.reshape(N, P * K))
            return np.asarray(out).reshape(len(out), P, K)

        if self.exact:
            return np.asarray(np.imag(at(z[:, :, None] + 1j * _TINY * D[:, None, :])) / _TINY)
        size = np.abs(z).max(axis=1)
        size[: 2 * self.f + 1] = np.maximum(size[: 2 * self.f + 1], 1.0)  # states; parameters by their own size
        behind = 2 * self.f + 1 + self.m  # velocities and impulses of an impact
        size[behind:] = np.maximum(size[behind:], 1.0)
        size[size == 0.0] = 1.0
        with np.errstate(divide="ignore"):
            lengths = np.min(np.where(D != 0.0, size[:, None] / np.where(D != 0.0, np.abs(D), 1.0), np.inf), axis=0)
        step = _STEP * np.where(np.isfinite(lengths), lengths, 1.0)
        found, error = derivative(lambda s: at(z[:, :, None] + (s * step * D)[:, None, :]))
        self.error = max(self.error, error)
        return np.asarray(found / step)

    # -- equations of a mode ---------------------------------------------------------------------------------

    def rows(self, mode: Mode) -> list[tuple[int, int]]:
        """Contact and part of the equations of a mode: 0 normal, 1 tangential, the constraints last."""
        found = [(k, 0) for k in range(self.n) if mode.normal[k] != 0]
        found += [(k, 1) for k in range(self.n) if mode.stick[k] > 0 and self.system.contact_kinds[k] < CONSTRAINT]
        return found + [(int(k), 1) for k in self.system.constraints]

    def motion(self, Z: Array, mode: Mode, y: Array) -> Array:
        """Residual of the equations of a mode for y = (du/dt, lambda), (f + rows, K); see the template `smooth`."""
        parts, rows, f = self.parts(Z), self.rows(mode), self.f
        mu = self.mode_friction(Z, parts, mode)
        du, load = y[:f], y[f:]
        left = np.einsum("ijk,jk->ik", parts.M, du) - parts.h
        for k in range(self.n):
            if mode.slip[k] != 0.0:
                left = left + mode.slip[k] * parts.a[k] * parts.W_T[k]
        below = []
        for r, (k, part) in enumerate(rows):
            W = parts.W_T[k] if part else parts.W_N[k]
            push = W if part else W - mode.slip[k] * mu[k] * parts.W_T[k]
            left = left - push * load[r]
            below.append(np.einsum("jk,jk->k", W, du) + parts.zeta[k, part])
        return np.concatenate([left, np.array(below).reshape(len(rows), Z.shape[1])])

    def mode_friction(self, Z: Array, parts: Parts, mode: Mode) -> Array:
        """Coefficients in a mode, (n, K): those of their speed where contacts slip."""
        if not self.system.has_friction_laws:
            return parts.mu
        slips = (mode.slip != 0.0) & (mode.stick == 0)
        speed = np.where(slips[:, None], mode.slip[:, None] * parts.gamma[:, 1], 0.0 * parts.gamma[:, 1])
        return np.where(slips[:, None], self.friction(Z, speed), parts.mu)

    def solved(self, residual: Callable[[Array, Array], Array], z: Array, D: Array, size: int) -> tuple[Array, Array]:
        """y with residual(Z, y) = 0, which is linear in y, at points z (N, P), and its derivatives in directions D.

        Returns y (size, P) and (size, P, K).  d y = -K^-1 r_z d, with y frozen in r: no derivative of an inverse.
        """
        columns = D.shape[1]
        y, K = self.values(residual, z, size)
        slopes = self.slopes(lambda Z: residual(Z, np.repeat(y, columns, axis=1)), z, D)
        return y, -np.moveaxis(solve_balance(K, np.moveaxis(slopes, 1, 0), self.f), 0, 1)

    def solved_near(self, residual: Callable[[Array, Array], Array], z: Array, D: Array, y: Array) -> Array:
        """Derivatives (size, K) in directions D of the solution y (size,) at z (N,) of residual(Z, y) = 0.

        As in `solved`, d y = -K^-1 r_z d, for residuals that are not linear in y.
        """
        N, columns, size = len(z), D.shape[1], len(y)
        both = np.zeros((N + size, columns + size))
        both[:N, :columns], both[N:, columns:] = D, np.eye(size)
        whole = np.concatenate([z, y])[:, None]
        rates = self.slopes(lambda A: residual(A[:N], A[N:]), whole, both)[:, 0]
        return np.asarray(-solve_balance(rates[None, :, columns:], rates[None, :, :columns], self.f)[0])

    def values(self, residual: Callable[[Array, Array], Array], z: Array, size: int) -> tuple[Array, Array]:
        """y (size, P) with residual(Z, y) = 0, which is linear in y, at points z (N, P), and its matrices (P, ...)."""
        P = z.shape[1]
        many = np.repeat(z, size + 1, axis=1)
        trial = np.tile(np.eye(size + 1)[1:], (1, P))  # y = 0, and every unit vector
        values = np.real(residual(many.astype(complex) if self.exact else many, trial)).reshape(size, P, size + 1)
        start, K = values[:, :, 0], values[:, :, 1:] - values[:, :, :1]
        K = np.moveaxis(K, 1, 0)  # (P, rows, unknowns)
        return -solve_balance(K, start.T[:, :, None], self.f)[:, :, 0].T, K

    # -- equations of an impact ------------------------------------------------------------------------------

    def impact(self, branch: ImpactBranch) -> tuple[Callable[[Array, Array], Array], int]:
        """Residual of Newton's law with its branch held, for y = (u+, Lambda), and the number of unknowns.

        M (u+ - u-) = R Lambda; pushing: gamma_N+ = -eps_N gamma_N-; sticking: gamma_T+ = -eps_T gamma_T-;
        slipping: Lambda_T = -s mu Lambda_N with s of the slip that is left.
        """
        system, motion, rows = self.system, branch.motion, branch.rows()
        side = -np.sign(branch.ratio)

        def left(Z: Array, y: Array) -> Array:
            u, parts = Z[self.f : 2 * self.f], self.parts(Z, approaches=True)
            eps = [
                self._restitution(values, number, motion) for number, values in enumerate((parts.eps_N, parts.eps_T))
            ]
            mu = self.blow_friction(Z, y[: self.f], branch, parts)
            push = [parts.W_T[k] if part else parts.W_N[k] - side[k] * mu[k] * parts.W_T[k] for k, part in rows]
            balance = np.einsum("ijk,jk->ik", parts.M, y[: self.f] - u)
            below = []
            for r, (k, part) in enumerate(rows):
                balance = balance - push[r] * y[self.f + r]
                W = parts.W_T[k] if part else parts.W_N[k]
                back = 0.0 if k in system.constraints else eps[part][k] * parts.gamma[k, part]
                below.append(np.einsum("jk,jk->k", W, y[: self.f]) + parts.w_hat[k, part] + back)
            return np.concatenate([balance, np.array(below).reshape(len(rows), Z.shape[1])])

        return left, self.f + len(rows)

    def blow_friction(self, Z: Array, after: Array, branch: ImpactBranch, parts: Parts | None = None) -> Array:
        """Coefficients of friction in an impact, (n, K): those of the slip behind it, at velocities `after` (f, K)."""
        parts = self.parts(Z, approaches=True) if parts is None else parts
        if not self.system.has_friction_laws:
            return parts.mu
        slip = np.einsum("njk,jk->nk", parts.W_T, after) + parts.w_hat[:, 1]
        speed = np.where(np.real(slip) < 0.0, -slip, slip)  # restitution may turn it against the push
        return self.friction(Z, np.where(branch.ratio[:, None] != 0.0, speed, branch.speed[:, None] + 0.0 * speed))

    def _restitution(self, own: Array, number: int, motion: Any) -> Array:
        """Coefficients of the law, (n, K): the contacts' own with their derivatives, or numbers of the law."""
        system = self.system
        real = np.real(own)
        found = np.empty_like(real)
        for k in range(real.shape[1]):
            pair = (real[:, k], np.zeros(self.n)) if number == 0 else (np.zeros(self.n), real[:, k])
            found[:, k] = motion.law.coefficients(*pair, system.contact_kinds, system.contact_names)[number]
        given = getattr(motion.law, ("restitution_normal", "restitution_tangential")[number], None)
        return found if given is not None else np.where(found == real, own, found)

    def landing(self, closed: np.ndarray, sense: Array) -> tuple[Callable[[Array, Array], Array], int]:
        """Residual of the projection `onto_velocities`, for y = (u, Lambda), and the number of unknowns."""
        system, kinds = self.system, np.array(self.system.contact_kinds, dtype=int)
        hard = np.flatnonzero(closed & ((kinds == CONTACT) | (kinds == CLUTCH)))
        still = np.flatnonzero(closed & (sense == 0.0) & (kinds < CONSTRAINT))

        def left(Z: Array, y: Array) -> Array:
            u, parts = Z[self.f : 2 * self.f], self.parts(Z)
            mu = parts.mu
            if system.has_friction_laws:
                moving = self.friction(Z, np.where(sense[:, None] != 0.0, sense[:, None] * parts.gamma[:, 1], 0.0 * mu))
                mu = np.where(sense[:, None] != 0.0, moving, mu)
            balance = np.einsum("ijk,jk->ik", parts.M, y[: self.f] - u)
            below = []
            for r, (k, part) in enumerate(rows):
                W = parts.W_T[k] if part else parts.W_N[k]
                holds = not part or k in system.constraints or np.real(parts.mu[k] + parts.a[k])[0] > 0.0
                if holds and np.any(np.real(W)):
                    balance = balance - (W if part else W - sense[k] * mu[k] * parts.W_T[k]) * y[self.f + r]
                    below.append(np.einsum("jk,jk->k", W, y[: self.f]) + parts.w_hat[k, part])
                else:
                    below.append(y[self.f + r] + 0.0 * mu[k])
            return np.concatenate([balance, np.array(below).reshape(len(rows), Z.shape[1])])

        rows = [*((int(k), 0) for k in hard), *((int(k), 1) for k in still), *((int(k), 1) for k in system.constraints)]
        return left, self.f + len(rows)

    def placing(self, z: Array, D: Array, index: np.ndarray, q: Array) -> Array:
        """Derivatives (f, K) of the coordinates q to which a start z (N,) is moved, so that contacts `index` touch.

        M (q - q0) = W^T Lambda with M and W of the start, g(q) = 0; see `onto_contacts`.
        """
        f = self.f
        held = np.array([k for k in self.system.constraints if self.system.contact_kinds[k] == CONSTRAINT], dtype=int)
        index = np.concatenate([index, held]).astype(int)
        if not len(index):
            return D[:f].copy()
        tangential = np.isin(index, held)
        here = z[:, None].astype(complex) if self.exact else z[:, None]
        there = here.copy()
        there[:f, 0] = q
        begin, end = self.parts(here), self.parts(there)
        W_begin = np.real(np.where(tangential[:, None], begin.W_T[index, :, 0], begin.W_N[index, :, 0]))
        W_end = np.real(np.where(tangential[:, None], end.W_T[index, :, 0], end.W_N[index, :, 0]))
        M = np.real(begin.M[:, :, 0])
        Lambda = np.linalg.lstsq(W_begin.T, M @ (q - z[:f]), rcond=1e-12)[0]

        def left(Z: Array) -> Array:
            parts = self.parts(Z)
            W = np.where(tangential[:, None, None], parts.W_T[index], parts.W_N[index])
            moved = np.concatenate([np.repeat(q[:, None], Z.shape[1], axis=1) + 0.0 * Z[:f], Z[f:]])
            balance = np.einsum("ijk,jk->ik", parts.M, q[:, None] - Z[:f]) - np.einsum("njk,n->jk", W, Lambda)
            return np.concatenate([balance, self.gap(moved)[index]])

        m = len(index)
        K = np.block([[M, -W_begin.T], [W_end, np.zeros((m, m))]])
        return -solve_balance(K[None], self.slopes(left, z[:, None], D)[:, 0, :][None], f)[0, :f]


def solve_balance(K: Array, b: Array, f: int, transposed: bool = False) -> Array:
    """K^-1 b, or K^-T b, of matrices K (P, m, m) whose first f rows are a balance of forces; the least unknowns where
    rows are implied by others.
    """
    size = _balance_sizes(K, f)
    scaled, right = K / size[:, :, None] / size[:, None, :], b / size[:, :, None]
    scaled = scaled.swapaxes(1, 2) if transposed else scaled
    values = np.linalg.svd(scaled, compute_uv=False)
    if np.all(values[:, -1] > _SINGULAR * values[:, 0]):
        return np.asarray(np.linalg.solve(scaled, right) / size[:, :, None])
    return np.asarray(np.linalg.pinv(scaled, _SINGULAR) @ right / size[:, :, None])


def open_unknowns(K: Array, f: int) -> np.ndarray:
    """Unknowns of a matrix K (m, m), as in `solve_balance`, that rows which imply others leave open, (m,)."""
    size = _balance_sizes(K[None], f)[0]
    _, values, right = np.linalg.svd(K / size[:, None] / size[None, :])
    free = right[values <= _SINGULAR * values[0]]
    return np.asarray(np.abs(free).max(axis=0, initial=0.0) > 1e-6)


def _balance_sizes(K: Array, f: int) -> Array:
    """Sizes of the unknowns of matrices K (P, m, m) whose first f rows are a balance of forces, (P, m)."""
    inertia = np.abs(np.einsum("pii->pi", K)[:, :f])
    size = np.ones(K.shape[:2])
    size[:, :f] = np.sqrt(np.where(inertia > 0.0, inertia, 1.0))
    below = np.abs(K[:, f:, :f] / size[:, None, :f]).max(axis=2, initial=0.0)
    size[:, f:] = np.where(below > 0.0, below, 1.0)
    return size
