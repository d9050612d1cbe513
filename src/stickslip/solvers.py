"""Solvers of contact problems: small frozen objects with their options.

`solver=` of a step, `method=` of `solve_lcp`, `solve_mlcp` and `solve_friction` take them, or the word in their `name`,
wherever a method of that name exists.  `InteriorPoint` and `ProximalPoint` are for `solve_friction`.
"""

from stickslip.contact.interior_point import InteriorPoint
from stickslip.contact.planar import (
    Alternating,
    AugmentedLagrangian,
    Auto,
    Enumerate,
    GaussSeidel,
    Lemke,
    SemismoothNewton,
)
from stickslip.contact.proximal_point import ProximalPoint

__all__ = [
    "Alternating",
    "AugmentedLagrangian",
    "Auto",
    "Enumerate",
    "GaussSeidel",
    "InteriorPoint",
    "Lemke",
    "ProximalPoint",
    "SemismoothNewton",
]
