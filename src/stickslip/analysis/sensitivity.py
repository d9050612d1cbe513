"""Derivatives of a motion by parameters and start: `sensitivity`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip import markup
from stickslip.analysis.derivative_table import DerivativeTable
from stickslip.analysis.doubted_terms import doubt_jumps
from stickslip.analysis.impulse_slopes import Impulses
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.sensitivity_in_space import columns_in_space
from stickslip.analysis.varied_motion import VariedMotion
from stickslip.checks import Array, real_number, shown, unknown_name, whole_number
from stickslip.contact.planar import solver_from
from stickslip.events.book import MotionError
from stickslip.events.event_driven import EventDriven
from stickslip.io.disk import file_path, replacing
from stickslip.laws import ImpactLaw, law_from
from stickslip.mechanisms.generate import module_or_plain
from stickslip.scenario import Scenario, require_scenario
from stickslip.trajectory import IMPACT_COLUMNS, Trajectory

if TYPE_CHECKING:
    import xarray as xr

_ROWS, _COLUMNS = 12, 4  # that are shown; of what is left out the number is
ZENO = 1e-9
"""Share of the run within which accumulating impacts are taken as one."""


@dataclass(frozen=True, eq=False, repr=False)
class EventTimes:
    """Events of a run with the derivatives of their times.

    Attributes
    ----------
    t : (m,) [s]
    dt : (m, k), dt/dp of every event by every quantity; nan where a bound is met tangentially and nothing changes
    kinds : (m,) words as in `Trajectory.events()`
    contacts : (m,) tuples of names
    names : (k,) quantities
    """

    t: Array
    dt: Array
    kinds: tuple[str, ...]
    contacts: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        if not len(self):
            return "no events"
        names = self.names[:_COLUMNS]
        rows = [["time [s]", "kind", "contact", *(f"dt/d{name}" for name in names)]]
        for t, kind, contacts, slopes in list(zip(self.t, self.kinds, self.contacts, self.dt, strict=True))[:_ROWS]:
            rows.append([f"{t:.9g}", kind, ", ".join(contacts), *(f"{x + 0.0:.6g}" for x in slopes[:_COLUMNS])])
        left = [f"... {len(self) - _ROWS} more events"] if len(self) > _ROWS else []
        left += [f"... {len(self.names) - _COLUMNS} more quantities"] if len(self.names) > _COLUMNS else []
        return "\n".join([*markup.aligned(rows), *left])


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(DerivativeTable):
    """Derivatives of a motion, one column per quantity.

    Attributes
    ----------
    names : (k,) quantities: parameters, coordinates and velocities of the start
    t : (n,) times [s];  q, u : (n, f, k) derivatives of coordinates and velocities; nan where there are none
    end : (2 f, k), those of (q, u) at the end
    event_times : `EventTimes`
    impulses : `Impulses`, the impulses of all impacts with their derivatives
    reliable : whether the derivatives exist, on both sides, all along the run
    reason : where and why not; empty where reliable
    doubts : (time [s], reason) of every doubt
    trajectory : the run itself
    exact : derivatives of the model are exact to round-off; else differences of order 8 (systems of functions)
    """

    names: tuple[str, ...]
    t: Array
    q: Array
    u: Array
    end: Array
    event_times: EventTimes
    impulses: Impulses
    reliable: bool
    reason: str
    doubts: tuple[tuple[float, str], ...]
    trajectory: Trajectory
    exact: bool

    def headline(self) -> str:
        return (
            f"sensitivity of {self.trajectory.system_name}: {self.count()}, {len(self.event_times)} events, "
            f"t = {self.t[0]:g} .. {self.t[-1]:g} s"
        )

    def to_xarray(self) -> xr.Dataset:
        """The derivatives as an `xarray.Dataset` with the dimensions time, coordinate, velocity, quantity, event,
        impact."""
        import xarray as xr

        run, events, pushes = self.trajectory, self.event_times, self.impulses
        newton_seconds = {"units": "N s"}
        return xr.Dataset(
            {
                "dq": (("time", "coordinate", "quantity"), self.q),
                "du": (("time", "velocity", "quantity"), self.u),
                "event_dt": (("event", "quantity"), events.dt),
                "event_kind": (("event",), np.array(events.kinds, dtype=str)),
                "event_contacts": (("event",), np.array([", ".join(names) for names in events.contacts], dtype=str)),
                "normal_impulse": (("impact",), pushes.normal, newton_seconds),
                "tangential_impulse": (("impact",), pushes.tangential, newton_seconds),
                "dnormal_impulse": (("impact", "quantity"), pushes.dnormal),
                "dtangential_impulse": (("impact", "quantity"), pushes.dtangential),
                "impact_dt": (("impact", "quantity"), pushes.dt),
                "impact_contact": (("impact",), np.array(pushes.contacts, dtype=str)),
            },
            {
                "time": ("time", self.t, {"units": "s"}),
                "coordinate": list(run.coordinate_names),
                "velocity": list(run.velocity_names),
                "quantity": list(self.names),
                "event_time": ("event", events.t, {"units": "s"}),
                "impact_time": ("impact", pushes.t, {"units": "s"}),
            },
            {
                "system": run.system_name,
                "reliable": int(self.reliable),
                "reason": self.reason,
                "exact": int(self.exact),
            },
        )

    def save(self, path: str | Path) -> Path:
        """Write names, times and derivatives to an npz file, whole or not at all, and return its path."""
        target = file_path(path, "path")
        target = target if target.suffix == ".npz" else target.with_name(f"{target.name}.npz")
        events, run = self.event_times, self.trajectory
        arrays: dict[str, Any] = {
            "names": self.names,
            "coordinates": run.coordinate_names,
            "velocities": run.velocity_names,
            "t": self.t,
            "q": self.q,
            "u": self.u,
            "end": self.end,
            "event_t": events.t,
            "event_dt": events.dt,
            "event_kinds": events.kinds,
            "event_contacts": [", ".join(names) for names in events.contacts],
            **self.impulses.arrays(),
            "reliable": self.reliable,
            "reason": self.reason,
        }
        with replacing(target) as draft:
            np.savez(draft, **{name: np.array(values) for name, values in arrays.items()})  # type: ignore[arg-type]
        return target


def sensitivity(
    scenario: Scenario,
    wrt: Sequence[str] | str,
    *,
    t_end: float | None = None,
    samples: int = 101,
    rtol: float = 1e-11,
    law: str | ImpactLaw | None = None,
    params: Mapping[Any, float] | None = None,
) -> Sensitivity:
    """Derivatives of a motion by parameters, start coordinates and start velocities, event by event.

    Between events the variational equations are integrated along the motion, with exact derivatives of the model; at
    impacts, stick, slip, landing and lift-off the derivative jumps, since an event comes earlier or later.  Where a
    start touches contacts, it is kept on them: a parameter that moves a closed gap acts through the start.

    Where contacts have two tangents, columns are differences of order 6 of event-driven runs with equal events.

    Parameters
    ----------
    wrt : names of parameters, coordinates (their start) and velocities (their start)
    t_end : end of the run [s]; None: the scenario's
    samples : times at which derivatives are kept, both ends included
    rtol : relative tolerance of the event-driven integrator
    law : impact law as in `simulate`; None: Newton's
    params : parameters that differ from the scenario's

    Returns
    -------
    Sensitivity : derivatives along the run and at its end, derivatives of event times, and whether they are reliable

    Raises
    ------
    ValueError : an unknown name, no scenario of a mechanism, or numbers out of range
    MotionError : the motion cannot go on
    """
    require_scenario(scenario, "sensitivity")
    end = scenario.t_end if t_end is None else real_number(t_end, "t_end")
    if not end > 0.0:
        raise ValueError(f"t_end must be positive, got {end:g}.")
    count = whole_number(samples, "samples", 2)
    case = with_params(scenario, params)
    names = checked_names(case, wrt)
    judge = EventDriven(rtol=rtol, zeno=ZENO)
    chosen = law_from(law)
    options: dict[str, Any] = dict(dt=end / (count - 1), t_end=end, stepper=judge, law=law, progress=False)
    run = not_interrupted(case.simulate(**options))
    if not run.complete:
        raise MotionError(float(run.t[-1]), f"the motion ends before t_end: {run.status}")
    if len(case.system.spatial):
        return _in_space(case, names, run, options)
    return _along(varied_motion(case, names, end, judge, chosen), names, np.linspace(0.0, end, count), run)


def _along(motion: VariedMotion, names: tuple[str, ...], times: Array, run: Trajectory) -> Sensitivity:
    """The derivatives along a motion, at some times, the last of them the end."""
    X = np.full((len(times), 2 * motion.f, len(names)), np.nan)
    for number, _, here in motion.tangents(times):
        X[number] = here
    _doubt_samples(motion, times)
    doubt_jumps(motion)
    f = motion.f
    doubts = tuple(sorted(motion.doubts, key=lambda doubt: doubt[0]))
    reason = "; ".join(f"t = {time:.9g} s: {said}" for time, said in doubts)
    moments = sorted(motion.moments, key=lambda moment: moment.t)
    events = EventTimes(
        np.array([moment.t for moment in moments]),
        np.array([moment.dt for moment in moments]).reshape(len(moments), len(names)),
        tuple(moment.kind for moment in moments),
        tuple(moment.contacts for moment in moments),
        names,
    )
    reliable = not doubts and bool(np.all(np.isfinite(X)))
    pushed = zip(*motion.pushes, strict=True) if motion.pushes else ((), ())
    impulses = Impulses.of_rows(names, run.contact_names, motion.impacts, *pushed)
    return Sensitivity(
        names, times, X[:, :f], X[:, f:], X[-1], events, impulses, reliable, reason, doubts, run, motion.slopes.exact
    )


def _in_space(scenario: Scenario, names: tuple[str, ...], run: Trajectory, options: dict[str, Any]) -> Sensitivity:
    """Derivatives where contacts have two tangents, by differences of runs."""
    found, table, f = columns_in_space(scenario, names, run, options), run.events(), run.q.shape[1]
    doubts = tuple(sorted(found.doubts, key=lambda doubt: doubt[0]))
    reason = "; ".join(f"t = {time:.9g} s: {said}" for time, said in doubts)
    events = EventTimes(
        np.asarray(table["time"], float), found.dt, tuple(map(str, table["kind"])),
        tuple((str(contact),) for contact in table["contact"]), names,
    )  # fmt: skip
    X, d = found.X, found.impacts
    rows = np.stack([run.impacts()[key] for key in IMPACT_COLUMNS], axis=-1)
    impulses = Impulses.of_rows(names, run.contact_names, rows, d[:, 1:], d[:, 0])
    return Sensitivity(
        names, run.t, X[:, :f], X[:, f:], X[-1], events, impulses, not doubts, reason, doubts, run, False
    )


def with_params(scenario: Scenario, params: Any) -> Scenario:
    """The scenario with some parameters changed; None: none."""
    if params is None:
        return scenario
    if not isinstance(params, Mapping):
        raise ValueError(f"params must be a dict of names and numbers, got {shown(params)}.")
    return replace(scenario, params={**(scenario.params or {}), **params})


def checked_names(scenario: Scenario, wrt: Any) -> tuple[str, ...]:
    """The quantities of a mechanism, checked."""
    system = scenario.system
    known = (*system.parameter_names, *system.coordinate_names, *system.velocity_names)
    return known_names(wrt, known, "parameter, coordinate or velocity")


def known_names(wrt: Any, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The names, each of them known and given once; `what` they are, for messages."""
    if not isinstance(wrt, str | Iterable):
        raise ValueError(f"wrt must be a name or a list of names, got {shown(wrt)}.")
    given: tuple[Any, ...] = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    given = tuple(getattr(name, "name", name) for name in given)  # of symbols, too
    if not given:
        raise ValueError(f"wrt must name at least one {what}, got none.")
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise ValueError(f"wrt: {unknown_name(what, name, known)}")
        if given.count(name) > 1:
            raise ValueError(f"wrt must name each quantity once, got {name!r} twice.")
    return given


def varied_motion(
    scenario: Scenario, names: tuple[str, ...], end: float, judge: EventDriven, law: ImpactLaw, t0: float = 0.0
) -> VariedMotion:
    """The motion with one column of derivatives per name, as `simulate` starts it at time t0 [s]."""
    X, directions = quantities(scenario, names)
    start = start_of(scenario, end, judge, law, t0)
    return VariedMotion(**start, directions=directions, X=X, columns=names)


def start_of(scenario: Scenario, end: float, judge: EventDriven, law: ImpactLaw, t0: float = 0.0) -> dict[str, Any]:
    """Parts of a motion, as `simulate` starts it at time t0 [s]."""
    system = scenario.system
    q, u, p = system.check(scenario.q0, scenario.u0, scenario.params, t0)
    kernel = module_or_plain(system.branched, "smooth", "auto")
    rtol, atol = judge.tolerances
    return dict(
        system=system, kernel=kernel, p=p, law=law, solver=solver_from("auto"), t=t0, q=q, u=u, t_end=end, rtol=rtol,
        atol=atol, gap_tol=judge.gap_tol, zeno=judge.zeno, max_events=judge.max_events, tangent=False,
    )  # fmt: skip


def quantities(scenario: Scenario, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Start (2 f, k) and parameters (m, k) that each of the names moves."""
    system = scenario.system
    states = (*system.coordinate_names, *system.velocity_names)
    X = np.array([[float(row == name) for name in names] for row in states])
    directions = np.array([[float(row == name) for name in names] for row in system.parameter_names])
    return X, directions.reshape(len(system.parameter_names), len(names))


def _doubt_samples(motion: VariedMotion, times: Array) -> None:
    """Doubt samples, the end among them, right at events which move in time: there derivatives jump."""
    for moment in motion.moments:
        near = np.flatnonzero(np.abs(times - moment.t) <= 1e-9 * times[-1])
        if len(near) and not moment.smooth and np.any(moment.dt != 0.0):
            what = "the run ends" if near[-1] == len(times) - 1 else "a sample lies"
            motion.doubt(moment.t, f"{what} right at an event: the derivative holds on one side")
