"""The return map of systems whose contacts have two tangents: event by event, its derivative by differences.

Directions of slip turn as the motion goes on, so there is no list of saltation matrices here.  Phi = dx(t)/dx(0) at the
time of return comes from motions that begin a little beside the start, on its closed contacts:

    Phi b = (x(t; x0 + e b) - x(t; x0 - e b)) / (2 e),    e a small share of the motion's ranges
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stickslip.analysis.poincare import passages
from stickslip.analysis.return_map import EventMap, NoReturn, Return, null_space
from stickslip.analysis.saltation import Switch
from stickslip.analysis.sections import ClosingSection, PhaseSection
from stickslip.checks import Array
from stickslip.contact.planar import solver_from
from stickslip.events.arcs import SAMPLES
from stickslip.events.event_driven import EventDriven
from stickslip.events.in_space import SpaceMotion
from stickslip.events.modes import Mode
from stickslip.events.space_arcs import SpaceArc, SpaceMode
from stickslip.laws import Newton
from stickslip.trajectory.tables import EVENT_KINDS, STRIKES

STRETCH = 3e-5  # of the ranges: differences of Phi


def return_in_space(event_map: EventMap, x: Array, tangent: bool, returns: int) -> Return:
    """The motion from x until it has come back `returns` times; see `EventMap._followed`."""
    setting, section = event_map.setting, event_map.setting.section
    if isinstance(section, ClosingSection):
        raise ValueError(
            "a return map of contacts with two tangents needs a level or a phase as its section, got a section where "
            f"{section}."
        )
    t_end = setting.t_A + event_map.horizon
    if isinstance(section, PhaseSection):
        t_end = setting.t_A + (returns + 0.01) * section.period
    motion = _motion(event_map, x, t_end)
    arcs: list[SpaceArc] = []
    begins: list[Array] = []

    def note(arc: SpaceArc) -> None:
        arcs.append(arc)
        if len(arcs) == 1:
            begins.append(motion._rates(arc.t_A, arc.vector(arc.t_A))[: 2 * motion.f])

    count = 0
    for t, arc, _ in passages(motion, section, note=note):  # type: ignore[arg-type]
        count += 1
        if count == returns:
            back = _return(event_map, motion, arcs, begins[0], float(t), arc)  # type: ignore[arg-type]
            return _with_derivative(event_map, back, arcs[0]) if tangent else back
    raise NoReturn(
        f"the motion passes its section ({section}) {count} times within {t_end - setting.t_A:.4g} s, "
        f"{returns} were asked for"
    )


def _motion(event_map: EventMap, x: Array, t_end: float) -> SpaceMotion:
    setting, system = event_map.setting, event_map.setting.scenario.system
    judge, f = EventDriven(rtol=event_map.rtol), system.n_dof
    return SpaceMotion(
        system, setting.p, setting.law or Newton(), solver_from("auto"), setting.t_A, x[:f].copy(), x[f:].copy(), t_end,
        judge.rtol, 1e-3 * judge.rtol, judge.gap_tol, judge.zeno, judge.max_events,
    )  # fmt: skip


def _mode(mode: SpaceMode) -> Mode:
    """The mode as a return map keeps it: which contacts are closed, and which of their rows stick."""
    stick = mode.closed & mode.tangential & ~mode.slides
    slips = np.where(mode.closed & mode.slides, 1.0, 0.0)
    return Mode(mode.closed.copy(), slips, mode.closed.astype(np.int64), stick.astype(np.int64), slips.copy())


def _return(
    event_map: EventMap, motion: SpaceMotion, arcs: list[SpaceArc], begin: Array, t: float, arc: SpaceArc
) -> Return:
    f, t_A = motion.f, event_map.setting.t_A
    y = arc.vector(t)
    times = [np.linspace(passed.t_A, min(passed.t_E, t), SAMPLES + 1) for passed in arcs]
    states = [passed.vector(samples)[:, : 2 * f] for passed, samples in zip(arcs, times, strict=True)]
    return Return(
        y[: 2 * f].copy(), t_A, t, _mode(arc.mode), begin, motion._rates(t, y)[: 2 * f], None, None,
        _events(motion, t), np.full(motion.system.n_contacts, np.inf), (np.concatenate(times), np.concatenate(states)),
        tuple((passed, min(passed.t_E, t)) for passed in arcs),  # type: ignore[misc]
        motion.book.residual, dict(motion.book.counts),
    )  # fmt: skip


def _events(motion: SpaceMotion, t: float) -> tuple[Switch, ...]:
    """Events up to t, without saltation matrices."""
    none = np.zeros((0, 0))
    speeds = {(row[0], int(row[1])): -row[2] for row in motion.impacts}
    return tuple(
        Switch(
            time, ((k, 0),), EVENT_KINDS[kind], none, none, speeds.get((time, k), np.nan) if kind == STRIKES else np.nan
        )
        for time, kind, k in motion.happened
        if time <= t
    )


def _with_derivative(event_map: EventMap, back: Return, first: SpaceArc) -> Return:
    """The return with Phi and DP = Phi + f t_R'."""
    setting, f = event_map.setting, event_map.setting.scenario.system.n_dof
    x = first.vector(first.t_A)[: 2 * f]
    width = np.ptp(back.orbit[1], axis=0)
    scale = np.where(width > 1e-9 * width.max(), width, width.max())
    B = null_space(setting.constraints(x, _mode(first.mode)) * scale)  # perturbations in ranges
    columns = [
        (_at(event_map, x + STRETCH * scale * b, back.t) - _at(event_map, x - STRETCH * scale * b, back.t))
        / (2 * STRETCH)
        for b in B.T
    ]
    slopes = np.stack(columns, axis=-1) if columns else np.zeros((2 * f, 0))
    Phi = slopes @ B.T / scale
    delay = np.zeros(2 * f)
    if not isinstance(setting.section, PhaseSection):
        assert not isinstance(setting.section, ClosingSection)
        place = setting.section.place(setting.scenario.system)
        delay = -Phi[place] / back.field[place]
    return replace(back, Phi=Phi, DP=Phi + np.outer(back.field, delay))


def _at(event_map: EventMap, x: Array, t: float) -> Array:
    """The state at t of the motion that begins at x."""
    motion = _motion(event_map, x, t)
    for arc in motion.arcs():
        last = arc
    return np.asarray(last.vector(last.t_E)[: 2 * motion.f])
