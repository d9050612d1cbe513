"""Forces of contacts that share a load: a box on four corners holds up to its friction angle, and tips at its own."""

import math

import numpy as np
import pytest

from stickslip.events.cone_forces import HOLDS, Cones, Shared


def box_on_ramp(angle, mu):
    """Equations of a unit cube's twelve forces, in units of the friction cones, on a ramp."""
    columns = []
    for corner in [(x, y, -0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]:
        for axis, unit in zip(np.eye(3)[[2, 0, 1]], (1.0, mu, mu), strict=True):
            columns.append(unit * np.concatenate([axis, np.cross(corner, axis)]))
    weight = np.array([math.sin(angle), 0.0, -math.cos(angle), 0.0, 0.0, 0.0])
    return Shared.of(np.array(columns).T, -weight)


FOUR = Cones(np.array([], dtype=int), 3 * np.arange(4))


@pytest.mark.parametrize("limit, mu", [(math.atan(0.5), 0.5), (math.pi / 4, 3.0)])  # slides; tips over its edge
def test_box_holds_up_to_its_limit(limit, mu):
    for angle, holds in ((0.5 * limit, True), (limit - 1e-8, True), (limit + 1e-8, False), (limit + 0.1, False)):
        shared = box_on_ramp(angle, mu)
        forces, off = shared.least_within(FOUR)
        assert (off <= HOLDS) == holds, angle
        if holds:
            assert FOUR.margin(forces) >= -1e-12 and np.allclose(shared.V @ forces, shared.c, atol=1e-12)


def test_least_forces_are_least():
    """No step along forces that move nothing, back into the cones, is shorter."""
    shared = box_on_ramp(0.4, 0.5)
    forces, _ = shared.least_within(FOUR)
    rng = np.random.default_rng(0)
    null = np.eye(12) - shared.V.T @ shared.V
    for _ in range(200):
        other = forces + 1e-3 * null @ rng.normal(size=12)
        assert FOUR.margin(other) < 0.0 or other @ other >= forces @ forces - 1e-12


def test_projection_is_nearest_and_its_slope_is_its_derivative():
    rng = np.random.default_rng(2)
    cones = Cones(np.array([0]), np.array([1]))
    for _ in range(50):
        x, d = rng.normal(size=5), rng.normal(size=5)
        y = cones.project(x)
        assert cones.margin(y) >= -1e-12 and abs((x - y) @ y) < 1e-12  # Moreau
        slope = (cones.project(x + 1e-7 * d) - cones.project(x - 1e-7 * d)) / 2e-7
        assert np.allclose(cones.slope(x) @ d, slope, atol=1e-5)
