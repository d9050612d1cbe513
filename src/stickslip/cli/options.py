"""Options of commands, each declared once: `dt: Dt = None` in a command is the option `--dt` with its help.

Commands with many options take them in groups.  A group is a frozen dataclass whose fields are options; `grouped` shows
Typer one option for every field and hands the command the filled dataclass.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

# What is run.

Name = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A library system, see `stickslip list`, or a model file (.toml).")
]
Mechanism = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A library system, see `stickslip list`, or a model file (.toml) of a mechanism, whose [run] gives dt and "
        "t_end.",
    ),
]
Collision = Annotated[str, typer.Argument(metavar="NAME", help="bar (impacting_bar in the library) or kane_pendulum.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter or the start; may be repeated."),
]
MoreSettings = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=VALUE", help="What --set does, without the word.")
]
Quantities = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a quantity, angles in degrees; may be repeated."),
]

# How it is run.

Dt = Annotated[
    float | None,
    typer.Option(
        help="Step size [s], of adaptive and event-driven the spacing of the records; default: the system's own.",
        metavar="S",
    ),
]
TEnd = Annotated[float | None, typer.Option(help="End time [s]; default: the system's own.", metavar="S")]
LongTEnd = Annotated[
    float | None,
    typer.Option(
        "--t-end", "--duration", help="End time of each run [s]; default: ten times the system's own.", metavar="S"
    ),
]
Skip = Annotated[float, typer.Option(help="Seconds before anything is watched.", metavar="S")]
_STEPPER = typer.Option(
    help="moreau-midpoint, moreau-jean, paoli-schatzman, stewart-trinkle, adaptive or event-driven.",
    metavar="NAME",
)
Stepper = Annotated[str, _STEPPER]
StepperIfGiven = Annotated[str | None, _STEPPER]
_SOLVER = typer.Option(
    help="Solver of each step's contact problem: auto, lemke, gauss-seidel, enumerate, newton, augmented-lagrangian or "
    "alternating.",
    metavar="NAME",
)
Solver = Annotated[str, _SOLVER]
SolverIfGiven = Annotated[str | None, _SOLVER]
_LAW = typer.Option(
    help="Impact law: newton, poisson, poisson-integrated, stronge, stronge-lumped, walton, chatterjee-ruina, "
    "stiffness-ratios or stiffness-ratios-hertz.",
    metavar="NAME",
)
Law = Annotated[str, _LAW]
LawIfGiven = Annotated[str | None, _LAW]
Rtol = Annotated[float, typer.Option(help="Relative tolerance of the event-driven integrator.", metavar="TOL")]
_DEVICE = "Run as an ensemble on cpu (all cores), gpu, auto or dask:ADDRESS."
Device = Annotated[str, typer.Option(help=_DEVICE, metavar="WHERE")]
DeviceIfGiven = Annotated[str | None, typer.Option(help=_DEVICE, metavar="WHERE", show_default="one after the other")]
Section = Annotated[
    str | None,
    typer.Option(
        help="Where cycles are cut: 'phi_S<-0.28' (falls through), 'phi_S>0' (rises), impact:CONTACT, phase:PARAMETER "
        "(its period) or every:SECONDS; default: the system's own.",
        metavar="SECTION",
    ),
]
SettleReturns = Annotated[
    int,
    typer.Option(
        "--settle-returns",
        "--settle",
        help="Passages of the section before Newton's method begins; 0: from the start itself.",
        metavar="N",
    ),
]

# What comes of it.

NetcdfOut = Annotated[Path | None, typer.Option("--out", help="Write the result, netCDF.", metavar="FILE.nc")]
JsonOut = Annotated[Path | None, typer.Option("--out", help="Write the result as JSON.", metavar="FILE.json")]
TextOut = Annotated[Path | None, typer.Option("--out", help="Write to this file instead of stdout.", metavar="FILE")]
Plot = Annotated[Path | None, typer.Option(help="Write a figure: .png, .svg or .pdf.", metavar="FILE")]
Width = Annotated[
    str | None, typer.Option(help="Width of figures, such as 85mm or 170mm; default: as each needs.", metavar="SIZE")
]
Bare = Annotated[bool, typer.Option("--bare", help="Figures without title and note, which a journal sets itself.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a result of ours that is there.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what `--out` holds, if it is not finished.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something goes wrong.")]


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with one parameter for every field of the dataclasses that it takes."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    flat: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            flat.append(parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        kinds = get_type_hints(group, include_extras=True)
        flat += [
            inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=kinds[each.name]
            )
            for each in fields(group)
        ]

    @functools.wraps(command)
    def with_groups(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        return command(**given)

    with_groups.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    with_groups.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return with_groups
