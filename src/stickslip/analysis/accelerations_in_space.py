"""Forces and accelerations of a state whose contacts have two tangents: every solution, mode by mode.

A closed contact lifts off, or it has a load.  With a load it slides on against its velocity, with the friction that
dissipates most; at rest it sticks, or it begins to slip along an acceleration whose direction is unknown.  In a mode
without slips that begin, forces and accelerations solve linear equations.  One slip that begins adds one unknown, its
direction phi: all zeros of one function of phi are looked for.  With more contacts at rest one solution is looked for,
contact by contact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stickslip.checks import Array
from stickslip.contact.sections import section_row
from stickslip.contact.spatial_contact import (
    POLYGON,
    POWER,
    friction_defect,
    power_point,
    section_gauge,
    spatial_contact,
)
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CLUTCH, CONSTRAINT, CONTACT, KIND_NAMES, TANGENT, System

OPEN, LOADED, STICKS, BEGINS = "lifts off", "slides", "sticks", "slips"
MODES = 729  # that are tried
DIRECTIONS = 240  # of a slip that begins, between which its direction is looked for
SWEEPS = 2000
ROUND_OFF = 1e-10  # of the accelerations in play


@dataclass(frozen=True, eq=False)
class InSpace:
    """One solution: du/dt (f,), forces (n, 2) [N], rates of the relative velocities (n, 2), and the mode's words."""

    du: Array
    forces: Array
    rates: Array
    words: dict[int, str]


@dataclass(eq=False)
class SpaceProblem:
    """The acceleration problem of closed contacts, some with two tangents.

    closed : their numbers; slips : of these, with the friction over the load in both tangents; rests : those at rest
    with friction; W_N, W_T, V_N, V_T, zeta, mu : of all n rows, as in `AccelerationProblem`
    """

    system: System
    closed: list[int]
    slips: dict[int, tuple[float, float]]
    rests: list[int]
    sections: dict[int, Array]
    mu: Array
    W_N: Array
    W_T: Array
    zeta: Array
    force: Array
    free: Array
    inertia: Inertia

    @classmethod
    def at(
        cls, system: System, state: tuple[float, Array, Array, Array], closed: np.ndarray, sliding: np.ndarray
    ) -> SpaceProblem:
        """The problem at (t, q, u, p); `closed`, `sliding` (n,) bool."""
        t, q, u, p = state
        W_N, W_T, w_hat = directions = system.geometry(q, t, p)
        mu = system.laws_at(q, t, p, None, np.flatnonzero(closed))[0]
        sections = {int(k): _section(system, int(k)) for k in system.spatial}
        _require_known(system, mu)
        inertia = Inertia.at(system, q, t, p, directions=directions)
        zeta, h = system.drift(q, u, t, p), system.force(q, u, t, p)
        free, _ = inertia.accelerate(h, zeta[inertia.index, 1])
        gamma = W_T @ u + w_hat[:, 1]
        index = [int(k) for k in np.flatnonzero(closed)]
        rough = [k for k in index if k in sections and mu[k] > 0.0]
        slips = {
            k: _friction(sections[k], (float(mu[k]), float(mu[k + 1])), float(gamma[k]), float(gamma[k + 1]))
            for k in rough
            if sliding[k]
        }
        rests = [k for k in rough if not sliding[k]]
        return cls(system, index, slips, rests, sections, mu, W_N, W_T, zeta, h, free, inertia)

    @property
    def enumerated(self) -> bool:
        """Whether all solutions can be listed."""
        smooth = all(self.sections[k][0] != POLYGON for k in self.rests)
        return len(self.rests) <= 1 and smooth and self._modes() <= MODES

    def _modes(self) -> int:
        return int(3 ** len(self.rests) * 2 ** (len(self.closed) - len(self.rests)))

    def solutions(self) -> list[InSpace]:
        """Solutions with different du/dt."""
        found: list[InSpace] = []
        tries = itertools.chain(self._by_modes() if self._modes() <= MODES else (), self._by_sweeps())
        for one in tries:
            if self._holds(one) and not any(self._same(one, other) for other in found):
                found.append(one)
        return found

    def _by_modes(self) -> Iterator[InSpace]:
        options = [(OPEN, STICKS, BEGINS) if k in self.rests else (OPEN, LOADED) for k in self.closed]
        for words in itertools.product(*options):
            mode = dict(zip(self.closed, words, strict=True))
            begins = [k for k in self.closed if mode[k] == BEGINS]
            if not begins:
                yield self._linear(mode, self.slips)
            elif self.enumerated:
                yield from self._begun(mode, begins[0])

    def _linear(self, mode: dict[int, str], ratios: dict[int, tuple[float, float]]) -> InSpace:
        """Forces and accelerations where the friction of what slides is `ratios` times its load."""
        rows: list[tuple[int, int]] = []
        C, R = [], []
        for k, word in mode.items():
            if word == OPEN:
                continue
            a, b = ratios.get(k, (0.0, 0.0)) if word != STICKS else (0.0, 0.0)
            rows.append((k, 0))
            C.append(self.W_N[k])
            R.append(self.W_N[k] + (a * self.W_T[k] + b * self.W_T[k + 1] if a or b else 0.0))
            for row in (k, k + 1) if word == STICKS else ():
                rows.append((row, 1))
                C.append(self.W_T[row])
                R.append(self.W_T[row])
        forces, du = np.zeros((self.system.n_contacts, 2)), self.free
        if rows:
            X, c = self.inertia.solve(np.array(R).T), np.array(C)
            wanted = c @ self.free + np.array([self.zeta[place] for place in rows])
            for place, value in zip(rows, np.linalg.lstsq(c @ X, -wanted, rcond=1e-12)[0], strict=True):
                forces[place] = value
            for k, word in mode.items():
                if word in (LOADED, BEGINS) and k in ratios:
                    forces[k, 1], forces[k + 1, 1] = (r * forces[k, 0] for r in ratios[k])
            du = self._accelerated(forces)
        return self._solution(du, forces, dict(mode))

    def _accelerated(self, forces: Array) -> Array:
        return np.asarray(
            self.free + self.inertia.solve((self.W_N.T @ forces[:, 0] + self.W_T.T @ forces[:, 1])[:, None])[:, 0]
        )

    def _solution(self, du: Array, forces: Array, words: dict[int, str]) -> InSpace:
        rates = np.stack([self.W_N @ du, self.W_T @ du], axis=-1) + self.zeta
        return InSpace(du, forces, rates, words)

    def _begun(self, mode: dict[int, str], k: int) -> Iterator[InSpace]:
        """Slips of contact k that begin along some direction phi: where its acceleration has this direction."""
        from scipy.optimize import brentq  # takes 0.1 s to load: only slips that begin pay for it

        def along(phi: float) -> InSpace:
            m = float(self.mu[k]), float(self.mu[k + 1])
            ratio = _friction(self.sections[k], m, math.cos(phi), math.sin(phi))
            return self._linear(mode, {**self.slips, k: ratio})

        def beside(phi: float) -> float:
            a = along(phi).rates[k : k + 2, 1]
            return float(a[1] * math.cos(phi) - a[0] * math.sin(phi))

        places = np.linspace(0.0, 2.0 * math.pi, DIRECTIONS + 1) + 1e-3
        values = [beside(phi) for phi in places]
        for i in range(DIRECTIONS):
            if values[i] * values[i + 1] < 0.0:
                phi = float(brentq(beside, places[i], places[i + 1], xtol=1e-15, rtol=1e-14))
                one = along(phi)
                a = one.rates[k : k + 2, 1]
                if a[0] * math.cos(phi) + a[1] * math.sin(phi) > 0.0:
                    yield one

    def _by_sweeps(self) -> Iterator[InSpace]:
        """One solution, contact after contact with the others held; nothing where the sweeps do not settle."""
        n, du = self.system.n_contacts, self.free
        V_N, V_T = self.inertia.directions(self.W_N), self.inertia.directions(self.W_T)
        forces, scale = np.zeros((n, 2)), self._scale(self.free)
        for _ in range(SWEEPS):
            before = forces.copy()
            for k in self.closed:
                rise = float(self.W_N[k] @ du + self.zeta[k, 0])
                if k in self.rests:
                    rows = [k, k + 1]
                    B, X = np.vstack([self.W_N[k], self.W_T[rows]]), np.column_stack([V_N[:, k], V_T[:, rows]])
                    now = np.array([forces[k, 0], *forces[rows, 1]])
                    c = B @ (du - X @ now) + np.array([self.zeta[k, 0], *self.zeta[rows, 1]])
                    m = float(self.mu[k]), float(self.mu[k + 1])
                    forces[k, 0], forces[k, 1], forces[k + 1, 1] = spatial_contact(
                        B @ X, tuple(c.tolist()), m, self.sections[k], (0.0, 0.0)
                    )
                else:
                    a, b = self.slips.get(k, (0.0, 0.0))
                    push = V_N[:, k] + (a * V_T[:, k] + b * V_T[:, k + 1] if a or b else 0.0)
                    alpha = float(self.W_N[k] @ push)
                    if not alpha > 0.0:
                        return
                    forces[k, 0] = max(0.0, forces[k, 0] - rise / alpha)
                    if k in self.slips:
                        forces[k, 1], forces[k + 1, 1] = a * forces[k, 0], b * forces[k, 0]
                du = self._accelerated(forces)
            moved = self._accelerated(forces - before) - self.free
            if float(np.abs(moved).max(initial=0.0)) <= 1e-14 * scale:
                break
        yield self._solution(du, forces, self._words(du, forces))

    def _words(self, du: Array, forces: Array) -> dict[int, str]:
        tiny = ROUND_OFF * self._scale(du)
        slide = self.W_T @ du + self.zeta[:, 1]
        words = {}
        for k in self.closed:
            moves = k not in self.rests or math.hypot(slide[k], slide[k + 1]) > tiny
            words[k] = OPEN if forces[k, 0] == 0.0 else (BEGINS if k in self.rests else LOADED) if moves else STICKS
        return words

    def _scale(self, du: Array) -> float:
        sizes = np.abs(self.W_N).max(initial=0.0), np.abs(self.W_T).max(initial=0.0), 1e-300
        return float((np.abs(du).max(initial=0.0) + np.abs(self.free).max(initial=0.0)) * max(sizes)) + float(
            np.abs(self.zeta).max(initial=0.0)
        )

    def _holds(self, one: InSpace) -> bool:
        """Whether the contact laws hold: loads, complementarity, friction of what rests by maximum dissipation."""
        tiny = ROUND_OFF * max(self._scale(one.du), 1e-300)
        for k in self.closed:
            N, rise = float(one.forces[k, 0]), float(one.rates[k, 0])
            alpha = float(self.W_N[k] @ self.inertia.solve(self.W_N[k][:, None])[:, 0])
            if N * alpha < -tiny or rise < -tiny or (N * alpha > tiny and rise > tiny):
                return False
            if k in self.rests and N * alpha > tiny:
                T, m = one.forces[k : k + 2, 1], self.mu[k : k + 2]
                if section_gauge(self.sections[k], *(T / (m * N)).tolist()) > 1.0 + 1e-7:
                    return False
                laws = N, *T.tolist(), *m.tolist()
                if friction_defect(self.sections[k], *laws, *one.rates[k : k + 2, 1].tolist()) > 1e3 * tiny:
                    return False
        return True

    def _same(self, one: InSpace, other: InSpace) -> bool:
        tiny = 1e-8 * max(self._scale(one.du), 1e-300)
        return bool(np.abs(one.du - other.du).max(initial=0.0) <= tiny)

    def reactions(self, one: InSpace) -> Array:
        """Forces in both columns, with the reactions of the constraints in their places, (n, 2) [N]."""
        forces = one.forces.copy()
        if self.inertia:
            pushes = self.force + self.W_N.T @ forces[:, 0] + self.W_T.T @ forces[:, 1]
            loose = np.linalg.solve(self.inertia.M, pushes)
            forces[self.inertia.index, 1] = self.inertia.answer(-self.inertia.J @ (one.du - loose))
        return forces


def _friction(section: Array, m: tuple[float, float], x1: float, x2: float) -> tuple[float, float]:
    """Friction over load of a slip along (x1, x2): the point of the section that dissipates most."""
    y1, y2 = m[0] * x1, m[1] * x2
    size = math.hypot(y1, y2)
    if section[0] == POLYGON:
        corners = section[2:].reshape(-1, 2)
        s = corners[int(np.argmin(corners @ np.array([y1, y2])))]
        return m[0] * float(s[0]), m[1] * float(s[1])
    s1, s2 = -y1 / size, -y2 / size
    if section[0] == POWER:
        s1, s2 = power_point(s1, s2, float(section[1]))
    return m[0] * s1, m[1] * s2


def _section(system: System, k: int) -> Array:
    row = section_row(system.sections[k])
    if row is None:
        raise ValueError(
            f"accelerations knows discs, ellipses, PowerNorm and polygons; the section of contact "
            f"{system.contact_names[k]!r} is a {type(system.sections[k]).__name__}."
        )
    return row


def _require_known(system: System, mu: Array) -> None:
    for k, kind in enumerate(system.contact_kinds):
        spatial = k + 1 < system.n_contacts and system.contact_kinds[k + 1] == TANGENT
        planar = kind == CONTACT and not spatial and mu[k] != 0.0
        if planar or (kind not in (CONTACT, CLUTCH, TANGENT) and kind < CONSTRAINT):
            what = "contact with one direction of slip" if planar else KIND_NAMES[kind]
            raise ValueError(
                f"accelerations knows contacts with two tangents beside contacts without friction, clutches and "
                f"constraints; {system.contact_names[k]!r} is a {what}."
            )
