"""Random programs: plain Python and machine code agree to the last bit."""

import numpy as np
import pytest

from tests.jit.programs import arguments, programs


def check(seed: int, count: int) -> None:
    for number, (function, source) in enumerate(programs(seed, count)):
        plain, fast = arguments(seed + number), arguments(seed + number)
        try:
            with np.errstate(all="ignore"):
                expected = function(*plain)
        except (OverflowError, ValueError):  # a whole number beyond 64 bits, a root of an infinite value
            continue
        found = function.compiled(*fast)
        for got, want in zip((*found, *fast[:3]), (*expected, *plain[:3]), strict=True):
            a, b = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
            same = (a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b))
            assert np.all(same), f"seed {seed + number}: {got!r}, plain Python {want!r}\n{source}"


@pytest.mark.parametrize("seed", range(0, 30, 10))
def test_random_programs(seed: int) -> None:
    check(seed, 10)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_a_hundred_thousand_random_programs(block: int) -> None:
    check(10_000_000 + 1000 * block, 1000)
