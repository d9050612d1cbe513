"""How a slider touches its guide over time: the scenarios of [FLG10] Fig. 8 and how long each lasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.analysis.distinct_impacts import distinct_impacts
from stickslip.trajectory import OPEN, ImpactTable, Trajectory

NONE, ONE, ADJACENT, OPPOSITE, OTHER = range(5)
CONFIGURATIONS = ("no contact", "one corner", "two adjacent corners", "two opposite corners", "other")
"""adjacent: a face of the slider lies on the guide; opposite: the slider is tilted between both guides; other: more
corners, or both of one end, which needs a play that the step does not resolve."""

_BY_CORNERS = np.full(16, OTHER, dtype=np.int8)  # number of a set of corners: 1, 2, 4, 8 for corners 1, 2, 3, 4
_BY_CORNERS[0] = NONE
_BY_CORNERS[[1, 2, 4, 8]] = ONE
_BY_CORNERS[[1 + 2, 4 + 8]] = ADJACENT
_BY_CORNERS[[1 + 8, 2 + 4]] = OPPOSITE


def configuration_of(closed: np.ndarray) -> str:
    """The configuration in words of a slider of which these corners (4,) touch the guide."""
    return CONFIGURATIONS[int(_BY_CORNERS[int(np.asarray(closed, dtype=int) @ np.array([1, 2, 4, 8]))])]


@dataclass(frozen=True, eq=False)
class JointConfiguration:
    """Contact configuration of a translational joint with play.

    Attributes
    ----------
    t : (n,) times of the records [s].
    code : (n,) int8, number in `CONFIGURATIONS` of the step that ended at the record; `words()` spells it out.
    closed : (n, 4) bool, corners that touched the guide in the step that ended at the record.
    impacts : the distinct impacts of the four corners, see `distinct_impacts`.
    """

    t: np.ndarray
    code: np.ndarray
    closed: np.ndarray
    impacts: ImpactTable

    def words(self) -> np.ndarray:
        """The configuration in words, shape (n,)."""
        return np.array(CONFIGURATIONS)[self.code]

    @property
    def share(self) -> dict[str, float]:
        """Part of the time in each configuration; the parts add up to 1."""
        time = np.bincount(self.code[1:], weights=np.diff(self.t), minlength=len(CONFIGURATIONS))
        total = time.sum()
        return {name: float(part / total) if total else 0.0 for name, part in zip(CONFIGURATIONS, time, strict=True)}

    def __str__(self) -> str:
        parts = [f"{name} {100 * part:.1f} %" for name, part in self.share.items() if part > 0.0]
        return f"{', '.join(parts)}; {len(self.impacts)} distinct impacts of corners"


def joint_configuration(
    trajectory: Trajectory, joint: str = "corner", *, tolerance: float | None = None, min_speed: float | None = None
) -> JointConfiguration:
    """Say how the slider of a `TranslationalClearanceJoint` touched its guide in every record of a run.

    joint : name of the joint; its contacts are "<joint> 1" to "<joint> 4".
    tolerance : gap below which a corner touches [m]; default: a thousandth of the clearance, as measured on the gaps.
    min_speed : slowest approach that counts as an impact [m/s]; default: see `distinct_impacts`.

    A corner touches while it carries load or its gap is below the tolerance.  Reason: a stepper on velocity level holds
    a lasting contact by an impulse every few steps, and the contact is open by less than a dt^2 between these impulses.
    """
    names = [f"{joint} {i}" for i in (1, 2, 3, 4)]
    missing = [name for name in names if name not in trajectory.contact_names]
    if missing:
        known = ", ".join(trajectory.contact_names) or "none"
        raise ValueError(f"joint {joint!r} needs the contacts {', '.join(names)}; the run has {known}.")
    columns = [trajectory.contact_names.index(name) for name in names]
    gap = trajectory.gap[:, columns]
    if tolerance is None:
        tolerance = 1e-3 * 0.5 * float(np.median(gap[:, 0] + gap[:, 2]))  # corners 1 and 3 face each other: 2 c
    if not tolerance >= 0.0:
        raise ValueError(f"tolerance must not be negative [m], got {tolerance}.")
    closed = (trajectory.contact_state[:, columns] != OPEN) | (gap <= tolerance)
    impacts = distinct_impacts(trajectory, min_speed=min_speed)
    mine = np.isin(impacts["contact"], columns)
    table = ImpactTable({key: value[mine] for key, value in impacts.columns.items()}, impacts.names)
    return JointConfiguration(trajectory.t, _BY_CORNERS[closed @ np.array([1, 2, 4, 8])], closed, table)
