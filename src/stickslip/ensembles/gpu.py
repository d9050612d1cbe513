"""Members on a GPU, one thread each, through the source that the CPU runs.

Results are the same from run to run, bit for bit, whatever the number of threads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.ensembles.cpu import Report, finish
from stickslip.ensembles.request import Request
from stickslip.ensembles.scene_card import slabs_of
from stickslip.ensembles.scene_slabs import SceneSlabs
from stickslip.ensembles.scenes import SceneRequest
from stickslip.interrupts import poll
from stickslip.jit import KernelError
from stickslip.jit.card import CardArray, CardKernel, card
from stickslip.jit.slabs import BLOCK as SLAB_BLOCK
from stickslip.jit.slabs import OnSlabs

BLOCK = 64  # threads
SCENE_REGISTERS = 255
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
        self.handed = 0  # members of scenes that were left to the CPU
        self._kernels: dict[str, CardKernel] = {}  # by the generated module
        self._scenes: dict[SceneRequest, SceneSlabs] = {}

    @property
    def name(self) -> str:
        return f"gpu, {card().name}" + (f"; {self.handed:,} members on the CPU" if self.handed else "")

    def chunk(self, request: Request | SceneRequest) -> int:
        """Members to compute between two savings: as many as fit, so that no thread of the card idles."""
        return int(min(2**20, max(4096, 2**32 // request.working_bytes)))

    def warm_up(self, request: Request | SceneRequest) -> None:
        """Make the kernel, or load it from the disk cache."""
        if isinstance(request, SceneRequest):
            self._scene_kernel(self.slabs_of(request).program)
            return
        rows, P = request.rows(0, 1)
        self._kernel(request, rows, P)

    def slabs_of(self, request: SceneRequest) -> SceneSlabs:
        """The slabs and the program of an ensemble of scenes; one line where there are none."""
        if request not in self._scenes:
            self._scenes[request] = slabs_of(request)
        return self._scenes[request]

    def _scene_kernel(self, program: OnSlabs) -> CardKernel:
        try:
            return card().loaded(program.launched(card().capability), SCENE_REGISTERS)
        except KernelError as problem:
            raise ValueError(f"device 'gpu' cannot run this scene: {problem}; use 'cpu'.") from None

    def launches(self, program: OnSlabs, slabs: np.ndarray, rows: list[np.ndarray]) -> OnCard:
        """Members of scenes on the card."""
        return OnCard(self, self._scene_kernel(program), slabs, rows)

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


class OnCard:
    """Members of scenes on a card, one thread each: their slabs, and the arrays that they write to."""

    def __init__(self, owner: Card, kernel: CardKernel, slabs: np.ndarray, rows: list[np.ndarray]) -> None:
        self._owner, self._kernel = owner, kernel
        self._host = [slabs.view(np.int64), *rows]
        self._arrays: list[CardArray] = []
        try:
            for each in self._host:
                self._arrays.append(card().array(each))
        except BaseException:
            self.free()
            raise

    def march(self, t0: float, target: int) -> None:
        begin = time.perf_counter()
        blocks = max(1, -(-len(self._host[0]) // SLAB_BLOCK))
        self._kernel.launch(blocks, SLAB_BLOCK, *self._arrays, float(t0), target)
        card().wait()
        self._owner.busy_s += time.perf_counter() - begin

    def fetch(self, k: int) -> np.ndarray:
        self._arrays[k + 1].copy_to(self._host[k + 1])
        return self._host[k + 1]

    def slabs(self) -> np.ndarray:
        self._arrays[0].copy_to(self._host[0])
        return self._host[0].view(np.uint8)

    def free(self) -> None:
        for each in self._arrays:
            each.free()


def arguments(request: Request, n: int, steps: int) -> tuple[Any, ...]:
    """Arguments of a launch for n members and a number of steps, behind their rows and parameters."""
    tol = float(request.solver.tol)
    return n, float(request.dt), steps, request.sweeps, tol, float(request.penetration_tol)
