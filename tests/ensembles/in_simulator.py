"""Run in a process of its own with NUMBA_ENABLE_CUDASIM=1: the CUDA path against the CPU, a few members and steps."""

import numpy as np

from stickslip import library
from stickslip.ensembles.cpu import Cores
from stickslip.ensembles.gpu import Card
from tests.ensembles.cases import request_of

request = request_of(library.bouncing_ball(), {"restitution": [0.3, 0.6]}, t_end=0.02, dt=1e-3)
ends = []
for device in (Card(), Cores(threads=1)):
    rows, P = request.rows(0, 2)
    device.advance(request, rows, P, lambda steps: None)
    ends.append(rows)
assert np.array_equal(*ends, equal_nan=True), np.abs(ends[0] - ends[1]).max()
assert (ends[0][:, request.module("cpu").STEPS_DONE] == 20).all()
print("equal")
