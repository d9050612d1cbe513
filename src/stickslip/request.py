"""Options of every run, of a mechanism or of a scene: what is recorded, and what is checked.

`simulate` and `Scene.simulate` take the fields of `Records` and `Checks` as keywords of their own, or as groups:
`simulate(..., every=10, out="run.nc")` is `simulate(..., records=Records(every=10, out="run.nc"))`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from stickslip.checks import checked_time, did_you_mean, refuse_unknown_options, whole_number

ON_FAILURE = ("stop", "continue")
ON_ENERGY_GAIN = ("warn", "raise", "ignore")


@dataclass(frozen=True)
class Records:
    """Records of a run, and where they go.

    Parameters
    ----------
    every : record every N-th step; the impulses of a record are sums over the steps since the one before.
    out : stream the records to this netCDF file while they are computed; the returned trajectory is thinned where it
        would not fit into memory.
    overwrite : allow `out` to replace a trajectory of ours.
    resume : go on with the run that `out` holds where it was interrupted or killed, at its last checkpoint; the end is
        the same, bit for bit.  Starts anew where there is nothing to go on with, and returns a finished run as it is;
        `attributes["resumed"]` of the trajectory says which, and from which t.  A finished one goes on to a later
        t_end, but for "event-driven" and "adaptive", which divide the whole run.
    contacts : keep the contact points and joint reactions of every record of a scene, for `Trajectory.contacts` and
        `Trajectory.reactions`.  They stay in memory: files do not keep them, and `resume` is refused beside it.
    """

    every: int = 1
    out: str | Path | None = None
    overwrite: bool = False
    resume: bool = False
    contacts: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", whole_number(self.every, "every"))
        if self.contacts and self.resume:
            raise ValueError("contacts=True must not be given with resume=True: files do not keep contact points.")


@dataclass(frozen=True)
class Checks:
    """Checks of a run, and what happens where a check fails.

    Parameters
    ----------
    penetration_tol : deepest initial penetration that is accepted [m].  None: 1e-5 m for mechanisms, whose printed
        states have some ([GS05] Table I), 1e-6 m for scenes, where `overlap` says what happens with deeper ones.
    on_failure : "stop" at a step whose contact problem is not solved and return what there is, or "continue", counted.
    time_limit : seconds by the clock, without those of compiling, after which the run ends and returns what there is;
        None: no limit.
    on_energy_gain : what to do when the contacts of a mechanism put energy in during a step (unequal restitution
        coefficients can): "warn", "raise" `EnergyGain`, which holds the trajectory, or "ignore".  Gains below what one
        step of the forces does are the scheme's resolution and never reported.  Scenes report none.
    initialise : first make the initial velocities of a mechanism consistent with the closed contacts by an impact at
        t0 (dt = 0); it stands first in `impacts()`, and the first record is the state after it.  Scenes always make
        them consistent with the joints.
    """

    penetration_tol: float | None = None
    on_failure: str = "stop"
    time_limit: float | None = None
    on_energy_gain: str = "warn"
    initialise: bool = False

    def __post_init__(self) -> None:
        require_one_of("on_failure", self.on_failure, ON_FAILURE)
        require_one_of("on_energy_gain", self.on_energy_gain, ON_ENERGY_GAIN)
        object.__setattr__(self, "time_limit", checked_time(self.time_limit))


class RunOptions(TypedDict, total=False):
    """The fields of `Records` and `Checks`, as keywords of a call."""

    every: int
    out: str | Path | None
    overwrite: bool
    resume: bool
    contacts: bool
    penetration_tol: float | None
    on_failure: str
    time_limit: float | None
    on_energy_gain: str
    initialise: bool


Group = TypeVar("Group", Records, Checks)


def grouped(
    records: Records | None, checks: Checks | None, options: Mapping[str, Any], call: Callable[..., Any]
) -> tuple[Records, Checks]:
    """The two groups of a call that was given groups, or fields of them as keywords, or both.

    A keyword in `options` that is no field is a TypeError, which proposes keywords of `call` as well.
    """
    chosen = (_with(records, Records, "records", options), _with(checks, Checks, "checks", options))
    own = [name for name in inspect.signature(call).parameters if name not in ("self", "options")]
    refuse_unknown_options("simulate", options, [*own, *(field.name for group in chosen for field in fields(group))])
    return chosen


def _with(group: Group | None, kind: type[Group], name: str, options: Mapping[str, Any]) -> Group:
    if group is not None and not isinstance(group, kind):
        raise ValueError(f"{name} must be {kind.__name__}(...), got {group!r}.")
    given = {field.name: options[field.name] for field in fields(kind) if field.name in options}
    if group is not None and given:
        twice = ", ".join(given)
        raise ValueError(f"{twice} must be given as a keyword or in {name}={kind.__name__}(...), not both ways.")
    return replace(group or kind(), **given)


def require_one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raise ValueError unless `value` is one of some words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{did_you_mean(value, allowed)}")
