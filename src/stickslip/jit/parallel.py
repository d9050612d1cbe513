"""Threads that share the turns of a loop: `for k in prange(n)`.

Python starts the threads and lets them wait.  `team` calls them: they leave Python, and look for work until the team is
dismissed.  Machine code offers them work by `share`: the turns of a loop, cut into parts, which whoever is free takes.
The caller takes parts, too, and goes on when all are done.  Without a team, inside another loop over `prange`, or while
another thread has called the team, the caller does all turns by itself.  The turns write to different places, so that
no bit of a result depends on which thread did them.

The state of the team is one block of memory.  `ticket` holds the number of parts (upper half) and of the next one.
The thread that adds one to it has taken the next part; as long as a part is not done, its loop stays as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading
from collections.abc import Iterator

import llvmlite.binding as llvm

from stickslip.jit.units import ENTRY, Unit, cores, one
from stickslip.jit.values import Constant

SHARE = "share"
"""Word of the unit that machine code offers work by."""
MOST_PARTS = 1 << 16
YIELDS = 2000
"""Looks at the ticket, each followed by a yield to others, before a thread naps between two looks."""
NAP = 100  # [us]
_LINE = 8  # words of a cache line: what several threads write to lies in lines of their own
OPEN, BUSY, TICKET, LEFT, FUNCTION, CONTEXT, TURNS = (_LINE * k for k in range(7))
"""Words of the state: the team is called; a loop is under way; ticket; parts not done; the loop."""

_state = (ctypes.c_int64 * (_LINE * 8))()


def prange(*ends: int) -> range:
    """Turns of a loop that threads share, in any order; alone, as `range`."""
    return range(*ends)


def _at(word: int) -> str:
    return f"getelementptr inbounds (i64, ptr @stickslip.team, i64 {word})"


_WORK = f"""
@stickslip.team = external global i64
declare i32 @stickslip.yield()
declare i32 @stickslip.nap(i32)

define internal i64 @work() nounwind {{
entry:
  br label %look
look:
  %done = phi i64 [ 0, %entry ], [ 1, %part ]
  %seen = load atomic i64, ptr {_at(TICKET)} acquire, align 8
  %seen.parts = lshr i64 %seen, 32
  %seen.next = and i64 %seen, 4294967295
  %some = icmp ult i64 %seen.next, %seen.parts
  br i1 %some, label %take, label %none
take:
  %ticket = atomicrmw add ptr {_at(TICKET)}, i64 1 acq_rel
  %parts = lshr i64 %ticket, 32
  %k = and i64 %ticket, 4294967295
  %mine = icmp ult i64 %k, %parts
  br i1 %mine, label %part, label %none
part:
  %function = load ptr, ptr {_at(FUNCTION)}, align 8
  %context = load ptr, ptr {_at(CONTEXT)}, align 8
  %turns = load i64, ptr {_at(TURNS)}, align 8
  %above = mul i64 %k, %turns
  %first = udiv i64 %above, %parts
  %after = add i64 %above, %turns
  %last = udiv i64 %after, %parts
  call void %function(ptr %context, i64 %first, i64 %last)
  %before = atomicrmw sub ptr {_at(LEFT)}, i64 1 release
  br label %look
none:
  ret i64 %done
}}
"""

_SHARE = (
    _WORK
    + f"""
define void @{ENTRY}(ptr %function, ptr %context, i64 %turns) nounwind {{
entry:
  %open = load atomic i64, ptr {_at(OPEN)} monotonic, align 8
  %alone = icmp eq i64 %open, 0
  %few = icmp slt i64 %turns, 2
  %plain = or i1 %alone, %few
  br i1 %plain, label %by_itself, label %ask
ask:
  %answer = cmpxchg ptr {_at(BUSY)}, i64 0, i64 1 acquire monotonic
  %free = extractvalue {{ i64, i1 }} %answer, 1
  br i1 %free, label %shared, label %by_itself
by_itself:
  call void %function(ptr %context, i64 0, i64 %turns)
  ret void
shared:
  store ptr %function, ptr {_at(FUNCTION)}, align 8
  store ptr %context, ptr {_at(CONTEXT)}, align 8
  store i64 %turns, ptr {_at(TURNS)}, align 8
  %many = icmp ugt i64 %turns, {MOST_PARTS}
  %parts = select i1 %many, i64 {MOST_PARTS}, i64 %turns
  store atomic i64 %parts, ptr {_at(LEFT)} monotonic, align 8
  %ticket = shl i64 %parts, 32
  store atomic i64 %ticket, ptr {_at(TICKET)} release, align 8
  %done = call i64 @work()
  br label %wait
wait:
  %left = load atomic i64, ptr {_at(LEFT)} acquire, align 8
  %over = icmp eq i64 %left, 0
  br i1 %over, label %end, label %again
again:
  %rest = call i32 @stickslip.yield()
  br label %wait
end:
  store atomic i64 0, ptr {_at(BUSY)} release, align 8
  ret void
}}
"""
)

_SERVE = (
    _WORK
    + f"""
define void @{ENTRY}() nounwind {{
entry:
  br label %look
look:
  %idle = phi i64 [ 0, %entry ], [ %more, %pause ], [ %more, %sleep ]
  %open = load atomic i64, ptr {_at(OPEN)} acquire, align 8
  %called = icmp ne i64 %open, 0
  br i1 %called, label %try, label %end
try:
  %done = call i64 @work()
  %worked = icmp ne i64 %done, 0
  %since = select i1 %worked, i64 0, i64 %idle
  %more = add i64 %since, 1
  %long = icmp sgt i64 %more, {YIELDS}
  br i1 %long, label %sleep, label %pause
pause:
  %a = call i32 @stickslip.yield()
  br label %look
sleep:
  %b = call i32 @stickslip.nap(i32 {NAP})
  br label %look
end:
  ret void
}}
"""
)


@functools.cache
def _make_known() -> None:
    """Tell LLVM where the state of the team is, and how a thread lets others run."""
    if sys.platform == "win32":
        let_others = ctypes.WinDLL("kernel32").SwitchToThread  # type: ignore[attr-defined]
        nap = let_others
    else:
        library = ctypes.CDLL(None)
        let_others, nap = library.sched_yield, library.usleep
    llvm.add_symbol("stickslip.team", ctypes.addressof(_state))
    llvm.add_symbol("stickslip.yield", ctypes.cast(let_others, ctypes.c_void_p).value)
    llvm.add_symbol("stickslip.nap", ctypes.cast(nap, ctypes.c_void_p).value)


@functools.cache
def share() -> Unit:
    """Machine code of share(function, context, turns)."""
    _make_known()
    return one(Unit(_SHARE, "void", Constant(None), (), SHARE))


class _Member(threading.Thread):
    """A thread that serves the team whenever it is called."""

    def __init__(self) -> None:
        super().__init__(name="stickslip kernels", daemon=True)
        self.called, self.serve = threading.Semaphore(0), ctypes.CFUNCTYPE(None)(_serve_address())
        self.start()

    def run(self) -> None:
        while True:
            self.called.acquire()
            self.serve()  # other threads of Python run meanwhile


@functools.cache
def _serve_address() -> int:
    _make_known()
    return Unit(_SERVE, "void", Constant(None), (), "serve").address()


_members: list[_Member] = []
_calling = threading.Lock()


def most_threads() -> int:
    """Threads that this process may run at once."""
    return cores()


@contextlib.contextmanager
def team(threads: int) -> Iterator[None]:
    """Let `threads` threads, the calling one among them, share loops over `prange`; at most one thread per core."""
    helpers = min(threads, most_threads()) - 1
    if helpers < 1 or not _calling.acquire(blocking=False):
        yield
        return
    try:
        _members[:] = [member for member in _members if member.is_alive()]  # none is behind a fork
        _members.extend(_Member() for _ in range(helpers - len(_members)))
        _state[OPEN] = 1
        for member in _members[:helpers]:
            member.called.release()
        yield
    finally:
        _state[OPEN] = 0
        _calling.release()
