"""Members on a GPU, one thread each, through the source that the CPU runs.

Results are the same from run to run, bit for bit, whatever the number of threads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from stickslip.checks import Array
from stickslip.ensembles.cpu import Report, finish
from stickslip.ensembles.request import Request
from stickslip.ensembles.scenes import SceneRequest
from stickslip.interrupts import poll
from stickslip.jit import KernelError
from stickslip.jit.card import CardArray, CardKernel, card

BLOCK = 64  # threads
LAUNCH_SECONDS = 0.5
_INSTALL = "pip install 'stickslip[gpu]' brings cuda-bindings"


def unavailable() -> str:
    """Why there is no GPU to compute on, in one line; empty where there is one."""
    try:
        card()
    except ImportError as error:
        return f"device 'gpu' needs cuda-bindings, which cannot be imported ({error}); {_INSTALL}."
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        return f"device 'gpu' finds no GPU to compute on ({reason}); a driver has to be there; or use 'cpu'."
    return ""


@dataclass
class Card:
    """The device "gpu"."""

    kind = "gpu"

    def __post_init__(self) -> None:
        problem = unavailable()
        if problem:
            raise ValueError(problem)
        self.busy_s = 0.0  # seconds in kernels so far, without transfers
        self._kernels: dict[str, CardKernel] = {}  # by the generated module

    @property
    def name(self) -> str:
        return f"gpu, {card().name}"

    def chunk(self, request: Request | SceneRequest) -> int:
        """Members to compute between two savings: as many as fit, so that no thread of the card idles."""
        return int(min(2**20, max(4096, 2**32 // request.working_bytes)))

    def warm_up(self, request: Request) -> None:
        """Make the kernel, or load it from the disk cache."""
        rows, P = request.rows(0, 1)
        self._kernel(request, rows, P)

    def advance(self, request: Request, rows: Array, P: Array, report: Report) -> None:
        """Take members from their start to their end, in place; unsolved steps are done on the CPU."""
        kernel = self._kernel(request, rows, P)
        on_card = card().array(rows)
        parameters = card().array(P)
        try:
            self._advance(request, kernel, on_card, parameters, report)
            on_card.copy_to(rows)
        finally:
            on_card.free()
            parameters.free()
        finish(request, rows, P, 0, len(rows))

    def _kernel(self, request: Request, rows: Array, P: Array) -> CardKernel:
        """The kernel of a request on the card; one line where there is none for its system."""
        name = request.module.__name__
        if name not in self._kernels:
            try:
                module, samples = request.module, (rows, P, *arguments(request, 0, 0))
                made = card().kernel(module.advance_on_gpu, samples, module.RARE_ON_GPU, module.REGISTERS_ON_GPU)
            except KernelError as problem:
                raise ValueError(f"device 'gpu' cannot run {request.system.name!r}: {problem}; use 'cpu'.") from None
            self._kernels[name] = made
        return self._kernels[name]

    def _advance(self, request: Request, kernel: CardKernel, rows: CardArray, P: CardArray, report: Report) -> None:
        left, n = request.steps, rows.shape[0]
        steps = min(left, 1000)  # the first launch tells how many fit into the next
        while left > 0:
            begin = time.perf_counter()
            kernel.launch(max(1, -(-n // BLOCK)), BLOCK, rows, P, *arguments(request, n, steps))
            card().wait()
            left -= steps
            report(n * steps)
            poll()
            elapsed = max(time.perf_counter() - begin, 1e-4)
            self.busy_s += elapsed
            steps = int(max(1, min(left, 8 * steps, steps * LAUNCH_SECONDS / elapsed)))


def arguments(request: Request, n: int, steps: int) -> tuple[Any, ...]:
    """Arguments of a launch for n members and a number of steps, behind their rows and parameters."""
    tol = float(request.solver.tol)
    return n, float(request.dt), steps, request.sweeps, tol, float(request.penetration_tol)
