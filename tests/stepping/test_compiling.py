"""Compilation is announced, and none of the time of a run."""

import re
import time

import pytest

from stickslip.jit import KernelError, kernel
from stickslip.jit.making import Clock, making, run, running
from stickslip.stepping.compiling import FIRST_TIME, announced
from stickslip.stepping.simulate import progress_bar


def fresh_kernel():
    """A function that is made when it is called, and one that it calls."""

    @kernel(apart=True)
    def inner(x):
        return x + 1.0

    @kernel
    def outer(x):
        return inner(x) * inner(2.0 * x)

    return outer.compiled


def test_the_clock_counts_what_is_made_once_and_nothing_else():
    told = []
    with running(Clock(lambda: told.append("begins"), lambda: told.append("ends"))) as clock:
        kernel, begin = fresh_kernel(), time.perf_counter()
        assert kernel(1.0) == 6.0
        elapsed = time.perf_counter() - begin
        assert told == ["begins", "ends"]  # the inner function within the outer one
        counted = clock.seconds
        assert 0.0 < counted <= elapsed
        kernel(2.0)
        time.sleep(0.01)
        assert clock.seconds == counted
    fresh_kernel()(1.0)
    assert clock.seconds == counted


def test_a_kernel_that_is_refused_ends_the_count():
    @kernel
    def wrong(x):
        return x.no_such_thing

    with running(Clock()) as clock:
        with pytest.raises(KernelError):
            wrong.compiled(1.0)
        failed = clock.seconds
        fresh_kernel()(1.0)
    assert clock.seconds > failed > 0.0


def test_a_clock_tells_the_time_of_what_is_under_way():
    clock = run(Clock())
    with making():
        time.sleep(0.01)
        assert clock.seconds >= 0.01
    assert clock.seconds >= 0.01


def test_the_bar_says_that_it_compiles_and_begins_its_rate_after_it(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    with progress_bar(True, "my own row", 100) as advance:
        with making():
            time.sleep(0.3)  # the bar draws itself ten times a second
        advance(50)
    text = capsys.readouterr().err
    assert FIRST_TIME in text and "50 %" in text
    assert float(re.findall(r"([0-9.e+]+) steps/s", text)[-1]) > 2.0 * 50 / 0.3  # the time of compiling is left out


def test_the_preparation_is_announced_where_it_is_wanted(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    with announced("my own row", False), making():
        pass
    assert capsys.readouterr().err == ""
    with announced("my own row", True), making():
        time.sleep(0.3)
    assert f"preparing the kernels of my own row ({FIRST_TIME})" in capsys.readouterr().err
