"""The return map of a section, event by event, with its derivative.

    P(x) = the state when the motion from x has come back `returns` times;    t_R(x) the time it takes
    DP = Phi + f t_R',    Phi = dx(t)/dx(0) over the cycle with all saltation matrices,  f the field at its end

t_R' is -n^T Phi / n^T f on a level with normal n, and 0 at a fixed phase.

With a reset R (`mechanisms.reset`), the state on the section gets new names after each return, and the motion goes on:

    P = R o (flow to the section) o R o ...,     DP = DR DP_n ... DR DP_1,     the same product of Phi_1, ..., Phi_n

R is a symmetry, so the field behind it is DR f, and its saltation matrix is DR itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stickslip.analysis.poincare import passages, symmetries
from stickslip.analysis.saltation import FollowedMotion, Switch, differences
from stickslip.analysis.sections import (
    TURN,
    AnySection,
    ClosingSection,
    LevelSection,
    PhaseSection,
    Section,
    is_driven,
    reset_of,
    section_of,
    section_words,
)
from stickslip.checks import Array
from stickslip.events.arcs import SAMPLES, Arc
from stickslip.events.event_driven import measured
from stickslip.events.modes import Mode
from stickslip.laws import ImpactLaw, law_from
from stickslip.mechanisms.reset import Relabelling
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, SPRING
from stickslip.scenario import Scenario


class NoReturn(ArithmeticError):
    """A motion does not come back to its section in time."""


@dataclass(frozen=True, eq=False)
class Return:
    """One evaluation of the return map.

    Attributes
    ----------
    x, t : state (2 f,) and time [s] on return;  t_A : time of the start;  mode : the mode on return
    field_A, field : (q', u') at the start and on return
    Phi : derivative at the fixed time t;  DP : derivative on the section; both (2 f, 2 f), None if not asked for
    switches : the events on the way;  grazes : lowest minimum of each contact's gap [m], inf where it has none
    orbit : times (k,) and states (k, 2 f) along the way, doubled where they jump
    arcs : the arcs on the way, each with the time up to which it belongs to the way
    residual, counts : worst residual of impacts and mode changes, and the number of events of each kind
    """

    x: Array
    t_A: float
    t: float
    mode: Mode
    field_A: Array
    field: Array
    Phi: Array | None
    DP: Array | None
    switches: tuple[Switch, ...]
    grazes: Array
    orbit: tuple[Array, Array]
    arcs: tuple[tuple[Arc, float], ...]
    residual: float
    counts: dict[str, int]

    def renamed(self, reset: Relabelling) -> Return:
        """The return with the state on the section in its new names."""
        D, mode = reset.D, self.mode
        renamed = Mode(
            mode.closed[reset.partner],
            reset.sense * mode.sense[reset.partner],
            mode.normal[reset.partner],
            mode.stick[reset.partner],
            reset.sense * mode.slip[reset.partner],
        )
        return replace(
            self, x=reset(self.x), mode=renamed, field=D @ self.field, Phi=None if self.Phi is None else D @ self.Phi,
            DP=None if self.DP is None else D @ self.DP,
        )  # fmt: skip

    def then(self, next_one: Return) -> Return:
        """This return and the next one, which begins where it ends, as one."""
        later = self.t - next_one.t_A
        Phi, DP = (
            None if a is None or b is None else b @ a for a, b in ((self.Phi, next_one.Phi), (self.DP, next_one.DP))
        )
        (times, states), (more_times, more_states) = self.orbit, next_one.orbit
        counts = {
            key: self.counts.get(key, 0) + next_one.counts.get(key, 0) for key in (*self.counts, *next_one.counts)
        }
        return Return(
            next_one.x, self.t_A, next_one.t + later, next_one.mode, self.field_A, next_one.field, Phi, DP,
            (*self.switches, *(replace(switch, t=switch.t + later) for switch in next_one.switches)),
            np.minimum(self.grazes, next_one.grazes),
            (np.concatenate([times, more_times + later]), np.concatenate([states, more_states])),
            (*self.arcs, *next_one.arcs), max(self.residual, next_one.residual), counts,
        )  # fmt: skip

    @property
    def period(self) -> float:
        return self.t - self.t_A

    @property
    def signature(self) -> tuple[tuple[str, tuple[tuple[int, int], ...]], ...]:
        """Kinds and contacts of the events, in order; they change only where a contact grazes."""
        return tuple((switch.kind, switch.slots) for switch in self.switches)

    @property
    def slowest_impact(self) -> float:
        """Smallest closing velocity of the impacts on the way [m/s], inf where there are none."""
        return min((s.speed for s in self.switches if s.kind == "impact"), default=np.inf)


@dataclass(frozen=True, eq=False)
class Setting:
    """The request for a cycle: a scenario, its section, and values that follow from the two.

    Attributes
    ----------
    given : the section as it was given, None for the system's own
    p : parameter vector;  driven : whether time stands in the equations
    travel : coordinates that stand in no equation: a cycle may shift them
    turning : angles, coordinates that the equations know up to whole turns: a cycle may turn them on
    reset : new names for the coordinates after each return; None without
    law : impact law; None: Newton's
    """

    scenario: Scenario
    given: AnySection | None
    section: Section
    p: Array
    driven: bool
    travel: tuple[int, ...]
    turning: tuple[int, ...]
    reset: Relabelling | None = None
    law: ImpactLaw | None = None

    @classmethod
    def of(cls, scenario: Scenario, section: AnySection | None = None, law: str | ImpactLaw | None = None) -> Setting:
        """Raises ValueError for a section that does not suit the system."""
        chosen, driven, name = section_of(scenario, section), is_driven(scenario), scenario.system.name
        if driven and not isinstance(chosen, PhaseSection):
            raise ValueError(
                f"system {name!r} is driven, so its cycles have the period of the drive: "
                f"give a PhaseSection(period) ('phase:PARAMETER', 'every:SECONDS'), got a section where {chosen}."
            )
        if isinstance(chosen, PhaseSection) and not driven:
            raise ValueError(
                f"system {name!r} is not driven, so no period is given to its cycles: give a LevelSection or a "
                f"ClosingSection, got a PhaseSection of {chosen.period:g} s."
            )
        p = scenario.system.parameter_vector(scenario.params)
        reset = reset_of(scenario, section)
        travel, turning = symmetries(scenario)
        if reset is not None:  # a coordinate that gets another name, or changes its sign, does not shift
            kept = np.eye(scenario.system.n_dof)
            travel = tuple(
                i for i in travel if np.array_equal(reset.J[i], kept[i]) and np.array_equal(reset.J.T[i], kept[i])
            )
        own = None if law is None else law_from(law)
        return cls(scenario, section, chosen, p, driven, travel, turning, reset, own)

    def with_parameter(self, name: str, value: float) -> Setting:
        """The setting at another value of a parameter; a section that was given stays where it is."""
        params = {**(self.scenario.params or {}), name: value}
        return Setting.of(replace(self.scenario, params=params), self.given, self.law)

    @property
    def words(self) -> str:
        """The section in words, and the new names there."""
        return section_words(self.scenario, self.section, self.reset)

    @property
    def t_A(self) -> float:
        """Time at which cycles begin [s]."""
        return self.section.offset if isinstance(self.section, PhaseSection) else 0.0

    def difference(self, x: Array, y: Array) -> Array:
        """x - y without what cycles may shift, and without whole turns, (2 f,)."""
        gap, turning = x - y, list(self.turning)
        gap[..., list(self.travel)] = 0.0
        gap[..., turning] -= TURN * np.round(gap[..., turning] / TURN)
        return gap

    def constraints(self, x: Array, mode: Mode) -> Array:
        """Gradients of quantities that closed contacts and constraints keep at zero, (k, 2 f).

        Gap and gamma_N of contacts, gamma_T in stick; equations of constraints and their rates.
        """
        system, p, t, f = self.scenario.system, self.p, self.t_A, self.scenario.system.n_dof
        kinds = np.array(system.contact_kinds, dtype=int)
        touching = mode.closed & (kinds == CONTACT)
        place = touching | ((kinds == SPRING) & (mode.stick != 0)) | (kinds == CONSTRAINT)
        normal, stick = touching | ((mode.normal != 0) & (kinds != CONTACT)), (mode.stick != 0) | (kinds >= CONSTRAINT)

        def held(x: Array) -> Array:
            W_N, W_T, w_hat = system.geometry(x[:f], t, p)
            gamma_N, gamma_T = W_N @ x[f:] + w_hat[:, 0], W_T @ x[f:] + w_hat[:, 1]
            return np.concatenate([system.gap(x[:f], t, p)[place], gamma_N[normal], gamma_T[stick]])

        return differences(held, x).reshape(-1, 2 * f)

    def basis(self, x: Array, mode: Mode, scale: Array) -> Array:
        """Perturbations of a section's state, as columns (2 f, r): on the section, on closed contacts, not a shift."""
        system, f = self.scenario.system, self.scenario.system.n_dof
        rows = [self.constraints(x, mode)]
        if isinstance(self.section, LevelSection):
            row = np.eye(2 * f)[[self.section.place(system)]]
            rows.append(row if self.reset is None else row @ np.linalg.inv(self.reset.D))
        elif isinstance(self.section, ClosingSection):
            contact = self.section.place(system)
            if self.reset is not None:
                contact = int(np.flatnonzero(self.reset.partner == contact)[0])
            W_N = system.geometry(x[:f], self.t_A, self.p)[0][contact]
            rows.append(np.concatenate([W_N, np.zeros(f)])[None])
        rows.append(np.eye(2 * f)[list(self.travel)])
        return np.asarray(scale[:, None] * null_space(np.concatenate(rows) * scale))


@dataclass(frozen=True, eq=False)
class EventMap:
    """The return map by event-driven integration.

    Attributes: returns, how often the section is passed per cycle; rtol, of the integrator; horizon, how long a cycle
    may take [s].
    """

    setting: Setting
    returns: int = 1
    rtol: float = 1e-11
    horizon: float = 1.0

    def at(self, name: str, value: float) -> EventMap:
        """The return map at another value of a parameter."""
        return replace(self, setting=self.setting.with_parameter(name, value))

    def __call__(self, x: Array, mode: Mode | None = None, tangent: bool = True) -> Return:
        """Follow the motion from x, in the mode given, until it comes back.

        Raises `NoReturn`, `Undefined` at a graze, or `MotionError`.
        """
        reset = self.setting.reset
        if reset is None:
            return self._followed(x, mode, tangent, self.returns)
        back = self._followed(x, mode, tangent, 1).renamed(reset)
        for _ in range(self.returns - 1):
            back = back.then(self._followed(back.x, back.mode, tangent, 1).renamed(reset))
        return back

    def _followed(self, x: Array, mode: Mode | None, tangent: bool, returns: int) -> Return:
        """The motion from x until it has come back `returns` times, without a reset."""
        if len(self.setting.scenario.system.spatial):
            from stickslip.analysis.return_in_space import return_in_space  # which is made of the names of this module

            return return_in_space(self, x, tangent, returns)
        setting, section = self.setting, self.setting.section
        system, t_A = setting.scenario.system, setting.t_A
        t_end = t_A + self.horizon
        if isinstance(section, PhaseSection):
            t_end = t_A + (returns + 0.01) * section.period
        motion = FollowedMotion.of(system, x, setting.p, t_A, t_end, self.rtol, mode, tangent, setting.law)
        count = 0
        for t, arc, _ in passages(motion, section):
            count += 1
            if count == returns:
                return self._return(motion, t, arc)
        raise NoReturn(
            f"the motion passes its section ({section}) {count} times within {t_end - t_A:.4g} s, "
            f"{returns} were asked for"
        )

    def _return(self, motion: FollowedMotion, t: float, arc: Arc) -> Return:
        y, n, first = arc.vector(t), 2 * motion.f, motion.passed[0]
        flow = motion.field(t, y, arc.mode)
        t_A = self.setting.t_A
        start = first.vector(t_A)
        times, states = orbit(motion, t)
        Phi = DP = None
        if motion.tangent:
            tangent = null_space(self.setting.constraints(start[:n], first.mode))
            Phi = motion.transport(arc, t) @ motion.Phi
            DP = (Phi + np.outer(flow, self._delay(motion, Phi, flow))) @ tangent @ tangent.T
            Phi = Phi @ tangent @ tangent.T
        return Return(
            y[:n].copy(), t_A, t, arc.mode, motion.field(t_A, start, first.mode), flow, Phi, DP,
            tuple(motion.switches), lowest_gaps(motion, times, states), (times, states),
            tuple((passed, min(passed.t_E, t)) for passed in motion.passed), motion.book.residual,
            dict(motion.book.counts),
        )  # fmt: skip

    def _delay(self, motion: FollowedMotion, Phi: Array, flow: Array) -> Array:
        """By how much a perturbation of the start delays the return, (2 f,)."""
        section = self.setting.section
        if isinstance(section, PhaseSection):
            return np.zeros(2 * motion.f)
        if isinstance(section, ClosingSection):
            return motion.delay
        place = section.place(motion.system)
        return -Phi[place] / flow[place]


def null_space(rows: Array) -> Array:
    """Orthonormal columns that span the null space of a matrix, whose rows may have any size."""
    size = np.linalg.norm(rows, axis=1)
    rows = rows[size > 0.0] / size[size > 0.0, None]
    if not len(rows):
        return np.eye(rows.shape[1])
    _, values, V = np.linalg.svd(rows)
    return np.asarray(V[int((values > 1e-9).sum()) :].T)


def orbit(motion: FollowedMotion, t: float) -> tuple[Array, Array]:
    """Times and states along the arcs that were passed up to t."""
    times, states = [], []
    for arc in motion.passed:
        samples = np.linspace(arc.t_A, min(arc.t_E, t), SAMPLES + 1)
        times.append(samples)
        states.append(arc.vector(samples)[:, : 2 * motion.f])
    return np.concatenate(times), np.concatenate(states)


def lowest_gaps(motion: FollowedMotion, times: Array, states: Array) -> Array:
    """The lowest minimum of each contact's gap while it is open, (n,) [m]; inf where it has no minimum in the cycle."""
    n, f = motion.system.n_contacts, motion.f
    q, u = np.ascontiguousarray(states[:, :f]), np.ascontiguousarray(states[:, f:])
    p = motion.p[: len(motion.plain.parameter_names)]
    gaps, _ = measured(motion.plain, motion.kernel, q, u, times, p)
    lowest = np.full(n, np.inf)
    for k in np.flatnonzero(motion.kinds == CONTACT):
        keep = np.append(True, np.diff(times) > 0.0)
        t, g = times[keep], gaps[keep, k]
        for i in np.flatnonzero((g[1:-1] < g[:-2]) & (g[1:-1] <= g[2:]) & (g[1:-1] > motion.gap_tol)) + 1:
            a, b, c = np.polyfit(t[i - 1 : i + 2] - t[i], g[i - 1 : i + 2], 2)  # the parabola through three samples
            lowest[k] = min(lowest[k], float(c - b * b / (4.0 * a)) if a > 0.0 else float(g[i]))
    return lowest
