"""Moreau's sweeping process by the catching-up algorithm: a point that a moving convex set sweeps along.

The problem ([S00] section 1.5): a convex set C(t) moves.  A point x(t) in the set stays where it is until the boundary
reaches it; then the boundary pushes the point along the inward normal,

    -dx/dt in N_C(t)(x(t)),    x(0) in C(0).

Where C jumps, x jumps to the nearest point of the new set.  The catching-up algorithm x_k+1 = prox_C(t_k+1)(x_k) is the
implicit Euler method of this inclusion; every step moves along a normal of the set it ends in, without error.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import Array, real_array, real_number, require_numbers, shown
from stickslip.run.options import number_of_steps
from stickslip.run.progress import progress_bar

_PIECE = 1000
"""Steps between two reports to the progress bar."""


class MovingSet(ABC):
    """A closed convex set C(t) of points in d dimensions; a subclass implements `project` and `support`."""

    @abstractmethod
    def project(self, t: float, x: Array) -> Array:
        """The point of C(t) nearest to x, (d,)."""

    @abstractmethod
    def support(self, t: float, v: Array) -> float:
        """sigma(v) = max v . y over y in C(t); v is a normal at x in C(t) if and only if sigma(v) = v . x."""


@dataclass(frozen=True)
class MovingBall(MovingSet):
    """A ball |x - centre| <= radius; a disk in the plane.

    Parameters
    ----------
    centre : point [m], (d,), or a function of t
    radius : [m], not negative, or a function of t
    """

    centre: ArrayLike | Callable[[float], ArrayLike]
    radius: float | Callable[[float], float]

    def _at(self, t: float) -> tuple[Array, float]:
        centre = _value(self.centre, t, "centre")
        if centre.ndim != 1:
            raise ValueError(f"centre must be a point, shape (d,), got shape {centre.shape}.")
        radius = float(_value(self.radius, t, "radius"))
        if radius < 0.0:
            raise ValueError(f"radius must not be negative, got {radius:g} at t = {t:g}: the set would be empty.")
        return centre, radius

    def project(self, t: float, x: Array) -> Array:
        centre, radius = self._at(t)
        _require_dimension(x, len(centre))
        away = x - centre
        distance = math.sqrt(float(away @ away))
        return x if distance <= radius else centre + away * (radius / distance)

    def support(self, t: float, v: Array) -> float:
        centre, radius = self._at(t)
        return float(v @ centre) + radius * math.sqrt(float(v @ v))


@dataclass(frozen=True)
class MovingPolygon(MovingSet):
    """A convex polygon in the plane.

    Parameters
    ----------
    vertices : corners in counterclockwise order [m], (n, 2), or a function of t
    """

    vertices: ArrayLike | Callable[[float], ArrayLike]

    def _at(self, t: float) -> tuple[Array, Array]:
        corners = _value(self.vertices, t, "vertices")
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise ValueError(f"vertices must have shape (n, 2) with n >= 3, got {corners.shape}.")
        sides = np.roll(corners, -1, axis=0) - corners
        ahead = np.roll(sides, -1, axis=0)
        turns = sides[:, 0] * ahead[:, 1] - sides[:, 1] * ahead[:, 0]
        left = not np.any(turns < -1e-12 * np.abs(turns).max(initial=0.0))
        if not left or abs(_turned(sides) - 2.0 * math.pi) > 1e-6:  # a pentagram turns left, too, but twice around
            raise ValueError(f"vertices must be those of a convex polygon, counterclockwise, and are not at t = {t:g}.")
        return corners, sides

    def project(self, t: float, x: Array) -> Array:
        corners, sides = self._at(t)
        _require_dimension(x, 2)
        away = x - corners
        if np.all(sides[:, 0] * away[:, 1] - sides[:, 1] * away[:, 0] >= 0.0):
            return x
        along = np.clip((away * sides).sum(axis=1) / np.maximum((sides * sides).sum(axis=1), 1e-300), 0.0, 1.0)
        feet = corners + along[:, None] * sides
        return feet[int(np.argmin(((feet - x) ** 2).sum(axis=1)))]

    def support(self, t: float, v: Array) -> float:
        return float((self._at(t)[0] @ v).max())


@dataclass(frozen=True, eq=False)
class SweepingPath:
    """The path of a point in a sweeping process, with two numbers that prove it; `sweeping_process` returns it.

    Attributes
    ----------
    t : times [s], shape (n,)
    x : points [m], shape (n, d); the first is the start, put into C(t0)
    distance : largest distance of a point from its set [m]
    normality : largest (sigma(v) - v . x_k+1) / |v| of the steps v = x_k - x_k+1 [m]: 0 where all steps are normals
    """

    t: Array
    x: Array
    distance: float
    normality: float

    @property
    def variation(self) -> float:
        """Length of the path, jumps included [m]."""
        return float(np.linalg.norm(np.diff(self.x, axis=0), axis=1).sum())

    def __repr__(self) -> str:
        return (
            f"<SweepingPath: {len(self.t)} points, t = {self.t[0]:g} .. {self.t[-1]:g}, length {self.variation:.6g} m; "
            f"outside by {self.distance:.1e} m, off the normals by {self.normality:.1e} m>"
        )


def sweeping_process(
    moving: MovingSet, x0: ArrayLike, *, dt: float, t_end: float, t0: float = 0.0, progress: bool | None = None
) -> SweepingPath:
    """Sweep a point along with a moving convex set: -dx/dt in N_C(t)(x), x in C(t), by catching up.

    Order 1 where the set moves smoothly ([S00] section 1.5; Moreau 1977 proves order 1/2 for every Lipschitz motion).
    Jumps of the set are exact.

    Parameters
    ----------
    moving : MovingBall, MovingPolygon, or another MovingSet
    x0 : start [m], shape (d,); a start outside of C(t0) is first put onto the nearest point of C(t0)
    dt, t_end, t0 : step size, end and start [s]; the last step is shorter where dt does not divide t_end - t0
    progress : show a progress bar on stderr; None shows it on a terminal and in a notebook

    Returns
    -------
    SweepingPath : times and points, with the proof that all points lie in their sets and all steps along normals.

    Raises
    ------
    ValueError : not a MovingSet, numbers that are not finite, a start of another dimension, an empty or wrong set.

    Examples
    --------
    >>> import numpy as np, stickslip as ss
    >>> disk = ss.MovingBall(centre=lambda t: (t, 0.0), radius=1.0)
    >>> path = ss.sweeping_process(disk, (-0.6, 0.8), dt=1e-3, t_end=3.0)
    >>> angle = 2 * np.arctan(2 * np.exp(3.0))  # a tractrix: tan(angle / 2) grows from 2 as exp(t)
    >>> bool(np.allclose(path.x[-1], (3 + np.cos(angle), np.sin(angle)), atol=1e-3))
    True
    """
    if not isinstance(moving, MovingSet):
        raise ValueError(f"moving must be a MovingBall, a MovingPolygon or another MovingSet, got {moving!r}.")
    start, step = real_number(t0, "t0"), real_number(dt, "dt")
    end = real_number(t_end, "t_end")
    steps = number_of_steps(step, end, start)
    if abs(steps * step - (end - start)) > 1e-9 * step * steps:
        steps = math.ceil((end - start) / step)
    x = real_array(x0, f"x0 must be a point, got {shown(x0)}.")
    if x.ndim != 1 or not np.all(np.isfinite(x)):
        raise ValueError(f"x0 must be a point of finite numbers, shape (d,), got {shown(x0)}.")
    t = np.append(start + step * np.arange(steps, dtype=np.float64), end)
    path = np.empty((steps + 1, len(x)))
    path[0] = _caught(moving, t[0], x)
    with progress_bar(progress, "sweeping process", steps) as tell:
        for k in range(steps):
            path[k + 1] = moving.project(t[k + 1], path[k])
            if k % _PIECE == 0:
                tell(k)
    return SweepingPath(t, path, *_proof(moving, t, path))


def _caught(moving: MovingSet, t: float, x: Array) -> Array:
    try:
        return moving.project(t, x)
    except (IndexError, TypeError) as problem:
        raise ValueError(f"x0 must have as many numbers as the points of the set, got {len(x)}: {problem}") from None


def _turned(sides: Array) -> float:
    """Angle by which a closed polygon turns to the left; 2 pi where it goes around once."""
    sides = sides[np.any(sides != 0.0, axis=1)]
    ahead = np.roll(sides, -1, axis=0)
    return float(np.arctan2(sides[:, 0] * ahead[:, 1] - sides[:, 1] * ahead[:, 0], (sides * ahead).sum(axis=1)).sum())


def _require_dimension(x: Array, dimension: int) -> None:
    if len(x) != dimension:
        raise ValueError(f"x0 must have {dimension} numbers, as the points of the set have, got {len(x)}.")


def _proof(moving: MovingSet, t: Array, path: Array) -> tuple[float, float]:
    """Largest distance from the sets, and largest deviation of the steps from the normals."""
    outside = normality = 0.0
    for k in range(1, len(t)):
        x, v = path[k], path[k - 1] - path[k]
        outside = max(outside, float(np.linalg.norm(x - moving.project(t[k], x))))
        length = float(np.linalg.norm(v))
        if length > 0.0:
            n = v / length
            normality = max(normality, moving.support(t[k], n) - float(n @ x))
    return outside, normality


def _value(what: Any, t: float, name: str) -> Array:
    """A constant or the value of a function at t, as finite numbers."""
    given = what(t) if callable(what) else what
    require_numbers(given, name)
    value = np.asarray(given, dtype=float)
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} must be finite, got {value.tolist()} at t = {t:g}.")
    return value
