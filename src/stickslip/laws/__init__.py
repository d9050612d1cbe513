"""Impact laws: small frozen classes, each with its inequalities and its reference in the docstring."""

from stickslip.laws.base import ImpactLaw, LawSolution, Phase
from stickslip.laws.newton import Newton, Walton
from stickslip.laws.poisson import Poisson
from stickslip.laws.stronge import Stronge

__all__ = ["ImpactLaw", "LawSolution", "Newton", "Phase", "Poisson", "Stronge", "Walton"]
