"""Impact laws as kernels of time steps know them: a code when it is compiled, and numbers when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.laws.base import ImpactLaw
from stickslip.laws.newton import Newton, Walton
from stickslip.laws.poisson import Poisson
from stickslip.laws.scalar import NEWTON, WALTON
from stickslip.laws.stronge import Stronge

Array = np.ndarray


def kernel_options(law: ImpactLaw | None) -> dict[str, Any]:
    """Compile-time constants of a law; none for Newton's with the system's own coefficients (None)."""
    if law is None:
        return {}
    code = WALTON if type(law) is Walton else law.code
    return {"OWN_LAW": True, "LAW": code, "DISSIPATIVE": bool(getattr(law, "dissipative", False)) and code != NEWTON}


def has_kernel(law: ImpactLaw | None) -> bool:
    """Whether kernels know the law; laws of other classes, such as a user's, run on the reference engine."""
    return law is None or type(law) in (Newton, Walton, Poisson, Stronge)


def kernel_numbers(law: ImpactLaw | None, contacts: int) -> Array:
    """The numbers of a law that stand behind the parameters of a run: eps_N (n), eps_T (n), stiffness ratio.

    nan stands for a coefficient that the law leaves to the system.
    """
    if law is None:
        return np.zeros(0)
    numbers = []
    for names in (("restitution_normal", "restitution"), ("restitution_tangential",)):
        value = next((getattr(law, name) for name in names if getattr(law, name, None) is not None), np.nan)
        numbers.append(np.broadcast_to(np.asarray(value, dtype=float), (contacts,)))
    return np.concatenate([*numbers, [float(getattr(law, "stiffness_ratio", 1.0))]])
