"""Requests that the command line cannot serve: one clear line and an exit code."""

import subprocess
import sys

import pytest
import typer

from stickslip import __version__, cli


def failing(error):
    def command():
        raise error

    return command


@pytest.fixture
def run_failing(run, monkeypatch):
    """Run a command, made for the test, that raises the given error."""

    def run_failing(error):
        app = typer.Typer(pretty_exceptions_enable=False)
        app.command()(failing(error))
        monkeypatch.setattr(cli, "app", app)
        return run()

    return run_failing


def test_version(run):
    assert run("--version") == (0, f"stickslip {__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_every_command(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert all(name in out for name in cli._COMMANDS)


@pytest.mark.parametrize("name", [*cli._COMMANDS, "friction"])
def test_every_command_has_help(run, name):
    code, out, err = run(name, "--help")
    assert "<bool>" not in out  # a flag has no value
    assert (code, err) == (0, "")
    assert f"stickslip {name}" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["docter"], "No such command 'docter'. Did you mean 'doctor'? (see 'stickslip --help')"),
        (["--verson"], "--version"),
        (["doctor", "--jsn"], "--json"),
        (["doctor", "now"], "now"),
    ],
)
def test_wrong_request_is_one_line_and_exit_code_2(run, arguments, expected):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("stickslip: error: ") and err.count("\n") == 1
    assert expected in err


def test_value_error_is_the_users_and_one_line(run_failing):
    code, _, err = run_failing(ValueError("friction must have shape (3,),\n  one per contact, got (2,)."))
    assert (code, err) == (2, "stickslip: error: friction must have shape (3,), one per contact, got (2,).\n")


def test_other_errors_are_one_line_with_their_type(run_failing):
    code, _, err = run_failing(ZeroDivisionError("float division by zero"))
    assert code == 1
    assert err == "stickslip: error: ZeroDivisionError: float division by zero (STICKSLIP_DEBUG=1 shows where)\n"


def test_debugging_shows_the_traceback(run_failing, monkeypatch):
    monkeypatch.setenv("STICKSLIP_DEBUG", "1")
    code, _, err = run_failing(ZeroDivisionError("float division by zero"))
    assert code == 1
    assert err.startswith("Traceback") and err.endswith("stickslip: error: ZeroDivisionError: float division by zero\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (typer.Abort(), 130), (typer.Exit(1), 1), (typer.Exit(), 0)],
)
def test_interrupts_say_so_and_exits_say_nothing(run_failing, error, code):
    said = "stickslip: interrupted\n" if code == 130 else ""
    assert run_failing(error) == (code, "", said)


WHILE_IMPORTED = """
class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == "stickslip.cli":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""
AFTER_THE_END = """
import atexit
atexit.register(signal.raise_signal, signal.SIGINT)
"""


@pytest.mark.parametrize(
    ("moment", "code", "out", "said"),
    [
        (WHILE_IMPORTED, 130, "", "stickslip: interrupted\n"),
        (AFTER_THE_END, 0, f"stickslip {__version__}\n", ""),
    ],
)
def test_ctrl_c_before_and_after_a_command(moment, code, out, said):
    """While commands are imported it is one line; while the interpreter closes down it changes nothing."""
    program = f"import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{moment}\n"
    program += "sys.argv = ['stickslip', '--version']\nfrom stickslip.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, said)


def test_warnings_are_one_line_and_those_of_single_operations_none(run, monkeypatch, tmp_path):
    import warnings

    def warn(what="woodpecker", out=None):
        warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=1)
        warnings.warn("a contact\n gained energy", RuntimeWarning, stacklevel=1)

    app = typer.Typer()
    app.callback()(lambda: None)
    app.command("warn")(lambda: warn())
    monkeypatch.setattr(cli, "app", app)
    assert run("warn") == (0, "", "stickslip: warning: a contact gained energy\n")
