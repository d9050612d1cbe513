"""The process from which those that compute runs are forked: all modules are imported here, and no run is computed.

Whoever asks sends the name of a system and one end of a pair of sockets; a child works with it (`Worker`).  Memory of
the modules is shared by all children, and a child is there in milliseconds.  No thread is at work here at a fork, so
that no lock is held by one: those that build machine code have ended their work by then (`units`).  A system of the
library is derived here, once, before its first child is forked, and the machine code of scenes is loaded here before
the second child of a scene.  When its input ends, whoever asked is gone, and so are this process and all its children,
whatever they compute.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import select
import signal
import socket
import sys
import warnings

from stickslip import library
from stickslip.page.entries import LibraryEntry, entry_names
from stickslip.page.worker import BORN, HEADER, MOST_NAME, Worker, tidy, warm_up

MORE = (
    *("scipy.integrate", "scipy.optimize", "numpy.fft", "sympy.codegen.ast"),  # event-driven runs, numbers, exports
    *("stickslip.run.scene_simulate", "stickslip.scenes.engine", "stickslip.scenes.as_one", "stickslip.page.space"),
)
"""Modules of event-driven runs, exports and scenes: 25 million bytes that each child would have for itself."""
_REAP = 1.0  # seconds between two looks for children that have ended


class Mother:
    """The loop of the process."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._children: set[int] = set()

    def serve(self) -> None:
        """Fork a child for each end of a pair of sockets that comes in."""
        waiting = select.poll()
        waiting.register(self._asked, select.POLLIN)
        while True:
            came = waiting.poll(_REAP * 1e3)
            self._reap()
            if came:
                name, ends, _, _ = socket.recv_fds(self._asked, MOST_NAME, 1)
                if not ends:
                    return self._end()
                with contextlib.suppress(Exception):  # what fails here fails in the child as well, which says so
                    _learn(name.decode())
                self._bear(ends[0])
                _learn_more()

    def _bear(self, end: int) -> None:
        gc.freeze()  # objects of this process are never looked at by the collector of a child, and stay shared
        try:
            child = os.fork()
        except OSError:  # too many processes, too little memory: the end is closed, and that tells
            os.close(end)
            return
        if child:
            os.close(end)
            self._children.add(child)
            return
        try:
            self._asked.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
            gc.enable()
            connection = socket.socket(fileno=end)
            socket.send_fds(connection, [HEADER.pack(BORN, os.getpid())], [os.pidfd_open(os.getpid())])
            Worker(connection.makefile("rb"), connection.makefile("wb")).work()
        finally:
            os._exit(1)

    def _reap(self) -> None:
        """Let go of the numbers of children that have ended; until then nobody else gets them."""
        for child in list(self._children):
            if os.waitpid(child, os.WNOHANG)[0]:
                self._children.remove(child)

    def _end(self) -> None:
        for child in self._children:
            os.kill(child, signal.SIGKILL)


def _learn(name: str) -> None:
    """Derive a system of the library, for all children to come; scenes need modules and machine code of their own."""
    if name in library.scene_names():
        _learn_more()
        if _scenes:
            _learn_scenes()
        _scenes.add(name)
    if name in entry_names():
        _ = LibraryEntry(name).scenario


_scenes: set[str] = set()
"""Scenes that children were born for."""


@functools.cache
def _learn_scenes() -> None:
    """Load the machine code of scenes, which is one for all of them: each child would have 30 MB of it for itself.

    The first child of a scene has made it, or makes it now, where it was not on disk.
    """
    scene = library.get("cube_stack")
    scene.simulate(t_end=2 * scene.dt, progress=False)
    tidy()


@functools.cache
def _learn_more() -> None:
    """Import what only some runs need: once, for all children to come, while the first child is at work."""
    for name in MORE:
        with contextlib.suppress(Exception):  # whoever needs it says what is wrong
            importlib.import_module(name)


def main() -> None:
    """Take requests from this process's input, which is a socket; nothing may write to its output."""
    gc.disable()
    warnings.simplefilter("ignore")  # those of a run are caught and sent with it
    warm_up()
    tidy()
    Mother(socket.socket(fileno=os.dup(sys.stdin.fileno()))).serve()


if __name__ == "__main__":
    main()
