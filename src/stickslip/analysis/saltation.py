"""Saltation matrices: how small perturbations of a motion pass through its events.

Between events a perturbation dx of x = (q, u) obeys dx' = (df/dx) dx in the field f of the mode.  An event h(x, t) = 0
with a jump x+ = j(x, t) is met by the perturbed motion a little earlier or later, in one field or the other:

    dx+ = S dx-,    S = D_x j + (f+ - D_x j f- - D_t j) (grad h)^T / (grad h^T f- + h_t)

    impact                 h = g_N, j the impact law in the branch (pushing, sticking, slipping) that was taken
    slip stops, reverses   h = gamma_T, j = id: a stick that follows loses one dimension, a multiplier is 0
    slip begins, lift-off  f+ = f- for one coefficient of friction: S = I; else h = mu lambda_N - |lambda_T|, j = id
    impacts accumulate     j is the velocity projection that stands for all of them

At a graze grad h^T f- is zero: there is no S, and `Undefined` is raised.
References: Aizerman and Gantmakher 1958; Leine and Nijmeijer 2004; Leine, van Campen and Glocker 2003 (woodpecker).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from stickslip.analysis.law_branch import LawBranch
from stickslip.analysis.shared_loads import holds_with_room
from stickslip.checks import Array
from stickslip.contact.planar import solver_from
from stickslip.events.arcs import Arc, Event
from stickslip.events.event_driven import EventDriven
from stickslip.events.modes import Mode, onto_velocities
from stickslip.events.motion import Motion, change
from stickslip.laws import ImpactLaw, Newton
from stickslip.mechanisms.generate import module_or_plain
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CONTACT, SPRING, System
from stickslip.trajectory import EVENT_KINDS, GRAZES, KINK, STRIKES

_STEP = 6e-6  # of central differences in a state, relative to max(1, |x|)
_TIME_STEP = 5e-4  # of differences in time [s], or a thousandth of the run
_EIGHTH_ORDER = ((1.0, 4.0 / 5.0), (2.0, -1.0 / 5.0), (3.0, 4.0 / 105.0), (4.0, -1.0 / 280.0))
_SAME_FIELD = 1e-6  # fields that differ by less than this share are one
_AT_THE_BOUND = 1e-6  # impulses that near to the bound of friction lie between two branches
_ROUND_OFF = 1e-9  # of velocities after an impact
_GRAZING = 1e-7  # a closing velocity below this share of the velocities in it
_SUBSTEPS = 2  # Gauss steps per arc: trivial multipliers of the woodpecker are 1 within 4e-9, with one step 3e-7

# Gauss-Legendre collocation with three stages, order 6 (Butcher 1964).
_ROOT = np.sqrt(15.0)
_NODES = np.array([0.5 - _ROOT / 10.0, 0.5, 0.5 + _ROOT / 10.0])
_WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0
_STAGES = np.array(
    [
        [5.0 / 36.0, 2.0 / 9.0 - _ROOT / 15.0, 5.0 / 36.0 - _ROOT / 30.0],
        [5.0 / 36.0 + _ROOT / 24.0, 2.0 / 9.0, 5.0 / 36.0 - _ROOT / 24.0],
        [5.0 / 36.0 + _ROOT / 30.0, 2.0 / 9.0 + _ROOT / 15.0, 5.0 / 36.0],
    ]
)


class Undefined(ArithmeticError):
    """There is no saltation matrix: a contact grazes, or contact forces grow without bound."""


@dataclass(frozen=True, eq=False)
class Switch:
    """An event of a motion and its saltation matrix.

    Attributes
    ----------
    t : time [s];  slots : (contact, part) of the indicators that reached zero, as in `events.arcs.Event`
    kind : a word of `EVENT_KINDS`, as in `Trajectory.events()`; "grazes" where a bound is met and nothing changes
    matrix : S, (2 f, 2 f)
    earlier : (2 f,), by how much a perturbation brings the event forward: grad h / (grad h^T f- + h_t)
    speed : closing velocity -gamma_N of an impact [m/s], else nan
    one_sided : S holds on one side only: the branch of the law changes right here, or several events coincide
    """

    t: float
    slots: tuple[tuple[int, int], ...]
    kind: str
    matrix: Array
    earlier: Array
    speed: float = np.nan
    one_sided: bool = False

    @property
    def closes(self) -> tuple[int, ...]:
        """Contacts that close in an impact."""
        return tuple(k for k, part in self.slots if part == 0) if self.kind == EVENT_KINDS[STRIKES] else ()


@dataclass
class FollowedMotion(Motion):
    """A motion with its derivative: events keep their saltation matrices, and perturbations are carried along.

    Attributes
    ----------
    start : the mode it begins in, where known
    tangent : carry perturbations along; without, only the motion
    switches : the events so far
    Phi : dx(t) / dx(t_A) at the begin of the arc that was yielded last, (2 f, 2 f)
    delay : by how much a perturbation of the start delays the last event, (2 f,) [s]
    passed : the arcs so far
    """

    start: Mode | None = None
    tangent: bool = True
    switches: list[Switch] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settled: tuple[np.ndarray, Array] | None = None
        self.Phi, self.delay = np.eye(2 * self.f), np.zeros(2 * self.f)
        self.passed: list[Arc] = []

    @classmethod
    def of(
        cls, system: System, x: Array, p: Array, t: float, t_end: float, rtol: float, start: Mode | None = None,
        tangent: bool = True, law: ImpactLaw | None = None,
    ) -> FollowedMotion:  # fmt: skip
        """The motion from x = (q, u) at t, with the usual options of `EventDriven`."""
        system.require_planar("a motion with its derivative")
        judge, f = EventDriven(rtol=rtol), system.n_dof
        return cls(
            system, module_or_plain(system.branched, "smooth", "auto"), p, law or Newton(), solver_from("auto"), t,
            x[:f].copy(), x[f:].copy(), t_end, judge.rtol, 1e-3 * judge.rtol, judge.gap_tol, judge.zeno,
            judge.max_events, start=start, tangent=tangent,
        )  # fmt: skip

    def run(self) -> tuple[Array, Array]:
        """Follow the motion to its end: x(t_end), (2 f,), and dx(t_end) / dx(t), (2 f, 2 f)."""
        for arc in self.arcs():
            last = arc
        return last.vector(last.t_E)[: 2 * self.f].copy(), self.Phi

    def arcs(self) -> Iterator[Arc]:
        passed = 0
        for arc in super().arcs():
            for switch in self.switches[passed:]:
                self.delay = -switch.earlier @ self.Phi
                self.Phi = switch.matrix @ self.Phi
            passed = len(self.switches)
            if self.tangent and self.book.counts["grazes"]:
                time, k = self.grazed
                name = self.system.contact_names[k]
                raise Undefined(f"contact {name!r} grazes at t = {time:.9g} s: the motion has no derivative there")
            self.passed.append(arc)
            yield arc
            if self.tangent:
                self.Phi = self.transport(arc, arc.t_E) @ self.Phi

    def _begin(self) -> None:
        if self.start is None:
            super()._begin()
            return
        self.mode = self.start
        self._open_gates(self.start.closed)
        self._settle(self.start.closed.copy(), self.start.sense.copy())

    def _settle(
        self, closed: np.ndarray, sense: Array, opened: list[int] | None = None, stopped: np.ndarray | None = None
    ) -> None:
        self.settled = closed.copy(), sense.copy()
        super()._settle(closed, sense, opened, stopped)

    def _act(self, event: Event) -> None:
        before, self.hit = self.mode, None
        counts = self.book.counts.copy()
        super()._act(event)
        if not self.tangent:
            return
        if self.book.counts["impacts without collision"] > counts["impacts without collision"]:
            raise Undefined(f"an impact without collision at t = {event.t:.9g} s has no saltation matrix")
        if event.slots and not self._only_gates(event):
            self.switches.append(self._switch(event, before))

    def _only_gates(self, event: Event) -> bool:
        """Whether nothing happened but that an open contact may close from now on, or may not."""
        n = self.system.n_contacts
        return all(k >= n and self.system.kink_gates[k - n] for k, _ in event.slots)

    # -- fields and their derivatives ------------------------------------------------------------------------

    def field(self, t: float, y: Array, mode: Mode) -> Array:
        """(q', u') in a mode at y, (2 f,)."""
        out = np.empty(len(y))
        self.kernel.rates(t, y, self.in_mode(mode), mode.constraints, out)
        return out[: 2 * self.f]

    def gradient(self, t: float, y: Array, mode: Mode) -> Array:
        """df/dx in a mode by central differences, (2 f, 2 f); the inner loop of `transport`, hence without copies."""
        n, point, p = 2 * self.f, y.copy(), self.in_mode(mode)
        ahead, behind, A = np.empty(len(y)), np.empty(len(y)), np.empty((n, n))
        for j in range(n):
            value = point[j]
            step = _STEP * max(1.0, abs(value))
            point[j] = value + step
            self.kernel.rates(t, point, p, mode.constraints, ahead)
            point[j] = value - step
            self.kernel.rates(t, point, p, mode.constraints, behind)
            point[j] = value
            A[:, j] = (ahead[:n] - behind[:n]) / (2.0 * step)
        return A

    def transport(self, arc: Arc, t_E: float) -> Array:
        """Fundamental matrix of dx' = (df/dx) dx along an arc, from its begin to t_E, (2 f, 2 f)."""
        n, h = 2 * self.f, (t_E - arc.t_A) / _SUBSTEPS
        Phi = np.eye(n)
        if h <= 0.0:
            return Phi
        for part in range(_SUBSTEPS):
            times = arc.t_A + (part + _NODES) * h
            A = [self.gradient(t, y, arc.mode) for t, y in zip(times, arc.vector(times), strict=True)]
            system = np.eye(3 * n) - h * np.block([[_STAGES[i, j] * A[i] for j in range(3)] for i in range(3)])
            K = np.linalg.solve(system, np.concatenate([A[i] @ Phi for i in range(3)]))
            Phi = Phi + h * np.tensordot(_WEIGHTS, K.reshape(3, n, n), 1)
        return Phi

    # -- events ----------------------------------------------------------------------------------------------

    def _switch(self, event: Event, before: Mode) -> Switch:
        """The saltation matrix of an event that has just been acted on."""
        f_A = self.field(event.t, event.y, before)
        f_E = self.field(self.t, self._vector(), self.mode)
        slots = tuple(event.slots)
        if self.hit is not None:
            return self._impact_switch(event, before, f_A, f_E)
        contact = slots[0][0]
        number = KINK if contact >= self.system.n_contacts else change(before, self.mode, contact)
        kind = EVENT_KINDS[GRAZES if number is None else number]  # a bound is met, and nothing changes
        n = 2 * self.f
        if np.abs(f_E - f_A).max() <= _SAME_FIELD * (np.abs(f_A[self.f :]).max() + np.abs(f_E[self.f :]).max()):
            return Switch(event.t, slots, kind, np.eye(n), np.zeros(n))
        rows = [self._earlier(event, before, slot, f_A) for slot in slots]
        S = np.eye(n) + np.outer(f_E - f_A, rows[0])
        return Switch(event.t, slots, kind, S, rows[0], one_sided=_disagree(rows))

    def _impact_switch(self, event: Event, before: Mode, f_A: Array, f_E: Array) -> Switch:
        assert self.hit is not None
        n = self.system.n_contacts
        closing = [slot for slot in event.slots if slot[1] == 0 and (slot[0] >= n or before.normal[slot[0]] == 0)]
        rows = [self._earlier(event, before, slot, f_A) for slot in closing]
        speed = max(-float(self.hit.normal_velocity_before[k]) for k in self.struck(closing))
        x = event.y[: 2 * self.f]
        newton = type(self.law) is Newton
        if not newton and self.system.has_friction_laws:
            raise Undefined(
                f"an impact under law {self.law.name!r} at t = {event.t:.9g} s has friction that depends on slip: no "
                "saltation matrix is known for that"
            )
        D_x, D_t, at_the_bound = self._newton_slopes(x, event.t) if newton else self._law_jump_slopes(x, event.t)
        S = D_x + np.outer(f_E - D_x @ f_A - D_t, rows[0])
        kind = EVENT_KINDS[STRIKES]
        one_sided = at_the_bound or len(closing) < len(event.slots) or _disagree(rows)
        return Switch(event.t, tuple(event.slots), kind, S, rows[0], speed, one_sided)

    def _newton_slopes(self, x: Array, t: float) -> tuple[Array, Array, bool]:
        """Derivatives of the jump by the state and by time, and whether a branch of Newton's law ends right here."""
        branch = ImpactBranch.of(self, x)
        D_t = time_difference(lambda t: branch.jump(x, t), t, min(_TIME_STEP, 1e-3 * self.span))
        return differences(lambda x: branch.jump(x, t), x), D_t, branch.at_the_bound

    def _law_jump_slopes(self, x: Array, t: float) -> tuple[Array, Array, bool]:
        """What `_newton_slopes` gives, of another law."""
        branch, f, n = LawBranch.of(self, x), self.f, 2 * self.f
        whole = np.concatenate([np.eye(f, n + 1), branch.slopes(x, t, np.eye(n + 1 + len(self.p), n + 1))[:f]])
        return whole[:, :n], whole[:, n], branch.at_the_bound

    def struck(self, closing: list[tuple[int, int]]) -> list[int]:
        """Contacts that collided: the closing ones, or all where a kink turned contacts against each other."""
        n = self.system.n_contacts
        kinked = any(k >= n for k, _ in closing)
        return list(range(n)) if kinked else [k for k, _ in closing]

    def _earlier(self, event: Event, mode: Mode, slot: tuple[int, int], f_A: Array) -> Array:
        """grad h / (grad h^T f- + h_t) of an indicator, (2 f,); raises `Undefined` where it is met tangentially."""
        f, (k, part), p, n = self.f, slot, self.in_mode(mode), self.system.n_contacts
        q, u = event.y[:f], event.y[f : 2 * f]
        W_N, W_T, w_hat = self.system.geometry(q, event.t, p)
        if k >= n:

            def level(x: Array, t: float = event.t) -> Array:
                return self.system.kinks(x[:f], t, p)[k - n : k - n + 1]

            gradient = differences(level, event.y[: 2 * f])[0]
            h_t = time_difference(lambda t: level(event.y[: 2 * f], t), event.t, min(_TIME_STEP, 1e-3 * self.span))
            slope, size = float(gradient @ f_A + h_t[0]), float(np.abs(gradient) @ np.abs(f_A) + abs(h_t[0]))
        elif part == 0 and mode.normal[k] == 0 and self.kinds[k] == CONTACT:
            slope, size = float(W_N[k] @ u + w_hat[k, 0]), float(np.abs(W_N[k]) @ np.abs(u) + abs(w_hat[k, 0]))
            gradient = np.concatenate([W_N[k], np.zeros(f)])
        else:

            def indicator(x: Array, t: float = event.t) -> Array:
                y, out = np.concatenate([x, event.y[2 * f :]]), np.empty((1, self.system.n_contacts, 3))
                self.kernel.indicators(np.array([t]), y[None], p, mode.constraints, out)
                return out[0, k, part : part + 1]

            gradient = differences(indicator, event.y[: 2 * f])[0]
            if part == 1 and mode.stick[k] == 0 and self.kinds[k] != SPRING:  # h = s gamma_T
                zeta = self.system.drift(q, u, event.t, p)
                slope = float(mode.slip[k] * (W_T[k] @ f_A[f:] + zeta[k, 1]))
            else:
                step = min(_TIME_STEP, 1e-3 * self.span)
                h_t = time_difference(lambda t: indicator(event.y[: 2 * f], t), event.t, step)
                slope = float(gradient @ f_A + h_t[0])
            size = float(np.abs(gradient) @ np.abs(f_A))
        if not abs(slope) > _GRAZING * size:
            name = self.system.contact_names[k] if k < n else "of a kink"
            raise Undefined(f"contact {name!r} meets its event at t = {event.t:.9g} s tangentially: it grazes")
        return gradient / slope


@dataclass(frozen=True, eq=False)
class ImpactBranch:
    """Newton's impact law with its branch held: which contacts push, and which of those stick or slip.

        pushing: gamma_N+ = -eps_N gamma_N-;   sticking: gamma_T+ = -eps_T gamma_T-;   slipping: Lambda_T = r Lambda_N

    followed by the velocity projection onto the contacts that stay closed.
    """

    motion: FollowedMotion
    pushing: np.ndarray
    sticking: np.ndarray
    ratio: Array  # r = Lambda_T / Lambda_N of slipping contacts, 0 of the others
    mu: Array  # friction where the impact happened
    speed: Array  # of slip after the impact [m/s]
    at_the_bound: bool

    @classmethod
    def of(cls, motion: FollowedMotion, x: Array, constant: bool = True) -> ImpactBranch:
        """The branch that the motion's last impact took: xi_T = 0 where it sticks, Lambda_T at its bound where not.

        x : state before the impact, (2 f,);  constant : refuse friction that changes with the speed of slip.
        """
        hit, system, p = motion.hit, motion.system, motion.p
        assert hit is not None
        mu, eps_N, eps_T, _ = system.laws_at(x[: motion.f], motion.t, p, x[motion.f :])
        _, eps_T = motion.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        N, T = hit.normal_impulse, hit.tangential_impulse
        pushing = N > 0.0
        W_N, W_T, w_hat = system.geometry(motion.q, motion.t, p)
        frictional = pushing & (mu > 0.0) & W_T.any(axis=1)
        before, after = hit.tangential_velocity_before, hit.tangential_velocity_after
        # Relative to what slip is made of: a contact that rolls has a slip of round-off before and after.
        size = np.abs(W_T) @ (np.abs(x[motion.f :]) + np.abs(hit.u)) + np.abs(w_hat[:, 1])
        off = np.abs(after + eps_T * before) / (size + 1e-300)
        slips = frictional & (off > _ROUND_OFF)
        if system.has_friction_laws and constant:
            _require_constant(motion, np.abs(after), slips)
        room = np.where(frictional, 1.0 - np.abs(T) / np.where(frictional, mu * N, 1.0), 1.0)
        between = frictional & (np.where(slips, off, room) < _AT_THE_BOUND)
        held, bound = frictional & ~slips, (mu, 0.0 * mu)
        if np.any(between & held) and holds_with_room((W_N, W_T), (N, T), bound, held, pushing):
            between &= slips
        ratio = np.where(slips, T / np.where(pushing, N, 1.0), 0.0)
        speed = np.abs(after)
        there = system.sliding_friction(speed, p, (x[: motion.f], motion.t))
        return cls(motion, pushing, frictional & ~slips, ratio, there, speed, bool(between.any()))

    def rows(self) -> list[tuple[int, int]]:
        """Contact and part (0 normal, 1 tangential) of the impulses that are unknowns, the constraints last."""
        N, T = np.flatnonzero(self.pushing), np.flatnonzero(self.sticking)
        constraints = self.motion.system.constraints
        return [*((int(k), 0) for k in N), *((int(k), 1) for k in T), *((int(k), 1) for k in constraints)]

    def jump(self, x: Array, t: float) -> Array:
        """(q, u+) of a state before the impact, (2 f,)."""
        motion, system, f = self.motion, self.motion.system, self.motion.f
        q, u, p = x[:f], x[f:], motion.p
        W_N, W_T, w_hat = system.geometry(q, t, p)
        _, eps_N, eps_T, _ = system.laws_at(q, t, p, u)
        eps_N, eps_T = motion.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        ratio = self.ratio
        if system.state_laws:  # friction is another one beside the place of the impact
            here = system.sliding_friction(self.speed, p, (q, t))
            ratio = ratio * here / np.where(ratio != 0.0, self.mu, 1.0)
        N, T = np.flatnonzero(self.pushing), np.flatnonzero(self.sticking)
        C = np.concatenate([W_N[N], W_T[T]])
        R = np.concatenate([W_N[N] + ratio[N, None] * W_T[N], W_T[T]])
        gamma = C @ u + np.concatenate([w_hat[N, 0], w_hat[T, 1]])
        inertia = Inertia.at(system, q, t, p, directions=(W_N, W_T, w_hat))
        V = inertia.solve(R.T)
        wanted = (1.0 + np.concatenate([eps_N[N], eps_T[T]])) * gamma
        u = u - V @ np.linalg.lstsq(C @ V, wanted, rcond=1e-12)[0]
        assert motion.settled is not None
        u, _ = onto_velocities(system, t, q, u, p, *motion.settled)
        return np.concatenate([q, u])


def _require_constant(motion: FollowedMotion, speed: Array, slips: np.ndarray) -> None:
    """Raise where a contact slips in an impact with a coefficient of friction that changes with the speed."""
    place = motion.q, motion.t
    here, faster = (motion.system.sliding_friction(factor * speed, motion.p, place) for factor in (1.0, 1.0 + 1e-6))
    changing = np.flatnonzero(slips & (here != faster))
    if len(changing):
        name = motion.system.contact_names[changing[0]]
        raise Undefined(
            f"contact {name!r} slips in an impact at t = {motion.t:.9g} s with friction that depends on the speed: no "
            "saltation matrix is known for that"
        )


def differences(function: Callable[[Array], Array], x: Array) -> Array:
    """Jacobian of a function by central differences, (m, n)."""
    columns = []
    for j in range(len(x)):
        step = np.zeros(len(x))
        step[j] = _STEP * max(1.0, abs(float(x[j])))
        columns.append((function(x + step) - function(x - step)) / (2.0 * step[j]))
    return np.stack(columns, axis=-1)


def time_difference(function: Callable[[float], Array], t: float, step: float) -> Array:
    """Derivative with respect to time by central differences of order 8."""
    parts = [w * (function(t + i * step) - function(t - i * step)) / step for i, w in _EIGHTH_ORDER]
    return np.asarray(sum(parts[1:], parts[0]))


def _disagree(rows: list[Array]) -> bool:
    """Whether events that coincide would part under a perturbation."""
    return any(np.abs(row - rows[0]).max() > 1e-6 * np.abs(rows[0]).max() for row in rows[1:])
