"""Loops that threads share: the same bits as alone, whoever does the turns."""

import threading

import numpy as np
import pytest

from stickslip.jit import KernelError, kernel, parallel, prange
from tests.jit.test_language import agrees


@kernel
def slow_sum(a, k, n):
    total = 0.0
    for i in range(n):
        total += a[(i * 7 + k) % a.shape[0]] / (1.0 + i)
    return total


@kernel
def in_parts(a, out, n):
    scale, rows = 2.0 / n, out.shape[0]
    for sweep in range(3):
        for k in prange(rows):
            if k % 5 == 4:
                continue
            room = np.zeros(n)
            for i in range(n):
                room[i] = scale * sweep
            first, last = room[0], room[n - 1]
            out[k] += slow_sum(a, k, n) * first + last
        for k in prange(1, rows // 2):
            out[k] += 1.0
    first = out[0]
    return first


@kernel
def nested(out):
    for i in prange(out.shape[0]):
        for j in prange(out.shape[1]):
            out[i, j] = 10 * i + j


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_give_the_same_bits(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "most_threads", lambda: 3)
    for rows in (0, 1, 7, 300):
        with parallel.team(threads):
            agrees(in_parts, np.linspace(0.1, 1.0, 50), np.zeros(rows + 1), 40)
            agrees(nested, np.zeros((rows, 3)))


@kernel
def who(out, started):
    for k in prange(out.shape[0]):
        started[k] = 1
        if k == 0:  # turn 0 waits for turn 1: both run at once
            turns = 0
            while started[1] == 0 and turns < 1_000_000_000:
                turns += 1
                out[0] = turns  # might be started[1], for all the compiler knows: it looks again
        out[k] = started[0] + started[1]


def test_turns_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "most_threads", lambda: 2)
    with parallel.team(2):
        for _ in range(20):
            out, started = np.zeros(2, np.int64), np.zeros(2, np.int64)
            who.compiled(out, started)
            assert out[0] == 2


def test_two_callers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One has the team, the other works alone."""
    monkeypatch.setattr(parallel, "most_threads", lambda: 2)
    a, found = np.linspace(0.1, 1.0, 50), []
    expected = np.zeros(301)
    in_parts.compiled(a, expected, 40)

    def work() -> None:
        for _ in range(30):
            out = np.zeros(301)
            with parallel.team(2):
                in_parts.compiled(a, out, 40)
            found.append(np.array_equal(out, expected))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert len(found) == 90 and all(found)


@kernel
def returns_from_a_turn(a):
    for k in prange(3):
        if a[k] > 0.0:
            return k
    return 0


@kernel
def breaks_out_of_a_turn(a):
    for k in prange(3):
        if a[k] > 0.0:
            break


@kernel
def sums_over_turns(a):
    total = 0.0
    for k in prange(3):
        total += a[k]
    return total


@kernel
def reads_a_turn_afterwards(a):
    for k in prange(3):
        last = a[k]
    return last


@kernel
def steps_through(a):
    for k in prange(0, 3, 2):
        a[k] = 1.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (returns_from_a_turn, "`return` inside a loop over prange"),
        (breaks_out_of_a_turn, "`break` out of a loop over prange"),
        (sums_over_turns, "total belongs to one turn"),
        (reads_a_turn_afterwards, "last belongs to one turn"),
        (steps_through, "prange takes one or two whole numbers"),
    ],
)
def test_refused(function, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelError) as caught:
        function.compiled(np.ones(3))
    assert words in str(caught.value) and "test_parallel.py:" in str(caught.value)
