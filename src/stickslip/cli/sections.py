"""What the commands for cycles share: sections and grids as one types them."""

from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.cli.run import number

if TYPE_CHECKING:
    from stickslip.analysis.poincare import Section
    from stickslip.scenario import Scenario

MECHANISM_HELP = (
    "A library system, see `stickslip list`, or a model file (.toml) of a mechanism, whose [run] gives dt and t_end."
)
SECTION_HELP = (
    "Where cycles are cut: 'phi_S<-0.28' (falls through), 'phi_S>0' (rises), impact:CONTACT, phase:PARAMETER (its "
    "period) or every:SECONDS; default: the system's own."
)
DEVICE_HELP = "Run as an ensemble on cpu (all cores), gpu or dask:ADDRESS; default: one after the other."


def section_from(text: str | None, scenario: "Scenario") -> "Section | None":
    """A section from its short form, as `sweep` reads it."""
    from stickslip import codes
    from stickslip.analysis.poincare import ClosingSection, LevelSection, PhaseSection
    from stickslip.ensembles.section import cut_of
    from stickslip.scenario import require_scenario

    if text is None:
        return None
    require_scenario(scenario, "a section")
    system = scenario.system
    cut = cut_of(system, text)
    if cut.kind == codes.STRIKES:
        return ClosingSection(system.contact_names[cut.place])
    if cut.kind == codes.PHASE:
        return PhaseSection(float(cut.cycles(system.parameter_vector(scenario.params)[None])[0]))
    names = (*system.coordinate_names, *system.velocity_names)
    return LevelSection(names[cut.place], cut.level, rising=cut.kind == codes.RISES)


def range_from(text: str) -> tuple[str, float, float]:
    """NAME=FIRST:LAST."""
    name, equals, values = (part.strip() for part in text.partition("="))
    parts = values.split(":")
    if not (name and equals and len(parts) == 2):
        raise ValueError(f"--vary must read NAME=FIRST:LAST, got {text!r}.")
    return name, number(name, parts[0]), number(name, parts[1])


def require_json(path: Path | None) -> None:
    """Raise before anything is computed if --out could not be written afterwards."""
    from stickslip.figures.files import require_writable

    if path is None:
        return
    if path.suffix.lower() != ".json":
        raise ValueError(f"--out must end in .json, got {path.name!r}.")
    require_writable("--out", path)
    if path.exists():
        raise ValueError(f"--out {path} exists; give another name.")


def multiplier_text(multiplier: complex, digits: int) -> str:
    """A multiplier with its sign, and its imaginary part where it has one."""
    real = _signed(multiplier.real, digits)
    return real if abs(multiplier.imag) <= 1e-12 else f"{real} {_signed(multiplier.imag, digits)} i"


def _signed(value: float, digits: int) -> str:
    """A number with its sign; one that is zero in all of its digits is 0."""
    text = f"{value:+.{digits}f}"
    return text if float(text) else "0"


def line(text: str, style: str = "") -> None:
    """One line on stdout."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(text, style=style), soft_wrap=True)
