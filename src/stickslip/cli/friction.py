"""`stickslip friction solve FILE|DIR`: one-step frictional contact problems from files."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stickslip.cli.options import AsJson, Plot, Width
from stickslip.cli.output import print_json, require_plot, save_figure
from stickslip.cli.pages import Command
from stickslip.debug import on_terminal
from stickslip.io.printable import plain, printable

app = typer.Typer(
    help="Frictional contact problems of one time step: FCLIB .hdf5 and Siconos .dat files.",
    rich_markup_mode="markdown",
)


@app.callback()
def _friction() -> None:
    """Keep `solve` a subcommand although it is the only one."""


@app.command(cls=Command)
def solve(
    path: Annotated[str, typer.Argument(metavar="FILE|DIR", help="A problem, or a folder of them.")],
    method: Annotated[
        list[str] | None, typer.Option(help="auto, gauss-seidel, newton, ...; several to compare them.")
    ] = None,
    tol: Annotated[float, typer.Option(help="Largest error that counts as solved.")] = 1e-8,
    measure: Annotated[
        str,
        typer.Option(
            help="What --tol bounds. velocity: the violation at the worst contact, relative to the largest velocity "
            "in q; natural-map: FCLIB's measure."
        ),
    ] = "velocity",
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds per problem; a fixed amount of work if omitted.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(help="Sweeps or steps; the method's default if omitted.")
    ] = None,
    as_json: AsJson = False,
    plot: Plot = None,
    width: Width = None,
    impulses: Annotated[
        bool, typer.Option("--impulses", help="With --json: the impulses r and velocities u too.")
    ] = False,
) -> int:
    """Solve friction problems and tell what became of each.

    Exit code 1 when one of them was not solved, 2 when one could not be read; the others of a folder are solved still.
    """
    from stickslip.contact.problem import checked_measure
    from stickslip.contact.solve import METHODS
    from stickslip.lcp.problems import checked_tolerance

    methods = method or ["auto"]
    for name in methods:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}; choose from {', '.join(METHODS)}.")
    checked_tolerance(tol)
    checked_measure(measure)
    require_plot(plot, width)
    options = {
        "tol": tol,
        "measure": measure,
        "time_limit": time_limit,
        "max_iterations": max_iterations,
        "record": plot is not None,
    }
    rows, histories = _solve_all(Path(path), methods, options, impulses)
    if plot is not None:
        _draw(histories, Path(path).name, tol, plot, width)
    solved, unreadable = sum(row["solved"] for row in rows), sum("unreadable" in row for row in rows)
    if as_json:
        result = {"tol": tol, "measure": measure, "solved": solved, "unreadable": unreadable, "problems": rows}
        print_json(result, indent=2)
    else:
        _print_table(rows, solved)
    if unreadable:
        return 2
    return 0 if solved == len(rows) else 1


def _files(path: Path) -> list[Path]:
    from stickslip.io.friction_files import SUFFIXES

    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        raise ValueError(f"{str(path)!r} has no friction problems, files ending in {', '.join(SUFFIXES)}.")
    return files


def _solve_all(
    path: Path, methods: list[str], options: dict[str, Any], impulses: bool
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One row per file and method, and the recorded histories by name."""
    from rich.console import Console
    from rich.progress import Progress

    from stickslip.contact.solve import solve_friction
    from stickslip.io.friction_files import read_friction_problem

    files, rows, histories = _files(path), [], {}
    with Progress(console=Console(stderr=True), transient=True, disable=not on_terminal(sys.stderr)) as progress:
        task = progress.add_task("solving", total=len(files) * len(methods))
        for file in files:
            try:
                problem = read_friction_problem(file)
            except ValueError as reason:
                if not path.is_dir():
                    raise
                rows.append({"problem": file.name, "solved": False, "unreadable": str(reason), "status": str(reason)})
                progress.advance(task, len(methods))
                continue
            for name in methods:
                progress.update(task, description=f"{file.name} {name}")
                s = solve_friction(problem, name, **options)
                rows.append(_row(file.name, problem, name, s, impulses))
                label = file.name if len(methods) == 1 else (name if len(files) == 1 else f"{file.name}, {name}")
                histories[label] = s.history
                progress.advance(task)
    return rows, histories


def _row(file: str, problem: Any, method: str, s: Any, impulses: bool) -> dict[str, Any]:
    """Row of the report on one solve; numbers that are not finite become None, which is null in JSON."""
    row = {
        "problem": file,
        "dim": problem.dim,
        "contacts": problem.contacts,
        "joints": problem.bilateral,
        "method": method,
        "solved": bool(s.solved),
        "error": plain(s.error),
        "velocity_error": plain(s.velocity_error),
        "natural_map": plain(s.natural_map),
        "rounding": plain(s.rounding),
        "iterations": s.iterations,
        "seconds": s.seconds,
        "status": s.status,
        "path": [{**stage._asdict(), "error": plain(stage.error)} for stage in s.path],
    }
    if impulses:
        row |= {"r": [plain(x) for x in s.r], "u": [plain(x) for x in s.u]}
    return row


def _draw(histories: dict[str, Any], title: str, tol: float, path: Path, width: str | None) -> None:
    """Draw error against time."""
    from stickslip.figures import friction as pictures

    drawn = save_figure(lambda: pictures.convergence(histories, title, tol), path, title, width)
    print(f"drawn: {drawn}", file=sys.stderr)


def _print_table(rows: list[dict[str, Any]], solved: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def shown(text: str) -> Text:  # neither controls nor Rich's own marks in names of files
        return Text(printable(text))

    grid = Table(caption=f"{solved} of {len(rows)} solved")
    for name in (
        "problem",
        "dim",
        "contacts",
        "method",
        "solved",
        "velocity error",
        "natural map",
        "iterations",
        "seconds",
        "stages",
    ):
        grid.add_column(name, justify="left" if name in ("problem", "method", "stages") else "right")
    for row in rows:
        if "unreadable" in row:
            words = shown(row["unreadable"])
            grid.add_row(shown(row["problem"]), "", "", "", "unreadable", "", "", "", "", words)
            continue
        stages = " - ".join(dict.fromkeys(stage["method"] for stage in row["path"]))
        errors = ["-" if row[name] is None else f"{row[name]:.1e}" for name in ("velocity_error", "natural_map")]
        grid.add_row(
            shown(row["problem"]), str(row["dim"]), str(row["contacts"]), row["method"],
            "yes" if row["solved"] else "no", *errors, str(row["iterations"]), f"{row['seconds']:.4f}", stages,
        )  # fmt: skip
    Console(width=None if on_terminal(sys.stdout) else 160).print(grid)
