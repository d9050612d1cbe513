"""Members with a control law take the steps of single runs, bit for bit."""

import numpy as np
import pytest

import stickslip as ss


def lighter(now):
    now.memory[0] += 0.1 * now.q[0]
    now.inputs[0] = (4.0 if now.u[0] > 0.0 else 9.0) + 0.2 * now.memory[0]


def fails(now):
    now.inputs[0] = 9.0
    if now.t > 0.05 and now.impulse[0] == 0.0 and now.q[0] > 1.0:
        now.inputs[0] = 1.0 / (now.t - now.t)


def test_members_are_single_runs_with_the_law():
    """Each has a memory of its own; a member whose law fails is told from the others."""
    scenario, law = ss.library.bouncing_ball(), ss.ControlLaw(lighter, inputs=["g"], memory=[0.1], rate=50)
    y = [0.3, 0.5, 1.4]
    found = ss.ensemble(scenario, {"y": y}, "final", dt=2e-3, t_end=1.0, control=law, threads=2).dataset
    for k, height in enumerate(y):
        run = scenario.simulate(dt=2e-3, t_end=1.0, control=law, q0=[height])
        assert run.complete and np.array_equal(found["final_q"].values[k], run.q[-1])
        assert np.array_equal(found["final_u"].values[k], run.u[-1])
    law = ss.ControlLaw(fails, inputs=["g"], rate=50)
    found = ss.ensemble(scenario, {"y": y}, "final", dt=2e-3, t_end=0.2, control=law)
    assert found.n_failed == 1 and "its control law failed" in str(found.failed())


def test_laws_that_an_ensemble_does_not_take():
    scenario = ss.library.bouncing_ball()
    law = ss.ControlLaw(lighter, inputs=["g"], memory=[0.1])
    with pytest.raises(ValueError, match="kernels alone"):
        ss.ensemble(scenario, {"g": [9.0]}, control=ss.ControlLaw(lambda now: print(now), inputs=["g"]))
    with pytest.raises(ValueError, match="kernels alone"):
        ss.ensemble(scenario, {"g": [9.0]}, control=ss.ControlLaw(lighter, inputs=["g"], compiled=False))
    with pytest.raises(ValueError, match="on the device 'cpu'"):
        ss.ensemble(scenario, {"g": [9.0]}, control=law, device="gpu")
    with pytest.raises(ValueError, match="must be a ControlLaw"):
        ss.ensemble(scenario, {"g": [9.0]}, control=lighter)
