"""The ensemble that most tests share, so that its kernel is compiled once: balls that bounce, everything observed."""

from stickslip.ensembles.observables import OBSERVABLES
from stickslip.ensembles.request import prepare

BALL = {"section": "v<0", "travel": "y", "points": 4, "solver": "gauss-seidel"}
"""The section is the top of a flight, where the velocity falls through zero."""


def request_of(scenario, vary, observe=OBSERVABLES, **options):
    asked = {**BALL, **options} if observe is OBSERVABLES else options
    return prepare(scenario, vary, observe, **asked)
