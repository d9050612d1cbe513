"""Members on a GPU, one thread each, through the source that the CPU runs, compiled by numba-cuda.

Results are the same from run to run, bit for bit, whatever the number of threads.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

from stickslip.checks import Array
from stickslip.ensembles.cpu import Report, finish
from stickslip.ensembles.request import Request
from stickslip.interrupts import poll
from stickslip.mechanisms.generate import SOLVER_CODES

BLOCK = 64  # threads
SOLVERS = ("auto", "gauss-seidel", "lemke")
LAUNCH_SECONDS = 0.5
_INSTALL = "pip install 'stickslip[gpu]' brings numba-cuda"


def unavailable() -> str:
    """Why there is no GPU to compute on, in one line; empty where there is one."""
    try:
        from stickslip.jit.cuda import cuda
    except ImportError as error:
        return f"device 'gpu' needs numba-cuda, which cannot be imported ({error}); {_INSTALL}."
    try:
        if cuda.is_available():
            return ""
        reason = "no CUDA driver, or no card"
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
    return f"device 'gpu' finds no GPU to compute on ({reason}); {_INSTALL}, a driver has to be there; or use 'cpu'."


@dataclass
class Card:
    """The device "gpu"."""

    kind = "gpu"

    def __post_init__(self) -> None:
        problem = unavailable()
        if problem:
            raise ValueError(problem)
        from stickslip.jit.cuda import cuda

        self._cuda: Any = cuda
        self.busy_s = 0.0  # seconds in kernels so far, without transfers

    @property
    def name(self) -> str:
        name = getattr(self._cuda.get_current_device(), "name", b"simulator")
        return f"gpu, {name.decode() if isinstance(name, bytes) else name}"

    def chunk(self, request: Request) -> int:
        """Members to compute between two savings: as many as fit, so that no thread of the card idles."""
        return int(min(2**20, max(4096, 2**32 // request.working_bytes)))

    def warm_up(self, request: Request) -> None:
        """Compile the kernel, or load it from the disk cache."""
        check_solver(request)
        rows, P = request.rows(0, 1)
        self._launch(request, self._cuda.to_device(rows), self._cuda.to_device(P), 0, 0)
        self._cuda.synchronize()

    def advance(self, request: Request, rows: Array, P: Array, report: Report) -> None:
        """Take members from their start to their end, in place; unsolved steps are done on the CPU."""
        on_card, parameters = self._cuda.to_device(rows), self._cuda.to_device(P)
        left = request.steps
        steps = min(left, 1000)  # the first launch tells how many fit into the next
        while left > 0:
            begin = time.perf_counter()
            self._launch(request, on_card, parameters, len(rows), steps)
            self._cuda.synchronize()
            left -= steps
            report(len(rows) * steps)
            poll()
            elapsed = max(time.perf_counter() - begin, 1e-4)
            self.busy_s += elapsed
            steps = int(max(1, min(left, 8 * steps, steps * LAUNCH_SECONDS / elapsed)))
        on_card.copy_to_host(rows)
        finish(request, rows, P, 0, len(rows))

    def _launch(self, request: Request, rows: Any, P: Any, n: int, steps: int) -> None:
        from stickslip.jit.cuda import exact_arithmetic

        kernel = request.module("cuda").advance_on_gpu
        blocks = max(1, -(-n // BLOCK))
        with exact_arithmetic(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that few members leave the card half empty
            kernel[blocks, BLOCK](
                rows, P, n, 0.0, request.dt, steps, request.sweeps, float(request.solver.tol), request.penetration_tol
            )


def check_solver(request: Request) -> None:
    """Raise where the kernel of a solver cannot be compiled for a GPU."""
    if request.solver.name not in SOLVERS:
        assert request.solver.name in SOLVER_CODES
        raise ValueError(f"device 'gpu' runs the solvers {', '.join(SOLVERS)}, got {request.solver.name!r}.")
    if request.system.n_contacts == 0:
        raise ValueError(f"device 'gpu' needs a system with contacts, and {request.system.name!r} has none; use 'cpu'.")
    if request.system.inject:
        raise ValueError(
            f"device 'gpu' runs systems derived from energies or equations; {request.system.name!r} calls functions "
            "of yours; use 'cpu'."
        )
