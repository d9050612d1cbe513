"""Impact and friction laws: small frozen classes, each with its inequalities and its reference in the docstring."""

from __future__ import annotations

from typing import Any

from stickslip.checks import did_you_mean
from stickslip.laws.base import ImpactLaw, LawSolution, Phase
from stickslip.laws.chatterjee_ruina import ChatterjeeRuina
from stickslip.laws.friction import (
    Coulomb,
    Elliptic,
    FrictionCurve,
    FrictionLaw,
    LoadIndependent,
    Stribeck,
    TwoCoefficient,
)
from stickslip.laws.newton import Newton, Walton
from stickslip.laws.poisson import Poisson
from stickslip.laws.restitution import RestitutionCurve
from stickslip.laws.stiffness_ratios import StiffnessRatios
from stickslip.laws.stronge import Stronge

__all__ = [
    "NAMED_LAWS",
    "ChatterjeeRuina",
    "Coulomb",
    "Elliptic",
    "FrictionCurve",
    "FrictionLaw",
    "ImpactLaw",
    "LawSolution",
    "LoadIndependent",
    "Newton",
    "Phase",
    "Poisson",
    "RestitutionCurve",
    "StiffnessRatios",
    "Stribeck",
    "Stronge",
    "TwoCoefficient",
    "Walton",
    "law_from",
    "law_title",
]

NAMED_LAWS: dict[str, ImpactLaw] = {
    "newton": Newton(),
    "poisson": Poisson(),
    "poisson-integrated": Poisson(model="integrated"),
    "stronge": Stronge(),
    "stronge-lumped": Stronge(model="lumped"),
    "walton": Walton(),
    "chatterjee-ruina": ChatterjeeRuina(),
    "stiffness-ratios": StiffnessRatios(),
    "stiffness-ratios-hertz": StiffnessRatios(model="hertz"),
}
"""Laws with the system's own coefficients, under the names that `law=` and `--law` take."""


def law_from(value: Any) -> ImpactLaw:
    """A law from its name or from itself; None is Newton's."""
    if value is None:
        return Newton()
    if isinstance(value, ImpactLaw):
        return value
    if isinstance(value, str) and value in NAMED_LAWS:
        return NAMED_LAWS[value]
    raise ValueError(
        f"law must be one of {', '.join(NAMED_LAWS)} or a law object such as Poisson(0.5), got {value!r}"
        f"{did_you_mean(value, NAMED_LAWS)}"
    )


def law_title(value: Any) -> str:
    """The name of a law with its model, as `law=` takes it; scenes know one name more than mechanisms."""
    return value if isinstance(value, str) and value == "poisson-at-once" else law_from(value).title
