"""Compile members of the woodpecker, and of a block with a law of friction, for an H200; count instructions.

Prints one JSON object.
"""

import json
import types

from numba import float64, int64

from stickslip import library
from stickslip.ensembles.request import prepare
from stickslip.jit.cuda import cuda, exact_arithmetic

from numba.cuda import dispatcher  # isort: skip  (after what numba-cuda needs is in place)

# numba-cuda asks the card in the machine for its kind when it compiles a device function; there is none here.
dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(9, 0))
table = float64[:, ::1]
signature = (table, table, int64, float64, float64, int64, int64, float64, float64)
counts = {}
for scenario, vary in (
    (library.woodpecker(), {"friction": [0.3]}),
    (library.block_on_belt(), {"friction_kinetic": [0.3]}),
):
    request = prepare(scenario, vary, ["final"], solver="gauss-seidel")
    with exact_arithmetic():
        kernel = request.module("cuda").advance_on_gpu.py_func
        ptx, _ = cuda.compile_ptx(kernel, signature, device=False, cc=(9, 0))
    counts[request.system.name] = {word: ptx.count(word) for word in ("mul.rn.f64", "fma.rn.f64")}
print(json.dumps(counts))
