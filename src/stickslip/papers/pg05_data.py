"""Data of the figures of [PG05]: impacts of the bar, solved by the impact laws, and the paper's closed forms.

The bar has m = s = 1; every result depends on K = Theta_S/(m s^2), the coefficients, the angle phi [rad] and the ratio
r = gamma_T^-/gamma_N^- alone. Impacts have gamma_N^- = -1, so gamma_T^- = -r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from stickslip import library
from stickslip.analysis.painleve import critical_friction, smallest_critical_friction
from stickslip.impacts.impact import Impact, impact
from stickslip.laws import ImpactLaw, Newton, Stronge, Walton
from stickslip.mechanisms.system import System

Array = np.ndarray

BACKWARD, STICK, FORWARD = (Impact.STATES.index(name) for name in ("backward slip", "stick", "forward slip"))
SLENDER, SPHERE = 1 / 3, 2 / 5  # K of a slender bar and of a solid sphere
FIG13_FRICTION, FIG13_EPS_T, FIG13_RESTITUTIONS = 0.5, 0.605, (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Bar:
    """A bar with its coefficients, its impacts, and the closed forms of [PG05] (22)-(50) for them."""

    friction: float
    restitution_normal: float = 1.0
    restitution_tangential: float = 1.0
    inertia: float = SLENDER

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of `library.impacting_bar` for this bar: mass 1 kg, half length 1 m."""
        return {"mass": 1.0, "half_length": 1.0, **self.__dict__}

    def impacts(self, r: Array | float, phi: Array | float, law: ImpactLaw | None = None) -> Impact:
        """Impacts at ratios r and angles phi, broadcast against each other; Newton's law unless another is given."""
        r, phi = np.broadcast_arrays(np.asarray(r, dtype=float), np.asarray(phi, dtype=float))
        q = np.stack([0.0 * phi, np.sin(phi), phi], axis=-1)
        u = np.stack([-r, np.full_like(r, -1.0), 0.0 * r], axis=-1)
        return impact(slender_bar(), q, u, law, params=self.parameters)

    def matrix(self, phi: Array | float) -> tuple[Array, Array, Array]:
        """alpha, beta, delta of [PG05] (22), the entries of the Delassus matrix at the angle phi [rad]."""
        c, s = np.cos(phi), np.sin(phi)
        return 1.0 + c * c / self.inertia, 1.0 + s * s / self.inertia, s * c / self.inertia

    def boundaries(self, phi: Array | float) -> tuple[Array, Array]:
        """Two ratios r at the angle phi: backward slip from the first on (34), forward slip up to the second (47).

        NaN where the conditions (33), (46) for this slip fail.
        """
        alpha, beta, delta = self.matrix(phi)
        mu, scale = self.friction, (1.0 + self.restitution_normal) / (1.0 + self.restitution_tangential)
        with np.errstate(divide="ignore"):
            backward = np.where(alpha + mu * delta > 0.0, (delta + mu * beta) / (alpha + mu * delta) * scale, np.nan)
            forward = np.where(alpha - mu * delta > 0.0, (delta - mu * beta) / (alpha - mu * delta) * scale, np.nan)
        return backward, forward

    def state(self, r: Array | float, phi: Array | float) -> Array:
        """Regime by (33), (34), (39)-(41), (46), (47), in the codes of `Impact.state_code`."""
        backward, forward = self.boundaries(phi)
        return np.where(r >= backward, BACKWARD, np.where(r <= forward, FORWARD, STICK))

    def slip_after(self, r: Array | float, phi: Array | float) -> Array:
        """gamma_T^+/|gamma_N^-| by (48)-(50): the ratio gamma_T^+/gamma_N^+ times eps_N."""
        alpha, beta, delta = self.matrix(phi)
        mu, e = self.friction, 1.0 + self.restitution_normal
        state = self.state(r, phi)
        with np.errstate(divide="ignore"):
            backward = (delta + mu * beta) / (alpha + mu * delta) * e - r
            forward = (delta - mu * beta) / (alpha - mu * delta) * e - r
        return np.where(
            state == BACKWARD, backward, np.where(state == FORWARD, forward, self.restitution_tangential * r)
        )

    def bisected(self, phi: Array, limit: float) -> tuple[Array, Array]:
        """The two ratios of `boundaries`, found by bisection on solutions of the LCP; NaN where |r| exceeds `limit`."""
        found = []
        for state, sign in ((BACKWARD, 1.0), (FORWARD, -1.0)):
            inside, outside = np.full_like(phi, -sign * limit), np.full_like(phi, sign * limit)
            there = self.impacts(outside, phi).state_code[:, 0] == state
            for _ in range(60):
                middle = 0.5 * (inside + outside)
                slips = self.impacts(middle, phi).state_code[:, 0] == state
                outside, inside = np.where(slips, middle, outside), np.where(slips, inside, middle)
            found.append(np.where(there, outside, np.nan))
        return found[0], found[1]


@lru_cache(maxsize=1)
def slender_bar() -> System:
    """The library's bar with m = s = 1; its coefficients are given with each impact."""
    system: System = library.impacting_bar(mass=1.0, half_length=1.0).system
    return system


@dataclass(frozen=True)
class RegimeMap:
    """Impacts over the plane of ratio and angle, at the centres of cells; arrays have shape (angles, ratios)."""

    bar: Bar
    r: Array
    phi: Array
    hit: Impact

    @property
    def state(self) -> Array:
        """Regime of every cell, in the codes of `Impact.state_code`."""
        return self.hit.state_code[..., 0]

    @property
    def slip_after(self) -> Array:
        """gamma_T^+/|gamma_N^-| of every cell."""
        return self.hit.tangential_velocity_after[..., 0]

    @cached_property
    def different_states(self) -> int:
        """Number of cells whose regime differs from the closed forms."""
        return int((self.state != self.bar.state(self.r, self.phi[:, None])).sum())

    @cached_property
    def largest_difference(self) -> float:
        """Largest difference of gamma_T^+ from the closed forms, relative to 1 + |r|."""
        difference = np.abs(self.slip_after - self.bar.slip_after(self.r, self.phi[:, None]))
        return float((difference / (1.0 + np.abs(self.r))).max())


def regime_map(bar: Bar, limit: float, ratios: int = 800, angles: int = 600) -> RegimeMap:
    """Solve the impacts of `ratios` x `angles` cells that cover (-limit, limit) x (0, pi)."""
    r, phi = centres(-limit, limit, ratios), centres(0.0, np.pi, angles)
    return RegimeMap(bar, r, phi, bar.impacts(r, phi[:, None]))


def centres(low: float, high: float, cells: int) -> Array:
    """Centres of equal cells: the ends, where a bar lies flat, are never hit."""
    edges = np.linspace(low, high, cells + 1)
    return 0.5 * (edges[1:] + edges[:-1])


@dataclass(frozen=True)
class CriticalFriction:
    """Fig. 6: critical friction of forward slip over the angle [rad].

    Attributes
    ----------
    phi, curve : angles, and the critical friction from the mass matrix, inf where none exists.
    sampled, onset : angles, and the smallest mu at which the LCP answers a sliding tip (gamma_N^- = 0, gamma_T^- > 0)
        with an impulse.
    minimum : least critical friction and its angle (mu, phi), by a search.
    """

    phi: Array
    curve: Array
    sampled: Array
    onset: Array
    minimum: tuple[float, float]

    @cached_property
    def largest_difference(self) -> float:
        """Largest relative difference of `onset` from alpha/delta."""
        alpha, _, delta = Bar(0.0).matrix(self.sampled)
        return float(np.abs(self.onset * delta / alpha - 1.0).max())


def critical_friction_over_angle(points: int = 361, samples: int = 29) -> CriticalFriction:
    """Critical friction at `points` angles from 0 to pi, and its onset in the LCP at `samples` angles by bisection."""
    system = slender_bar()
    phi = np.linspace(0.0, np.pi, points)
    curve = np.array([critical_friction(system, [0.0, np.sin(x), x], slip=1) for x in phi])
    sampled = np.radians(np.linspace(10.0, 85.0, samples))
    q = np.stack([0.0 * sampled, np.sin(sampled), sampled], axis=-1)
    low, high = np.zeros_like(sampled), np.full_like(sampled, 50.0)
    for _ in range(55):
        mu = 0.5 * (low + high)
        jams = impact(system, q, [1.0, 0.0, 0.0], params={"friction": mu}).normal_impulse[:, 0] > 0.0
        low, high = np.where(jams, low, mu), np.where(jams, mu, high)
    minimum = smallest_critical_friction(system, [0.0, 0.0, 1.0], "phi", (0.0, np.pi), slip=1)
    return CriticalFriction(phi, curve, sampled, high, minimum)


@dataclass(frozen=True)
class SphereComparison:
    """Fig. 13: terminal over incident slip of a sphere, both relative to |gamma_N^-|; one row per restitution."""

    psi: Array
    stronge: Array
    walton: Array
    newton: Array
    hits: tuple[Impact, ...]

    def gross_slip(self, e: float) -> Array:
        """Mask over psi: True where Stronge's model slips one way throughout, the condition of the paper's (59)."""
        eta2, beta, mu = FIG13_EPS_T / FIG13_FRICTION, 1.0 + 1.0 / SPHERE, FIG13_FRICTION
        unloading = beta * (1.0 + e) - eta2 / e if e > 0.0 else 0.0
        return np.asarray(self.psi >= mu * max(eta2, beta, unloading) * (1.0 + 1e-12))

    @cached_property
    def gross_slip_difference(self) -> float:
        """Largest difference of Stronge's and Walton's curves where the slip is gross."""
        rows = zip(FIG13_RESTITUTIONS, self.stronge, self.walton, strict=True)
        return max(float(np.abs(s - w)[self.gross_slip(e)].max(initial=0.0)) for e, s, w in rows)

    @cached_property
    def walton_difference(self) -> float:
        """Largest difference of Walton's operator from the LCP of Newton's law."""
        return float(np.abs(self.walton - self.newton).max())


def sphere_comparison(psi: Array) -> SphereComparison:
    """A bar upright with the inertia of a sphere: Stronge's lumped model, Walton's operator, Newton's LCP."""
    eta2 = FIG13_EPS_T / FIG13_FRICTION
    rows: list[list[Impact]] = []
    for e in FIG13_RESTITUTIONS:
        bar = Bar(FIG13_FRICTION, e, FIG13_EPS_T, SPHERE)
        laws = (Stronge(e, model="lumped", stiffness_ratio=eta2), Walton(e, FIG13_EPS_T), Newton(e, FIG13_EPS_T))
        rows.append([bar.impacts(-np.asarray(psi), 0.5 * np.pi, law) for law in laws])
    curves = np.array([[hit.tangential_velocity_after[:, 0] for hit in row] for row in rows])
    hits = tuple(hit for row in rows for hit in row)
    return SphereComparison(np.asarray(psi), curves[:, 0], curves[:, 1], curves[:, 2], hits)
