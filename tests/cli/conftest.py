"""The command line, called in the process of the tests."""

import pytest

from stickslip import cli


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line in this process; returns exit code, stdout, stderr."""
    monkeypatch.delenv("STICKSLIP_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
