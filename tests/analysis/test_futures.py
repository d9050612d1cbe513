"""All futures of a motion that is not unique."""

from __future__ import annotations

import pytest

import stickslip as ss


def test_the_rod_lifts_off_or_jams_at_any_step() -> None:
    """While the state has several solutions, the rod may jam at each step; after a jam nothing is left to choose."""
    rod = ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)
    found = ss.outcomes(rod, n=6, branch=True, t_end=0.01, dt=1e-3)
    assert found.paths[0] == ()
    assert len(found.paths) == len(set(found.paths)) == 6
    assert len(found) >= 2
    assert found.undisturbed is not None


def test_a_unique_motion_has_one_future() -> None:
    ball = ss.library.bouncing_ball()
    found = ss.outcomes(ball, branch=True, t_end=0.02, dt=1e-3)
    assert (len(found), found.paths, found.left) == (1, ((),), 0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"disturbances": {"v": 0.1}}, "exclude each other"),
        ({"solver": "lemke"}, "solver cannot be chosen"),
        ({"stepper": "event-driven"}, "stepper with branch=True must take steps"),
        ({"branch": "yes"}, "branch must be True or False, got 'yes'"),
    ],
)
def test_what_cannot_be_asked_for_together(given: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ss.outcomes(ss.library.bouncing_ball(), **{"branch": True, **given})


def test_scenes_have_no_branches() -> None:
    with pytest.raises(ValueError, match="branch=True is for mechanisms, got a scene"):
        ss.outcomes(ss.library.get("cube_on_ramp"), branch=True)
