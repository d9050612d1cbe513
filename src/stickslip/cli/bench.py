"""`stickslip bench`: ratios against whatever peers are installed."""

import importlib
import sys
from typing import Annotated, Any

import typer

from stickslip.cli.options import AsJson
from stickslip.cli.output import print_json
from stickslip.debug import on_terminal

_MODULES = {
    "lcp": "stickslip.bench.lcp",
    "run": "stickslip.bench.run",
    "friction": "stickslip.bench.friction",
    "scenes": "stickslip.bench.scenes",
    "ensemble": "stickslip.bench.ensemble",
}
_WITH_FOLDER = ("friction", "scenes")


def bench(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"What to measure: {', '.join(_MODULES)}; all if omitted. After friction, a folder of problems; "
            "after scenes, one of robots (URDF)."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer problems and repetitions.")] = False,
    as_json: AsJson = False,
    plot: Annotated[
        str | None,
        typer.Option(help="Write the figure of friction, profiles or cost: .png, .svg or .pdf.", metavar="FILE"),
    ] = None,
) -> None:
    """Measure stickslip and its peers in one run, on this machine.

    Peers that are not installed are listed as such; `stickslip doctor` tells which ones are found.
    """
    from rich.console import Console

    wanted, folders = _wanted(what or list(_MODULES))
    results: dict[str, Any] = {}
    for name in wanted:
        module = importlib.import_module(_MODULES[name])
        options = {"folder": folders.get(name)} if name in _WITH_FOLDER else {}
        if name == "friction":
            options["figure"] = plot
        results[name] = module.measure(quick, _say, **options)
        if not as_json:
            console = Console(width=None if on_terminal(sys.stdout) else 160)  # a pipe has no width of its own
            console.print(module.table(results[name]))
    if as_json:
        print_json(results[wanted[0]] if len(wanted) == 1 else results, indent=2)


def _wanted(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Benchmarks asked for, and the folders that follow their names."""
    names, folders = [], {}
    for before, word in zip(["", *words], words, strict=False):
        if before in _WITH_FOLDER and word not in _MODULES:
            folders[before] = word
        elif word in _MODULES:
            names.append(word)
        else:
            raise ValueError(f"there is no benchmark {word!r}; choose from {', '.join(_MODULES)}.")
    return names, folders


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
