"""A motion from event to event with the derivatives of one number by all parameters: the adjoint.

With X' = A X + B between events and X+ = S X- + s at them (`varied_motion`), a number J with slopes phi at the end,
psi_k at samples, chi_j by event times and omega_j by impulses has the gradient

    lam(T) = phi,     -lam' = A^T lam,     lam- = lam+ + psi_k at samples
    at an event       lam- = S^T lam+ + chi dt*/dx,     dJ/dp += s^T lam+ + chi dt*/dp
    at an impact      so do impulses Lambda with weights omega: lam- += omega dLambda/dx, dJ/dp += omega dLambda/dp
    between events    dJ/dp += int B^T lam dt
    at the start      dJ/dz += X(0)^T lam(0)

The collocation of the forward equations is transposed, so that the gradient is that of the forward derivatives to
round-off:  G^T m = (h b_i lam_E)_i,  lam_A = lam_E + sum A_i^T m_i,  dJ/dp += sum B_i^T m_i.  B itself is not formed: a
tape carries m to all parameters at once.  So the cost does not depend on how many there are.

One forward column, a random mixture of all quantities, runs along.  It finds what makes derivatives doubtful, and its
derivative of J is compared with the gradient.

Memory is bounded: of a long motion only the last arcs are kept.  The arcs before are computed again, bit for bit, from
what the motion keeps at the begin of every segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from stickslip.analysis.collocation import COEFFICIENTS, NODES, STAGES, WEIGHTS
from stickslip.analysis.slopes import solve_balance
from stickslip.analysis.tape import PARAMETERS, Branches, Tape
from stickslip.analysis.varied_motion import PIECES, Moment, VariedMotion
from stickslip.checks import Array
from stickslip.events.arcs import Arc, Event
from stickslip.events.book import Kept
from stickslip.events.modes import Mode

SEGMENT = 4096
"""Arcs of a motion that are kept at once."""

_TOGETHER = 64  # arcs whose linear equations are set up in one go
_NODES_AT_ONCE = 256  # nodes whose equations are differentiated by columns in one go
_AGREE = 1e-6  # share by which gradient and forward column may differ


@dataclass(frozen=True, eq=False)
class Stretch:
    """Arcs of one mode, cut into collocation steps ("pieces").

    Attributes: times (P,), states (P, 2 f) of the nodes; mode; h (j,) lengths of the pieces; A (P, 2 f, 2 f);
    Phi (j, 2 f, 2 f), what each piece does to X; marks, pairs of a number of pieces and of the sample behind them.
    """

    times: Array
    states: Array
    mode: Mode
    h: Array
    A: Array
    Phi: Array
    marks: tuple[tuple[int, int], ...]

    def stages(self) -> Array:
        """G of every piece, (j, STAGES 2 f, STAGES 2 f)."""
        return stage_matrices(self.h, self.A)


@dataclass(frozen=True, eq=False)
class Passage:
    """An event: X+ = S X- + s; times of its moments change by `by_state` (i, 2 f) X- + `by_column` (i, k).

    So do the impulses of its impacts, normal and tangential: pushes (j, 2, 2 f + k).
    """

    S: Array
    s: Array
    first: int  # number of its first moment
    by_state: Array
    by_column: Array
    first_push: int  # number of its first impact
    pushes: Array


@dataclass(frozen=True, eq=False)
class Weights:
    """Slopes of a number: by samples (n, 2 f), by times of moments, by impulses (2,) of impacts, by their numbers."""

    samples: Array
    events: dict[int, float]
    pushes: dict[int, Array]


def stage_matrices(h: Array, A: Array) -> Array:
    """G = I - h (a_ij A_i) of pieces with lengths h (j,) and A (j STAGES, n, n) at their nodes."""
    n = A.shape[-1]
    blocks = np.einsum("j,st,jsab->jsatb", h, COEFFICIENTS, A.reshape(len(h), STAGES, n, n))
    return np.asarray(np.eye(STAGES * n) - blocks.reshape(len(h), STAGES * n, STAGES * n))


@dataclass
class AdjointMotion(VariedMotion):
    """A motion that keeps what the adjoint needs; X is one column, a mixture of all quantities.

    Attributes
    ----------
    all_X, all_directions : (2 f, k) and (m, k), start and parameters that the quantities move
    mixture : (k,), shares of the quantities in the one column
    stops : (n,) times of samples;  sampled, sampled_X : states and the column there
    segment : arcs that are kept at once; 0: `SEGMENT`
    """

    all_X: Array = field(default_factory=lambda: np.zeros((0, 0)))
    all_directions: Array = field(default_factory=lambda: np.zeros((0, 0)))
    mixture: Array = field(default_factory=lambda: np.zeros(0))
    stops: Array = field(default_factory=lambda: np.zeros(0))
    segment: int = 0

    def __post_init__(self) -> None:
        self.X, self.directions = self.all_X @ self.mixture[:, None], self.all_directions @ self.mixture[:, None]
        super().__post_init__()
        branches = np.zeros((len(self.system.kink_contacts), len(self.mixture)))
        self.all_directions = np.concatenate([self.all_directions, branches])
        self.segment = self.segment or SEGMENT
        self.pending: list[Arc] = []
        self.items: list[Stretch | Passage] = []
        self.begins: list[tuple[Kept, int, int, int, int]] = []  # of segments: stops, moments, arcs, impacts before
        self.done = 0  # samples so far
        self.walked = 0  # arcs so far
        self.again = False  # computes a segment again
        n = 2 * self.f
        self.sampled, self.sampled_X = np.full((len(self.stops), n), np.nan), np.full((len(self.stops), n), np.nan)

    # -- forward ---------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Follow the motion to its end with its one column, and keep the last segment."""
        grazes, inside = 0, 0
        arc: Arc | None = None
        for arc in self.arcs():
            self.passed.clear()
            grazes = self._doubt_grazes(grazes)
            self._doubt_touched_kinks(arc)
            if inside == self.segment:
                self._flush()
                self.items, inside = [], 0
            if inside == 0:
                assert self.kept is not None
                self.begins.append((self.kept, self.done, len(self.moments), self.walked, len(self.impacts)))
            self._walk(arc)
            inside += 1
            if self._on_a_corner(arc):
                self._flush()  # the column, up to here
                self._doubt_corners(arc)
        self._flush()
        self._doubt_last(arc)

    def _walk(self, arc: Arc) -> None:
        self.pending.append(arc)
        self.walked += 1
        if len(self.pending) >= _TOGETHER:
            self._flush()

    def _flush(self) -> None:
        """Set up the linear equations of the arcs that were passed, and carry the column over them."""
        arcs, self.pending = self.pending, []
        if not arcs:
            return
        begin, done = self.X, self.done
        fine = None if self.again or not self.compares else self._cut(arcs, 2)
        self.done = done
        cut = self._cut(arcs)
        if cut is None:
            return
        times, states, h, marks = cut
        pieces = len(h)
        if not self.again and not np.all(np.isfinite(self.X)):
            return  # there is no derivative from here on, and `sampled_X` says so
        A, Phi, add = self._pieces(times, states, h, arcs[0].mode)
        x = self.X[:, 0]
        at = {position: [s for p, s in marks if p == position] for position, _ in marks}
        for piece in range(pieces + 1):
            for sample in at.get(piece, ()) if not self.again else ():
                self.sampled_X[sample] = x
            if piece < pieces:
                x = Phi[piece] @ x + add[piece]
        self.X = x[:, None]
        self.items.append(Stretch(times, states, arcs[0].mode, h, A, Phi, tuple(marks)))
        if fine is not None:
            x = begin[:, 0]
            for matrix, more in zip(*self._pieces(*fine[:3], arcs[0].mode)[1:], strict=True):
                x = matrix @ x + more
            self._compare(arcs[0].t_A, self.X, x[:, None])

    def _pieces(self, times: Array, states: Array, h: Array, mode: Mode) -> tuple[Array, Array, Array]:
        """A at the nodes of pieces, and what each piece does to the column: x+ = Phi x + add."""
        n, pieces = 2 * self.f, len(h)
        if not pieces:
            return np.zeros((0, n, n)), np.zeros((0, n, n)), np.zeros((0, n))
        A, B = self.linear(times, states, mode)
        right = np.concatenate([A, B], axis=2).reshape(pieces, STAGES * n, n + 1)
        K = np.linalg.solve(stage_matrices(h, A), right).reshape(pieces, STAGES, n, n + 1)
        grown = h[:, None, None] * np.einsum("s,jsab->jab", WEIGHTS, K)
        return A, np.eye(n) + grown[:, :, :n], grown[:, :, n]

    def _cut(self, arcs: list[Arc], finer: int = 1) -> tuple[Array, Array, Array, list[tuple[int, int]]] | None:
        """Nodes, states, lengths of pieces and marks of samples of arcs; None where nothing is in them.

        finer : into how many each of the pieces is cut
        """
        times, states, lengths, marks, n = [], [], [], [], 2 * self.f
        count = 0
        for arc in arcs:
            last = arc.t_E >= self.t_end
            stop = len(self.stops) if last else int(np.searchsorted(self.stops, arc.t_E, side="left"))
            inside = np.minimum(self.stops[self.done : stop], arc.t_E)
            if len(inside):
                self.sampled[self.done : stop] = arc.vector(inside)[:, :n]
            edges, asked = self._edges(arc, inside)
            whole, i = max(arc.t_E - arc.t_A, 1e-300), 0
            for begin, length, wanted in zip(edges[:-1], np.diff(edges), asked, strict=True):
                pieces = finer * max(1, int(np.ceil(PIECES * length / whole - 1e-9))) if length > 0.0 else 0
                if pieces:
                    h = np.full(pieces, length / pieces)
                    lengths.append(h)
                    times.append((begin + (np.arange(pieces) * h)[:, None] + h[:, None] * NODES).ravel())
                    states.append(arc.vector(times[-1])[:, :n])
                    count += pieces
                if wanted and i < len(inside):
                    marks.append((count, self.done + i))
                    i += 1
            self.done = stop
        if not count and not marks:
            return None
        if not count:
            return np.zeros(0), np.zeros((0, n)), np.zeros(0), marks
        return np.concatenate(times), np.concatenate(states), np.concatenate(lengths), marks

    def _begin_slopes(self, q: Array, u: Array) -> None:
        """The start with all quantities, by their names; then their mixture."""
        own = self.directions
        self.X, self.directions = self.all_X, self.all_directions
        super()._begin_slopes(q, u)
        self.start_X, self.start_pushes = self.X, [push for push, _ in self.pushes]
        self.X, self.directions = self.start_X @ self.mixture[:, None], own
        self.pushes = [(push @ self.mixture[:, None], dt @ self.mixture[:, None]) for push, dt in self.pushes]

    def _act(self, event: Event) -> None:
        self._flush()
        super()._act(event)

    def _jump(self, event: Event, before: Mode, x: Array, happened: int) -> None:
        """Carry the column over an event, and keep what the event does to any column."""
        n, k, first = 2 * self.f, len(self.mixture), len(self.moments)
        kept, own = (self.X, self.directions, self.columns, self.moments, self.doubts, self.defect), self.pushes
        self.X = np.concatenate([np.eye(n), np.zeros((n, k))], axis=1)
        self.directions = np.concatenate([np.zeros((len(kept[1]), n)), self.all_directions], axis=1)
        self.moments, self.doubts, self.pushes = [], [], list(own)
        try:
            super()._jump(event, before, x, happened)
            whole, moments, pushes = self.X, self.moments, self.pushes[len(own) :]
        finally:
            self.X, self.directions, self.columns, self.moments, self.doubts, self.defect = kept
            self.pushes = own
        rows = np.array([moment.dt for moment in moments]).reshape(len(moments), n + k)
        by_all = np.array([push for push, _ in pushes]).reshape(len(pushes), 2, n + k)
        self.items.append(Passage(whole[:, :n], whole[:, n:], first, rows[:, :n], rows[:, n:], len(own), by_all))
        if self.again:
            self.moments += [Moment(moment.t, np.zeros(1), moment.kind, moment.contacts) for moment in moments]
        else:
            super()._jump(event, before, x, happened)

    # -- backward --------------------------------------------------------------------------------------------

    def slopes_back(self, weights: Weights) -> Array:
        """Gradient (k,) of a number with slopes `weights`."""
        lam, total = np.zeros(2 * self.f), np.zeros(len(self.mixture))
        pull = _Pull(self)
        lam = self._back(self.items, lam, total, weights, pull)
        for number in range(len(self.begins) - 2, -1, -1):
            lam = self._back(self._anew(number), lam, total, weights, pull)
        for number, push in enumerate(self.start_pushes):
            total += weights.pushes.get(number, np.zeros(2)) @ push
        return np.asarray(total + self.start_X.T @ lam)

    def _anew(self, number: int) -> list[Stretch | Passage]:
        """Arcs and events of an earlier segment, computed again from what the motion kept."""
        kept, done, moments, walked, impacts = self.begins[number]
        self.items, self.pending, self.again, self.done, self.walked = [], [], True, done, walked
        self.X = np.zeros((2 * self.f, 1))
        self.moments, self.pushes = self.moments[:moments], self.pushes[:impacts]
        del self.impacts[impacts:]
        self.go_back(kept)
        arcs: Iterator[Arc] = self.arcs()
        for _ in range(self.segment):
            self._walk(next(arcs))
        next(arcs)  # what happens behind the last arc belongs to it
        self._flush()
        return self.items

    def _back(self, items: list[Stretch | Passage], lam: Array, total: Array, weights: Weights, pull: _Pull) -> Array:
        """The adjoint lam at the begin of the items; adds their share to the gradient."""
        n = 2 * self.f
        for item in reversed(items):
            if isinstance(item, Passage):
                total += item.s.T @ lam
                lam = item.S.T @ lam
                for i in range(len(item.by_state)):
                    weight = weights.events.get(item.first + i, 0.0)
                    if weight != 0.0:
                        total += weight * item.by_column[i]
                        lam = lam + weight * item.by_state[i]
                for i, push in enumerate(item.pushes):
                    pair = weights.pushes.get(item.first_push + i)
                    if pair is not None:
                        total += pair @ push[:, n:]
                        lam = lam + pair @ push[:, :n]
                continue
            pieces = len(item.h)
            ends, at = np.zeros((pieces, n)), {p: [s for q, s in item.marks if q == p] for p, _ in item.marks}
            for piece in range(pieces, -1, -1):
                for sample in at.get(piece, ()):
                    lam = lam + weights.samples[sample]
                if piece:
                    ends[piece - 1] = lam
                    lam = item.Phi[piece - 1].T @ lam
            if pieces:
                right = (item.h[:, None, None] * WEIGHTS[:, None] * ends[:, None, :]).reshape(pieces, STAGES * n, 1)
                m = np.linalg.solve(item.stages().swapaxes(1, 2), right).reshape(pieces * STAGES, n)
                pull.take(item, np.asarray(m[:, self.f :], float))
        total += pull.by_columns()
        return lam

    def checked(self, value: Array, forward: float, terms: float) -> None:
        """Raise where the gradient's derivative along the mixture is not that of the forward column."""
        mine = float(value @ self.mixture)
        size = max(terms, float(np.abs(value) @ np.abs(self.mixture)), abs(forward))
        if not abs(mine - forward) <= _AGREE * size:
            raise ArithmeticError(
                f"the adjoint gives {mine:.12g} along a mixture of the quantities, forward derivatives {forward:.12g}: "
                "use method='forward'."
            )


class _Pull:
    """Carries weights of accelerations to the parameters: sum over nodes of weight^T du'/dp."""

    def __init__(self, motion: AdjointMotion) -> None:
        self.motion, self.slopes = motion, motion.slopes
        self.waiting: list[tuple[Stretch, Array]] = []
        system = motion.system
        self.tape: Tape | None = None
        if self.slopes.exact and not system.has_friction_laws and not system.state_laws:
            self.tape = Tape(system.source(), system.drift_source(), name=system.name)
        self.active = np.abs(motion.all_directions).max(axis=1, initial=0.0) > 0.0

    def take(self, stretch: Stretch, weights: Array) -> None:
        """Take weights (P, f) of the accelerations at the nodes of a stretch."""
        self.waiting.append((stretch, weights))

    def by_columns(self) -> Array:
        """Derivatives (k,) by the quantities that the weights taken so far amount to."""
        motion, waiting, self.waiting = self.motion, self.waiting, []
        total, columns = np.zeros(len(self.active)), np.zeros(len(motion.mixture))
        if not np.any(self.active):
            return columns
        groups: dict[bytes, list[tuple[Stretch, Array]]] = {}
        for stretch, weights in waiting:
            key = np.concatenate([np.array(stretch.mode.constraints).ravel(), stretch.mode.branches]).tobytes()
            groups.setdefault(key, []).append((stretch, weights))
        for group in groups.values():
            self._group(group, total, columns)
        return np.asarray(motion.all_directions.T @ total + columns)

    def _group(self, group: list[tuple[Stretch, Array]], total: Array, columns: Array) -> None:
        """Add the stretches of one mode: by parameters where a tape can, else by columns."""
        motion, slopes, f = self.motion, self.slopes, self.motion.f
        mode = group[0][0].mode
        times, states = np.concatenate([s.times for s, _ in group]), np.concatenate([s.states for s, _ in group])
        weights = np.concatenate([w for _, w in group])
        z, size = motion.points(times, states, mode), f + len(slopes.rows(mode))

        def residual(Z: Array, y: Array) -> Array:
            return slopes.motion(Z, mode, y)

        y, K = slopes.values(residual, z, size)
        right = np.concatenate([weights, np.zeros((len(times), size - f))], axis=1)
        w = -solve_balance(K, right[:, :, None], f, transposed=True)[:, :, 0].T  # dy = -K^-1 r_p
        if self.tape is not None:
            try:
                self.tape.pull(self._calls(z, mode, y, w), motion.in_mode(mode), self.active, total)
                return
            except Branches:
                self.tape = None
        D = np.concatenate([np.zeros((2 * f + 1, len(motion.mixture))), motion.all_directions])
        for first in range(0, len(times), _NODES_AT_ONCE):
            here = slice(first, first + _NODES_AT_ONCE)
            frozen = np.repeat(y[:, here], D.shape[1], axis=1)
            r = slopes.slopes(partial(residual, y=frozen), z[:, here], D)  # (rows, P, k)
            columns += np.einsum("rp,rpk->k", w[:, here], r)

    def _calls(self, z: Array, mode: Mode, y: Array, w: Array) -> list[tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
        """Calls of model functions with the weights that `Slopes.motion`, weighted with w, gives to their outputs."""
        slopes, f, n = self.slopes, self.slopes.f, self.slopes.n
        parts = slopes.parts(z.astype(complex))
        W_T, mu, a = np.real(parts.W_T), np.real(parts.mu), np.real(parts.a)
        q, u, t, _ = slopes.split(z)
        P, du, load, top = z.shape[1], y[:f], y[f:], w[:f]
        for_W_N, for_W_T = np.zeros((n, f, P)), np.zeros((n, f, P))
        for_mu, for_a, for_zeta = np.zeros((n, P)), np.zeros((n, P)), np.zeros((n, 2, P))
        for k in range(n):
            if mode.slip[k] != 0.0:
                for_W_T[k] += mode.slip[k] * a[k] * top
                for_a[k] += mode.slip[k] * np.einsum("jp,jp->p", W_T[k], top)
        for r, (k, part) in enumerate(slopes.rows(mode)):
            row = -load[r] * top + w[f + r] * du
            (for_W_T if part else for_W_N)[k] += row
            if not part:
                for_W_T[k] += mode.slip[k] * mu[k] * load[r] * top
                for_mu[k] += mode.slip[k] * load[r] * np.einsum("jp,jp->p", W_T[k], top)
            for_zeta[k, part] += w[f + r]
        nothing = np.zeros((n, P))
        calls: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
            ("mass", (q, t, PARAMETERS), (top[:, None] * du[None],)),
            ("force", (q, u, t, PARAMETERS), (-top,)),
        ]
        if slopes.rows(mode) or np.any(mode.slip != 0.0):
            calls += [
                ("geometry", (q, t, PARAMETERS), (for_W_N, for_W_T, np.zeros((n, 2, P)))),
                ("drift", (q, u, t, PARAMETERS), (for_zeta,)),
                ("laws", (PARAMETERS,), (for_mu, nothing, nothing, for_a)),
            ]
        return calls
