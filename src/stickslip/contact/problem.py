"""`FrictionProblem` and `FrictionSolution`: what goes in and what comes out of `solve_friction`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.contact.blocks import block_arrays
from stickslip.contact.cones import elliptic_map_square, natural_map_square, squares
from stickslip.contact.contacts import Bodies, Contacts
from stickslip.contact.delassus import Delassus, checked_directions
from stickslip.contact.gauss_seidel import errors_of
from stickslip.contact.residual import (
    MEASURES,
    MOST_ROUNDING,
    NATURAL_MAP,
    ROUNDINGS,
    SCALE,
    VELOCITY,
    worst_violation,
)
from stickslip.lcp.problems import _check_finite, _floats
from stickslip.projections import EPS

SMALLEST = 1e-120  # of the largest velocity: squares of rounding errors of smaller ones underflow
LIGHTEST = 1e-280  # of mobilities [1/kg]: the squares of their units are numbers


class Evaluation(NamedTuple):
    """Velocities u = W r + q [m/s] of impulses r, their error in both measures, the rounding of u relative to v."""

    u: np.ndarray
    velocity_error: float
    natural_map: float
    rounding: float


class Stage(NamedTuple):
    """One leg of the way to a solution: method, contacts it worked on, iterations, error reached, seconds."""

    method: str
    contacts: int
    iterations: int
    error: float
    seconds: float


@dataclass(frozen=True, eq=False)
class FrictionSolution:
    """Answer to a friction problem.

    Attributes
    ----------
    r : impulses [N s], normal component first, contact after contact; joints last.
    u : velocities W r + q [m/s], in the same order.
    solved : whether `error` <= the tolerance asked for.
    status : what happened, as a sentence.
    error : error of r in the measure asked for, on the problem as given; computed anew at the end.
    measure : "velocity" or "natural-map".
    velocity_error : violation of the laws at the worst contact [m/s], relative to the largest velocity in q.
    rounding : of the largest velocity that impulses make, relative to the largest velocity in q: what is less cannot be
        told from zero, and is no part of `velocity_error`.
    natural_map : FCLIB's measure, || r - P_K(r - u - mu |u_T| e_N) || / max(|q|, |r|, |u|).
    iterations : sweeps, Newton steps, pivots ..., of all stages together.
    method : the method asked for.
    path : the stages, in order.
    seconds : wall-clock time [s].
    history : error after each check, with the time [s] since the start; shape (k, 2); filled with record=True.
    """

    r: np.ndarray
    u: np.ndarray
    solved: bool
    status: str
    error: float
    iterations: int
    method: str
    measure: str = MEASURES[0]
    velocity_error: float = math.inf
    natural_map: float = math.inf
    rounding: float = 0.0
    path: tuple[Stage, ...] = ()
    seconds: float = 0.0
    history: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))

    def __str__(self) -> str:
        r, u = (np.array2string(v, precision=6, threshold=8, edgeitems=3) for v in (self.r, self.u))
        return f"{self.status}; {self.measure} error {self.error:.1e}, {self.seconds:.2g} s\n  r = {r}\n  u = {u}"

    def __bool__(self) -> bool:
        """True when solved."""
        return self.solved


@dataclass(frozen=True, eq=False)
class FrictionProblem:
    """The contact problem of one time step: find impulses r and velocities u = W r + q such that for every contact

        r in K = { |r_T| <= mu r_N },   u + mu |u_T| e_N in K* = { y_N >= mu |y_T| },   r perp u + mu |u_T| e_N

    that is Signorini's condition in the normal direction and Coulomb's law, exact and not convexified, in the plane of
    contact (de Saxce's form).  Components are ordered contact by contact, normal first.

    Parameters
    ----------
    W : (m, m) [1/kg], dense, sparse (any SciPy format), or a `Delassus` object (W = H^T M^-1 H, never formed unless a
        method needs it).  Need be neither symmetric nor regular.
    q : (m,) velocities without impulses [m/s].
    mu : friction coefficients >= 0: a number, one per contact (n,), or semi-axes of elliptic friction (n, 2).
    dim : 2 or 3.
    bilateral : number of joint rows at the end of W and q, where u = 0 and r is free; m = dim n + bilateral.

    Examples
    --------
    >>> p = FrictionProblem([[1.0, 0.0], [0.0, 2.0]], [-1.0, 3.0], 0.5, dim=2)
    >>> p.contacts, p.error(np.array([1.0, -0.5]))
    (1, 0.0)
    """

    W: Any
    q: Any
    mu: Any
    dim: int = 3
    bilateral: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.dim, int | np.integer) or self.dim not in (2, 3):
            raise ValueError(f"dim must be 2 (plane) or 3 (space), got {self.dim!r}.")
        if isinstance(self.bilateral, bool) or not isinstance(self.bilateral, int | np.integer) or self.bilateral < 0:
            raise ValueError(f"bilateral must be the number of joint rows, an integer >= 0, got {self.bilateral!r}.")
        W = _checked_delassus(self.W)
        n, rest = divmod(W.shape[0] - self.bilateral, self.dim)
        if rest or n < 0:
            joints = f" less {self.bilateral} joint rows" if self.bilateral else ""
            raise ValueError(
                f"W must have {self.dim} rows per contact (dim = {self.dim}), got {W.shape[0]} rows{joints}; "
                "is dim right?"
            )
        q = _floats(self.q, "q").copy()  # what is solved and what is checked later must be the same numbers
        if q.shape != (W.shape[0],):
            raise ValueError(f"q must have shape ({W.shape[0]},) to match W of shape {W.shape}, got {q.shape}.")
        _check_finite(q, "q")
        _check_size(q)
        object.__setattr__(self, "W", W)
        object.__setattr__(self, "dim", int(self.dim))
        object.__setattr__(self, "bilateral", int(self.bilateral))
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "mu", _checked_friction(self.mu, n, self.dim))
        if not isinstance(W, Delassus):  # its diagonal may have to be computed: checked when it is used
            _ = self.mobility

    @classmethod
    def from_dynamics(
        cls, M: Any, H: Any, f: Any, w: Any, mu: Any, dim: int = 3, *, G: Any = None, b: Any = None
    ) -> FrictionProblem:
        """The problem M v = H r + G l + f, u = H^T v + w, 0 = G^T v + b, condensed but with W = H^T M^-1 H not formed.

        M (f, f) mass matrix [kg], H (f, dim n) directions, f (f,) free momentum [N s], w (dim n,) [m/s]; G (f, k) and
        b (k,) the directions and the velocities of joints.
        """
        directions = checked_directions(H, "H")
        offset = _checked_vector(w, "w", directions.shape[1], "one per column of H")
        joints = 0
        if G is None and b is not None:
            raise ValueError("b must be given together with G, the directions of the joints; got b alone.")
        if G is not None:
            joint_directions = checked_directions(G, "G")
            joints = joint_directions.shape[1]
            if joint_directions.shape[0] != directions.shape[0]:
                raise ValueError(f"G must have {directions.shape[0]} rows like H, got shape {joint_directions.shape}.")
            directions = sp.hstack([directions, joint_directions]).tocsc()
            speeds = np.zeros(joints) if b is None else _checked_vector(b, "b", joints, "one per column of G")
            offset = np.concatenate([offset, speeds])
        W = Delassus(M, directions)
        momentum = _checked_vector(f, "f", W.M.shape[0], "one per row of M")
        return cls(W, W.H.T @ W.solve_mass(momentum) + offset, mu, dim, bilateral=joints)

    @property
    def contacts(self) -> int:
        return len(self.mu)

    @property
    def elliptic(self) -> bool:
        return self.mu.ndim == 2

    @cached_property
    def matrix(self) -> Any:
        """W as an array or a CSR matrix; assembled where the problem was given without it."""
        return self.W.assembled() if isinstance(self.W, Delassus) else self.W

    def velocity(self, r: np.ndarray) -> np.ndarray:
        """u = W r + q [m/s]."""
        r = self._impulses(r)
        if isinstance(self.W, Delassus) and "matrix" not in self.__dict__:
            return self.W.product(r) + self.q
        return self.matrix @ r + self.q

    def error(self, r: np.ndarray, measure: str = "velocity") -> float:
        """Residual of the impulses r: of the worst contact in velocities, or FCLIB's natural map (see `residual`).

        For elliptic friction the natural map projects onto the elliptic cone, in the Euclidean metric; joints count
        with |u|.
        """
        found = self.evaluate(self._impulses(r))
        return found.velocity_error if checked_measure(measure) == MEASURES[0] else found.natural_map

    def _impulses(self, r: Any) -> np.ndarray:
        impulses = np.ascontiguousarray(_floats(r, "r"))
        if impulses.shape != self.q.shape:
            raise ValueError(f"r must have shape {self.q.shape} like q, got {impulses.shape}.")
        return impulses

    def evaluate(self, r: np.ndarray) -> Evaluation:
        """u = W r + q [m/s] and both errors of the impulses r."""
        at_hand = not isinstance(self.W, Delassus) or "matrix" in self.__dict__
        if at_hand and not self.bilateral and not self.elliptic:
            c, units, u = self.contacts_in("velocity"), self._units, np.empty(len(self.q))
            return Evaluation(u, *errors_of(c.coupled, r / units, units, u, c.gauge))
        with np.errstate(all="ignore"):  # what is not finite is an error of infinity
            u = self.velocity(r)
            error, rounding = self._velocity_error(u, r)
            return Evaluation(u, error, self._natural_map(u, r), rounding)

    def _velocity_error(self, u: np.ndarray, r: np.ndarray) -> tuple[float, float]:
        """Error in velocities, and the rounding of u relative to v; the latter only where W is at hand."""
        n, S, gauge = self.dim * self.contacts, self._units, self.gauge("velocity")
        mu, v = np.sqrt(self.mu.prod(axis=1)) if self.elliptic else self.mu, gauge[3][SCALE]
        load = np.empty(0) if self.matrix_free else np.asarray(abs(self.matrix) @ np.abs(r))
        scaled_load = (S * load[:n]).reshape(-1, self.dim).max(axis=1) if len(load) else load
        worst = worst_violation(S * u[:n], r[:n] / S, mu, scaled_load, gauge, self.dim, 0, self.contacts)
        joints = np.abs(u[n:])
        if len(load):
            rounding, known = EPS * load[n:], ROUNDINGS * EPS * load[n:] <= MOST_ROUNDING * v
            joints = np.where(known, np.maximum(joints - ROUNDINGS * rounding, 0.0), np.maximum(joints, rounding))
        left = float(np.max(joints, initial=0.0)) / v
        return max(worst, left) if math.isfinite(left) else math.inf, EPS * float(np.max(load, initial=0.0)) / v

    def _natural_map(self, u: np.ndarray, r: np.ndarray) -> float:
        if self.elliptic:
            square = elliptic_map_square(u, r, self.mu)
        else:
            square = natural_map_square(u, r, self.mu, self.dim, 0, self.contacts)
        square += float(np.sum(u[self.dim * self.contacts :] ** 2))
        size = float(max(np.linalg.norm(self.q), np.linalg.norm(r), np.linalg.norm(u)))
        if not (math.isfinite(square) and math.isfinite(size)):
            return math.inf
        return math.sqrt(square) / size if size > 0.0 else math.sqrt(square)

    @property
    def matrix_free(self) -> bool:
        """Whether W is not there and sweeps and products can do without it: M of small blocks, circles, no joints."""
        plain = isinstance(self.W, Delassus) and "matrix" not in self.__dict__ and not self.bilateral
        return plain and not self.elliptic and self.W.mass_inverse is not None

    @cached_property
    def mobility(self) -> np.ndarray:
        """trace(W_ii) / d of every contact [1/kg]; their mean where that is not positive; shape (n,)."""
        n = self.dim * self.contacts
        diagonal = self.W.diagonal() if self.matrix_free else self.matrix.diagonal()
        with np.errstate(over="ignore"):  # infinite ones are refused
            mobility = diagonal[:n].reshape(-1, self.dim).mean(axis=1)
            moving = mobility > 0.0
            mobility = np.where(moving, mobility, mobility[moving].mean() if moving.any() else 1.0)
        _check_energies(mobility, self.fastest)
        return mobility

    @cached_property
    def fastest(self) -> float:
        """v, the largest velocity without impulses [m/s], what residuals are relative to; 1 where all are zero."""
        n = self.dim * self.contacts
        rows = np.sqrt((self.q[:n].reshape(-1, self.dim) ** 2).sum(axis=1))
        return float(max(rows.max(initial=0.0), np.abs(self.q[n:]).max(initial=0.0))) or 1.0

    @cached_property
    def _units(self) -> np.ndarray:
        """r = units z of the contacts, shape (d n,): powers of two, times the stretch of the ellipses."""
        unit = np.repeat(np.exp2(np.round(-0.5 * np.log2(self.mobility))), self.dim)
        return unit * self.stretch if self.elliptic else unit

    def gauge(self, measure: str, scaled: bool = True) -> tuple[np.ndarray, ...]:
        """The gauge of the contacts, scaled to unit mobility or as they are; see `residual`."""
        unit, stretch = np.exp2(np.round(-0.5 * np.log2(self.mobility))) if scaled else np.ones(self.contacts), 1.0
        if self.elliptic:
            stretch = self.stretch.reshape(-1, 3).min(axis=1)
        n = self.dim * self.contacts
        numbers = [VELOCITY, self.fastest] if measure == MEASURES[0] else [NATURAL_MAP, squares(self.q, 0, n)]
        return self.mobility * unit**2, unit, 1.0 / (unit * stretch), np.array([*numbers, float(self.contacts)])

    def contacts_in(self, measure: str) -> Contacts:
        """The equivalent problem of contacts with circular cones and unit mobilities, measured by `measure`."""
        if measure not in self._forms:
            W, q, _ = self._contacts_alone
            S = self._units
            data, indptr, indices = block_arrays(W, self.dim)
            rows = np.repeat(np.arange(self.contacts), np.diff(indptr))
            S_blocks = S.reshape(-1, self.dim)
            data = data * S_blocks[rows][:, :, None] * S_blocks[indices][:, None, :]
            mu = np.sqrt(self.mu.prod(axis=1)) if self.elliptic else np.ascontiguousarray(self.mu)
            bodies = None
            if isinstance(self.W, Delassus) and not self.bilateral:
                bodies = Bodies(self.W.M, (self.W.H @ sp.diags(S)).tocsc(), np.arange(self.contacts))
            self._forms[measure] = Contacts(data, indptr, indices, S * q, mu, self.gauge(measure), bodies)
        return self._forms[measure]

    @cached_property
    def _forms(self) -> dict[str, Contacts]:
        return {}

    @cached_property
    def _contacts_alone(self) -> tuple[Any, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """W and q of the contacts without joints, and the map of their impulses to all."""
        from stickslip.contact.joints import eliminate_joints

        return eliminate_joints(self.matrix, self.q, self.dim * self.contacts)

    def impulses_of(self, z: np.ndarray) -> np.ndarray:
        """Impulses of this problem from those of `contacts_in`."""
        return self._contacts_alone[2](self._units * z)

    def scaled(self, r: np.ndarray) -> np.ndarray:
        """Undo `impulses_of`."""
        return r[: self.dim * self.contacts] / self._units

    @property
    def stretch(self) -> np.ndarray:
        """The diagonal S, r = S r', that makes circles of radius mu = sqrt(mu_1 mu_2) of the ellipses, shape (3 n,)."""
        S = np.ones((self.contacts, 3))
        mu = np.sqrt(self.mu.prod(axis=1, keepdims=True))
        S[:, 1:] = np.divide(self.mu, mu, out=np.ones_like(self.mu), where=mu > 0.0)
        return S.ravel()


def checked_measure(measure: Any) -> str:
    """The word of a measure; ValueError for another one."""
    if measure not in MEASURES:
        raise ValueError(f"measure must be {' or '.join(map(repr, MEASURES))}, got {measure!r}.")
    return measure


def _checked_vector(values: Any, name: str, length: int, which: str) -> np.ndarray:
    vector = _floats(values, name)
    if vector.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), {which}, got {vector.shape}.")
    _check_finite(vector, name)
    return vector


def _check_size(q: np.ndarray) -> None:
    """Squares of the velocities, and of what is 1e-8 of them, must be numbers that a computer has."""
    largest = float(np.max(np.abs(q), initial=0.0))
    if largest > 0.0 and not SMALLEST <= largest <= 1.0 / SMALLEST:
        raise ValueError(
            f"q must be zero or have its largest entry between {SMALLEST:g} and {1.0 / SMALLEST:g} m/s, "
            f"got {largest:g}; choose other units."
        )


def _check_energies(mobility: np.ndarray, fastest: float) -> None:
    """Squares of scaled velocities, and of what is 1e-8 of them, must be numbers that a computer has (see `contacts`).

    A scaled velocity is the root of an energy.  Where its square underflows, any violation of the laws looks like none.
    """
    with np.errstate(over="ignore"):
        scaled = fastest / np.sqrt(mobility)
    right = (scaled >= SMALLEST) & (scaled <= 1.0 / SMALLEST) & (mobility >= LIGHTEST) & (mobility <= 1.0 / LIGHTEST)
    if not right.all():
        first = int(np.flatnonzero(~right)[0])
        raise ValueError(
            f"W must have mobilities between {LIGHTEST:g} and {1.0 / LIGHTEST:g} 1/kg, and W and q energies q^2 / W "
            f"between {SMALLEST**2:g} and {SMALLEST**-2:g} J, got {mobility[first]:.3g} 1/kg at contact {first} and "
            f"{fastest:.3g} m/s; choose other units."
        )


def _checked_delassus(W: Any) -> Any:
    if isinstance(W, Delassus):
        return W
    if sp.issparse(W):
        if W.shape[0] != W.shape[1]:
            raise ValueError(f"W must be square, got shape {W.shape}.")
        if W.dtype.kind not in "bifu":
            raise ValueError(f"W must hold real numbers, got {W.dtype}.")
        matrix = sp.csr_matrix(W, dtype=float, copy=True) if W.format != "bsr" else W.astype(float, copy=True)
        try:
            matrix.check_format(full_check=True)
        except ValueError as problem:
            raise ValueError(f"W must be a sound sparse matrix, got one where {problem}.") from None
        if not np.all(np.isfinite(matrix.data)):
            raise ValueError("W must be finite, got a value that is not.")
        return matrix
    matrix = _floats(W, "W").copy()
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"W must be square, got shape {matrix.shape}.")
    _check_finite(matrix, "W")
    return matrix


def _checked_friction(mu: Any, n: int, dim: int) -> np.ndarray:
    values = _floats(mu, "mu").copy()
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.shape != (n,) and not (dim == 3 and values.shape == (n, 2)):
        wanted = f"({n},), one per contact" + (f", or ({n}, 2), two semi-axes per contact" if dim == 3 else "")
        raise ValueError(f"mu must be a number or have shape {wanted}, got {values.shape}.")
    _check_finite(values, "mu")
    if np.any(values < 0.0):
        where = tuple(int(i) for i in np.argwhere(values < 0.0)[0])
        raise ValueError(f"mu must be >= 0, got {values[where]} at index {where}.")
    if values.ndim == 2 and np.any((values == 0.0).sum(axis=1) == 1):
        first = int(np.flatnonzero((values == 0.0).sum(axis=1) == 1)[0])
        raise ValueError(f"mu of contact {first} must have both semi-axes positive or both 0, got {values[first]}.")
    return values
