"""Run in a process of its own with NUMBA_ENABLE_CUDASIM=1: the CUDA path against the CPU, a few members and steps.

Cases: a ball that bounces; a block on a belt, with a law of friction; the slider-crank, whose flights have a loop of
their own and whose corners strike in pairs.
"""

import sys

import numpy as np

from stickslip import library
from stickslip.ensembles.cpu import Cores
from stickslip.ensembles.gpu import Card
from tests.ensembles.cases import request_of

crank = library.slider_crank().starting({"theta_2": -0.0032, "omega_2": -80.0})  # the slider is about to strike
CASES = {
    "ball": lambda: request_of(library.bouncing_ball(), {"restitution": [0.3, 0.6]}, t_end=0.02, dt=1e-3),
    "belt": lambda: request_of(
        library.block_on_belt(), {"friction_kinetic": [0.3, 0.9]}, ["final"], t_end=0.3, dt=1e-2
    ),
    "crank": lambda: request_of(crank, {"restitution_normal": [0.2, 0.6]}, ["final", "impacts"], t_end=4e-4),
}
request = CASES[sys.argv[1]]()
ends = []
for device in (Card(), Cores(threads=1)):
    rows, P = request.rows(0, 2)
    device.advance(request, rows, P, lambda steps: None)
    ends.append(rows)
assert np.allclose(*ends, rtol=1e-13, atol=1e-15, equal_nan=True), np.nanmax(np.abs(ends[0] - ends[1]))
assert sys.argv[1] == "crank" or np.array_equal(*ends, equal_nan=True)  # sines and cosines may differ in a last digit
assert (ends[0][:, request.module("cpu").STEPS_DONE] == request.steps).all()
if sys.argv[1] == "crank":
    layout = request.module("cpu")
    assert ends[0][:, layout.BOOK_OF_MEMBER + layout.IMPACTS :][:, :4].sum() >= 4.0  # pairs of corners
print("equal")
