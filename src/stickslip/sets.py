"""Set-valued maps and convex sets: the elements of contact and friction laws.

Two set-valued maps on R carry the laws of planar contact [GS05] eqs. (1), (3): the unilateral primitive `Upr`
and the filled-in relay `Sgn`. Upr is a normal cone, and Sgn is the inverse of a normal cone. So each inclusion is
one projection equation [FLG10] eqs. (42)-(43):

    -y in N_C(x)   <=>   x = prox_C(x - rho y)   for any rho > 0.

The convex sets below collect for a set C the projection prox_C, one element of its generalised Jacobian, the
residual of the projection equation, the distance and the support function. The functions `project_*` and
`jacobian_*` are compiled scalar kernels without allocation; the classes call them, and so may any other kernel
(docs/kernels.md).

[GS05]  Glocker, Studer, Multibody System Dynamics 13 (2005).
[FLG10] Flores, Leine, Glocker, Multibody System Dynamics 23 (2010).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.checks import require_numbers
from stickslip.projections import (
    EPS,
    TOLERANCE,
    cone_jacobian_rows,
    cone_rows,
    disk_jacobian_rows,
    disk_rows,
    ellipse_jacobian_rows,
    ellipse_rows,
    interval_all,
    jacobian_cone,
    jacobian_disk,
    jacobian_ellipse,
    project_cone,
    project_cone_2d,
    project_cone_3d,
    project_disk,
    project_ellipse,
    project_interval,
)

__all__ = [
    "ConvexSet",
    "Disk",
    "Ellipse",
    "Interval",
    "Orthant",
    "SecondOrderCone",
    "Sgn",
    "SgnSplit",
    "Upr",
    "decompose_sgn",
    "jacobian_cone",
    "jacobian_disk",
    "jacobian_ellipse",
    "project_cone",
    "project_cone_2d",
    "project_cone_3d",
    "project_disk",
    "project_ellipse",
    "project_interval",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


# ------------------------------------------------------------------------------------------------------------
# validation
# ------------------------------------------------------------------------------------------------------------


def _first(mask: BoolArray) -> tuple[tuple[int, ...], str]:
    """Index of the first true entry, and the words for it in a message (none for a single number)."""
    where = tuple(int(i) for i in np.argwhere(mask)[0])
    return where, f" at index {where}" if where else ""


def _numbers(name: str, value: ArrayLike) -> FloatArray:
    """value as a float array without NaN; ValueError that names the argument otherwise."""
    require_numbers(value, name)
    kind = "complex numbers" if np.iscomplexobj(value) else None
    try:
        array = np.asarray(value, dtype=float) if kind is None else np.zeros(())
    except (TypeError, ValueError):
        kind = type(value).__name__
    if kind is not None:
        raise ValueError(f"{name} must be a real number or an array of real numbers, got {kind}.")
    if np.isnan(array).any():
        _, place = _first(np.isnan(array))
        raise ValueError(
            f"{name} must not contain NaN, got NaN{place}; look for a 0/0 or inf - inf in what made {name}."
        )
    return array


def _finite(name: str, value: ArrayLike) -> FloatArray:
    """value as a float array of finite numbers; ValueError that names the argument otherwise."""
    array = _numbers(name, value)
    if not np.isfinite(array).all():
        where, place = _first(~np.isfinite(array))
        raise ValueError(
            f"{name} must be finite, got {array[where]}{place}; look for an overflow or a division by zero "
            f"in what made {name}."
        )
    return array


def _parameter(name: str, value: ArrayLike, *, infinite: str = "") -> float | FloatArray:
    """A set's parameter >= 0, as a float or a read-only array.

    infinite : the set that the parameter inf makes, in words; empty where inf is not allowed.
    """
    array = np.array(_numbers(name, value) if infinite else _finite(name, value))
    if (array < 0.0).any():
        hint = f"; 0 and inf ({infinite}) are allowed." if infinite else "; 0 is allowed."
        raise ValueError(f"{name} must be >= 0, got {array.min()}{hint}")
    return _frozen(array)


def _frozen(array: FloatArray) -> float | FloatArray:
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array


def _tolerance(tol: float) -> float:
    if not tol >= 0.0:
        raise ValueError(f"tol must be >= 0, got {tol}; it is an absolute distance in the unit of the point.")
    return float(tol)


def _positive(name: str, value: ArrayLike) -> FloatArray:
    array = _finite(name, value)
    if (array <= 0.0).any():
        raise ValueError(f"{name} must be > 0, got {array.min()}; the fixed points do not depend on it, so 1 will do.")
    return array


def _common_shape(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which all shapes broadcast."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(
            f"{', '.join(shapes)} must broadcast against one another, got shapes {given}; give one value per "
            f"point or a single one."
        ) from None


def _pair(**values: ArrayLike) -> list[FloatArray]:
    """Finite arrays that broadcast against one another, for the elementwise maps."""
    arrays = {name: _finite(name, value) for name, value in values.items()}
    _common_shape(**{name: array.shape for name, array in arrays.items()})
    return list(arrays.values())


# ------------------------------------------------------------------------------------------------------------
# set-valued maps on R
# ------------------------------------------------------------------------------------------------------------


class _SetValued(ABC):
    """A set-valued map F on R, elementwise on arrays that broadcast."""

    @abstractmethod
    def residual(self, x: ArrayLike, y: ArrayLike, rho: ArrayLike = 1.0) -> FloatArray:
        """A number per point that is zero iff -y in F(x)."""

    def contains(self, x: ArrayLike, minus_y: ArrayLike, tol: float = TOLERANCE) -> BoolArray:
        """Whether minus_y in F(x): a point of the graph lies within tol of (x, minus_y) in x and in y."""
        x, minus_y = _pair(x=x, minus_y=minus_y)
        return np.abs(self.residual(x, -minus_y)) <= _tolerance(tol)


@dataclass(frozen=True)
class Upr(_SetValued):
    """Unilateral primitive, the normal cone of R+ [GS05] eq. (1), [FLG10] eq. (4).

        Upr(x) = {0} for x > 0,   (-inf, 0] for x = 0,   empty for x < 0
        -y in Upr(x)   <=>   x >= 0,  y >= 0,  x y = 0                           [GS05] eq. (2)

    Every method works elementwise on arrays that broadcast.
    """

    def evaluate(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Upr(x) as the interval (lower, upper), each in the shape of x; the empty set is (inf, -inf)."""
        x = _finite("x", x)
        lower = np.where(x > 0.0, 0.0, np.where(x == 0.0, -np.inf, np.inf))
        return lower, np.where(x < 0.0, -np.inf, 0.0)

    def residual(self, x: ArrayLike, y: ArrayLike, rho: ArrayLike = 1.0) -> FloatArray:
        """Natural map x - prox_R+(x - rho y) = min(x, rho y), without cancellation; zero iff -y in Upr(x)."""
        x, y, rho = _pair(x=x, y=y, rho=_positive("rho", rho))
        return np.minimum(x, rho * y)  # [GS05] eq. (2)


@dataclass(frozen=True)
class Sgn(_SetValued):
    """Filled-in relay function, the subdifferential of |x| [GS05] eq. (3).

        Sgn(x) = {+1} for x > 0,   [-1, 1] for x = 0,   {-1} for x < 0
        -y in Sgn(x)   <=>   x in N_[-1,1](-y)   <=>   -y = prox_[-1,1](-y + rho x)

    Every method works elementwise on arrays that broadcast. For a relay of height a, -y in a Sgn(x)
    (friction: a = mu Lambda_N), use `Interval(-a, a).residual(y, x)`.
    """

    def evaluate(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Sgn(x) as the interval (lower, upper), each in the shape of x."""
        x = _finite("x", x)
        return np.where(x > 0.0, 1.0, -1.0), np.where(x < 0.0, -1.0, 1.0)

    def residual(self, x: ArrayLike, y: ArrayLike, rho: ArrayLike = 1.0) -> FloatArray:
        """Natural map of the inverse, `y - prox_[-1,1](y - rho x)`; zero iff -y in Sgn(x).

        The inclusion constrains -y. As [-1, 1] is symmetric, the equation may be written for y, with the sign of x
        turned. Taking y into the clipping gives clip(rho x, y - 1, y + 1), which loses nothing to cancellation.
        """
        x, y, rho = _pair(x=x, y=y, rho=_positive("rho", rho))
        return np.minimum(np.maximum(rho * x, y - 1.0), y + 1.0)


class SgnSplit(NamedTuple):
    """The two complementarity pairs of a relay [GS05] eq. (5), elementwise.

    0 <= x_R  perp  y_R = 1 + y >= 0,     0 <= x_L  perp  y_L = 1 - y >= 0,     x = x_R - x_L
    """

    x_R: FloatArray
    x_L: FloatArray
    y_R: FloatArray
    y_L: FloatArray

    def residual(self) -> FloatArray:
        """max(|min(x_R, y_R)|, |min(x_L, y_L)|): how far the two complementarity conditions are from holding.

        For a split made by `decompose_sgn` it equals |Sgn().residual(x, y)|.
        """
        upr = Upr()
        return np.maximum(np.abs(upr.residual(self.x_R, self.y_R)), np.abs(upr.residual(self.x_L, self.y_L)))

    def holds(self, tol: float = TOLERANCE) -> BoolArray:
        """Whether both complementarity conditions and y_R + y_L = 2 hold within tol, elementwise."""
        defect = np.abs(np.asarray(self.y_R) + np.asarray(self.y_L) - 2.0)
        # 1 + y and 1 - y are rounded: the sum is 2 to the last digits of the larger one, not exactly
        slack = 4.0 * EPS * (1.0 + np.maximum(np.abs(self.y_R), np.abs(self.y_L)))
        return (self.residual() <= _tolerance(tol)) & (defect <= tol + slack)

    def compose(self) -> tuple[FloatArray, FloatArray]:
        """The inverse of `decompose_sgn`: x = x_R - x_L and y = (y_R - y_L) / 2."""
        x_R, x_L, y_R, y_L = _pair(x_R=self.x_R, x_L=self.x_L, y_R=self.y_R, y_L=self.y_L)
        return x_R - x_L, 0.5 * (y_R - y_L)


def decompose_sgn(x: ArrayLike, y: ArrayLike) -> SgnSplit:
    """Decompose the relay -y in Sgn(x) into two unilateral primitives [GS05] eqs. (4)-(5).

    Returns x_R = max(x, 0), x_L = max(-x, 0), y_R = 1 + y, y_L = 1 - y, elementwise. (x, y) itself need not satisfy
    the inclusion; `SgnSplit.holds` tells whether it does.

    The inclusion holds if and only if the split satisfies both complementarity conditions. Reason: y_R + y_L = 2, so
    y_R and y_L do not both vanish. So x_R or x_L must vanish, and x = x_R - x_L leaves no other choice than this one.
    """
    x, y = _pair(x=x, y=y)
    x, y = np.broadcast_arrays(x, y)
    return SgnSplit(np.maximum(x, 0.0), np.maximum(-x, 0.0), 1.0 + y, 1.0 - y)  # [GS05] eq. (5)


# ------------------------------------------------------------------------------------------------------------
# convex sets
# ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConvexSet(ABC):
    """A closed convex set C in R^n. Points are arrays of shape (..., n); leading axes are independent points.

    Parameters given as arrays belong to the leading axes: one set per point, broadcast in NumPy's way. Every method
    raises ValueError for points that are not finite or have the wrong shape.

    To add a set, implement `_check` (the shape of a point), and `_project`, `_jacobian` and `_support` for points
    that have been validated. `_jacobian` returns an element of Clarke's generalised Jacobian of the projection
    everywhere, also at kinks: there the limit from inside the set, if the set has an inside. Elements of this
    Jacobian are symmetric with eigenvalues in [0, 1].
    """

    def project(self, x: ArrayLike) -> FloatArray:
        """Nearest point of the set, prox_C(x) = argmin over z in C of |z - x|, shape of x."""
        return self._project(self._check("x", _finite("x", x)))

    def jacobian(self, x: ArrayLike) -> FloatArray:
        """One element of Clarke's generalised Jacobian of `project` at x, shape (..., n, n)."""
        return self._jacobian(self._check("x", _finite("x", x)))

    def distance(self, x: ArrayLike) -> FloatArray:
        """Distance of x to the set, |x - prox_C(x)|, shape (...)."""
        x = self._check("x", _finite("x", x))
        return self._norm(x - self._project(x))

    def contains(self, x: ArrayLike, tol: float = TOLERANCE) -> BoolArray:
        """Whether the distance of x to the set is at most tol, shape (...)."""
        return self.distance(x) <= _tolerance(tol)

    def support(self, v: ArrayLike) -> FloatArray:
        """Support function sup over z in C of <v, z>, shape (...); inf where unbounded."""
        return self._support(self._check("v", _finite("v", v)))

    def residual(self, x: ArrayLike, y: ArrayLike, rho: ArrayLike = 1.0) -> FloatArray:
        """x - prox_C(x - rho y), shape of x; zero iff -y in N_C(x)  [FLG10] eqs. (42)-(43).

        rho > 0, one number or one per point, scales the residual and leaves its zeros alone.
        """
        x, y = self._check("x", _finite("x", x)), self._check("y", _finite("y", y))
        shape = _common_shape(x=x.shape, y=y.shape)
        rho = self._per_point(_positive("rho", rho), shape)
        return self._residual(x, rho * y)

    def _residual(self, x: FloatArray, rho_y: FloatArray) -> FloatArray:
        z = x - rho_y
        return rho_y + (z - self._project(z))  # equals x - prox(z), and is exactly rho y where z lies in C

    def _norm(self, x: FloatArray) -> FloatArray:
        return np.hypot.reduce(x, axis=-1)  # unlike a sum of squares it does not underflow

    def _per_point(self, rho: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        """rho, one per point, made to multiply points of the given shape."""
        _common_shape(rho=rho.shape, points=shape[:-1])
        return rho[..., None]

    @abstractmethod
    def _check(self, name: str, x: FloatArray) -> FloatArray:
        """x if it has the shape of points of this set, else ValueError."""

    @abstractmethod
    def _project(self, x: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _jacobian(self, x: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _support(self, v: FloatArray) -> FloatArray: ...

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        values = (np.asarray(getattr(self, f.name)) for f in fields(self))
        return hash((type(self), *((value.shape, tuple(value.ravel().tolist())) for value in values)))


def _check_last_axis(name: str, x: FloatArray, n: int, what: str) -> FloatArray:
    if x.ndim == 0 or x.shape[-1] != n:
        raise ValueError(f"{name} must have shape (..., {n}), {what}, got {x.shape}.")
    return x


def check_parameters(name: str, x: FloatArray, **parameters: float | FloatArray) -> FloatArray:
    """Return x if the parameters, one per point, broadcast against its leading axes; else raise ValueError."""
    shapes = {key: np.shape(value) for key, value in parameters.items()}
    try:
        np.broadcast_shapes(x.shape[:-1], *shapes.values())
    except ValueError:
        given = ", ".join(f"{key} {shape}" for key, shape in shapes.items() if shape)
        raise ValueError(
            f"the leading axes {x.shape[:-1]} of {name} must broadcast against the shape of {given}; give "
            f"one value per point or a single one."
        ) from None
    return x


def _rows(x: FloatArray, *parameters: float | FloatArray) -> tuple[tuple[int, ...], list[FloatArray]]:
    """Leading shape of the points, and [x, *parameters] as flat copies with one row per point.

    Fresh contiguous copies give the kernels one type of arrays, whatever the caller passed.
    """
    lead = np.broadcast_shapes(x.shape[:-1], *(np.shape(p) for p in parameters))
    rows = np.array(np.broadcast_to(x, lead + x.shape[-1:]), order="C").reshape(math.prod(lead), x.shape[-1])
    flat = [np.array(np.broadcast_to(p, lead), dtype=float, order="C").ravel() for p in parameters]
    return lead, [rows, *flat]


def _clip(x: FloatArray, lower: float | FloatArray, upper: float | FloatArray) -> FloatArray:
    """`project_interval`, elementwise on arrays that broadcast."""
    parts = [np.array(part, dtype=float, order="C") for part in np.broadcast_arrays(x, lower, upper)]
    out = np.empty_like(parts[0])
    interval_all(parts[0].ravel(), parts[1].ravel(), parts[2].ravel(), out.reshape(-1))
    return out


def _diagonal(entries: FloatArray) -> FloatArray:
    return entries[..., None] * np.eye(entries.shape[-1])


@dataclass(frozen=True, eq=False)
class Orthant(ConvexSet):
    """Nonnegative orthant {x >= 0} in R^n, n >= 0; a self-dual cone. Its normal cone is Upr, componentwise.

    Jacobian: diagonal, 1 where x_i >= 0 (the limit from inside at x_i = 0), else 0.
    """

    n: int

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int | np.integer) or self.n < 0:
            raise ValueError(f"n must be an integer >= 0, the dimension of the space, got {self.n!r}.")
        object.__setattr__(self, "n", int(self.n))

    @property
    def dual(self) -> Orthant:
        """Dual cone {y : <y, x> >= 0 for all x in the cone}: the orthant itself."""
        return self

    def _check(self, name: str, x: FloatArray) -> FloatArray:
        return _check_last_axis(name, x, self.n, "points of the orthant")

    def _project(self, x: FloatArray) -> FloatArray:
        return _clip(x, 0.0, np.inf)

    def _jacobian(self, x: FloatArray) -> FloatArray:
        return _diagonal((x >= 0.0).astype(float))

    def _support(self, v: FloatArray) -> FloatArray:
        return np.where((v <= 0.0).all(axis=-1), 0.0, np.inf)

    def _residual(self, x: FloatArray, rho_y: FloatArray) -> FloatArray:
        return np.minimum(x, rho_y)  # [GS05] eq. (2), without cancellation


@dataclass(frozen=True, eq=False)
class Interval(ConvexSet):
    """Box {lower <= x <= upper}; bounds may be infinite, lower = upper holds a coordinate fixed.

    Bounds of shape (n,) or (..., n) make a box in R^n. Two numbers make an interval in R: then a point is a
    number, an array of any shape is a collection of points, and `jacobian` has the derivative at each point, in
    the shape of this array.

    Jacobian: diagonal, 1 where lower <= x <= upper (the limit from inside at a bound), else 0; always 0 where
    lower = upper.
    """

    lower: float | FloatArray
    upper: float | FloatArray

    def __post_init__(self) -> None:
        lower, upper = _numbers("lower", self.lower), _numbers("upper", self.upper)
        shape = _common_shape(lower=lower.shape, upper=upper.shape)
        lower, upper = (np.array(np.broadcast_to(bound, shape), order="C") for bound in (lower, upper))
        if not (lower <= upper).all():
            where, place = _first(lower > upper)
            raise ValueError(
                f"lower must be <= upper, got lower = {lower[where]} and upper = {upper[where]}{place}; "
                f"swap them, or clip a negative threshold to 0."
            )
        if (lower == np.inf).any() or (upper == -np.inf).any():
            raise ValueError(
                "lower must be < inf and upper > -inf, got a box without a finite point; a side is open with "
                "lower = -inf or upper = inf."
            )
        object.__setattr__(self, "lower", _frozen(lower))
        object.__setattr__(self, "upper", _frozen(upper))

    @property
    def _scalar(self) -> bool:
        return np.ndim(self.lower) == 0

    def _check(self, name: str, x: FloatArray) -> FloatArray:
        if self._scalar:
            return x
        shape = np.shape(self.lower)
        _check_last_axis(name, x, shape[-1], "one coordinate per bound")
        return check_parameters(name, x, bounds=np.empty(shape[:-1]))

    def _project(self, x: FloatArray) -> FloatArray:
        return _clip(x, self.lower, self.upper)

    def _jacobian(self, x: FloatArray) -> FloatArray:
        inside = (self.lower <= x) & (x <= self.upper) & np.less(self.lower, self.upper)
        entries = np.asarray(inside, dtype=float)
        return entries if self._scalar else _diagonal(entries)

    def _support(self, v: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):  # 0 * inf, which np.where drops
            terms = np.where(v > 0.0, v * self.upper, np.where(v < 0.0, v * self.lower, 0.0))
        return terms if self._scalar else terms.sum(axis=-1)

    def _residual(self, x: FloatArray, rho_y: FloatArray) -> FloatArray:
        # x - clip(x - rho y, lower, upper), without cancellation
        return np.minimum(np.maximum(rho_y, x - self.upper), x - self.lower)

    def _norm(self, x: FloatArray) -> FloatArray:
        return np.abs(x) if self._scalar else super()._norm(x)

    def _per_point(self, rho: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        if self._scalar:
            _common_shape(rho=rho.shape, points=shape)
            return rho
        return super()._per_point(rho, shape)


class _Rowwise(ConvexSet):
    """A set whose fields are parameters, one value per point, and whose maps are compiled loops over the points.

    loops : the projection of all rows, and its Jacobian; each takes points, parameters and `out`.
    """

    loops: ClassVar[tuple[Callable[..., None], Callable[..., None]]]

    @property
    def _parameters(self) -> dict[str, float | FloatArray]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def _project(self, x: FloatArray) -> FloatArray:
        lead, rows = _rows(x, *self._parameters.values())
        out = np.empty_like(rows[0])
        self.loops[0](*rows, out)
        return out.reshape(*lead, x.shape[-1])

    def _jacobian(self, x: FloatArray) -> FloatArray:
        lead, rows = _rows(x, *self._parameters.values())
        out = np.empty((*rows[0].shape, x.shape[-1]))
        self.loops[1](*rows, out)
        return out.reshape(*lead, x.shape[-1], x.shape[-1])


@dataclass(frozen=True, eq=False)
class Disk(_Rowwise):
    """Disk {|x| <= radius} in R^2, radius >= 0: isotropic friction with the threshold radius = mu r_N.

    Jacobian: see `jacobian_disk`.
    """

    radius: float | FloatArray
    loops = (disk_rows, disk_jacobian_rows)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _parameter("radius", self.radius))

    def _check(self, name: str, x: FloatArray) -> FloatArray:
        _check_last_axis(name, x, 2, "points of the plane")
        return check_parameters(name, x, **self._parameters)

    def _support(self, v: FloatArray) -> FloatArray:
        return self.radius * self._norm(v)


@dataclass(frozen=True, eq=False)
class Ellipse(_Rowwise):
    """Ellipse {(x1/a)^2 + (x2/b)^2 <= 1} in R^2, semi-axes a, b >= 0: anisotropic friction.

    One semi-axis 0 makes it a segment, two make it the origin. The projection solves a secular equation to
    rounding error relative to the larger semi-axis, for any aspect ratio. Jacobian: see `jacobian_ellipse`.
    """

    a: float | FloatArray
    b: float | FloatArray
    loops = (ellipse_rows, ellipse_jacobian_rows)

    def __post_init__(self) -> None:
        a, b = _parameter("a", self.a), _parameter("b", self.b)
        _common_shape(a=np.shape(a), b=np.shape(b))
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)

    def _check(self, name: str, x: FloatArray) -> FloatArray:
        _check_last_axis(name, x, 2, "points of the plane")
        return check_parameters(name, x, **self._parameters)

    def _support(self, v: FloatArray) -> FloatArray:
        return np.hypot(self.a * v[..., 0], self.b * v[..., 1])


@dataclass(frozen=True, eq=False)
class SecondOrderCone(_Rowwise):
    """Friction cone {r = (r_N, r_T) : |r_T| <= mu r_N} in R^d, d >= 2, normal component first.

    mu = 0 is the ray r_N >= 0, r_T = 0; mu = inf is the half-space r_N >= 0. The dual cone {y : y_N >= mu |y_T|} is
    the cone with 1/mu, so the family is closed under duality. Moreau's decomposition: r = prox_K(r) - prox_K*(-r),
    with K* the dual cone. Jacobian: see `jacobian_cone`.
    """

    mu: float | FloatArray
    loops = (cone_rows, cone_jacobian_rows)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _parameter("mu", self.mu, infinite="a half-space"))

    @property
    def dual(self) -> SecondOrderCone:
        """Dual cone {y : <y, r> >= 0 for all r in the cone}: the cone with 1/mu."""
        with np.errstate(divide="ignore", over="ignore"):
            return SecondOrderCone(np.divide(1.0, self.mu))

    def _check(self, name: str, x: FloatArray) -> FloatArray:
        if x.ndim == 0 or x.shape[-1] < 2:
            raise ValueError(f"{name} must have shape (..., d), d >= 2, normal first, got {x.shape}.")
        return check_parameters(name, x, **self._parameters)

    def _support(self, v: FloatArray) -> FloatArray:
        in_polar = (self._project(v) == 0.0).all(axis=-1)
        return np.where(in_polar, 0.0, np.inf)
