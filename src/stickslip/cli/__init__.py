"""The command line: `stickslip COMMAND`.

One module per command, each with a function that Typer turns into the command; `_COMMANDS` below lists them.
Command modules import what they compute with inside the function, so that `stickslip --help` answers at once.

Errors end in one line on stderr and an exit code: 2 when the request was wrong (bad option, `ValueError`),
1 when the computation failed, 130 after Ctrl-C. `STICKSLIP_DEBUG=1` adds the traceback.
"""

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Annotated, Any

import typer

from stickslip._version import __version__
from stickslip.cli import (
    basins,
    bench,
    bifurcation,
    check,
    compare_laws,
    converge,
    demo,
    doctor,
    export_fmu,
    fit,
    friction,
    impact_map,
    import_model,
    limit_cycle,
    listing,
    lyapunov,
    new,
    reproduce,
    run,
    show,
    sweep,
    view,
)
from stickslip.cli.output import Interrupted
from stickslip.cli.pages import GROUPS, Command, Commands, epilog
from stickslip.debug import debugging
from stickslip.io.printable import printable

_REQUEST_WRONG = 2
_COMPUTATION_FAILED = 1
_INTERRUPTED = 130
_SHOWN = 200  # letters of a name in an error

_COMMANDS: dict[str, Callable[..., Any]] = {
    "basins": basins.basins,
    "bench": bench.bench,
    "bifurcation": bifurcation.bifurcation,
    "check": check.check,
    "compare-laws": compare_laws.compare_laws,
    "converge": converge.converge,
    "demo": demo.demo,
    "doctor": doctor.doctor,
    "export-fmu": export_fmu.export_fmu,
    "fit": fit.fit,
    "impact-map": impact_map.impact_map,
    "import": import_model.import_model,
    "limit-cycle": limit_cycle.limit_cycle,
    "list": listing.list_systems,
    "lyapunov": lyapunov.lyapunov,
    "new": new.new,
    "recurrence": lyapunov.recurrence,
    "reproduce": reproduce.reproduce,
    "run": run.run,
    "show": show.show,
    "sweep": sweep.sweep,
    "view": view.view,
}

app = typer.Typer(
    cls=Commands,
    epilog=epilog(),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _group, _names in GROUPS.items():
    for _name in _names:
        if _name == "friction":  # a command of commands
            app.add_typer(friction.app, name=_name, cls=Commands, rich_help_panel=_group, epilog=epilog(_name))
        else:
            app.command(_name, cls=Command, rich_help_panel=_group, epilog=epilog(_name))(_COMMANDS[_name])


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stickslip {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _stickslip(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Print the version and exit.", callback=_print_version, is_eager=True, metavar=" "
        ),
    ] = False,
) -> None:
    """Rigid-body dynamics with friction and impact.

    Results go to stdout, messages to stderr.
    Exit codes: 0 done, 1 the computation failed, 2 the request was wrong.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (default: those of the process) and return its exit code."""
    _open_streams()
    try:
        with _plain_warnings():
            result = app(args=arguments, prog_name="stickslip", standalone_mode=False)
    except typer.TyperException as error:
        return _complain(
            error,
            _in_our_words(error.format_message(), sys.argv[1:] if arguments is None else arguments)
            + _where_to_read(error),
            _REQUEST_WRONG,
        )
    except ValueError as error:
        return _complain(error, str(error) or type(error).__name__, _REQUEST_WRONG)
    except Interrupted as error:
        return _complain(error, str(error), _INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        result = _INTERRUPTED
    except OSError as error:
        if error.strerror is None:
            return _complain(error, str(error), _COMPUTATION_FAILED)
        place = "" if error.filename is None else f" ({str(error.filename)[:_SHOWN]})"
        return _complain(error, f"the system refuses to read or write: {error.strerror}{place}", _COMPUTATION_FAILED)
    except Exception as error:
        hint = "" if debugging() else " (STICKSLIP_DEBUG=1 shows where)"
        words = getattr(error, "told", None) or f"{type(error).__name__}: {error}{hint}"  # told: for whoever runs it
        return _complain(error, words, _COMPUTATION_FAILED)
    # Typer returns the code of a typer.Exit, 130 after Ctrl-C among them, and whatever a command function returned.
    if result == _INTERRUPTED:
        print("stickslip: interrupted", file=sys.stderr)
    return result if isinstance(result, int) else 0


def _open_streams() -> None:
    """Open streams that were closed before the start, onto nothing: no file of ours may take their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings as one line on stderr; those of NumPy about single operations not at all: results are checked."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"stickslip: warning: {printable(' '.join(str(message).split()))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* encountered", category=RuntimeWarning)
        warnings.showwarning = show
        yield


def _in_our_words(message: str, arguments: Sequence[str]) -> str:
    """The argument parser's sentence about a number as the rest of the program says it."""
    found = re.match(r"Invalid value for '(-[\w-]+).*?': Input should be a valid (number|integer)", message)
    if found is None:
        return message
    option, kind = found.groups()
    given = [text.partition("=")[2] for text in arguments if text.startswith(f"{option}=")]
    given += [value for text, value in pairwise(arguments) if text == option]
    return f"{option} must be a {'whole ' if kind == 'integer' else ''}number, got {', '.join(map(repr, given))}."


def _where_to_read(error: typer.TyperException) -> str:
    """Name the help page of the command whose arguments were wrong."""
    context = getattr(error, "ctx", None)
    return f" (see '{context.command_path} --help')" if context is not None else ""


def _complain(error: BaseException, message: str, code: int) -> int:
    if debugging():
        traceback.print_exception(error)
    one_line = printable(" ".join(message.split()))
    print(f"stickslip: error: {one_line}", file=sys.stderr)
    return code
