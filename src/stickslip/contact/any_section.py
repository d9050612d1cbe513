"""One contact in space whose friction cone has any convex section: every solution, by a search over directions of slip.

The sections of compiled steps have solutions of their own, see `spatial_contact`; these are for all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stickslip.contact.sections import CrossSection

_DIRECTIONS = 96  # directions of slip on a circle; solutions of one contact are bracketed between neighbours


def one_contact_solutions(W: np.ndarray, q: np.ndarray, mu: float, section: CrossSection) -> list[np.ndarray]:
    """Impulses (3,) that satisfy the conditions of one contact: open, stick, and every slip that was found.

    Slip in the direction -d has beta = mu r_N b(d), with b(d) the point of C farthest along d, and
    r_N = -q_N / (W_NN + mu W_NT b).  A solution has -u_T equal to a positive multiple of d.  So the zeros of the angle
    between -u_T and d are bracketed on a circle of directions.  At the normal of a straight edge of C, b jumps; then
    the impulse lies on this edge.
    """
    if q[0] >= 0.0:
        return [np.zeros(3)]
    found = []
    stick = np.linalg.solve(W, -q) if np.linalg.cond(W) < 1e14 else np.linalg.lstsq(W, -q, rcond=None)[0]
    if stick[0] >= 0.0 and section.gauge(stick[1:]) <= mu * stick[0]:
        found.append(stick)
    if mu == 0.0:
        return [np.array([-q[0] / W[0, 0], 0.0, 0.0])]
    angles = 2.0 * np.pi * (np.arange(_DIRECTIONS + 1) + 0.382) / _DIRECTIONS
    slip = _Slip(W, q, mu, section)
    values = [slip.turn(angle) for angle in angles]
    for low, high, f_low, f_high in zip(angles[:-1], angles[1:], values[:-1], values[1:], strict=True):
        if np.isfinite(f_low) and np.isfinite(f_high) and f_low * f_high <= 0.0:
            r = slip.root(low, high, f_low)
            if r is not None:
                found.append(r)
    return found


@dataclass(frozen=True)
class _Slip:
    """One contact that slips: impulses as a function of the direction d = -u_T / |u_T|."""

    W: np.ndarray
    q: np.ndarray
    mu: float
    section: CrossSection

    def impulse(self, b: np.ndarray) -> np.ndarray | None:
        """r with beta = mu r_N b and u_N = 0; None where no positive r_N does it."""
        slope = self.W[0, 0] + self.mu * float(self.W[0, 1:] @ b)
        if not slope > 0.0:
            return None
        r_N = -self.q[0] / slope
        return np.array([r_N, *(self.mu * r_N * b)])

    def across(self, angle: float, b: np.ndarray) -> tuple[float, float]:
        """-u_T in the frame of d: its part across and along; nan where there is no impulse."""
        r = self.impulse(b)
        if r is None:
            return math.nan, math.nan
        force = -(self.W @ r + self.q)[1:]
        c, s = math.cos(angle), math.sin(angle)
        return c * force[1] - s * force[0], c * force[0] + s * force[1]

    def farthest(self, angle: float) -> np.ndarray:
        return self.section.farthest(np.array([math.cos(angle), math.sin(angle)]))

    def turn(self, angle: float) -> float:
        """Part of -u_T across d: zero at a solution."""
        return self.across(angle, self.farthest(angle))[0]

    def root(self, low: float, high: float, f_low: float) -> np.ndarray | None:
        """Impulse of the slip between the angles low and high, by bisection; None if -u_T points against d."""
        for _ in range(80):
            middle = 0.5 * (low + high)
            value = self.turn(middle)
            if not np.isfinite(value) or middle in (low, high):
                break
            if value * f_low > 0.0:
                low = middle
            else:
                high = middle
        first, second = self.farthest(low), self.farthest(high)
        share_low, share_high = 0.0, 1.0
        if np.abs(second - first).max() > 1e-9:  # a straight edge of C: its impulses lie between its corners
            for _ in range(80):
                share = 0.5 * (share_low + share_high)
                value = self.across(low, first + share * (second - first))[0]
                if value * f_low > 0.0:
                    share_low = share
                else:
                    share_high = share
        b = first + 0.5 * (share_low + share_high) * (second - first)
        _, along = self.across(low, b)
        return self.impulse(b) if along > 0.0 else None
