"""Help pages: commands in groups, options in groups, examples at the end."""

from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

GROUPS: dict[str, tuple[str, ...]] = {
    "Begin": ("demo", "list", "run", "view"),
    "Describe a system": ("new", "check", "show", "import", "export-fmu"),
    "Ask one impact": ("impact-map", "compare-laws"),
    "Ask many motions": ("sweep", "fit", "limit-cycle", "bifurcation", "basins", "lyapunov", "recurrence"),
    "Prove it": ("converge", "reproduce", "friction", "bench", "doctor"),
}
"""Commands in the order of `stickslip --help`."""

_OPTIONS: dict[str, tuple[str, ...]] = {
    "Files": ("out", "plot", "width", "bare", "animate", "export", "formats", "overwrite", "resume", "chunk"),
    "What is printed": ("as_json", "quiet", "list_events", "help"),
}
"""Options that commands share, by the names of their parameters; other options stand before them."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("stickslip demo",),
    "list": ("stickslip list", "stickslip list --json"),
    "run": (
        "stickslip run woodpecker --set friction=0.25 --plot run.png",
        "stickslip run my.toml --dt 1e-5 --t-end 2 --out run.nc --animate run.gif",
        "stickslip run bouncing_ball --stepper event-driven --events",
    ),
    "view": ("stickslip view", "stickslip view slider_crank", "stickslip view my.toml run.nc"),
    "new": ("stickslip new", "stickslip new woodpecker > my.toml", "stickslip new --empty > my.toml"),
    "check": ("stickslip check my.toml",),
    "show": ("stickslip show woodpecker", "stickslip show woodpecker --latex"),
    "import": ("stickslip import robot.urdf --out robot.toml",),
    "export-fmu": ("stickslip export-fmu bouncing_ball --out ball.fmu",),
    "impact-map": ("stickslip impact-map bar --set friction=1.667 --out map.png",),
    "compare-laws": ("stickslip compare-laws bar --set friction=0.5",),
    "sweep": (
        "stickslip sweep woodpecker --vary friction=0.2:0.4:1001 --observe period,drop --out sweep.nc",
        "stickslip sweep bouncing_ball --vary restitution=0.5:0.9:9 --observe final",
    ),
    "fit": ("stickslip fit bouncing_ball film.csv --free restitution=0:1 --out fit.json --plot fit.png",),
    "limit-cycle": ("stickslip limit-cycle woodpecker", "stickslip limit-cycle compass_gait --json"),
    "bifurcation": ("stickslip bifurcation woodpecker --vary friction=0.2:0.4:101 --plot diagram.png",),
    "basins": ("stickslip basins impact_oscillator --plot basins.png",),
    "lyapunov": ("stickslip lyapunov impact_oscillator",),
    "recurrence": ("stickslip recurrence woodpecker --t-end 20 --plot recurrence.png",),
    "converge": ("stickslip converge woodpecker --plot orders.png",),
    "reproduce": ("stickslip reproduce", "stickslip reproduce gs05-fig4 --out figures --width 85mm"),
    "friction": ("stickslip friction solve problem.hdf5",),
    "bench": ("stickslip bench lcp --quick",),
    "doctor": ("stickslip doctor",),
}
"""Examples at the end of each command's help page."""

_NOTHING = " "  # typer prints a type behind every option; a flag takes no value


_FIRST = (
    "stickslip view",
    "stickslip run woodpecker --plot run.png",
    "stickslip new --empty > my.toml",
    "stickslip view my.toml",
)
"""Examples at the end of `stickslip --help`: from a first look to a mechanism of one's own."""


def epilog(command: str | None = None) -> str:
    """Examples as the end of a help page, in Markdown: a line each; without a command those of `stickslip --help`."""
    lines = _FIRST if command is None else EXAMPLES[command]
    return "Examples:\n\n" + "\n\n".join(f"`{line}`" for line in lines)


def _arrange(parameters: Sequence[Any], groups: Mapping[str, Sequence[str]] = _OPTIONS) -> None:
    """Put options into groups, and print no type behind flags."""
    for parameter in parameters:
        if not isinstance(parameter, TyperOption):
            continue
        if parameter.is_flag and parameter.metavar is None:
            parameter.metavar = _NOTHING
        for group, names in groups.items():
            if parameter.name in names:
                parameter.rich_help_panel = group


class Command(TyperCommand):
    """A command whose help page shows its options in groups, and flags without a type."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _arrange(self.params)

    def get_help_option(self, ctx: Any) -> Any:
        found = super().get_help_option(ctx)
        if found is not None:
            _arrange([found])
        return found


class Commands(TyperGroup):
    """Commands together, whose help page shows flags without a type."""

    def get_help_option(self, ctx: Any) -> Any:
        found = super().get_help_option(ctx)
        if found is not None:
            _arrange([found], {})
        return found
