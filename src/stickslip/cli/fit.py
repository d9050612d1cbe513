"""`stickslip fit NAME data.csv --free friction=0:1`: parameters from measurements."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from stickslip.cli.options import Device, LawIfGiven, Name, Settings, grouped
from stickslip.cli.output import Results, line
from stickslip.cli.settings import opened, range_from
from stickslip.io.printable import plain


@dataclass(frozen=True)
class Computing:
    """Options of the search over the ranges, and of the intervals."""

    level: Annotated[float, typer.Option(help="Probability that an interval holds the truth.")] = 0.95
    bootstrap: Annotated[int, typer.Option(help="Number of fits to data made anew.")] = 0
    shooting: Annotated[
        int | None, typer.Option(help="Pieces into which motions are cut; default: where they are chaotic.")
    ] = None
    search: Annotated[int | None, typer.Option(help="Points of the search; default: 64 or 16 per quantity.")] = None
    seed: Annotated[int, typer.Option(help="Of search and bootstrap.")] = 0
    device: Device = "cpu"


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
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="A file that keeps what was computed; a fit goes on from it.", metavar="FILE"),
    ] = None,
    kept: Annotated[
        list[Path] | None,
        typer.Option("--kept", help="A motion kept back, predicted by the fit.", metavar="FILE"),
    ] = None,
    *,
    computing: Computing,
    results: Results,
) -> None:
    """Find the parameters with which a system comes nearest to measured motions, with intervals."""
    from stickslip.fitting.asked import check_names, check_words

    results.check()
    ranges = _ranges(free)
    asked: dict[str, Any] = {"starts": _numbers(start, "--start"), "law": law, "units": dict(_pairs(unit, "--unit"))}
    how: dict[str, Any] = {"noise": _noise(noise), "notes": resume, **asdict(computing)}
    check_words(ranges, [*data, *(kept or [])], **asked, **how)
    model = opened(name, settings or [])
    scenario, own = model.scenario, dict(model.options)
    asked["law"] = own.pop("law", None) if law is None else law
    if scenario.kind == "scene":  # motions of mechanisms go from event to event, whatever a file says of steps
        asked["options"] = own
    check_names(tuple(ranges), scenario.quantities)

    from stickslip.fitting.fit import fit as compute

    files: Any = [str(path) for path in data]
    task: Any = (scenario, files, ranges)
    unseen = _kept_back(task, kept, asked) if kept else None
    found = compute(scenario, files, ranges, **asked, **how)
    beside, told = ({}, "") if unseen is None else _judged(task, found, unseen, asked)
    if results.plot is not None:
        results.save(found.plot, f"Fit: {scenario.title}")

    def show() -> None:
        head, *rest = found.text().splitlines()
        line(head, "bold")
        for text in rest:
            line(f"  {text}")
        if told:
            line(f"  {told}")

    results.tell({**found.report(), **beside}, show)


def _ranges(free: list[str] | None) -> dict[str, tuple[float, float]]:
    """The free quantities with their ranges."""
    found = {key: (low, high) for key, low, high in (range_from(text, "--free", "LOW:HIGH") for text in free or [])}
    if len(found) < len(free or []):
        raise ValueError("--free must name each quantity once, got one of them twice.")
    if not found:
        raise ValueError("--free must name at least one quantity with its range, such as --free friction=0:1.")
    return found


def _kept_back(task: Any, files: list[Path], asked: dict[str, Any]) -> Any:
    """The task with other files, which are checked before hours of fitting."""
    from stickslip.fitting.compare import kept_back
    from stickslip.fitting.fit import prepared

    model, _, ranges = task
    unseen = (model, [str(path) for path in files], ranges)
    kept_back(*(prepared(*each, noise=1.0, **asked)[0] for each in (task, unseen)))
    return unseen


def _judged(task: Any, found: Any, unseen: Any, asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Error to expect by cross-validation, and of the data kept back, with standard errors, in noise; and in words."""
    from stickslip.fitting.compare import apart, judged
    from stickslip.fitting.fit import prepared

    own, kept = (prepared(*each, noise=found.noise, **asked)[0] for each in (task, unseen))
    _, expected, other = judged(own, found, kept, 5, found.seed)
    assert other is not None
    said = [f"{each.error:.4g} +- {each.standard_error:.2g}" for each in (expected, other)]
    far = apart(expected, other)
    ends = {"expected": expected, "kept": other}
    return (
        {name: [plain(each.error), plain(each.standard_error)] for name, each in ends.items()} | {"apart": plain(far)},
        f"error to expect: {said[0]} of the noise; of the data kept back: {said[1]}, {far:+.1f} standard errors apart",
    )


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
