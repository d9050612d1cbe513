"""Data that a user gives for a body, made definite: its material, its inertia, the times at which it comes and goes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.checks import LARGEST, require_numbers, shown
from stickslip.laws.friction import Coulomb, Elliptic, FrictionLaw, LoadIndependent
from stickslip.laws.restitution import RestitutionCurve
from stickslip.request import require_one_of
from stickslip.scenes.bodies import Material, Surface
from stickslip.scenes.checks import number, vector
from stickslip.scenes.restitution import checked as checked_curve
from stickslip.scenes.shapes import Shape

PRESSURES = ("constant", "hertz")
LEAST_PRINCIPAL = 1e-12
"""Share of the largest principal inertia; below it, rounding of the matrix decides which way a body turns."""


def material_of(
    friction: Any, restitution: Any, restitution_tangential: Any, surface: Surface, dim: int, whose: str
) -> Material:
    """The material of a body, or of a pair of bodies; `whose` stands for it in errors."""
    e_T = restitution_tangential
    mu = _friction_of(friction, dim, whose)
    if isinstance(mu, FrictionLaw):
        pass
    elif isinstance(mu, list | tuple | np.ndarray) and dim == 3:
        axes = vector(mu, f"friction of {whose}", 2)
        mu = tuple(number(float(x), f"friction[{k}] of {whose} (elliptic)", positive=True) for k, x in enumerate(axes))
    elif mu is not None:
        mu = number(mu, f"friction of {whose}", least=0.0)
    if isinstance(restitution, RestitutionCurve):
        e: Any = checked_curve(restitution, whose)
    else:
        e = None if restitution is None else number(restitution, f"restitution of {whose}", least=0.0, most=1.0)
    hit = surface.get("friction_impact")
    if hit is not None:
        hit = number(hit, f"friction_impact of {whose}", least=0.0)
        if isinstance(mu, tuple):
            raise ValueError(f"friction_impact of {whose} must not be given with elliptic friction.")
    if e_T is not None:
        e_T = number(e_T, f"restitution_tangential of {whose}", least=0.0, most=1.0)
    patch, rolling = (
        None if value is None else number(value, f"{key} of {whose}", least=0.0)
        for key, value in (("patch", surface.get("patch")), ("rolling", surface.get("rolling")))
    )
    _require_resistance(mu, e_T, patch, rolling, dim, whose)
    kappa = surface.get("stiffness")
    if kappa is not None:
        kappa = number(kappa, f"stiffness of {whose}", positive=True)
    pressure = surface.get("pressure")
    if pressure is not None:
        require_one_of(f"pressure of {whose}", pressure, PRESSURES)
        if patch is None:
            raise ValueError(f"pressure of {whose} must come with patch=, the radius of the disc that it acts on [m].")
    return Material(mu, e, e_T, hit, patch, pressure, rolling, kappa)


def _require_resistance(mu: Any, e_T: Any, patch: Any, rolling: Any, dim: int, whose: str) -> None:
    """Raise ValueError where resistance to spinning or rolling is asked for beside what does not go with it."""
    if patch and dim == 2:
        raise ValueError(f"patch of {whose} must not be given in the plane: nothing spins about a normal there.")
    if (patch or rolling) and isinstance(mu, tuple):
        raise ValueError(f"patch and rolling of {whose} must not be given with elliptic friction.")
    if (patch or rolling) and isinstance(mu, FrictionLaw):
        raise ValueError(f"patch and rolling of {whose} must not be given with a friction law that depends on slip.")
    if patch and e_T:
        raise ValueError(f"patch of {whose} must not be given with restitution_tangential.")


def _friction_of(friction: Any, dim: int, whose: str) -> Any:
    """Meaning of a friction law: numbers where they say it all, else the law, whose parameters are numbers."""
    if not isinstance(friction, FrictionLaw):
        return friction
    if isinstance(friction, Elliptic):
        if dim == 2:
            raise ValueError(f"friction of {whose} in the plane must not be Elliptic: there is one direction of slip.")
        return (friction.first, friction.second)
    if isinstance(friction, Coulomb):
        return friction.coefficient
    if isinstance(friction, LoadIndependent):
        raise ValueError(
            f"friction of {whose} must depend on the load; LoadIndependent is for contacts of a mechanism."
        )
    if not 0.0 <= friction.at_rest < np.inf:
        raise ValueError(f"friction of {whose} must be finite and not negative at rest, got {friction.at_rest:g}.")
    return friction


def inertia_of(value: Any, dim: int, name: str = "inertia") -> np.ndarray:
    """The inertia about the centre of mass, (3, 3), as given; `name` stands for it in errors."""
    if dim == 2:
        return np.diag([0.0, 0.0, number(value, name, positive=True)])
    require_numbers(value, name)
    array = np.array(value, dtype=float)
    if array.shape == (3,):
        array = np.diag(array)
    if array.shape != (3, 3) or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be three principal values or a (3, 3) matrix of finite numbers, got {value!r}.")
    values = np.linalg.eigvalsh(0.5 * (array + array.T))
    if not np.allclose(array, array.T, rtol=1e-9, atol=0.0) or not values[0] > 0.0:
        raise ValueError(f"{name} must be symmetric and positive definite, got principal values {values.tolist()}.")
    if not values[0] > LEAST_PRINCIPAL * values[2]:
        raise ValueError(
            f"{name} must be positive definite beyond rounding, the least principal value above "
            f"{LEAST_PRINCIPAL:g} of the largest, got {values.tolist()}; give a thin body its thickness."
        )
    if values[2] > (values[0] + values[1]) * (1.0 + 1e-9):
        raise ValueError(f"{name} must satisfy I_1 + I_2 >= I_3, as that of every body does, got {values.tolist()}.")
    return array


def inertia_of_shape(shape: Shape, tensor: np.ndarray, dim: int, label: str) -> np.ndarray:
    """The inertia computed from a shape, made symmetric, if it is that of a body."""
    tensor = 0.5 * (tensor + tensor.T)
    try:
        return inertia_of(float(tensor[2, 2]) if dim == 2 else tensor.tolist(), dim)
    except ValueError as problem:
        raise ValueError(
            f"shape {type(shape).__name__} of {label!r} is too thin, too small or too large for its inertia to be "
            f"computed ({str(problem).rstrip('.')}); give inertia=."
        ) from None


def two_numbers(value: Any, name: str) -> tuple[float, float]:
    """Two numbers, which may be infinite."""
    try:
        first, second = (float(x) for x in value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be two numbers, got {shown(value)}.") from None
    return first, second


def time_of(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_time(value):
        raise ValueError(f"{name} must be a time [s], got {shown(value)}.")
    return float(value)


def _is_time(value: float) -> bool:
    """Whether a number is a time: finite, or an infinite float."""
    return -LARGEST <= value <= LARGEST or (isinstance(value, float) and math.isinf(value))


def gravity_of(value: Any, dim: int) -> np.ndarray:
    """Acceleration of gravity (3,) [m/s^2]: a number points downwards, -y in the plane and -z in space."""
    found = np.zeros(3)
    if not isinstance(value, list | tuple | np.ndarray):
        found[dim - 1] = -number(value, "gravity")
    else:
        found[:dim] = vector(value, "gravity", dim)
    return found
