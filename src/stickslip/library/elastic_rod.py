"""A straight rod of stiff segments: energies shared by the library entries `angled_bar` and `chatterjee_rod`."""

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
    """Kinetic energy [J] of uniform segments with `masses` [kg] whose ends move with `rates` [m/s].

    A segment whose ends have velocities a and b has m/6 (a^2 + a b + b^2): exact for rigid segments.
    """
    ends = zip(masses, pairwise(rates), strict=True)
    return sum((m * (a**2 + a * b + b**2) for m, (a, b) in ends), sp.S.Zero) / 6


def bending_energy(stiffness: Sequence[Expr], places: Sequence[Expr], w: Sequence[Expr]) -> Expr:
    """Energy [J] of torsion springs at the inner nodes, for small deflections of the nodes.

    stiffness : of each spring [N m/rad], one per inner node
    places : distances of the nodes along the rod [m]
    w : deflections of the nodes [m]
    """
    slopes = [(b - a) / (y - x) for (a, b), (x, y) in zip(pairwise(w), pairwise(places), strict=True)]
    kinks = [after - before for before, after in pairwise(slopes)]
    return sum((c * kink**2 for c, kink in zip(stiffness, kinks, strict=True)), sp.S.Zero) / 2


def stretching_energy(stiffness: Expr, a: Sequence[Expr]) -> Expr:
    """Energy [J] of equal springs of `stiffness` [N/m] between neighbouring nodes displaced by a [m] along the rod."""
    return sum((stiffness * (y - x) ** 2 for x, y in pairwise(a)), sp.S.Zero) / 2


def highest_frequency(system: LagrangianSystem, q: Array) -> float:
    """Largest natural frequency [rad/s] of small vibrations about q; a spring that only pushes counts if compressed."""
    K, _ = system.jacobian(q, np.zeros(system.n_dof))
    return math.sqrt(max(0.0, float(np.linalg.eigvals(np.linalg.solve(system.mass(q), -K)).real.max())))
