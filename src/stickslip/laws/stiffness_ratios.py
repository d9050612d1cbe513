"""Several contacts at once by their ratios of stiffness: `springs` integrates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stickslip.checks import refuse_masked, require_numbers, shown
from stickslip.laws.base import Array, Coefficient, ImpactLaw, LawSolution
from stickslip.laws.springs import Springs, spring_impact

if TYPE_CHECKING:
    from stickslip.contact.planar import PlanarProblem, PlanarSolver

WIDEST = 1e4  # ratio of the largest to the least stiffness
HERTZ = 1.5
NO_END = "the springs of the impact do not come to rest"


@dataclass(frozen=True)
class StiffnessRatios(ImpactLaw):
    """Contacts as springs whose stiffness grows without bound at fixed ratios, with Coulomb friction throughout.

        F = kappa x^n,    x' = -gamma_N in loading, -gamma_N / e^2 in unloading
        -dLambda_T in mu dLambda_N Sgn(gamma_T)   throughout

    Ratios of kappa decide in which order several contacts end.  Each gives back e^2 of the work that it has taken
    (Stronge's energetic restitution), so that energy never grows.  Of one contact this is Stronge's law, and kappa does
    not count.  Integrated in steps, to some 1e-6 of the velocities; there is no tangential coefficient.

    References: Liu, Zhao and Brogliato 2008; Herrmann and Schmalzle 1981.

    Parameters
    ----------
    restitution : e in [0, 1], one number or one per contact; None: the system's normal restitution
    stiffness : kappa, one number or one per contact; ratios alone count, up to 1e4
    model : "linear" (n = 1) or "hertz" (n = 3/2)
    """

    restitution: Coefficient = None
    stiffness: float | Sequence[float] = 1.0
    model: str = "linear"

    name = "stiffness-ratios"
    MODELS: ClassVar[tuple[str, ...]] = ("linear", "hertz")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in self.MODELS:
            raise ValueError(f"model of StiffnessRatios must be one of {', '.join(self.MODELS)}, got {self.model!r}.")
        object.__setattr__(self, "stiffness", _checked_stiffness(self.stiffness))

    @property
    def exponent(self) -> float:
        """n of F = kappa x^n."""
        return 1.0 if self.model == "linear" else HERTZ

    def coefficients(
        self, eps_N: Array, eps_T: Array, kinds: Sequence[int], names: Sequence[str]
    ) -> tuple[Array, Array]:
        self._own("stiffness", eps_N, kinds)  # for its check
        return self._own("restitution", eps_N, kinds), np.zeros_like(eps_T)

    def at(self, index: Array) -> ImpactLaw:
        if not isinstance(self.stiffness, tuple):
            return self
        return replace(self, stiffness=tuple(self.stiffness[i] for i in index))

    def _impact(self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver) -> LawSolution:
        rows, k = np.flatnonzero(problem.normal), problem.contacts
        N, T = np.zeros(k), np.zeros(k)
        m = len(rows)
        G = np.zeros((m, m, 3, 3))  # [i, j]: rows of j, columns of i
        across = problem.tangential[rows].astype(float)
        pick = np.ix_(rows, rows)
        G[:, :, 0, 0] = problem.G_NN[pick].T
        G[:, :, 0, 1] = (problem.G_NT[pick] * across).T
        G[:, :, 1, 0] = (problem.G_NT.T[pick] * across[:, None]).T
        G[:, :, 1, 1] = (problem.G_TT[pick] * np.outer(across, across)).T
        u, Lambda = np.zeros((m, 3)), np.zeros((m, 3))
        u[:, 0], u[:, 1] = problem.c_N[rows], across * problem.c_T[rows]
        numbers = np.broadcast_to(np.asarray(self.stiffness, float), (k,))
        steps = spring_impact.compiled(
            Springs(
                *_columns(G), np.array(problem.mu[rows], float), np.array(eps_N[rows], float), numbers[rows],
                self.exponent,
            ),
            u,
            Lambda,
        )  # fmt: skip
        N[rows], T[rows] = Lambda[:, 0], Lambda[:, 1]
        if steps < 0:
            return LawSolution(N, T, np.inf, False, NO_END, 0)
        return LawSolution(
            N, T, float(max(0.0, -u[:, 0].min(initial=0.0))), True, f"integrated in {steps} steps", steps
        )


def _columns(G: Array) -> tuple[Array, Array, Array]:
    """begin, other and blocks of all columns, each with its own contact first, for `springs.spring_impact`."""
    m = len(G)
    order = np.array([[i, *range(i), *range(i + 1, m)] for i in range(m)], np.int64).reshape(m, m)
    block = np.take_along_axis(G, order[:, :, None, None], axis=1).reshape(m * m, 9)
    return np.arange(0, m * m + 1, m) if m else np.zeros(1, np.int64), order.ravel(), np.ascontiguousarray(block)


def _checked_stiffness(value: object) -> float | tuple[float, ...]:
    refuse_masked(value, "stiffness")
    try:
        require_numbers(value, "stiffness")
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    good = numbers.ndim <= 1 and numbers.size and bool(np.all(np.isfinite(numbers) & (numbers > 0.0)))
    if not good or numbers.max() > WIDEST * numbers.min():
        raise ValueError(
            f"stiffness of StiffnessRatios must be positive, with ratios of up to {WIDEST:g}, got {shown(value)}; "
            "contacts that end one after the other are those of ChatterjeeRuina."
        )
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.tolist())
