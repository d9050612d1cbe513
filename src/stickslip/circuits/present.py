"""The present of a circuit: its state, its sources and switches, and the problem of a step from there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stickslip.circuits.network import SWITCH, THYRISTOR
from stickslip.circuits.problem import CHOICE, FREE, LOCKED, Answer, CircuitProblem
from stickslip.circuits.records import CircuitRecords, Steps
from stickslip.circuits.signals import CLOSENESS

INSTANT = 1e-4
"""Share of dt that an instant lasts, where the state right after a switch is sought."""
JUMP = 1e-6
"""Share of the largest voltage or current by which a capacitor or an inductor changes in an instant when it jumps."""
FIRST_BLOCK = 16
"""Steps of the first block after a change of mode; each block that holds lets the next be four times as long."""
_KEPT = 64
"""Problems of other step lengths that are kept in memory."""


class Past(NamedTuple):
    """A step of the past: its length and rule, currents and blocking voltages of the rows."""

    h: float
    theta: float
    current: np.ndarray
    blocking: np.ndarray


class Stopped(Exception):
    """A step without a solution; the words say where and why."""


class PresentCircuit:
    """State of a run and the problems of steps that begin in it."""

    def __init__(
        self, book: CircuitRecords, probe: Callable[..., Any], *, dt: float, theta: float | None, tol: float,
        locate: bool, every: int,
    ) -> None:  # fmt: skip
        net = book.net
        self.net, self.dt, self.theta, self.tol, self.locate = net, dt, theta, tol, locate
        self.book, self.every, self._probe = book, every, probe
        loops, rows = len(net.links), len(net.row_branches)
        self.t, self.k = 0.0, 0
        self.q = np.zeros(loops)
        self._coils = [k for k, b in enumerate(net.branches) if b.inductance > 0.0]
        # currents of inductors that no loop currents have; they jump at the start
        self._given: np.ndarray | None = None
        self.u = self._start()
        self.conducting = np.zeros(rows, dtype=bool)
        self.status = np.full(rows, CHOICE, dtype=np.int8)
        self._rows = [net.branches[b] for b in net.row_branches]
        self._held = net.held
        self._problems: dict[tuple[float, float, bytes], CircuitProblem] = {}
        self._before: list[Past] = []
        self._rules: dict[bytes, float] = {}
        self._mode_is_new, self._cuts = False, 0
        self.ringing, self._most_current = 0.0, 0.0
        self._most_in_coils = np.zeros(len(self._coils))  # largest currents so far
        self._most_volts, self._most_amperes = 0.0, 0.0  # seen so far, for the margins of events
        self.worst, self.fallbacks, self.largest_lcp, self.failed = 0.0, 0, 0, 0
        self._block, self._settled_at, self.start_energy = FIRST_BLOCK, -1.0, 0.0

    def _start(self) -> np.ndarray:
        """Loop currents that give the inductors their initial currents.

        Where there are none, as for two inductors in series with other currents, the fluxes of the loops are kept:
        M u = B L i, which is a plastic impact.
        """
        net, coils = self.net, self._coils
        if not coils:
            return np.zeros(len(net.links))
        wanted = np.array([net.branches[k].initial_current for k in coils])
        ways = net.B[:, coils].T
        u = np.asarray(np.linalg.lstsq(ways, wanted, rcond=None)[0])
        if np.abs(ways @ u - wanted).max() <= JUMP * np.abs(wanted).max():
            return u
        self._given = wanted
        values, vectors = np.linalg.eigh(net.L[np.ix_(coils, coils)])
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T  # root^T root = L
        return np.asarray(np.linalg.lstsq(root @ ways, root @ wanted, rcond=None)[0])

    def _sources(self, t_A: np.ndarray, t_E: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Voltages of sources right after t_A and right before t_E, and currents of sources at both, columns each."""
        net = self.net
        volts = [net.branches[k].source.inside(t_A, t_E) for k in net.source_branches]  # type: ignore[union-attr]
        amps = [net.branches[k].current.inside(t_A, t_E) for k in net.current_branches]  # type: ignore[union-attr]
        empty = np.zeros((len(t_A), 0))
        columns = [np.column_stack([v[i] for v in volts]) if volts else empty for i in (0, 1)]
        columns += [np.column_stack([a[i] for a in amps]) if amps else empty for i in (0, 1)]
        return columns[0], columns[1], columns[2], columns[3]

    def _driving(self, volts: np.ndarray) -> np.ndarray:
        """Voltages that drive the branches, shape (n, branches); `volts` are those of the sources [V]."""
        e = np.tile(self._held, (len(volts), 1))
        e[:, self.net.source_branches] -= volts
        return e

    def _inputs(
        self, t_A: np.ndarray, t_E: np.ndarray, theta: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Voltages e that drive branches and prescribed currents g of steps; source voltages, mean and at the end."""
        net = self.net
        v_A, v_E, _, i_E = self._sources(t_A, t_E)
        mean = theta * v_E + (1.0 - theta) * v_A
        e = self._driving(mean)
        g = np.zeros((len(t_A), net.G.shape[1]))
        g[:, : i_E.shape[1]] = i_E
        return e, g, mean, v_E

    def _update_status(self) -> bool:
        """Set switches and thyristors for the time right after t; whether one has changed."""
        before = self.status.copy()
        t = self.t + CLOSENESS * self.dt
        moment = np.array([self.t])
        probe = self._probe(self.u, self.q, self._sources(moment, moment)[0][0])
        for r, branch in enumerate(self._rows):
            if branch.row == SWITCH:
                assert branch.gate is not None
                self.status[r] = FREE if branch.gate.at(t, probe) else LOCKED
            elif branch.row == THYRISTOR:
                assert branch.gate is not None
                fired = branch.gate.at(t, probe)
                self.status[r] = CHOICE if fired or self.conducting[r] else LOCKED
        for r in map(int, np.flatnonzero(before != self.status)):
            word = {FREE: "closes", LOCKED: "opens" if self._rows[r].row == SWITCH else "", CHOICE: "is fired"}
            if self._settled_at >= 0.0 and word[int(self.status[r])]:
                self.book.events.append((self.t, self.net.row_branches[r], word[int(self.status[r])]))
        return bool((before != self.status).any())

    def _next_break(self, steps: int) -> float:
        """The next instant at which a source jumps or a switch may change."""
        found = math.inf
        for k in (*self.net.source_branches, *self.net.current_branches):
            part = self.net.branches[k].source or self.net.branches[k].current
            assert part is not None
            found = min(found, part.next_jump(self.t))
        for branch in self._rows:
            if branch.gate is not None:
                found = min(found, branch.gate.next_change(self.t, self.dt, steps))
        return found

    def rule(self) -> float:
        """Theta of the present mode: 1 where its currents charge capacitors from sources with no impedance between.

        There theta = 1/2 would ring for ever: u_E = 2 C de/dt - u_A.
        """
        if self.theta is not None:
            return self.theta
        key = self.status.tobytes() + self.conducting.tobytes()
        if key not in self._rules:
            mode = self.problem(self.dt, 1.0).admissible(self.conducting)
            self._rules[key] = 0.5 if self.net.charges_slowly(~mode) else 1.0
        return self._rules[key]

    def problem(self, h: float, theta: float) -> CircuitProblem:
        """The problem of a step of length h with the switches as they are, made once."""
        key = (h, theta, self.status.tobytes())
        if key not in self._problems:
            if len(self._problems) > _KEPT:
                usual = (self.dt, INSTANT * self.dt, 0.5 * INSTANT * self.dt)
                self._problems = {k: p for k, p in self._problems.items() if k[0] in usual}
            self._problems[key] = CircuitProblem(self.net, h, theta, self.status)
        return self._problems[key]

    def _solve(
        self, h: float, theta: float, mode: np.ndarray, t_A: float, tol: float | None = None
    ) -> tuple[Answer, Steps]:
        """One step of any length from the present state."""
        tol = self.tol if tol is None else tol
        p = self.problem(h, theta)
        begin, end = np.array([t_A]), np.array([t_A + h])
        e, g, mean, v_E = self._inputs(begin, end, theta)
        f = p.right_side(self.u, self.q, e[0])
        answer = p.solve(f, g[0], mode, tol)
        if answer.residual > tol:
            self.failed += 1
            raise Stopped(self._reason(p, f, answer, t_A))
        q_E = self.q + h * ((1.0 - theta) * self.u + theta * answer.u)
        steps = Steps(
            begin, end, h, theta, self.u[None], self.q[None], answer.u[None], q_E[None], answer.Lambda[None],
            answer.Mu[None], mean, v_E, answer.conducting, self.status.copy(),
        )  # fmt: skip
        return answer, steps

    def _reason(self, p: CircuitProblem, f: np.ndarray, answer: Answer, t: float) -> str:
        names = self.net.branches
        ring = p.short_circuit(f)
        if ring:
            what = f"{', '.join(sorted(names[k].name for k in ring))} form a short circuit: nothing limits the current"
            return f"stopped at t = {t:.9g} s: {what}; give one of them a resistance or an inductance"
        prescribed = [names[k].name for k in self.net.current_branches]
        opened = [b.name for b, s in zip(self._rows, self.status, strict=True) if s == LOCKED]
        if prescribed:
            blocked = f" past what is open or blocks ({', '.join(opened)})" if opened else ""
            return f"stopped at t = {t:.9g} s: the current of {', '.join(prescribed)} has no way{blocked}"
        return (
            f"stopped at t = {t:.9g} s: no solution of the step within the tolerance {self.tol:g} "
            f"(residual {answer.residual:.1e}); try a smaller dt or a diode with a small resistance"
        )
