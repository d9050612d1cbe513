"""Short runs by the reference engine, shared by the tests of this folder."""

from functools import lru_cache

import pytest

from stickslip import library


@lru_cache
def short_run(name, dt, t_end):
    scenario = library.get(name)
    return scenario, scenario.simulate(dt=dt, t_end=t_end, engine="reference", progress=False)


@pytest.fixture
def woodpecker():
    """Two cycles of the toy: (scenario, trajectory)."""
    return short_run("woodpecker", 5e-4, 0.32)


@pytest.fixture
def ball():
    return short_run("bouncing_ball", 5e-3, 1.6)


@pytest.fixture
def oscillator():
    return short_run("friction_oscillator", 1e-2, 2.0)
