"""Stronge's energetic restitution of one contact, rigid or with lumped compliance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stickslip.checks import LARGEST, shown
from stickslip.laws.base import Array, Coefficient, ImpactLaw, LawSolution
from stickslip.laws.lumped import integrate_lumped
from stickslip.laws.routh import ENERGETIC, integrate
from stickslip.laws.scalar import STRONGE, STRONGE_LUMPED

if TYPE_CHECKING:
    from stickslip.contact.planar import PlanarProblem, PlanarSolver


@dataclass(frozen=True)
class Stronge(ImpactLaw):
    """Stronge's energetic restitution: the normal force gives back e^2 of the work it took in compression.

        W = int gamma_N dLambda_N,    W(end) = (1 - e^2) W_c,    W_c = W where gamma_N = 0
        -dLambda_T in mu dLambda_N Sgn(gamma_T)   throughout

    model="rigid" integrates along the normal impulse through slip, stick and slip reversal (`laws.routh`).
    model="lumped" integrates Stronge's compliant contact in time (`laws.lumped`).  Its tangential spring stores
    energy, too, and reverses the slip as tangential restitution does.  With slip one way throughout, both equal
    Newton's law with eps_N = e ([PG05] eqs. (58), (59)).  As stiffness_ratio -> 0, lumped tends to rigid.

    Energy never grows.  One closed contact only.  There is no tangential coefficient: the system's is not used.
    References: Routh 1860; Stronge 1990; Stronge, James and Ravani 2001, as given in [PG05] section 7.

    Parameters
    ----------
    restitution : e in [0, 1]; None: the system's normal restitution
    model : "rigid" or "lumped"
    stiffness_ratio : eta^2, normal over tangential stiffness, of the lumped model; (2 - nu)/(2 (1 - nu)) for elastic
        bodies, 1.21 for nu = 0.3
    """

    restitution: Coefficient = None
    model: str = "rigid"
    stiffness_ratio: float = 1.21

    name = "stronge"
    MODELS: ClassVar[tuple[str, ...]] = ("rigid", "lumped")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in self.MODELS:
            raise ValueError(f"model of Stronge must be one of {', '.join(self.MODELS)}, got {self.model!r}.")
        ratio = self.stiffness_ratio
        if not (isinstance(ratio, (int, float)) and 0.0 < ratio <= LARGEST):
            raise ValueError(f"stiffness_ratio of Stronge must be positive and finite, got {shown(ratio)}.")

    @property
    def code(self) -> int:
        return STRONGE if self.model == "rigid" else STRONGE_LUMPED

    @property
    def single(self) -> bool:
        return True

    def coefficients(
        self, eps_N: Array, eps_T: Array, kinds: Sequence[int], names: Sequence[str]
    ) -> tuple[Array, Array]:
        return self._own("restitution", eps_N, kinds), np.zeros_like(eps_T)

    def _impact(self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver) -> LawSolution:
        i = self._one_contact(problem)
        if self.model == "rigid":
            return integrate(problem, i, float(eps_N[i]), ENERGETIC)
        return integrate_lumped(problem, i, float(eps_N[i]), float(self.stiffness_ratio))
