"""The march of a circuit through time: blocks of steps in one mode, single steps where the mode changes.

Within a mode a step is a matrix times the state.  A block of such steps is computed and then checked, every step on its
own problem; what comes before the first violation is kept.  The step after it looks for its mode by itself.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

import numpy as np

from stickslip.circuits.network import THYRISTOR
from stickslip.circuits.present import FIRST_BLOCK, INSTANT, JUMP, Past, PresentCircuit, Stopped
from stickslip.circuits.problem import CHOICE, FREE, LOCKED, Answer
from stickslip.circuits.records import Steps
from stickslip.circuits.signals import CLOSENESS, theirs
from stickslip.interrupts import opened

_INSTANT_TOLERANCE = 1e-7
"""Residual of an instant, which gives a step its start and mode; the step itself is held to the tolerance asked for."""
_BLOCK = 512
"""Most steps that are computed before they are checked."""
_MOST_CUTS = 20
"""Events that are located within one step; what switches more often goes to the end of the step in one piece."""
_BEYOND = "its energies are beyond 1e308 J; take smaller voltages, currents, capacitors or coils"
_CHANGED_IN_PLACE = ("status", "_before")
"""Arrays that a march changes in their place; all else of its state is replaced."""


class March(PresentCircuit):
    """The march of a run: what changes its present state, step by step and event by event."""

    # An instant: what jumps, and what is consistent after it

    def settle(self) -> None:
        """Find the state right after t: charges and fluxes that jump, currents of loops without inductance.

        Two tiny implicit steps, eps and eps / 2, are extrapolated to 0.  A current that doubles from one to the other
        is a jump of charge: u eps.
        """
        eps = INSTANT * self.dt
        u, q = self.u, self.q
        scale = max(
            float(np.abs(self.book.charges(q[None])[0] * self.book.elastances).max(initial=0.0)),
            float(np.abs(self._inputs(np.array([self.t]), np.array([self.t + eps]), 1.0)[2]).max(initial=0.0)),
        )
        for attempt in range(2):
            long, short = self._instants(eps)
            jump = eps * (short.u - long.u)
            volts = (jump @ self.net.B) * self.book.elastances
            if attempt or not np.abs(volts).max(initial=0.0) > JUMP * scale:
                break
            self._jump_of_charge(jump)
        same = np.array_equal(long.conducting, short.conducting)
        self.u = 2.0 * short.u - long.u if same else short.u
        self.conducting = short.conducting
        i_A, was = self._before_instant(u)
        i_E = self.u @ self.net.B[:, self._coils]
        size = max(float(np.abs(i_A).max(initial=0.0)), float(np.abs(i_E).max(initial=0.0)))
        end = np.array([(self.k + 1) * self.dt])  # a source that begins at 0 V drives a current by then
        drive = max(scale, float(np.abs(self._inputs(np.array([self.t]), end, 1.0)[2]).max(initial=0.0)))
        for k, before, after, most in zip(self._coils, i_A, i_E, self._most_in_coils, strict=True):
            L = self.net.branches[k].inductance
            if abs(after - before) > JUMP * max(size, most, drive * self.dt / L):  # what a step changes counts
                self._note_jump(k, 0.0, L * (after - before), (before, after), 0.5 * L * (after**2 - before**2))
        self.book.work.jumps += was - self._energy(self.u, self.q)
        self._given = None
        self._settled_at = self.t
        self._before.clear()

    def _before_instant(self, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Currents of the inductors before an instant [A], and the energy stored then [J]; u are the loop currents."""
        if self._given is None:
            return u @ self.net.B[:, self._coils], self._energy(u, self.q)
        L = self.net.L[np.ix_(self._coils, self._coils)]
        return self._given, 0.5 * float(self._given @ L @ self._given) + self._energy(0.0 * u, self.q)

    def _instants(self, eps: float) -> tuple[Answer, Answer]:
        t = self.t
        tol = max(self.tol, _INSTANT_TOLERANCE)
        long, _ = self._solve(eps, 1.0, self.conducting, t, tol)
        short, _ = self._solve(0.5 * eps, 1.0, long.conducting, t, tol)
        return long, short

    def _jump_of_charge(self, jump: np.ndarray) -> None:
        book, net = self.book, self.net
        before = book.charges(self.q[None])[0]
        was = self._energy(self.u, self.q)
        _, _, mean, _ = self._inputs(np.array([self.t]), np.array([self.t + 1e-9 * self.dt]), 1.0)
        given = -float(mean[0] @ (jump @ net.B)[net.source_branches])
        self.q = self.q + jump
        book.work.sources += given
        book.work.jumps += was + given - self._energy(self.u, self.q)
        after = book.charges(self.q[None])[0]
        for k, branch in enumerate(net.branches):
            if branch.elastance > 0.0 and abs(after[k] - before[k]) > 1e-12 * max(abs(before[k]), abs(after[k])):
                volts = (branch.elastance * before[k], branch.elastance * after[k])
                energy = 0.5 * branch.elastance * (after[k] ** 2 - before[k] ** 2)
                self._note_jump(k, after[k] - before[k], 0.0, volts, energy)

    def _note_jump(self, branch: int, charge: float, flux: float, values: tuple[float, float], energy: float) -> None:
        self.book.jumps.append(
            {
                "time": self.t,
                "branch": branch,
                "charge": charge,
                "flux": flux,
                "before": values[0],
                "after": values[1],
                "energy_change": energy,
            }
        )

    def _energy(self, u: np.ndarray, q: np.ndarray) -> float:
        magnetic, electric = self.book.stored(u[None], q[None])
        return float(magnetic[0] + electric[0])

    def present_energy(self) -> float:
        """Energy that is stored now [J]."""
        return self._energy(self.u, self.q)

    def at_end_of_step(self) -> bool:
        """Whether the state is that of the end of the last step: nothing has moved or jumped since."""
        return self.t == self.k * self.dt and self._settled_at < self.t

    # Steps

    def begin(self) -> None:
        """Consistent start, and the first record."""
        self.start_energy = self._before_instant(self.u)[1]
        self._update_status()
        self.settle()
        _, s = self._solve(0.5 * INSTANT * self.dt, 1.0, self.conducting, self.t, max(self.tol, _INSTANT_TOLERANCE))
        s.sources_E = self._sources(s.t_A, s.t_E)[0]
        s.t_E, s.u_E, s.q_E = np.array([self.t]), self.u[None], self.q[None]
        s.at_end = self._at_end(s)
        self.book.record(s, np.array([True]))
        self.book.work.largest_store = self._energy(self.u, self.q)
        if not (self.book.work.is_finite() and math.isfinite(self.start_energy)):
            raise Stopped(_BEYOND)

    def advance(self, steps: int) -> None:
        """March to the end of step number `steps`, or a part of the way there.

        Signals take effect at once, and whatever ends the part early leaves state and book as they were before it; only
        a step without a solution leaves them where it was reached.
        """
        before, book = copy.copy(vars(self)), self.book.mark()
        before |= {name: copy.copy(before[name]) for name in _CHANGED_IN_PLACE}
        try:
            with opened():
                self._advance(steps)
        except Stopped:
            raise
        except BaseException:
            vars(self).update(before)
            self.book.back_to(book)
            raise

    def _advance(self, steps: int) -> None:
        dt = self.dt
        end_of_step = (self.k + 1) * dt
        on_grid = abs(self.t - self.k * dt) <= CLOSENESS * dt
        ahead = min(self._block, steps - self.k) if on_grid else 1
        stop = self._next_break(ahead)
        if on_grid and not self._mode_is_new:
            whole = int(min(ahead, math.floor((stop - self.t) / dt + CLOSENESS))) if stop < math.inf else ahead
            if whole >= 1 and self._march_block(whole):
                self._after(stop, steps)
                return
        self._mode_is_new = False
        target = min(end_of_step, stop)
        if abs(target - end_of_step) <= CLOSENESS * dt:
            target = end_of_step
        self._single(target)
        self._after(stop, steps)

    def _after(self, stop: float, steps: int) -> None:
        """At an instant where something changes from outside, look for the state after it; not at the run's end."""
        if self.k >= steps:
            return
        at_break = abs(self.t - stop) <= 2.0 * CLOSENESS * self.dt
        if self._update_status() or at_break:
            before = self.conducting
            self.settle()
            self._note_events(before, self.conducting, self.t, self.t)

    def _march_block(self, count: int) -> bool:
        """Up to `count` whole steps in the present mode; False where not even the first one keeps it."""
        dt, theta, n = self.dt, self.rule(), len(self.u)
        p = self.problem(dt, theta)
        mode = p.admissible(self.conducting)
        m = p.mode(mode)
        times = (self.k + np.arange(count + 1)) * dt
        e, g, mean, v_E = self._inputs(times[:-1], times[1:], theta)
        U, Q = np.empty((count + 1, n)), np.empty((count + 1, n))
        U[0], Q[0] = self.u, self.q
        X = np.empty((count + 1, 2 * n))
        X[0, :n], X[0, n:] = self.u, self.q
        Phi = np.zeros((2 * n, 2 * n))
        Phi[:n, :n], Phi[:n, n:] = m.u_f @ p.f_u, m.u_f @ p.f_q
        Phi[n:] = theta * dt * Phi[:n]
        Phi[n:, :n] += (1.0 - theta) * dt * np.eye(n)
        Phi[n:, n:] += np.eye(n)
        drive = dt * e @ m.u_f.T + g @ m.u_g.T
        drive = np.hstack([drive, theta * dt * drive])
        for k in range(count):
            np.dot(Phi, X[k], out=X[k + 1])
            X[k + 1] += drive[k]
        U, Q = X[:, :n], X[:, n:]
        f = U[:-1] @ p.f_u.T + Q[:-1] @ p.f_q.T + dt * e
        Lambda, Mu = f @ m.Lambda_f.T + g @ m.Lambda_g.T, f @ m.Mu_f.T + g @ m.Mu_g.T
        residuals = p.residuals(U[1:], Lambda, Mu, f, g)
        right = residuals <= self.tol  # a number that is not finite is not right
        if self.locate:
            right &= (self._instant_margins(mode, U[1:], Q[1:], v_E, g) >= 0.0).all(axis=1)
        right &= self._feedback_holds(times[1:], U[1:], Q[1:], v_E)
        kept = count if right.all() else int(np.argmin(right))
        self._block = min(_BLOCK, 4 * count) if kept == count else FIRST_BLOCK
        if kept == 0:
            return False
        s = Steps(
            times[:kept], times[1 : kept + 1], dt, theta, U[:kept], Q[:kept], U[1 : kept + 1], Q[1 : kept + 1],
            Lambda[:kept], Mu[:kept], mean[:kept], v_E[:kept], mode, self.status.copy(),
        )  # fmt: skip
        self.worst = max(self.worst, float(residuals[:kept].max()))
        self._accept(s)
        return True

    def _at_end(self, s: Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """u', lam and mu at the ends of steps, in the mode of those steps: by an instant that follows."""
        p = self.problem(0.5 * INSTANT * self.dt, 1.0)
        m, net = p.mode(p.admissible(s.conducting)), self.net
        e = self._driving(s.sources_E)
        g = s.u_E @ net.G
        f = s.u_E @ p.f_u.T + s.q_E @ p.f_q.T + p.h * e
        u = f @ m.u_f.T + g @ m.u_g.T
        lam, mu = f @ m.Lambda_f.T + g @ m.Lambda_g.T, f @ m.Mu_f.T + g @ m.Mu_g.T
        return (u - s.u_E) / p.h, lam / p.h, mu / p.h

    def _measure_ringing(self, s: Steps, rate: np.ndarray) -> None:
        """Share by which currents change in an instant though nothing switches: loops without inductance ring."""
        largest = float(np.abs(s.u_E @ self.net.B).max(initial=0.0))
        self._most_current = max(self._most_current, largest)
        if self._most_current > 0.0:
            change = float(np.abs(rate @ self.net.B).max(initial=0.0)) * 0.5 * INSTANT * self.dt
            self.ringing = max(self.ringing, change / self._most_current)

    def _accept(self, s: Steps) -> None:
        """Take steps into the book and make their end the present state."""
        if s.theta < 1.0:
            s.at_end = self._at_end(s)
            self._measure_ringing(s, s.at_end[0])
        self._most_in_coils = np.maximum(self._most_in_coils, np.abs(s.u_E @ self.net.B[:, self._coils]).max(axis=0))
        self._add_work(s)
        ends_step = abs(s.t_E[-1] - (self.k + len(s.t_E)) * self.dt) <= CLOSENESS * self.dt
        if ends_step:
            numbers = self.k + 1 + np.arange(len(s.t_E))
            self.book.record(s, numbers % self.every == 0)
            self.k += len(s.t_E)
            self._cuts = 0
            self.t = self.k * self.dt
        else:
            self.t = float(s.t_E[-1])
        self.u, self.q = s.u_E[-1].copy(), s.q_E[-1].copy()
        self.conducting = s.conducting.copy()
        rows = s.u_E[-2:] @ self.net.W
        for i, Lambda in zip(rows, s.Lambda[-2:], strict=True):
            self._before.append(Past(s.h, s.theta, i, Lambda / s.h))
        del self._before[:-2]

    def _add_work(self, s: Steps) -> None:
        """Book the energies of steps, unless they are beyond all numbers: nothing could be told of what follows."""
        mark = self.book.mark()
        self.book.add_work(s)
        if not self.book.work.is_finite():
            self.book.back_to(mark)
            self.failed += 1
            raise Stopped(f"stopped at t = {s.t_A[0]:.9g} s: {_BEYOND}")

    def _single(self, target: float) -> None:
        """One step to `target`, or to the event on the way there when events are located."""
        h = target - self.t
        if self.locate and self._cuts < _MOST_CUTS:
            cut, wrong = self._event_within(h)
            if cut < h and (cut > CLOSENESS * self.dt or self._settled_at != self.t):
                if cut > CLOSENESS * self.dt:
                    _, s = self._fixed(cut)
                    self._accept(s)
                before = self.conducting
                self.conducting = before ^ wrong
                self._cuts += 1
                self.settle()
                self._note_events(before, self.conducting, self.t, self.t)
                self._lock_thyristors()
                return
        if self._cut_by_feedback(h):
            return
        before, t = self.conducting, self.t
        answer, s = self._solve(h, self.rule(), before, t)
        s.t_E = np.array([target])
        self.worst = max(self.worst, answer.residual)
        self.fallbacks += answer.size > 0
        self.largest_lcp = max(self.largest_lcp, answer.size)
        history = list(self._before)
        self._accept(s)
        self._mode_is_new = not np.array_equal(before, answer.conducting)  # the next step looks who shares the current
        self._note_events(before, answer.conducting, t, target, history)
        self._lock_thyristors()

    def _lock_thyristors(self) -> None:
        """A thyristor that has stopped conducting and is not fired is locked."""
        for r, branch in enumerate(self._rows):
            if branch.row == THYRISTOR and self.status[r] == CHOICE and not self.conducting[r]:
                assert branch.gate is not None
                if not branch.gate.at(self.t + CLOSENESS * self.dt):
                    self.status[r] = LOCKED

    def _note_events(
        self, before: np.ndarray, after: np.ndarray, t_A: float, t_E: float, history: Sequence[Past] = ()
    ) -> None:
        """List diodes that begin or cease to conduct in a step; the instant by a straight line through two values."""
        for r in np.flatnonzero((before != after) & (self.status == CHOICE)):
            time = t_E
            if len(history) == 2:
                rows = [past.blocking if after[r] else past.current for past in history]
                first, last, h = rows[0][r], rows[1][r], history[1].h
                known_at = t_A - ((1.0 - history[1].theta) * h if after[r] else 0.0)
                if first > last >= 0.0:
                    time = min(max(known_at + h * last / (first - last), t_A), t_E)
            word = "conducts" if after[r] else "blocks"
            self.book.events.append((time, self.net.row_branches[r], word))

    # Events that are located

    def _fixed(self, h: float) -> tuple[Answer, Steps]:
        """A step of length h in the present mode, right or wrong."""
        theta = self.rule()
        p = self.problem(h, theta)
        begin, end = np.array([self.t]), np.array([self.t + h])
        e, g, mean, v_E = self._inputs(begin, end, theta)
        f = p.right_side(self.u, self.q, e[0])
        answer = p.evaluate(p.admissible(self.conducting), f, g[0])
        q_E = self.q + h * ((1.0 - theta) * self.u + theta * answer.u)
        s = Steps(
            begin, end, h, theta, self.u[None], self.q[None], answer.u[None], q_E[None], answer.Lambda[None],
            answer.Mu[None], mean, v_E, answer.conducting, self.status.copy(),
        )  # fmt: skip
        return answer, s

    def _instant_margins(
        self, mode: np.ndarray, U: np.ndarray, Q: np.ndarray, volts: np.ndarray, g: np.ndarray
    ) -> np.ndarray:
        """Margins of n states: current of what conducts, blocking voltage of what blocks (n, rows)."""
        p = self.problem(0.5 * INSTANT * self.dt, 1.0)
        m, net = p.mode(mode), self.net
        e = self._driving(volts)
        f = U @ p.f_u.T + Q @ p.f_q.T + p.h * e
        Lambda = f @ m.Lambda_f.T + g @ m.Lambda_g.T
        self._most_volts = max(
            self._most_volts, float(np.abs(volts).max(initial=0.0)), float(np.abs(Lambda).max(initial=0.0) / p.h)
        )
        least = self._most_volts * self.dt / self.problem(self.dt, 1.0).largest
        self._most_amperes = max(self._most_amperes, least, float(np.abs(U @ net.B).max()))
        i, v = (U @ net.W) / (self._most_amperes or 1.0), Lambda / p.h / (self._most_volts or 1.0)
        return np.where(p.choice, np.where(mode, i, v), np.inf) + 1e2 * self.tol

    def _margins(self, h: float) -> np.ndarray:
        """Margins of the rows after a step of length h in the present mode."""
        if h <= 0.0:
            U, Q = self.u[None], self.q[None]
            _, g, _, v = self._inputs(np.array([self.t]), np.array([self.t]), 1.0)
        else:
            _, s = self._fixed(h)
            U, Q, v = s.u_E, s.q_E, s.sources_E
            _, g, _, _ = self._inputs(s.t_A, s.t_E, 1.0)
        mode = self.problem(self.dt, 1.0).admissible(self.conducting)
        return np.asarray(self._instant_margins(mode, U, Q, v, g)[0])

    def _event_within(self, h: float) -> tuple[float, np.ndarray]:
        """Length of the step in the present mode after which a diode must change, and which; h where none must."""
        after, before = self._margins(h), self._margins(0.0)
        wrong = after < 0.0
        if not wrong.any():
            return h, wrong
        cut = 0.0
        if before.min() >= 0.0:
            ends = (float(before.min()), float(after.min()))
            cut = _root(lambda x: float(self._margins(x).min()), (0.0, h), ends, 1e-12 * self.dt)
        return cut, wrong & (self._margins(cut) <= 2e2 * self.tol)

    # Switches that the circuit works

    def _feedback_holds(self, t: np.ndarray, U: np.ndarray, Q: np.ndarray, volts: np.ndarray) -> np.ndarray:
        """Whether every switch with feedback stays as it is at the end of each step."""
        right = np.ones(len(t), dtype=bool)
        for r, branch in enumerate(self._rows):
            if branch.gate is None or branch.gate.feedback is None:
                continue
            closed = self.status[r] == FREE
            for k in range(len(t)):
                if right[k] and (self._feedback(r, t[k], U[k], Q[k], volts[k]) > 0.0) != closed:
                    right[k:] = False
                    break
        return right

    def _feedback(self, r: int, t: float, u: np.ndarray, q: np.ndarray, volts: np.ndarray) -> float:
        gate = self._rows[r].gate
        assert gate is not None and gate.feedback is not None
        probe = self._probe(u, q, volts)
        with theirs():
            return float(gate.feedback.function(t - CLOSENESS * self.dt, probe))

    def _cut_by_feedback(self, h: float) -> bool:
        """Step to the instant at which a feedback changes its sign within the step; False where none does."""
        first = h
        for r, branch in enumerate(self._rows):
            if branch.gate is None or branch.gate.feedback is None:
                continue
            closed = self.status[r] == FREE

            def value(length: float, r: int = r) -> float:
                if length <= 0.0:
                    v = self._sources(np.array([self.t]), np.array([self.t]))[0][0]
                    return self._feedback(r, self.t + 2.0 * CLOSENESS * self.dt, self.u, self.q, v)
                s = self._solve(length, self.rule(), self.conducting, self.t)[1]
                return self._feedback(r, self.t + length, s.u_E[0], s.q_E[0], s.sources_E[0])

            before, after = value(0.0), value(h)
            if (after > 0.0) != closed and (before > 0.0) == closed:
                first = min(first, _root(value, (0.0, h), (before, after), 1e-13 * self.dt))
                first = min(first + 4.0 * CLOSENESS * self.dt, h)  # just beyond: the sign has changed
        if first >= h:
            return False
        mode, t = self.conducting, self.t
        answer, s = self._solve(first, self.rule(), mode, t)
        self._accept(s)
        self._note_events(mode, answer.conducting, t, self.t)
        return True


def _root(
    function: Callable[[float], float], interval: tuple[float, float], values: tuple[float, float], close: float
) -> float:
    """Where a function changes its sign, by secants that keep the change between two points (Illinois), and halving."""
    (a, b), (f_a, f_b) = interval, values
    for k in range(100):
        if abs(b - a) <= close or f_b == 0.0:
            break
        c = b - f_b * (b - a) / (f_b - f_a) if k % 3 != 2 else 0.5 * (a + b)
        f_c = function(c)
        if (f_c < 0.0) != (f_b < 0.0):
            a, f_a = b, f_b
        else:
            f_a *= 0.5
        b, f_b = c, f_c
        if abs(f_c) <= 1e-15 * max(map(abs, values)):
            break
    return b
