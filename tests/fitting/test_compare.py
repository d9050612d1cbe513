"""Models judged by data that they have not seen."""

import numpy as np
import pytest

import stickslip as ss


def test_the_model_that_made_the_data_wins_and_more_freedom_does_not_pay():
    ball = ss.library.bouncing_ball(restitution=0.6)
    generator = np.random.default_rng(11)
    speeds = generator.uniform(1.0, 3.0, 40)
    before = np.stack([np.zeros(40), -speeds], 1)
    after = (0.6 * speeds + 0.05 * generator.standard_normal(40))[:, None]
    data = {"before": before, "after": after}
    models = {
        "free": {"model": ball, "free": {"restitution": (0.0, 1.0)}},
        "nearly plastic": {"model": ball, "free": {"restitution": (0.0, 0.1)}},
    }
    found = ss.compare_fits(models, data, folds=4, noise=0.05, search=0, profile=False)
    assert found.names == ("free", "nearly plastic")
    assert found.mean("free") == pytest.approx(1.0, abs=0.3) and found.mean("nearly plastic") > 5.0
    assert found.standard_error("free") == 0.0 and "error left out" in str(found)
    with pytest.raises(ValueError, match="folds must be at most"):
        ss.compare_fits(models, data, folds=50, noise=0.05, search=0, profile=False)
