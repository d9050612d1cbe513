"""Proximal fixed point of the augmented Lagrangian (Alart, Curnier), contact by contact (SOR-prox, Studer).

    r_N <- prox_{>= 0}(r_N - rho_N u_N),     r_T <- prox of the disk mu r_N at r_T - rho_T u_T        [FLG10] (42)-(43)

with u at the newest impulses and rho from the local matrix: rho_N = 1 / W_NN, rho_T = 1 / |W_TT|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.contact.alternating import friction_step, velocity_of
from stickslip.contact.blocks import Coupled
from stickslip.contact.contacts import Contacts
from stickslip.contact.method import FrictionMethod, Outcome, Progress, sweep_until
from stickslip.jit import entry


@entry
def proximal_sweeps(contacts: Coupled, diagonal: np.ndarray, r: np.ndarray, relaxation: float, count: int) -> None:
    """`count` sweeps of the fixed point, in place."""
    mu, dim = contacts.mu, contacts.data.shape[1]
    for _ in range(count):
        for i in range(mu.shape[0]):
            k = dim * i
            if diagonal[i, 0, 0] <= 0.0:
                continue
            u_N = velocity_of(contacts, r, i, 0)
            r[k] = max(0.0, r[k] - relaxation * u_N / diagonal[i, 0, 0])
            friction_step(contacts, diagonal, r, i, mu[i] * r[k], relaxation)


@dataclass(frozen=True)
class ProximalFixedPoint(FrictionMethod):
    """Proximal fixed point; an iteration is one sweep.

    Attributes: relaxation of both steps, 0 < omega < 2.
    """

    relaxation: float = 1.0

    name = "augmented-lagrangian"
    default_iterations = 20_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.relaxation < 2.0:
            raise ValueError(f"relaxation must lie between 0 and 2, got {self.relaxation!r}.")

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        coupled, diagonal = contacts.coupled, contacts.local[0]

        def sweeps(x: np.ndarray, count: int) -> None:
            proximal_sweeps(coupled, diagonal, x, self.relaxation, count)

        return sweep_until(sweeps, contacts, r, tol, self.limit, progress)
