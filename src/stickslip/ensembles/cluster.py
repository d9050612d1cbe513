"""Members on many machines through Dask distributed: a task per chunk, tried again where a worker is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.ensembles.chunks import AnyRequest, compute_chunk
from stickslip.ensembles.cpu import Cores

RETRIES = 3
CONNECT_SECONDS = 5
Chunk = tuple[int, int]


def compute_task(request: AnyRequest, first: int, last: int) -> dict[str, np.ndarray]:
    """Task of a worker: compute the members first .. last - 1 on one thread; Dask runs several tasks at a time."""
    return compute_chunk(request, Cores(threads=1), first, last, lambda steps: None)


@dataclass
class Cluster:
    """The device "dask:ADDRESS"; its results are those of the CPU."""

    address: str

    kind = "cpu"

    @property
    def name(self) -> str:
        return f"dask, {self.address}"

    def chunk(self, request: AnyRequest) -> int:
        """Members of a task: seconds of work, so that little is lost with a worker."""
        return int(min(max(50_000_000 // (request.steps * request.step_cost), 1), 65_536))

    def run(
        self, request: AnyRequest, chunks: Iterable[Chunk], report: Callable[[int], None]
    ) -> Iterator[tuple[Chunk, dict[str, np.ndarray]]]:
        """Yield the chunks as they come in."""
        client = self._connect()
        try:
            from distributed import as_completed

            sent = client.scatter(request, broadcast=True, hash=False)
            waiting: dict[Any, Chunk] = {}
            for first, last in chunks:
                task = client.submit(compute_task, sent, first, last, retries=RETRIES, pure=False)
                waiting[task] = (first, last)
            if not waiting:
                return
            for task in as_completed(list(waiting), loop=client.loop):  # not that of a client the caller may have
                values = _result(task)
                first, last = waiting.pop(task)
                task.release()
                report((last - first) * request.steps)
                yield (first, last), values
        finally:
            client.close()

    def _connect(self) -> Any:
        try:
            from distributed import Client
        except ImportError as error:
            raise ValueError(
                f"device 'dask:...' needs Dask distributed, which cannot be imported ({error}); "
                "pip install 'stickslip[cluster]' brings it."
            ) from None
        try:
            with ThreadPoolExecutor(1) as aside:  # the caller may have a loop of its own, as notebooks do
                aside.submit(asyncio.run, _greet(self.address)).result()
            return Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            reason = " ".join(str(error).split())[:160] or type(error).__name__
            raise ValueError(
                f"no Dask scheduler answers at {self.address!r} ({reason}); start one with `dask scheduler`, and give "
                "its address as dask:tcp://HOST:8786."
            ) from None


async def _greet(address: str) -> None:
    """Shake hands with a Dask server, or raise: a Client that fails while it is built is closed late and with noise."""
    from distributed.comm.core import connect
    from distributed.security import Security

    options = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=CONNECT_SECONDS, **options), 2 * CONNECT_SECONDS)
    await comm.close()


def _result(task: Any) -> dict[str, np.ndarray]:
    from distributed.scheduler import KilledWorker

    try:
        values: dict[str, np.ndarray] = task.result()
    except KilledWorker as error:
        raise RuntimeError(f"a chunk ended {RETRIES + 1} workers, the last of them {error.last_worker}") from None
    return values
