"""Members with a control law take the steps of single runs, bit for bit."""

import numpy as np
import pytest

import stickslip as ss


def swing(now):
    now.memory[0] += 0.001 * now.q[2]
    now.inputs[0] = 0.4 * now.q[2] + now.p[5] * now.memory[0]


def fails(now):
    now.inputs[0] = 0.0
    if now.t > 0.05 and now.p[5] > 9.5:
        now.inputs[0] = 1.0 / (now.t - now.t)


def test_members_are_single_runs_with_the_law():
    """Each has a memory of its own; a member whose law fails is told from the others."""
    scenario, law = ss.library.compass_gait(torque=0.0), ss.ControlLaw(swing, inputs=["torque"], memory=[0.1], rate=50)
    g = [9.0, 9.4, 9.81]
    found = ss.ensemble(scenario, {"g": g}, "final", dt=2e-3, t_end=1.0, control=law, threads=2).dataset
    for k, value in enumerate(g):
        run = scenario.simulate(dt=2e-3, t_end=1.0, control=law, params={"g": value}, on_energy_gain="ignore")
        assert run.complete and np.array_equal(found["final_q"].values[k], run.q[-1])
        assert np.array_equal(found["final_u"].values[k], run.u[-1])
    law = ss.ControlLaw(fails, inputs=["torque"], rate=50)
    found = ss.ensemble(scenario, {"g": g}, "final", dt=2e-3, t_end=0.2, control=law)
    assert found.n_failed == 1 and "its control law failed" in str(found.failed())


def test_laws_that_an_ensemble_does_not_take():
    scenario = ss.library.compass_gait(torque=0.0)
    law = ss.ControlLaw(swing, inputs=["torque"], memory=[0.1])
    with pytest.raises(ValueError, match="kernels alone"):
        ss.ensemble(scenario, {"torque": [0.0]}, control=ss.ControlLaw(lambda now: print(now), inputs=["torque"]))
    with pytest.raises(ValueError, match="kernels alone"):
        ss.ensemble(scenario, {"torque": [0.0]}, control=ss.ControlLaw(swing, inputs=["torque"], compiled=False))
    with pytest.raises(ValueError, match="on the device 'cpu'"):
        ss.ensemble(scenario, {"torque": [0.0]}, control=law, device="gpu")
    with pytest.raises(ValueError, match="must be a ControlLaw"):
        ss.ensemble(scenario, {"torque": [0.0]}, control=swing)
