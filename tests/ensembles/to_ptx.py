"""Compile the woodpecker's members for an H200 and count instructions; prints one JSON object."""

import json
import types

from numba import float64, int64

from stickslip import library
from stickslip.ensembles.request import prepare
from stickslip.kernels.cuda import cuda, exact_arithmetic

from numba.cuda import dispatcher  # isort: skip  (after what numba-cuda needs is in place)

# numba-cuda asks the card in the machine for its kind when it compiles a device function; there is none here.
dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(9, 0))
request = prepare(library.woodpecker(), {"friction": [0.3]}, ["final"], solver="gauss-seidel")
table = float64[:, ::1]
signature = (table, table, int64, float64, float64, int64, int64, float64, float64)
with exact_arithmetic():
    kernel = request.module("cuda").advance_on_gpu.py_func
    ptx, _ = cuda.compile_ptx(kernel, signature, device=False, cc=(9, 0))
print(json.dumps({word: ptx.count(word) for word in ("mul.rn.f64", "fma.rn.f64")}))
