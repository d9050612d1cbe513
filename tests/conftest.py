"""Settings that every test shares."""

import gc
import os

import pytest
from hypothesis import settings

# No window, wherever the tests run; set before anything imports matplotlib.
os.environ.setdefault("MPLBACKEND", "Agg")

# The first example of a property compiles its kernels: a deadline would measure the compiler, not us.
# The same examples in every run, so that a failing one repeats; HYPOTHESIS_PROFILE=explore draws new ones.
settings.register_profile("stickslip", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stickslip"))


gc.disable()  # while the tests are imported: next to nothing of what is made there is garbage


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported stays: the search for garbage need not look at it again.

    Derivations and syntax trees make millions of small objects, few of them in cycles.  With Python's own thresholds
    the search takes a tenth of all processor time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
