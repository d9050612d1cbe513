"""Tests that check some examples in the default run and all of them in the slow one (`make test-slow`)."""

from __future__ import annotations

import os

import pytest

FULL = os.environ.get("STICKSLIP_TESTS") == "full"
"""Whether this is the slow run."""
thinned = pytest.mark.thinned
"""Mark of a test that takes more examples in the slow run, which asks for `slow or thinned`."""


def examples(some: int, all_of_them: int) -> int:
    """How many examples a test takes in this run."""
    return all_of_them if FULL else some
