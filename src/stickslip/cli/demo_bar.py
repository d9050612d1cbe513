"""`stickslip demo bar`: the impact of a bar as a complementarity problem, solved and explained on one screen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

MASS, HALF_LENGTH, INERTIA = 1.0, 1.0, 1.0 / 3.0  # m [kg], s [m], Theta [kg m^2]


@dataclass(frozen=True)
class BarImpact:
    """One end of a bar under the angle phi hits the ground with relative velocities gamma_N, gamma_T [m/s]."""

    phi: float
    mu: float
    eps_N: float
    eps_T: float
    gamma_N: float
    gamma_T: float

    @property
    def delassus(self) -> tuple[float, float, float]:
        """alpha, beta, delta of [PG05] eq. (22)."""
        c, s = math.cos(self.phi), math.sin(self.phi)
        lever = HALF_LENGTH**2 / INERTIA
        return 1.0 / MASS + lever * c * c, 1.0 / MASS + lever * s * s, lever * s * c

    def lcp(self) -> tuple[list[list[float]], list[float]]:
        """A and b of [PG05] eq. (27): x = (Lambda_N, Lambda_TR, xi_TL), y = (xi_N, xi_TR, Lambda_TL)."""
        alpha, beta, delta = self.delassus
        A = [
            [alpha - self.mu * delta, delta, 0.0],
            [delta - self.mu * beta, beta, 1.0],
            [2.0 * self.mu, -1.0, 0.0],
        ]
        return A, [(1.0 + self.eps_N) * self.gamma_N, (1.0 + self.eps_T) * self.gamma_T, 0.0]

    def reading(self, x: Any) -> dict[str, Any]:
        """What a solution means: impulses [N s], velocities after the impact [m/s], energy change [J]."""
        alpha, beta, delta = self.delassus
        Lambda_N, Lambda_T = float(x[0]), float(x[1] - self.mu * x[0])
        gamma_N = self.gamma_N + alpha * Lambda_N + delta * Lambda_T
        gamma_T = self.gamma_T + delta * Lambda_N + beta * Lambda_T
        energy = 0.5 * ((self.gamma_N + gamma_N) * Lambda_N + (self.gamma_T + gamma_T) * Lambda_T)
        if Lambda_N == 0.0:
            kind = "no impulse"
        elif abs(Lambda_T) < self.mu * Lambda_N * (1.0 - 1e-9):
            kind = "stick"
        else:
            kind = "backward slip" if Lambda_T > 0.0 else "forward slip"
        return {
            "kind": kind,
            "normal_impulse": Lambda_N,
            "tangential_impulse": Lambda_T,
            "normal_velocity": gamma_N,
            "tangential_velocity": gamma_T,
            "energy_change": energy,
        }


OBLIQUE = BarImpact(math.radians(45.0), mu=0.3, eps_N=0.5, eps_T=0.0, gamma_N=-1.0, gamma_T=-3.0)
PAINLEVE = BarImpact(math.radians(60.0), mu=5.0 / 3.0, eps_N=0.5, eps_T=0.0, gamma_N=0.0, gamma_T=1.0)


def explain() -> None:
    """Solve the frictional impact of a bar, and say what the numbers mean."""
    from stickslip.lcp.solve import METHODS, classify_matrix, enumerate_lcp, solve_lcp

    A, b = OBLIQUE.lcp()
    print("A bar (mass 1 kg, half length 1 m) hits rough ground under 45 degrees: friction 0.3, restitution 0.5,")
    print(
        "normal velocity -1 m/s, tangential velocity -3 m/s. How large are the impulses? [Payr, Glocker 2005, eq. (27)]"
    )
    print()
    print("   find x >= 0, y >= 0 with y = A x + b and x.y = 0:     x = (Lambda_N, Lambda_TR, xi_TL)")
    for i, (row, right) in enumerate(zip(A, b, strict=True)):
        left = "   A = " if i == 1 else "       "
        middle = "   b = " if i == 1 else "       "
        print(f"{left}[{row[0]:7.3f} {row[1]:7.3f} {row[2]:7.3f} ]{middle}[{right:7.3f} ]")
    print(f"   A is {classify_matrix(A)}: " + classify_matrix(A).explain().splitlines()[0].partition(": ")[2])
    print()
    for method in METHODS:
        s = solve_lcp(A, b, method)
        if s.solved:
            numbers = "  ".join(f"{value:.10f}" for value in s.x)
            print(f"   {method:<12} x = ({numbers})   residual {s.residual:.0e}   {s.status}")
        else:
            print(f"   {method:<12} {s.status}")
    solutions = enumerate_lcp(A, b)
    print(f"   all {2 ** len(b)} supports looked at: {_count(len(solutions))}")
    print()
    for s in solutions:
        print(_sentence(OBLIQUE.reading(s.x)))
    closed_form = -(1.0 + OBLIQUE.eps_N) * OBLIQUE.gamma_N / (OBLIQUE.delassus[0] + OBLIQUE.mu * OBLIQUE.delassus[2])
    print(f"   by hand, eq. (29): Lambda_N = (1 + 0.5) / (alpha + mu delta) = {closed_form:.10f} N s")
    print()
    A, b = PAINLEVE.lcp()
    solutions = enumerate_lcp(A, b)
    print("The same bar under 60 degrees with friction 5/3, only touching the ground while it slides at 1 m/s:")
    print(
        f"   A is in no class that promises one solution, and there are {_count(len(solutions))}: Painlevé's paradox."
    )
    for s in solutions:
        print(_sentence(PAINLEVE.reading(s.x)))
    print()
    print("Next: stickslip list, stickslip run woodpecker, stickslip bench lcp, docs/complementarity.md")


def _count(solutions: int) -> str:
    return "no solution" if solutions == 0 else "one solution" if solutions == 1 else f"{solutions} solutions"


def _sentence(r: dict[str, Any]) -> str:
    return (
        f"   {r['kind']}: impulses {r['normal_impulse']:.7f} and {r['tangential_impulse']:.7f} N s, velocities after "
        f"{r['normal_velocity']:.4f} and {r['tangential_velocity']:.4f} m/s, energy {r['energy_change']:+.7f} J"
    )
