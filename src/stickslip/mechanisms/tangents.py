"""Services for systems whose contacts have two tangents."""

from __future__ import annotations

from stickslip.contact.planar import PlanarSolver, not_in_space
from stickslip.laws import ImpactLaw, Newton
from stickslip.mechanisms.system import System


def require_for_tangents(system: System, solver: PlanarSolver, law: ImpactLaw | None = None) -> None:
    """ValueError where a contact has two tangents, and the solver or the impact law knows one only."""
    if not len(system.spatial):
        return
    if not solver.in_space:
        raise ValueError(not_in_space(solver.name))
    if law is not None and not isinstance(law, Newton):
        name = system.contact_names[int(system.spatial[0])]
        raise ValueError(
            f"law must be Newton's for contacts with two tangents, such as {name!r}, got {type(law).__name__}: the "
            "others follow one direction of slip through the impact."
        )
