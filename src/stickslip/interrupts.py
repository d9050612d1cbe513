"""When Ctrl-C and other signals take effect: only at moments at which a run can be interrupted safely.

Python runs the handler of a signal between any two of its instructions, and a handler may raise: KeyboardInterrupt for
Ctrl-C, any exception in a handler of the user.  Within `uninterrupted` no handler runs: signals are noted.  They take
effect when the block ends, at a `poll`, or in an `opened` part of the block.  In an opened part handlers run at once,
up to the first that raises; later signals are noted again.  So an exception comes where its consequences are undone,
and a second one cannot come while they are being undone.

Only the main thread of a process runs handlers; in other threads these functions have no effect, and none is needed.

A signal that nobody handles ends the process.  `undoing` names files that SIGTERM and SIGHUP must not leave behind
then.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes an enumeration of each answer: 60 us for all
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]
_NUMBERS = tuple(sorted(int(number) for number in signal.valid_signals()))
_handler_of: Callable[[int], Any] = _signal.getsignal


class _Hold:
    """The handlers of the process while they are held back, and what arrived meanwhile."""

    def __init__(self) -> None:
        self.handlers: dict[int, Handler] = {}  # of the user, by number of the signal
        self.waiting: list[int] = []  # signals that arrived, in their order, one of each
        self.raised: set[int] = set()  # signals that ended something already, by an exception
        self.open = False
        self.settled = False  # whether a result is whole, so that Ctrl-C has nothing left to end
        self.process = os.getpid()

    def install(self) -> None:
        """Put `receive` in the place of every handler that is a function."""
        for number in _NUMBERS:
            handler = _handler_of(number)
            if callable(handler) and handler is not _end:
                self.handlers[number] = handler
                signal.signal(number, self.receive)

    def remove(self) -> None:
        """Put the user's handlers back; start again if a handler raises meanwhile."""
        try:
            for number, handler in reversed(self.handlers.items()):  # Ctrl-C last: a raise here is after the block
                if signal.getsignal(number) == self.receive:  # else somebody has installed another handler
                    signal.signal(number, handler)
        except BaseException:
            self.remove()
            raise

    def receive(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self.process:  # a child that was forked meanwhile has nothing to protect
            self.handlers[number](number, frame)
        elif not self.open:
            if number not in self.waiting:
                self.waiting.append(number)
        else:
            self.open = False  # for good, if the handler raises: the next signal waits
            self.answer(number, frame)
            self.open = True

    def answer(self, number: int, frame: FrameType | None) -> None:
        try:
            self.handlers[number](number, frame)
        except BaseException:
            self.raised.add(number)
            raise

    def poll(self) -> None:
        was_open = self.open
        while self.waiting:
            self.open = False  # for good, if a handler raises
            self.answer(self.waiting.pop(0), sys._getframe())
        self.open = was_open

    def late(self) -> list[int]:
        """Signals that still wait, without kinds that had their effect: a second Ctrl-C asks for nothing new."""
        return [number for number in self.waiting if number not in self.raised]

    def deliver(self, numbers: list[int]) -> None:
        if numbers:
            try:
                self.handlers[numbers[0]](numbers[0], sys._getframe())
            finally:
                self.deliver(numbers[1:])


_hold: _Hold | None = None
_dropped = False  # whether a Ctrl-C was dropped, since there was nothing left that it could end


def _present() -> _Hold | None:
    """The hold that is in force in this thread."""
    if _hold is None or threading.current_thread() is not threading.main_thread():
        return None
    return _hold if _hold.process == os.getpid() else None


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back until the block is done: no handler runs inside the block, and so none raises inside it."""
    global _hold, _dropped
    outer = _present()
    if outer is not None:
        was_open, outer.open = outer.open, False
        try:
            yield
        finally:
            outer.open = was_open
        if was_open:
            outer.poll()
        return
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hold = _Hold()
    try:
        hold.install()
        _hold = hold
        yield
    finally:
        _hold = None
        hold.open = False
        _dropped = _dropped or (hold.settled and signal.SIGINT in hold.waiting)
        try:
            hold.remove()
        finally:
            hold.deliver(hold.late())


class opened:
    """A part of an `uninterrupted` block in which signals take effect at once; the first that raises ends it."""

    def __enter__(self) -> None:
        hold = _present()
        if hold is not None:
            hold.open = True
            hold.poll()

    def __exit__(self, *problem: object) -> None:
        hold = _present()
        if hold is not None:
            hold.open = False


def poll() -> None:
    """Let signals that wait take effect now; their handlers may raise."""
    hold = _present()
    if hold is not None:
        hold.poll()


def settle() -> None:
    """Let signals that wait take effect, now that a result is whole: Ctrl-C must not lose it.

    KeyboardInterrupt is dropped here, and Ctrl-C from here to the end of the block, too; other handlers of the user
    are called, and may raise.  `dropped` tells whoever asked for the result as a part of something larger.
    """
    global _dropped
    hold = _present()
    if hold is None:
        return
    while hold.waiting:
        try:
            hold.poll()
        except KeyboardInterrupt:
            _dropped = True
    if hold.handlers.get(signal.SIGINT) is signal.default_int_handler:
        hold.raised.add(signal.SIGINT)
        hold.settled = True


def note_dropped() -> None:
    """Note that a KeyboardInterrupt was dropped."""
    global _dropped
    _dropped = True


def dropped() -> bool:
    """Whether a Ctrl-C was dropped since the last call; False in threads other than the main one."""
    global _dropped
    if threading.current_thread() is not threading.main_thread():
        return False
    was, _dropped = _dropped, False
    return was


_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_to_undo: dict[object, tuple[int, Callable[[], object]]] = {}  # process and function, by the block they belong to


def _end(number: int, frame: FrameType | None) -> None:
    """End the process as the signal would have done, once nothing is left to undo."""
    for process, undo in list(_to_undo.values()):
        if process == os.getpid():  # a child that was forked meanwhile has made nothing
            with contextlib.suppress(OSError):
                undo()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


@contextmanager
def undoing(undo: Callable[[], object]) -> Iterator[None]:
    """Let `undo` run before SIGTERM or SIGHUP ends the process within the block; handlers of the user come first."""
    block, taken = object(), []
    _to_undo[block] = (os.getpid(), undo)
    try:
        if threading.current_thread() is threading.main_thread():
            taken = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]
            for number in taken:
                signal.signal(number, _end)
        yield
    finally:
        for number in taken:
            if signal.getsignal(number) is _end:
                signal.signal(number, signal.SIG_DFL)
        del _to_undo[block]
