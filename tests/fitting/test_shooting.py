"""Motions in pieces: one motion in the end, found where a single start loses its way."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.fitting.fit import prepared
from stickslip.fitting.shooting import in_pieces

NOISE = 1e-2
FREE = {"restitution": (0.6, 0.98), "stiffness": (0.7, 1.3)}


def _oscillator(restitution=0.9, stiffness=1.0):
    return ss.library.impact_oscillator(
        force=1.5, restitution=restitution, damping=0.02, clearance=0.0, frequency=2.8 / (2 * np.pi),
        stiffness=stiffness,
    )  # fmt: skip


def _film(end, samples):
    run = _oscillator().simulate(dt=end / (samples - 1), t_end=end, stepper="event-driven", progress=False)
    return {"t": run.t, "x": run["x"] + NOISE * np.random.default_rng(3).standard_normal(len(run.t))}


def test_pieces_that_meet_are_the_motion_and_have_its_derivatives():
    model, film = _oscillator(), _film(8.0, 33)
    problem, subject = prepared(model, film, FREE, noise=NOISE)
    values = {"restitution": 0.9, "stiffness": 1.0}
    cut = in_pieces(problem.experiments[0], subject.states, 3, values, {"x": NOISE})
    ties = np.char.startswith(cut.channel, "tie ")
    assert len(cut.pieces) == 3 and ties.sum() == 4 and cut.pieces[1].t0 > 0.0
    run = model.simulate(dt=film["t"][1], t_end=8.0, stepper="event-driven", progress=False)
    met = {f"{n}@{k}": float(np.interp(cut.pieces[k].t0, run.t, run[n])) for k in (1, 2) for n in ("x", "v")}
    predicted = cut.predict({**values, **met})
    np.testing.assert_allclose(predicted[~ties], run["x"], atol=1e-7)
    np.testing.assert_allclose(predicted[ties], 0.0, atol=1e-7)
    names = ("restitution", "x@1", "v@2")
    _, J = cut.slopes({**values, **met}, names, np.ones(3))
    for k, name in enumerate(names):
        both = [cut.predict({**values, **met, name: ({**values, **met})[name] + x}) for x in (1e-6, -1e-6)]
        np.testing.assert_allclose(J[:, k], (both[0] - both[1]) / 2e-6, atol=1e-4)


def test_a_fit_in_pieces_is_the_fit_of_one_motion():
    film = _film(8.0, 33)
    whole = ss.fit(_oscillator(0.85, 1.05), film, FREE, noise=NOISE, search=0, profile=False, shooting=1)
    cut = ss.fit(_oscillator(0.85, 1.05), film, FREE, noise=NOISE, search=0, profile=False, shooting=3)
    for name in FREE:
        assert cut.values[name] == pytest.approx(whole.values[name], abs=0.02 * whole.standard_errors[name])
    assert cut.chi2 == pytest.approx(whole.chi2, rel=1e-4)
    with pytest.raises(ValueError, match="shooting"):
        ss.fit(_oscillator(), film, FREE, noise=NOISE, shooting=0)


@pytest.mark.slow
def test_ties_are_tightened_where_the_noise_comes_from_the_residuals():
    """Nobody can tell then whether a motion is met: the pieces are tied until they are one motion."""
    film = _film(8.0, 33)
    whole = ss.fit(_oscillator(0.85, 1.05), film, FREE, search=0, profile=False, shooting=1)
    cut = ss.fit(_oscillator(0.85, 1.05), film, FREE, search=0, profile=False, shooting=3)
    for name in FREE:
        assert cut.values[name] == pytest.approx(whole.values[name], abs=0.05 * whole.standard_errors[name])
    assert cut.noise["x"] == pytest.approx(whole.noise["x"], rel=1e-3)
