"""A process that computes runs for the page, one at a time; the server may end it at any moment.

Requests come in as lines of JSON: first what the server serves, then `{"number", "path", "request"}`, and
`{"stop": number}` where nobody waits for a run any more.  Frames go out: a letter, a length, and bytes of
that length.  When the input ends, whoever asked is gone, and so is this process, wherever its computation stands.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import json
import os
import queue
import struct
import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

ANSWER, WRONG, FAILED, STOPPED = b"A", b"W", b"F", b"S"
"""Letters of frames that end a request: its answer, or a line that says what is wrong with it or went wrong."""
PREPARES, RUNS, COMPILES = b"P", b"R", b"C"
"""Letters of frames that say what is being done from now on."""
READY = b"M"
"""Letter of the frame that asks for the next request.

It holds the memory of this process in bytes: now, and at most since the last of these frames.
"""
BORN = b"B"
"""Letter of the first frame of a forked process: its number in place of a length, with a descriptor of the process."""
HEADER = struct.Struct("<cI")
_PAGE_OUT = 21  # MADV_PAGEOUT of Linux 5.4: unlike other advice, it never loses what was written to a page
MOST_NAME = 1000
"""Bytes of the name of a system, at most; longer ones are cut."""


class Worker:
    """The loop of the process."""

    def __init__(self, lines: BinaryIO, frames: BinaryIO) -> None:
        self._lines, self._frames = lines, frames
        self._requests: queue.Queue[Mapping[str, Any]] = queue.Queue()
        self._stopped = -1  # number of the request that nobody waits for
        self._phase = PREPARES

    def send(self, letter: bytes, content: bytes = b"") -> None:
        with contextlib.suppress(BrokenPipeError):  # the end of the input ends this process
            self._frames.write(HEADER.pack(letter, len(content)) + content)
            self._frames.flush()

    def listen(self) -> None:
        """Take requests from the input until it ends, beside the computation."""
        try:
            for line in self._lines:
                message = json.loads(line)
                if "stop" in message:
                    self._stopped = message["stop"]
                else:
                    self._requests.put(message)
        finally:
            os._exit(0)

    def work(self) -> None:
        """Answer requests for good."""
        threading.Thread(target=self.listen, daemon=True).start()
        settings = self._requests.get()
        from stickslip.page import service as services  # after the listener: the import takes a second

        services.MOST_SECONDS, services.MOST_STEPS = settings["seconds"], settings["steps"]
        services.compiling.begins = lambda: self.send(COMPILES)
        services.compiling.ends = lambda: self.send(self._phase)
        service = services.Service(settings["first"], [Path(path) for path in settings["files"]], tell=self._runs)
        warm_up()
        while True:
            tidy()
            self.send(READY, b"%d %d" % _memory())
            message = self._requests.get()
            self._enter(PREPARES)
            try:
                gone = functools.partial(self._is_stopped, message["number"])
                self.send(ANSWER, service.answer(message["path"], message["request"], gone))
            except services.ClientGone:
                self.send(STOPPED)
            except ValueError as error:
                self.send(WRONG, _one_line(error))
            except Exception as error:
                self.send(FAILED, f"{type(error).__name__}: ".encode() + _one_line(error))

    def _is_stopped(self, number: int) -> bool:
        return self._stopped == number

    def _enter(self, phase: bytes) -> None:
        self._phase = phase
        self.send(phase)

    def _runs(self, begins: bool) -> None:
        self._enter(RUNS if begins else PREPARES)


def _one_line(error: Exception) -> bytes:
    return " ".join(str(error).split()).encode()


@functools.cache
def warm_up() -> None:
    """Import what the first run would, and begin with machine code, which takes 40 MB once."""
    from stickslip import library
    from stickslip.page import service  # noqa: F401
    from stickslip.page.payload import payload
    from stickslip.projections import project_interval

    project_interval(0.0, 0.0, 1.0)
    ball = library.get("bouncing_ball")
    payload(ball.simulate(dt=0.01, t_end=0.02, engine="reference"), ball)


def tidy() -> None:
    """Give memory back that the last run needed: what is left is what the next one finds ready."""
    from stickslip.jit import syntax

    syntax.forget()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # of glibc alone
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError, AttributeError, ValueError):  # of Linux alone
        _leave_compiler()


def _leave_compiler() -> None:
    """Let go of the pages of LLVM's own code, 20 to 60 MB once it has built something; Linux reads them again.

    Pages that another process uses stay as they are.
    """
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        area, mode, *_, name = line.split(None, 5)
        if mode == "r-xp" and "libllvmlite" in name:
            begin, end = (int(word, 16) for word in area.split("-"))
            advise(begin, end - begin, _PAGE_OUT)


def _memory() -> tuple[int, int]:
    """Memory in bytes that this process has for itself: now, and at most since the last call.

    Both are the largest since its start where Linux does not tell.
    """
    with contextlib.suppress(OSError, KeyError):
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
        own = sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))
        whole = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
        given_back = int(whole["VmHWM"].split()[0]) - int(whole["VmRSS"].split()[0])
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_bytes(b"5")  # the largest is that from now on
        return own, own + max(0, given_back) * 1024
    try:
        import resource
    except ImportError:
        return 0, 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return largest, largest


def main() -> None:
    """Work with this process's own input and output; nothing else may write to that output."""
    frames = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    warnings.simplefilter("ignore")  # those of a run are caught and sent with it
    Worker(sys.stdin.buffer, frames).work()


if __name__ == "__main__":
    main()
