"""Mechanisms that rest, stick, slide and roll, in their own frame (x, y, phi) with the floor at y = 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import sympy as sp

import stickslip as ss
from tests.elsewhere import FAR, Place

G = 9.81
PLACES = [*FAR, Place(1e3, 0.0), Place(0.0, 0.7)]
"""Places of the tests: those of `FAR`, one moved without a turn, and one turned on the spot."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism in its own frame: a start, and how far from `exact` a motion may be."""

    name: str
    build: Callable[..., dict]
    q0: tuple[float, float, float]
    u0: tuple[float, float, float]
    t_end: float
    exact: Callable[[np.ndarray], np.ndarray]  # coordinates (n, 3) at times (n,), in its own frame
    error: float  # [m], [rad]: of the scheme, at dt = 1e-3 s


@cache
def system(name: str) -> ss.LagrangianSystem:
    """The mechanism in its own frame, q = (x, y, phi)."""
    q, u = sp.symbols("x y phi"), sp.symbols("v_x v_y omega")
    parts = BY_NAME[name].build(*q, *u)
    return ss.LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=parts["kinetic"],
        potential=parts["potential"],
        contacts=parts["contacts"],
        name=name,
    )


def run(mechanism: Mechanism, place: Place, **options) -> ss.Trajectory:
    """The motion of a moved mechanism, told in its own frame."""
    options = {"dt": 1e-3, "t_end": mechanism.t_end, "penetration_tol": 1e-8, **options}
    return place.simulate(system(mechanism.name), mechanism.q0, mechanism.u0, **options)


# -- the mechanisms --------------------------------------------------------------------------------------------


def _body(mass, inertia, vx, vy, w):
    return mass * (vx**2 + vy**2) / 2 + inertia * w**2 / 2


def _brick(slope: float, mu: float) -> Callable[..., dict]:
    def build(x, y, phi, vx, vy, w):
        return {
            "kinetic": _body(1, 1, vx, vy, w),
            "potential": G * (y * math.cos(slope) - x * math.sin(slope)),
            "contacts": [ss.Contact("floor", gap=y, slip=x, friction=mu)],
        }

    return build


def _wheel(slope: float, mu: float, radius: float = 0.3) -> Callable[..., dict]:
    def build(x, y, phi, vx, vy, w):
        return {
            "kinetic": _body(2, radius**2, vx, vy, w),  # a disc: m r^2 / 2
            "potential": 2 * G * (y * math.cos(slope) - x * math.sin(slope)),
            "contacts": [ss.Contact("floor", gap=y - radius, slip=x + radius * phi, friction=mu)],
        }

    return build


def _block(slope: float, mu: float, width: float = 0.4, height: float = 0.2) -> Callable[..., dict]:
    def build(x, y, phi, vx, vy, w):
        feet = []
        for name, a in (("left", -width / 2), ("right", width / 2)):
            gap = y + a * sp.sin(phi) - height / 2 * sp.cos(phi)
            slip = x + a * sp.cos(phi) + height / 2 * sp.sin(phi)
            feet.append(ss.Contact(name, gap=gap, slip=slip, friction=mu))
        return {
            "kinetic": _body(1, (width**2 + height**2) / 12, vx, vy, w),
            "potential": G * (y * math.cos(slope) - x * math.sin(slope)),
            "contacts": feet,
        }

    return build


def _ladder(x, y, phi, vx, vy, w):
    return {
        "kinetic": _body(1, sp.Rational(1, 3), vx, vy, w),  # 2 m long
        "potential": G * y,
        "contacts": [
            ss.Contact("floor", gap=y - sp.sin(phi), slip=x + sp.cos(phi), friction=0.4),
            ss.Contact("wall", gap=x - sp.cos(phi), slip=y + sp.sin(phi), friction=0.3),
        ],
    }


def _still(*q0: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda t: np.tile(q0, (len(t), 1))


def _sliding(slope: float, mu: float, speed: float, y: float) -> Callable[[np.ndarray], np.ndarray]:
    a = G * (math.sin(slope) - mu * math.cos(slope))
    return lambda t: np.column_stack([speed * t + a * t**2 / 2, np.full_like(t, y), 0.0 * t])


def _rolling(slope: float, radius: float = 0.3) -> Callable[[np.ndarray], np.ndarray]:
    def exact(t):
        x = G * math.sin(slope) / 1.5 * t**2 / 2
        return np.column_stack([x, np.full_like(t, radius), -x / radius])

    return exact


def _from_slip_to_roll(mu: float, speed: float, radius: float = 0.3) -> Callable[[np.ndarray], np.ndarray]:
    """A disc that is thrown without spin rolls from t = v / (3 mu g) on, with 2/3 of its speed."""
    end = speed / (3 * mu * G)

    def exact(t):
        slipping = np.minimum(t, end)
        x = speed * slipping - mu * G * slipping**2 / 2 + 2 / 3 * speed * (t - slipping)
        turned = mu * G / (0.5 * radius) * slipping**2 / 2 + 2 / 3 * speed / radius * (t - slipping)
        return np.column_stack([x, np.full_like(t, radius), -turned])

    return exact


_steep = math.atan(0.88 / 0.8) + 1e-6  # just above the angle at which the ladder slips, (1 - mu_1 mu_2) / (2 mu_1)
_leaning = (math.cos(_steep), math.sin(_steep), _steep)
_tips = math.atan(0.4 / 0.2) * (1 - 1e-6)  # just below the slope on which the block topples
ROUNDING = 1e-13
MECHANISMS = [
    Mechanism("brick that sticks", _brick(0.29, 0.3), (0.0, 0.0, 0.0), (0, 0, 0), 1.0, _still(0, 0, 0), ROUNDING),
    Mechanism(
        "brick that slides", _brick(0.4, 0.3), (0.0, 0.0, 0.0), (0.5, 0, 0), 1.0, _sliding(0.4, 0.3, 0.5, 0), ROUNDING
    ),
    Mechanism("wheel that rolls", _wheel(0.2, 0.5), (0.0, 0.3, 0.0), (0, 0, 0), 1.0, _rolling(0.2), ROUNDING),
    Mechanism(
        "wheel that slips", _wheel(0.0, 0.2), (0.0, 0.3, 0.0), (2, 0, 0), 1.0, _from_slip_to_roll(0.2, 2.0), 2e-6
    ),
    Mechanism("block that sticks", _block(0.45, 0.5), (0.0, 0.1, 0.0), (0, 0, 0), 1.0, _still(0, 0.1, 0), ROUNDING),
    Mechanism(
        "block that slides", _block(0.3, 0.2), (0, 0.1, 0), (0, 0, 0), 1.0, _sliding(0.3, 0.2, 0.0, 0.1), ROUNDING
    ),
    Mechanism(
        "block about to topple", _block(_tips, 2.1), (0.0, 0.1, 0.0), (0, 0, 0), 0.3, _still(0, 0.1, 0), ROUNDING
    ),
    Mechanism("ladder that stands", _ladder, _leaning, (0, 0, 0), 1.0, _still(*_leaning), ROUNDING),
]
BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}
