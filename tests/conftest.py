"""Settings that every test shares."""

import gc
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from stickslip.jit import tiers
from tests.thinned import FULL

# No window, wherever the tests run; set before anything imports matplotlib.
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell ignores Ctrl-C in what it starts in the background; then Python raises no KeyboardInterrupt. Tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a property compiles its kernels: a deadline would measure the compiler, not us.
# The same examples in every run, so that a failing one repeats; HYPOTHESIS_PROFILE=explore draws new ones.
settings.register_profile("stickslip", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stickslip"))
# Else it reads the numbers in all sources, 4 s in each worker, and a changed line of them would change the examples.
if hasattr(providers, "is_local_module_file"):
    providers.is_local_module_file = lambda path: False


PATIENCE = 4
"""Times as long as shipped, quick machine code runs in the default tests before threads optimise it.

Optimised code has the bits of quick code, which `tests/jit` shows; to make it took a third of the time of some folders.
"""


def pytest_configure() -> None:
    if not FULL:
        tiers.PATIENCE *= PATIENCE


LONG_FILES = (
    "test_docs.py", "test_server.py", "test_signals.py", "test_piles.py", "test_checkpoints.py", "test_library.py",
    "test_run.py", "test_engines.py", "test_slider_crank.py", "test_fit.py", "test_library_commands.py",
    "test_control.py", "test_impulse_slopes.py", "test_reproduce.py", "test_event_driven.py", "test_showing.py",
    "test_closed_forms.py", "test_sensitivity.py", "test_steppers.py", "test_space_arcs.py", "test_friction_laws.py",
    "test_basins.py", "test_symbolic.py", "test_differences.py", "test_limits.py",
)  # fmt: skip
"""Files that take longest, first: workers take whole files, and a long one at the end would leave the others idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: (place.get(item.path.name, len(place)), item.path))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Every other worker reads the files in reverse order.

    pytest rewrites a file that it reads for the first time, for 7 s in all, and keeps what it has written: so each of
    two workers does half of it.
    """
    report = yield
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if isinstance(collector, pytest.Directory) and int(worker[2:]) % 2:
        report.result = report.result[::-1]
    return report


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
