"""[S00] Figure 4.1: the printed values, the computed motion, and the words that say what it is."""

import numpy as np
import pytest

from stickslip import figures
from stickslip.figures import s00


@pytest.fixture(scope="module")
def done():
    return figures.reproduce("s00-fig4.1")


def test_printed_values(done):
    assert done.parameters["g"] == 9.8213 and done.parameters["mass"] == 1.0
    assert (s00._DT_MIDPOINT, s00._DT_NEWMARK) == (0.01, 0.001)
    assert done.certificate.failed_steps == 0


def test_midpoint_rule_does_not_keep_the_energy(done):
    left = done.figure.axes[0]
    exact, computed = (line.get_ydata() for line in left.get_lines())
    assert exact.max() == pytest.approx(1.0, abs=1e-4) and exact.min() > -1e-9
    assert computed[0] == 1.0 and computed.max() > 3.0  # higher than it was dropped from, without a drive


def test_newmark_rebounds_by_chance(done):
    right = done.figure.axes[1]
    apexes = []
    for line in right.get_lines():
        t, y = line.get_data()
        landed = t[np.flatnonzero(y < 1e-3)[0]]
        apexes.append(y[t > landed].max())
    assert len(apexes) == len(s00._HEIGHTS)
    assert min(apexes) < 0.05 and max(apexes) > 0.9  # 4 cm more or less at the start
    assert (np.array([line.get_ydata().min() for line in right.get_lines()]) > -1e-12).all()


def test_caption_says_that_the_schemes_fail(done):
    texts = " ".join(text.get_text() for text in done.figure.findobj() if hasattr(text, "get_text"))
    for words in ("Schemes that fail", "0 failed steps", "(a) Midpoint rule", "(b) Newmark scheme"):
        assert words in texts
