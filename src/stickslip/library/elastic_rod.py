"""A straight rod of stiff segments: energies that its library entries share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import Array
from stickslip.mechanisms.lagrangian import LagrangianSystem

Expr = Any


def kinetic_energy(masses: Sequence[Expr], rates: Sequence[Expr]) -> Expr:
    """Of uniform segments whose ends move with `rates`: m/6 (a^2 + a b + b^2) each; exact where segments are rigid."""
    ends = zip(masses, pairwise(rates), strict=True)
    return sum((m * (a**2 + a * b + b**2) for m, (a, b) in ends), sp.S.Zero) / 6


def bending_energy(stiffness: Sequence[Expr], places: Sequence[Expr], w: Sequence[Expr]) -> Expr:
    """Of torsion springs `stiffness` [N m/rad] at the inner nodes, for small deflections w [m] at `places` [m]."""
    slopes = [(b - a) / (y - x) for (a, b), (x, y) in zip(pairwise(w), pairwise(places), strict=True)]
    kinks = [after - before for before, after in pairwise(slopes)]
    return sum((c * kink**2 for c, kink in zip(stiffness, kinks, strict=True)), sp.S.Zero) / 2


def stretching_energy(stiffness: Expr, a: Sequence[Expr]) -> Expr:
    """Of equal springs `stiffness` [N/m] between nodes that are displaced by a [m] along the rod."""
    return sum((stiffness * (y - x) ** 2 for x, y in pairwise(a)), sp.S.Zero) / 2


def highest_frequency(system: LagrangianSystem, q: Array) -> float:
    """The largest natural frequency about q [rad/s]; springs that only push count where q compresses them."""
    K, _ = system.jacobian(q, np.zeros(system.n_dof))
    return math.sqrt(max(0.0, float(np.linalg.eigvals(np.linalg.solve(system.mass(q), -K)).real.max())))
