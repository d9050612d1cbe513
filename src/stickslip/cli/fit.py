"""`stickslip fit NAME data.csv --free friction=0:1`: parameters from measurements."""

from pathlib import Path
from typing import Annotated, Any

import typer

from stickslip.cli.options import LawIfGiven, Name, Settings, grouped
from stickslip.cli.output import Results, line
from stickslip.cli.settings import range_from, scenario_with
from stickslip.io.printable import plain


@grouped
def fit(
    name: Name,
    data: Annotated[list[Path], typer.Argument(metavar="DATA.csv", help="Measured motions: t and columns by name.")],
    settings: Settings = None,
    free: Annotated[
        list[str] | None,
        typer.Option("--free", help="A quantity and its range; may be repeated.", metavar="NAME=LOW:HIGH"),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="Standard deviation of a column, or of all; default: from the residuals.", metavar="[COLUMN=]X"
        ),
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option("--start", help="Deviation of a start from one motion to the next.", metavar="NAME=X"),
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option("--unit", help="Unit of a column, such as mm or deg.", metavar="COLUMN=UNIT")
    ] = None,
    law: LawIfGiven = None,
    search: Annotated[int | None, typer.Option(help="Points of the search; default: 16 per quantity.")] = None,
    seed: Annotated[int, typer.Option(help="Of search and bootstrap.")] = 0,
    level: Annotated[float, typer.Option(help="Probability that an interval holds the truth.")] = 0.95,
    bootstrap: Annotated[int, typer.Option(help="Number of fits to data made anew.")] = 0,
    shooting: Annotated[
        int | None, typer.Option(help="Pieces into which motions are cut; default: where they are chaotic.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="A file that keeps what was computed; a fit goes on from it.", metavar="FILE"),
    ] = None,
    kept: Annotated[
        list[Path] | None,
        typer.Option(
            "--kept", help="A motion kept back: predicted by the fit, beside the error to expect.", metavar="FILE"
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Parts left out one after the other for the error to expect.")] = 5,
    *,
    results: Results,
) -> None:
    """Find the parameters with which a system comes nearest to measured motions, with intervals."""
    from stickslip.fitting.compare import apart
    from stickslip.fitting.fit import fit as compute

    scenario = scenario_with(settings or [], name)
    results.check()
    ranges = {key: (low, high) for key, low, high in (range_from(text, "--free") for text in free or [])}
    if len(ranges) < len(free or []):
        raise ValueError("--free must name each quantity once, got one of them twice.")
    if not ranges:
        raise ValueError("--free must name at least one quantity with its range, such as --free friction=0:1.")
    asked = {"starts": _numbers(start, "--start") or None, "law": law, "units": dict(_pairs(unit, "--unit"))}
    task = (scenario, [str(path) for path in data], ranges)
    found = compute(
        *task, noise=_noise(noise), search=search, seed=seed, level=level, bootstrap=bootstrap, shooting=shooting,
        notes=resume, **asked,
    )  # fmt: skip
    missed = _judged(task, found, kept, folds, asked) if kept else {}
    if results.plot is not None:
        results.save(found.plot, f"Fit: {scenario.title}")

    def show() -> None:
        head, *rest = found.text().splitlines()
        line(head, "bold")
        for text in rest:
            line(f"  {text}")
        if missed:
            said = [f"{each.error:.4g} +- {each.standard_error:.2g}" for each in missed.values()]
            far = f"{apart(*missed.values()):+.1f} standard errors apart"
            line(f"  error to expect: {said[0]} of the noise; of the data kept back: {said[1]}, {far}")

    ends = {name: [plain(each.error), plain(each.standard_error)] for name, each in missed.items()}
    results.tell({**found.report(), **ends}, show)


def _judged(task: Any, found: Any, kept: list[Path], folds: int, asked: dict[str, Any]) -> dict[str, Any]:
    """What is missed of parts of the data that their fit has not seen, and of the data kept back."""
    from stickslip.checks import whole_number
    from stickslip.fitting.compare import judged

    parts, files = whole_number(folds, "--folds", 2), [str(path) for path in kept]
    _, expected, other = judged(task, found, files, parts, found.seed, noise=found.noise, **asked)
    return {"expected": expected, "kept": other}


def _pairs(texts: list[str] | None, option: str) -> list[tuple[str, str]]:
    """Name and value of options NAME=VALUE."""
    found = []
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"{option} must read NAME=VALUE, got {text!r}.")
        found.append((key.strip(), value.strip()))
    return found


def _numbers(texts: list[str] | None, option: str) -> dict[str, float]:
    from stickslip.cli.settings import number

    return {key: number(f"{option} {key}", value) for key, value in _pairs(texts, option)}


def _noise(texts: list[str] | None) -> float | dict[str, float] | None:
    """One standard deviation for all columns, or one per column; None where none is given."""
    from stickslip.cli.settings import number

    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return number("--noise", texts[0])
    return _numbers(texts, "--noise")
