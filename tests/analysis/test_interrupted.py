"""Ctrl-C in an analysis ends it: a run that was interrupted is neither a whole one nor a motion that fails."""

import pytest

import stickslip as ss
from stickslip.run import driver

BALL = ss.library.bouncing_ball()
QUICK = {"dt": 1e-2, "t_end": 0.1, "engine": "reference"}
CALLS = {
    "sensitivity": lambda: ss.sensitivity(BALL, "g", t_end=0.1),
    "outcomes": lambda: ss.outcomes(BALL, {"y": 1e-3}, n=2, **QUICK),
    "branches": lambda: ss.outcomes(BALL, branch=True, **{"dt": 1e-2, "t_end": 0.1}),
    "poincare": lambda: ss.poincare(BALL, ss.LevelSection("v", 0.0), dt=1e-2, t_end=0.1),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_an_analysis(name, monkeypatch):
    """Ctrl-C comes in the march of the first run, which returns what it has."""

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "march_in_pieces", pressed)
    assert BALL.simulate(**QUICK).status.startswith("interrupted")
    with pytest.raises(KeyboardInterrupt):
        CALLS[name]()
