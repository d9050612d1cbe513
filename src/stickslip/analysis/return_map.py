"""The return map of a section, event by event, with its derivative.

    P(x) = the state when the motion from x has come back `returns` times;    t_R(x) the time it takes
    DP = Phi + f t_R',    Phi = dx(t)/dx(0) over the cycle with all saltation matrices,  f the field at its end

t_R' is -n^T Phi / n^T f on a level with normal n, and 0 at a fixed phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stickslip.analysis.poincare import ClosingSection, LevelSection, PhaseSection, Section, is_driven, passages, translations
from stickslip.analysis.saltation import FollowedMotion, Switch, Undefined, differences
from stickslip.complementarity.planar import solver_from
from stickslip.kernels.generate import compiled_module
from stickslip.laws import Newton
from stickslip.library.scenario import Scenario
from stickslip.model.system import CONTACT, SPRING, Array
from stickslip.stepping.arcs import SAMPLES, Arc
from stickslip.stepping.event_driven import EventDriven
from stickslip.stepping.modes import Mode


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
    switches : the events on the way;  grazes : gaps at their minima, lowest per contact [m], inf where there is none
    orbit : times (k,) and states (k, 2 f) along the way, doubled where they jump
    residual, counts : worst residual of impacts and mode changes, and how often what happened
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
    residual: float
    counts: dict[str, int]

    @property
    def period(self) -> float:
        return self.t - self.t_A

    @property
    def signature(self) -> tuple[tuple[str, tuple[tuple[int, int], ...]], ...]:
        """Kinds and contacts of the events: what stays the same until a contact grazes."""
        return tuple((switch.kind, switch.slots) for switch in self.switches)

    @property
    def slowest_impact(self) -> float:
        """Smallest closing velocity of the impacts on the way [m/s], inf where there are none."""
        return min((s.speed for s in self.switches if s.kind == "impact"), default=np.inf)


@dataclass(frozen=True, eq=False)
class EventMap:
    """The return map of a scenario, by event-driven integration.

    Attributes: returns, how often the section is passed per cycle; rtol, of the integrator; horizon, how long a cycle
    may take [s].
    """

    scenario: Scenario
    section: Section
    returns: int = 1
    rtol: float = 1e-11
    horizon: float = 1.0
    judge: EventDriven = field(init=False)
    kernel: Any = field(init=False, repr=False)
    p: Array = field(init=False, repr=False)
    driven: bool = field(init=False)
    travel: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        system = self.scenario.system
        put = object.__setattr__
        put(self, "judge", EventDriven(rtol=self.rtol))
        put(self, "kernel", compiled_module(system, "smooth", "auto"))
        put(self, "p", system.parameter_vector(self.scenario.params))
        put(self, "driven", is_driven(self.scenario))
        put(self, "travel", translations(self.scenario))
        if self.driven and not isinstance(self.section, PhaseSection):
            raise ValueError(
                f"system {system.name!r} is driven: its cycles have the period of the drive; "
                f"give a PhaseSection(period), got a section where {self.section}."
            )

    def with_parameter(self, name: str, value: float) -> EventMap:
        """The same map at another value of a parameter; a `PhaseSection` keeps its period."""
        params = {**(self.scenario.params or {}), name: value}
        return replace(self, scenario=replace(self.scenario, params=params))

    @property
    def t_A(self) -> float:
        """Time at which cycles begin [s]."""
        return self.section.offset if isinstance(self.section, PhaseSection) else 0.0

    def __call__(self, x: Array, mode: Mode | None = None, tangent: bool = True, returns: int | None = None) -> Return:
        """Follow the motion from x, in the mode given, until it comes back."""
        system, wanted = self.scenario.system, returns or self.returns
        f = system.n_dof
        t_end = self.t_A + self.horizon
        if isinstance(self.section, PhaseSection):
            t_end = self.t_A + (wanted + 0.01) * self.section.period
        plain = self.judge.motion(system, x[:f], x[f:], self.p, self.t_A, t_end, Newton(), solver_from("auto"), self.kernel)
        motion = FollowedMotion(
            system, self.kernel, self.p, plain.law, plain.solver, plain.t, plain.q, plain.u, plain.t_end,
            plain.rtol, plain.atol, plain.gap_tol, plain.zeno, plain.max_events, start=mode, tangent=tangent,
        )  # fmt: skip
        count = 0
        for t, arc in passages(motion, self.section):
            count += 1
            if count == wanted:
                return self._return(motion, t, arc)
        raise NoReturn(
            f"the motion passes its section ({self.section}) {count} times within {t_end - self.t_A:.4g} s, "
            f"{wanted} were asked for"
        )

    def _return(self, motion: FollowedMotion, t: float, arc: Arc) -> Return:
        if motion.tangent and motion.book.counts["grazes"]:
            raise Undefined("a contact grazes during the cycle: the section map has no derivative there")
        y, n, first = arc.vector(t), 2 * motion.f, motion.passed[0]
        flow = motion.field(t, y, arc.mode)
        start = first.vector(self.t_A)
        times, states = orbit(motion, t)
        Phi = DP = None
        if motion.tangent:
            tangent = null_space(constraint_gradients(self, start[:n], first.mode, self.t_A))
            Phi = motion.transport(arc, t) @ motion.Phi
            DP = (Phi + np.outer(flow, self._delay(motion, Phi, flow))) @ tangent @ tangent.T
            Phi = Phi @ tangent @ tangent.T
        return Return(
            y[:n].copy(), self.t_A, t, arc.mode, motion.field(self.t_A, start, first.mode), flow, Phi, DP,
            tuple(motion.switches), lowest_gaps(motion, times, states), (times, states),
            motion.book.residual, dict(motion.book.counts),
        )  # fmt: skip

    def _delay(self, motion: FollowedMotion, Phi: Array, flow: Array) -> Array:
        """By how much a perturbation of the start delays the return, (2 f,)."""
        if isinstance(self.section, PhaseSection):
            return np.zeros(2 * motion.f)
        if isinstance(self.section, ClosingSection):
            return motion.delay
        place = self.section.place(motion.system)
        return -Phi[place] / flow[place]

    def basis(self, x: Array, mode: Mode, t: float, scale: Array) -> Array:
        """Perturbations of a section's state, as columns (2 f, r): on the section, on closed contacts, not a shift."""
        system, f = self.scenario.system, self.scenario.system.n_dof
        rows = [constraint_gradients(self, x, mode, t)]
        if isinstance(self.section, LevelSection):
            rows.append(np.eye(2 * f)[[self.section.place(system)]])
        elif isinstance(self.section, ClosingSection):
            W_N = system.geometry(x[:f], t, self.p)[0][self.section.place(system)]
            rows.append(np.concatenate([W_N, np.zeros(f)])[None])
        rows.append(np.eye(2 * f)[list(self.travel)])
        return scale[:, None] * null_space(np.concatenate(rows) * scale)


def constraint_gradients(event_map: EventMap, x: Array, mode: Mode, t: float) -> Array:
    """Gradients of what closed contacts keep at zero, gap and gamma_N, gamma_T where they stick, rows (k, 2 f)."""
    system, p, f = event_map.scenario.system, event_map.p, event_map.scenario.system.n_dof
    kinds = np.array(system.contact_kinds, dtype=int)
    touching = mode.closed & (kinds == CONTACT)
    place = touching | ((kinds == SPRING) & (mode.stick != 0))
    normal, stick = touching | ((mode.normal != 0) & (kinds != CONTACT)), mode.stick != 0

    def held(x: Array) -> Array:
        W_N, W_T, w_hat = system.geometry(x[:f], t, p)
        gamma_N, gamma_T = W_N @ x[f:] + w_hat[:, 0], W_T @ x[f:] + w_hat[:, 1]
        return np.concatenate([system.gap(x[:f], t, p)[place], gamma_N[normal], gamma_T[stick]])

    return differences(held, x).reshape(-1, 2 * f)


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
    """The lowest minimum of each contact's gap while it is open, (n,) [m]; inf where there is none inside the cycle."""
    n, f = motion.system.n_contacts, motion.f
    gaps, energies = np.empty((len(times), n)), np.empty((len(times), 2))
    q, u = np.ascontiguousarray(states[:, :f]), np.ascontiguousarray(states[:, f:])
    motion.kernel.measure(q, u, times, motion.p, gaps, energies)
    lowest = np.full(n, np.inf)
    for k in np.flatnonzero(motion.kinds == CONTACT):
        keep = np.append(True, np.diff(times) > 0.0)
        t, g = times[keep], gaps[keep, k]
        for i in np.flatnonzero((g[1:-1] < g[:-2]) & (g[1:-1] <= g[2:]) & (g[1:-1] > motion.gap_tol)) + 1:
            a, b, c = np.polyfit(t[i - 1 : i + 2] - t[i], g[i - 1 : i + 2], 2)  # the parabola through three samples
            lowest[k] = min(lowest[k], float(c - b * b / (4.0 * a)) if a > 0.0 else float(g[i]))
    return lowest
