"""Every scene of these tests is checked as in debug: its penetration against overlaps computed anew."""

from pathlib import Path

import pytest

from stickslip.debug import VARIABLE
from stickslip.scenes.collision import overlaps

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("error:the certificate of .* says a penetration:RuntimeWarning"))


@pytest.fixture(autouse=True)
def debug(request, monkeypatch):
    """Overlaps at the begin and the end of every run, at more records in slow tests."""
    monkeypatch.setenv(VARIABLE, "1")
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(overlaps, "CHECKED", 0)
