"""Random programs: plain Python and machine code agree to the last bit."""

import linecache

import numpy as np
import pytest

from tests.jit.programs import FLOATS, WHOLE, arguments, programs

IN_ONE_MODULE = 50
DRAWS = 3
"""Arguments that each program is run with."""


def check(seed: int, count: int) -> int:
    """Compare `count` programs; returns how many pairs of results were compared.

    Python raises where a whole number leaves 64 bits, and for roots of infinite values: these runs are left out.
    """
    compared = 0
    made, chosen = programs(seed, count)
    for number, (function, source) in enumerate(made):
        for draw in range(DRAWS):
            plain, fast = (arguments(DRAWS * (seed + number) + draw) for _ in range(2))
            try:
                with np.errstate(all="ignore"):
                    expected = function(*plain)
            except (OverflowError, ValueError):
                continue
            floats, whole = np.zeros(len(FLOATS)), np.zeros(len(WHOLE), dtype=np.int64)
            chosen.compiled(*fast, number, floats, whole)
            for got, want in zip((*floats, *whole, *fast[:3]), (*expected, *plain[:3]), strict=True):
                a, b = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
                same = (a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b))
                assert np.all(same), f"seed {seed + number}, draw {draw}: {got!r}, plain Python {want!r}\n{source}"
            compared += 1
    linecache.cache.pop(f"<random programs {seed}>")
    return compared


@pytest.mark.parametrize("seed", [0, 25])
def test_random_programs(seed: int) -> None:
    assert check(seed, 25) > 2 * 25


def test_a_random_program_called_from_python() -> None:
    """One program as a kernel of its own, called by Python without another kernel between."""
    [(function, _)], _ = programs(77, 1)
    with np.errstate(all="ignore"):
        assert function.compiled(*arguments(1)) == function(*arguments(1))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_a_hundred_thousand_random_programs(block: int) -> None:
    for seed in range(10_000_000 + 1000 * block, 10_000_000 + 1000 * (block + 1), IN_ONE_MODULE):
        check(seed, IN_ONE_MODULE)
