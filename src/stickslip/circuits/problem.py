"""The problem of one step of a circuit, and its solution: the last step's mode first, complementarity when it changes.

    A = M + th h R + th^2 h^2 K
    A u_E = B f + W Lam + G Mu,   B f = A u_A + h [e_th - R u_A - K (q_A + th h u_A)],   G^T u_E = g
    0 <= W^T u_E  perp  Lam >= 0       (diodes; a switch that is open has W^T u_E = 0, one that is closed Lam = 0)

For a given mode (which diodes conduct) the problem is linear, and its solution is a matrix times the state.  A may be
singular: a loop of ideal diodes has neither L nor R nor C.  The Delassus matrix W^T A^-1 W does not exist then, so
the mixed system is solved as a whole, with the least norm where currents or blocking voltages are not unique.

L, h R and h^2 / C differ by many powers of ten.  So impulses f stay with their branches, and coordinates are chosen in
which the sizes do not mix: currents through inductors, then those through resistors alone, then through capacitors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.circuits.network import Network
from stickslip.lcp.mixed import solve_mlcp
from stickslip.lcp.solve import solve_lcp

CHOICE, LOCKED, FREE = 0, 1, 2
"""States of a row: a diode decides by itself; an open switch carries no current; a closed one no voltage."""
_RANK = 1e-12
"""Singular values of the equilibrated system below this share of the largest are zero."""
_FLOOR = 1e-3
"""Share of the largest loop's impulses below which those of another loop are compared with this share instead."""
_PIVOTS = 12
"""Modes that are tried by flipping what is violated, before a complementarity problem is solved."""
_PASSES = 30
"""Proximal passes: 5 to 8 are enough for a bridge (relaxation 1e-3)."""
_RELAXATION = 1e-3


class Answer(NamedTuple):
    """Solution of one step: currents at its end, impulses, and how well they solve the problem."""

    u: np.ndarray
    Lambda: np.ndarray
    Mu: np.ndarray
    conducting: np.ndarray
    residual: float
    pivots: int
    size: int  # of the complementarity problem that was solved; 0 where a known mode was enough


class ModeMap(NamedTuple):
    """Solution of a mode as matrices: of f and g."""

    u_f: np.ndarray
    u_g: np.ndarray
    Lambda_f: np.ndarray
    Lambda_g: np.ndarray
    Mu_f: np.ndarray
    Mu_g: np.ndarray


class CircuitProblem:
    """Steps of one length h with one state of all switches."""

    def __init__(self, net: Network, h: float, theta: float, status: np.ndarray) -> None:
        self.net, self.h, self.theta, self.status = net, h, theta, status.copy()
        R = np.array([b.resistance for b in net.branches])
        S = np.array([b.elastance for b in net.branches])
        self.D = net.L + np.diag(theta * h * R + (theta * h) ** 2 * S)  # of the branches
        self.A = net.B @ self.D @ net.B.T
        self.f_u = self.D @ net.B.T - (h * R + theta * h * h * S)[:, None] * net.B.T
        self.f_q = -h * S[:, None] * net.B.T
        self.choice = status == CHOICE
        self.maps: dict[bytes, ModeMap] = {}
        self.largest = float(np.abs(np.diag(self.A)).max(initial=0.0)) or 1.0
        diagonal = np.diag(self.A)
        self._scale = 1.0 / np.sqrt(np.where(diagonal > 1e-300, diagonal, self.largest))  # section "Scaling"

    def admissible(self, conducting: np.ndarray) -> np.ndarray:
        """The mode nearest to `conducting` in which closed switches conduct and open ones block."""
        return np.where(self.choice, conducting, self.status == FREE)

    def mode(self, conducting: np.ndarray) -> ModeMap:
        """The linear map of a mode, made once."""
        key = conducting.tobytes()
        if key not in self.maps:
            self.maps[key] = self._make(conducting)
        return self.maps[key]

    def _make(self, conducting: np.ndarray) -> ModeMap:
        """The null-space method: currents that the constraints allow, then the forces of those constraints.

        Constraints are sums of loop currents with small whole factors.  Their elimination is exact, whatever the sizes
        of L, h R and h^2 / C.
        """
        net, A = self.net, self.A
        rows, more = len(conducting), net.G.shape[1]
        blocked = np.flatnonzero(~conducting)
        C = np.hstack([net.W[:, blocked], net.G])
        Z, P, _ = _eliminated(C)
        Z = self._aligned(Z)
        J = net.B.T @ Z  # branch currents
        reduced = J.T @ self.D @ J
        diagonal = np.diag(reduced)
        d = 1.0 / np.sqrt(np.where(diagonal > 1e-300, diagonal, self.largest))  # equilibrated before the rank is judged
        values, vectors = np.linalg.eigh(d[:, None] * reduced * d)
        large = values > _RANK * values.max(initial=0.0)
        inverse = d[:, None] * (vectors[:, large] / values[large]) @ vectors[:, large].T * d
        P_g = P[:, len(blocked) :]
        u_f = Z @ inverse @ J.T
        for _ in range(2):  # refined: currents that short circuits keep small come out small
            u_f = u_f + u_f @ (np.eye(len(self.D)) - self.D @ (net.B.T @ u_f))
        u_g = P_g - u_f @ (self.D @ (net.B.T @ P_g))
        if not large.all():  # currents that are not unique: the ones with the least sum of squares over all branches
            N = Z @ (d[:, None] * vectors[:, ~large])
            metric = net.B @ net.B.T
            share = N @ np.linalg.pinv(N.T @ metric @ N, rcond=_RANK, hermitian=True) @ (N.T @ metric)
            u_f, u_g = u_f - share @ u_f, u_g - share @ u_g
        force = np.linalg.pinv(C, rcond=_RANK)
        forces_f, forces_g = force @ (A @ u_f - net.B), force @ (A @ u_g)
        Lambda_f, Lambda_g = np.zeros((rows, len(self.D))), np.zeros((rows, more))
        Lambda_f[blocked], Lambda_g[blocked] = forces_f[: len(blocked)], forces_g[: len(blocked)]
        return ModeMap(u_f, u_g, Lambda_f, Lambda_g, forces_f[len(blocked) :], forces_g[len(blocked) :])

    def _aligned(self, Z: np.ndarray) -> np.ndarray:
        """A basis of the currents Z y: through inductors; resistors without inductors; capacitors alone; the rest."""
        net = self.net
        groups = (
            [b.inductance > 0.0 for b in net.branches],
            [b.resistance > 0.0 for b in net.branches],
            [b.elastance > 0.0 for b in net.branches],
        )
        columns = []
        for group in groups:
            rest, _, pivots = _eliminated((net.B[:, group].T @ Z).T)
            columns.append(Z[:, pivots])
            Z = Z @ rest
        return np.hstack([*columns, Z])

    def right_side(self, u: np.ndarray, q: np.ndarray, e: np.ndarray) -> np.ndarray:
        """f of a step, an impulse for each branch; e is the mean voltage that drives it."""
        return self.f_u @ u + self.f_q @ q + self.h * e

    def solve(self, f: np.ndarray, g: np.ndarray, conducting: np.ndarray, tol: float) -> Answer:
        """Currents and impulses of a step; starts with the mode `conducting`."""
        mode = self.admissible(conducting)
        seen: set[bytes] = set()
        for pivots in range(_PIVOTS):
            answer = self.evaluate(mode, f, g, pivots)
            if answer.residual <= tol:
                return self._shared(answer, f, g, tol)
            seen.add(mode.tobytes())
            wrong = self._violated(answer, mode, f, tol)
            if not wrong.any():
                break  # no solution of this mode: the equations of its loops contradict each other
            mode = mode ^ wrong
            if mode.tobytes() in seen:
                mode = mode ^ wrong
                mode[np.flatnonzero(wrong)[0]] ^= True  # least index first: it cannot cycle for long
                if mode.tobytes() in seen:
                    break
        return self._shared(self._by_complementarity(f, g, tol), f, g, tol)

    def _shared(self, answer: Answer, f: np.ndarray, g: np.ndarray, tol: float) -> Answer:
        """Let diodes that neither block nor conduct share the current where it is not unique: the least currents.

        In a bridge that is short of its source all four diodes conduct, and only the sum of their currents is given.
        """
        _, rows, current = self.scales(answer.u[None], answer.Lambda[None], answer.Mu[None], f[None])
        idle = self.choice & ~answer.conducting & (answer.Lambda <= tol * rows[0])
        if answer.residual > tol or not idle.any() or np.abs(answer.u @ self.net.B).max() <= tol * current[0]:
            return answer
        other = self.evaluate(answer.conducting | idle, f, g, answer.pivots)._replace(size=answer.size)
        sizes = [float(((each.u @ self.net.B) ** 2).sum()) for each in (answer, other)]
        return other if other.residual <= tol and sizes[1] < (1.0 - 1e-9) * sizes[0] else answer

    def evaluate(self, mode: np.ndarray, f: np.ndarray, g: np.ndarray, pivots: int = 0) -> Answer:
        """The answer of one mode, with its residual."""
        m = self.mode(mode)
        u = m.u_f @ f + m.u_g @ g
        Lambda, Mu = m.Lambda_f @ f + m.Lambda_g @ g, m.Mu_f @ f + m.Mu_g @ g
        residual = self.residuals(u[None], Lambda[None], Mu[None], f[None], g[None])[0]
        return Answer(u, Lambda, Mu, mode, float(residual), pivots, 0)

    def scales(
        self, u: np.ndarray, Lambda: np.ndarray, Mu: np.ndarray, f: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sizes with which the errors of n steps are compared.

        Returns those of the loops [V s], shape (n, loops), of the impulses of the rows [V s], shape (n, rows), and of
        the currents [A], shape (n,).
        """
        net = self.net
        i = u @ net.B
        loops = (np.abs(f) + np.abs(i) @ np.abs(self.D).T) @ np.abs(net.B).T
        loops += np.abs(Lambda) @ np.abs(net.W).T + np.abs(Mu) @ np.abs(net.G).T
        largest = loops.max(axis=1)
        loops = np.maximum(loops, _FLOOR * largest[:, None])
        rows = np.column_stack([loops[:, w != 0.0].max(axis=1, initial=0.0) for w in net.W.T]) if net.W.size else Lambda
        current = np.maximum(np.abs(i).max(axis=1), largest / self.largest)
        return _positive(loops), _positive(rows), _positive(current)

    def residuals(self, u: np.ndarray, Lambda: np.ndarray, Mu: np.ndarray, f: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Worst violation in each of n steps: of the voltage law, of prescribed currents, of the laws of the diodes.

        A loop is compared with the impulses in it, an impulse with those of its loops, a current with the largest one.
        """
        net, choice, status = self.net, self.choice, self.status
        loops, rows, current = self.scales(u, Lambda, Mu, f)
        i, impulse = (u @ net.W) / current[:, None], Lambda / rows
        errors = [
            ((u @ net.B @ self.D.T - f) @ net.B.T - Lambda @ net.W.T - Mu @ net.G.T) / loops,
            (u @ net.G - g) / current[:, None],
            i[:, status == LOCKED],
            impulse[:, status == FREE],
            np.minimum(i, impulse)[:, choice],  # zero exactly where 0 <= i perp Lam >= 0
        ]
        worst = np.zeros(len(u))
        for error in errors:
            worst = np.maximum(worst, np.abs(error).max(axis=1, initial=0.0))
        return worst

    def _violated(self, answer: Answer, mode: np.ndarray, f: np.ndarray, tol: float) -> np.ndarray:
        _, rows, current = self.scales(answer.u[None], answer.Lambda[None], answer.Mu[None], f[None])
        i = answer.u @ self.net.W
        return self.choice & np.where(mode, i < -tol * current[0], answer.Lambda < -tol * rows[0])

    def _by_complementarity(self, f: np.ndarray, g: np.ndarray, tol: float) -> Answer:
        """Proximal passes with A + s 1, each an LCP in the impulses; then one mixed LCP."""
        net, choice = self.net, self.choice
        n, size = len(net.B), int(choice.sum())
        W, d = net.W[:, choice], self._scale
        fixed = np.hstack([net.W[:, self.status == LOCKED], net.G])
        target = np.concatenate([np.zeros(fixed.shape[1] - len(g)), g])
        s = _RELAXATION / d**2
        k = fixed.shape[1]
        system = np.block([[self.A + np.diag(s), -fixed], [fixed.T, np.zeros((k, k))]])
        scale = np.concatenate([d, np.full(k, 1.0 / max(d.max(), 1e-300))])
        inverse = scale[:, None] * np.linalg.pinv(scale[:, None] * system * scale, rcond=_RANK) * scale
        Z, Z_g = inverse[:n, :n], inverse[:n, n:]
        unit = float(np.abs(np.diag(W.T @ Z @ W)).max(initial=0.0)) or 1.0
        u, best = np.zeros(n), None
        for _ in range(_PASSES):
            y = Z @ (net.B @ f + s * u) + Z_g @ target
            found = solve_lcp(W.T @ Z @ W / unit, np.ascontiguousarray(W.T @ y), tol=1e-12)
            if not found.solved and found.residual > 1e-9:
                break
            Lambda = found.x / unit
            u = y + Z @ (W @ Lambda)
            for part in (found.x <= 0.0, found.y > 0.0):
                mode = np.zeros(len(choice), dtype=bool)
                mode[choice] = part
                answer = self.evaluate(self.admissible(mode), f, g, found.iterations)._replace(size=size)
                if best is None or answer.residual < best.residual:
                    best = answer
                if best.residual <= tol:
                    return best
        mixed = self._by_mixed(f, g, W, fixed, target)
        return mixed if best is None or mixed.residual < best.residual else best

    def _by_mixed(self, f: np.ndarray, g: np.ndarray, W: np.ndarray, fixed: np.ndarray, target: np.ndarray) -> Answer:
        """One mixed LCP in currents, forces of locked rows, and impulses."""
        n, k, size = len(self.A), fixed.shape[1], W.shape[1]
        d = self._scale
        total = n + k + size
        system = np.zeros((total, total))
        system[:n, :n] = self.A * d[:, None] * d
        system[:n, n:] = -np.hstack([fixed, W]) * d[:, None]
        system[n:, :n] = -system[:n, n:].T
        b = np.concatenate([-(self.net.B @ f) * d, -target, np.zeros(size)])
        unit = float(np.abs(b).max(initial=0.0)) or 1.0
        found = solve_mlcp(system, b / unit, free=np.arange(total) < n + k)
        x = found.x * unit
        u = x[:n] * d
        Lambda = np.zeros(len(self.choice))
        locked = k - len(g)
        Lambda[self.status == LOCKED], Lambda[self.choice] = x[n : n + locked], x[n + k :]
        Mu = x[n + locked : n + k]
        residual = self.residuals(u[None], Lambda[None], Mu[None], f[None], g[None])[0]
        mode = self.admissible(Lambda <= 0.0)
        return Answer(u, Lambda, Mu, mode, float(residual), int(found.iterations), size)

    def short_circuit(self, f: np.ndarray) -> list[int]:
        """Branches of a loop in which the current grows without bound: no L, R, C, and a source that drives it.

        Empty where there is none: then some prescribed current has no way.
        """
        from scipy.optimize import linprog

        net = self.net
        locked = net.W[:, self.status == LOCKED]
        equal = np.vstack([self.A * self._scale[:, None], locked.T, net.G.T])
        drive = net.B @ f
        found = linprog(
            -drive / (np.abs(drive).max(initial=0.0) or 1.0),
            A_ub=-net.W[:, self.choice].T if self.choice.any() else None,
            b_ub=np.zeros(int(self.choice.sum())) if self.choice.any() else None,
            A_eq=equal,
            b_eq=np.zeros(len(equal)),
            bounds=(-1.0, 1.0),
        )
        if found.x is None or found.fun > -1e-6:
            return []
        return [int(k) for k in np.flatnonzero(np.abs(found.x @ net.B) > 1e-9)]


def _eliminated(C: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """All u with C^T u = g as u = Z y + P g, by elimination with pivoting, and the unknowns that were eliminated.

    Constraints that repeat others drop out.
    """
    n, k = C.shape
    table = np.hstack([C.T, np.eye(k)])
    pivots: list[int] = []
    for column in range(n):
        row = len(pivots)
        if row == k:
            break
        best = row + int(np.argmax(np.abs(table[row:, column])))
        if abs(table[best, column]) <= 1e-9:
            continue
        table[[row, best]] = table[[best, row]]
        table[row] /= table[row, column]
        others = np.arange(k) != row
        table[others] -= np.outer(table[others, column], table[row])
        pivots.append(column)
    free = [column for column in range(n) if column not in pivots]
    Z, P = np.zeros((n, len(free))), np.zeros((n, k))
    Z[free, np.arange(len(free))] = 1.0
    Z[pivots] = -table[: len(pivots)][:, free]
    P[pivots] = table[: len(pivots), n:]
    return Z, P, pivots


def _positive(size: np.ndarray) -> np.ndarray:
    """A size by which errors are divided: itself, or 1 where it is zero."""
    return np.where(size > 0.0, size, 1.0)
