"""Modes of motion: which contacts are closed, which of them stick, and which way the others slip."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stickslip.checks import Array
from stickslip.events.acceleration import AccelerationProblem, Accelerations
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CLUTCH, CONSTRAINT, CONTACT, FRICTION, SPRING, System
from stickslip.mechanisms.templates.structs import Constraints
from stickslip.trajectory import CLOSED, OPEN, SLIP_MINUS, SLIP_PLUS, STICK

ROUND_OFF = 1e-10  # velocities and accelerations below this share of their terms are zero
AT_BOUND = 1e-6  # friction is at its bound up to this share of it
HELD = -1  # `stick` of a contact at rest whose friction is at its bound: others keep it there
_INDEPENDENT = 1e-9  # a constraint whose direction the others span up to this share of its square is theirs


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of n contacts.

    Attributes
    ----------
    closed : contacts that touch and have no normal velocity; clutches that are engaged; friction joints and springs
    sense : of slip, +-1 (side of a prestressed spring); 0 where the contact sticks or is open
    normal, stick, slip : what the equations of motion keep to, see the template `smooth`.  A closed contact whose
        constraint others imply, such as a third foot on a floor, has none of its own; where its friction is at the
        static bound stick is -1 (`HELD`)
    branches : of the system's kinks, +-1, see `mechanisms.kinks`
    """

    closed: np.ndarray
    sense: Array
    normal: np.ndarray
    stick: np.ndarray
    slip: Array
    branches: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def free(cls, contacts: int) -> Mode:
        """All contacts open."""
        zeros = np.zeros(contacts, np.int64)
        return cls(np.zeros(contacts, bool), np.zeros(contacts), zeros, zeros.copy(), np.zeros(contacts))

    @property
    def constraints(self) -> Constraints:
        """The constraints of the mode, as the compiled functions take them."""
        return Constraints(self.normal, self.stick, self.slip)

    def states(self) -> np.ndarray:
        """Contact states of a trajectory, (n,) int8."""
        moving = np.where(self.sense > 0.0, SLIP_PLUS, SLIP_MINUS)
        loose = np.where(self.slip != 0.0, moving, CLOSED)
        return np.where(self.closed, np.where(self.stick != 0, STICK, loose), OPEN).astype(np.int8)


def mode_of(
    system: System,
    closed: np.ndarray,
    sense: Array,
    problem: AccelerationProblem,
    solution: Accelerations,
    carries: np.ndarray | None = None,
) -> Mode:
    """The mode that a solution of the acceleration problem leads into.

    A contact without force that accelerates away opens; a candidate with |lambda_T| below its bound, or no tangential
    acceleration, sticks; else it slips the way it accelerates.  Contacts in `carries` (n,) bool are about to take a
    load over, which is a round-off of either sign yet.
    """
    n = system.n_contacts
    taking = np.zeros(n, bool) if carries is None else carries
    closed, sense = closed.copy(), sense.copy()
    normal, stick, slip = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    size = problem.scale(solution)
    tiny = ROUND_OFF * size
    bound = problem.mu * solution.lambda_N + problem.a
    holding: list[int] = []
    for i, k in enumerate(problem.index):
        if problem.normal[i]:
            loaded = taking[k] or solution.lambda_N[i] * problem.alpha[i] > ROUND_OFF * ROUND_OFF * size[i, 0]
            if not loaded and solution.rise[i] > tiny[i, 0]:
                closed[k], sense[k] = False, 0.0
                continue
            normal[k] = loaded
        if problem.candidate[i] and abs(solution.slide[i]) > tiny[i, 1]:
            sense[k] = np.sign(solution.slide[i])
        elif problem.candidate[i] and bound[i] > 0.0:
            holding.append(i)
        if sense[k] != 0.0 and (bound[i] > 0.0 or (taking[k] and problem.mu[i] > 0.0)):
            slip[k] = sense[k]
    chosen = _independent(problem, [(int(i), 0) for i in np.flatnonzero(normal[problem.index])], [])
    for i, k in enumerate(problem.index):
        normal[k] = normal[k] and (i, 0) in chosen
    share = {i: abs(float(solution.lambda_T[i])) / bound[i] for i in holding}
    at_bound = {i: share[i] >= 1.0 - AT_BOUND for i in holding}
    holding.sort(key=lambda i: (at_bound[i], share[i] <= AT_BOUND))  # what others may hold has no force, or all it can
    chosen = _independent(problem, [(i, 1) for i in holding], chosen)
    for i in holding:
        k = problem.index[i]
        stick[k] = (i, 1) in chosen
        if not stick[k] and at_bound[i]:
            stick[k], slip[k] = HELD, -np.sign(solution.lambda_T[i])
    return Mode(closed, sense, normal, stick, slip)


def _independent(
    problem: AccelerationProblem, rows: list[tuple[int, int]], chosen: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """`chosen` and those of `rows` (contact, part) whose direction it does not span yet, in the metric M^-1."""
    W, V = (problem.W_N, problem.W_T), (problem.V_N, problem.V_T)
    chosen = list(chosen)
    for i, part in rows:
        w, square = W[part][i], float(W[part][i] @ V[part][:, i])
        rest = square
        if chosen:
            basis = np.array([W[c][j] for j, c in chosen])
            images = np.array([V[c][:, j] for j, c in chosen])
            share = images @ w
            rest -= float(share @ np.linalg.solve(basis @ images.T, share))
        if rest > _INDEPENDENT * square:
            chosen.append((i, part))
    return chosen


def touching(
    system: System, t: float, q: Array, u: Array, u_before: Array, p: Array, gap_tol: float, before: Mode
) -> tuple[np.ndarray, Array]:
    """Closed contacts and their sense of slip after an impact, from the velocities alone.

    A spring that was off its rest position stays on its side.
    """
    kinds = np.array(system.contact_kinds, dtype=int)
    gamma, size = relative_velocities(system, t, q, u, p, np.abs(u) + np.abs(u_before))
    still = gamma[:, 0] <= ROUND_OFF * size[:, 0]
    close = ((kinds == CONTACT) & (system.gap(q, t, p) <= gap_tol)) | (kinds == CLUTCH)
    closed = (close & still) | (kinds >= FRICTION)
    moves = np.where(np.abs(gamma[:, 1]) > ROUND_OFF * size[:, 1], np.sign(gamma[:, 1]), 0.0)
    sense = np.where((kinds == SPRING) & (before.sense != 0.0), before.sense, moves)
    return closed, np.where(closed & (kinds < CONSTRAINT), sense, 0.0)


def relative_velocities(
    system: System, t: float, q: Array, u: Array, p: Array, speeds: Array | None = None
) -> tuple[Array, Array]:
    """gamma (n, 2), and how large the numbers are that it is made of (`speeds` in place of |u|)."""
    W_N, W_T, w_hat = system.geometry(q, t, p)
    speeds = np.abs(u) if speeds is None else speeds
    gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
    return gamma, np.stack([np.abs(W_N) @ speeds, np.abs(W_T) @ speeds], axis=-1) + np.abs(w_hat)


def onto_contacts(system: System, t: float, q: Array, p: Array, index: np.ndarray, tangent: np.ndarray) -> Array:
    """Coordinates with zero gap at the contacts of `index`: Newton steps along M^-1 w_N; w_T of springs (`tangent`).

    The equations of all constraints are met as well.
    """
    held = system.constraints
    index = np.concatenate([index, held]).astype(int)
    tangent = tangent | np.isin(np.arange(system.n_contacts), held)
    for _ in range(4):
        g = system.gap(q, t, p)[index]
        if np.max(np.abs(g), initial=0.0) <= 1e-15 * max(1.0, float(np.abs(q).max(initial=0.0))):
            break
        W_N, W_T, _ = system.geometry(q, t, p)
        W = np.where(tangent[index, None], W_T[index], W_N[index])
        V = np.linalg.solve(system.mass(q, t, p), W.T)
        q = q - V @ np.linalg.lstsq(W @ V, g, rcond=1e-12)[0]
    return q


def out_of_contacts(system: System, t: float, q: Array, p: Array) -> Array:
    """A configuration without penetrations: contacts of `q` with a gap below zero just touch."""
    kinds = np.array(system.contact_kinds, dtype=int)
    deep = np.flatnonzero((kinds == CONTACT) & (system.start_gap(q, t, p) < 0.0))
    if not len(deep) and not len(system.constraints):
        return q
    return onto_contacts(system, t, q, p, deep, np.zeros(len(kinds), dtype=bool))


def onto_velocities(
    system: System, t: float, q: Array, u: Array, p: Array, closed: np.ndarray, sense: Array
) -> tuple[Array, Array]:
    """Velocities with gamma_N = 0 at closed contacts and gamma_T = 0 where they stick; the impulses for it, (n, 2).

    The correction of a slipping contact acts along M^-1 (w_N - mu s w_T): then the friction that belongs to it is
    there, too, and the infinitely many impacts which a closing contact skips keep their sum.
    """
    W_N, W_T, w_hat = system.geometry(q, t, p)
    mu, _, _, a = system.laws_at(q, t, p)
    if system.has_friction_laws:
        mu = np.where(sense != 0.0, system.sliding_friction(np.abs(W_T @ u + w_hat[:, 1]), p, (q, t)), mu)
    kinds = np.array(system.contact_kinds, dtype=int)
    N = np.flatnonzero(closed & ((kinds == CONTACT) | (kinds == CLUTCH)))
    T = np.flatnonzero(closed & (sense == 0.0) & ((mu > 0.0) | (a > 0.0)) & W_T.any(axis=1))
    impulse = np.zeros((system.n_contacts, 2))
    inertia = Inertia.at(system, q, t, p, directions=(W_N, W_T, w_hat))
    loose = u
    if inertia:
        u, _ = inertia.onto(u)
    C = np.concatenate([W_N[N], W_T[T]])
    R = np.concatenate([W_N[N] - (mu * sense)[N, None] * W_T[N], W_T[T]])
    if len(C):
        X = inertia.solve(R.T)
        gamma = C @ u + np.concatenate([w_hat[N, 0], w_hat[T, 1]])
        Lambda = -np.linalg.lstsq(C @ X, gamma, rcond=1e-12)[0]
        u = u + X @ Lambda
        impulse[N, 0] = Lambda[: len(N)]
        impulse[:, 1] = -mu * sense * impulse[:, 0]
        impulse[T, 1] += Lambda[len(N) :]
    if inertia:
        by_contacts = np.linalg.solve(inertia.M, W_N.T @ impulse[:, 0] + W_T.T @ impulse[:, 1])
        impulse[inertia.index, 1] = inertia.answer(-inertia.J @ (u - loose - by_contacts))
    return u, impulse
