"""What tests of the kernel cache share."""

import os
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def shared():
    """A folder that every user can reach, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="stickslip-two-users-") as name:
        os.chmod(name, 0o755)
        yield Path(name)
