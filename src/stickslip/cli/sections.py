"""What the commands for cycles share: sections and grids as one types them."""

from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.cli.run import number

if TYPE_CHECKING:
    import numpy as np

    from stickslip.analysis.poincare import Section

SECTION_HELP = (
    "Where cycles are cut: NAME=LEVEL (falls through), NAME=+LEVEL (rises), closing:CONTACT, phase:PERIOD[:OFFSET]; "
    "default: the system's own."
)
_MOST = 10_000_000


def section_from(text: str | None) -> "Section | None":
    """A section from its short form."""
    from stickslip.analysis.poincare import ClosingSection, LevelSection, PhaseSection

    if text is None:
        return None
    head, colon, tail = text.partition(":")
    if head == "closing" and colon and tail:
        return ClosingSection(tail)
    if head == "phase" and colon:
        parts = [number("--section", part) for part in tail.split(":")]
        if len(parts) <= 2:
            return PhaseSection(*parts)
    name, equals, level = (part.strip() for part in text.partition("="))
    if not (name and equals and level):
        raise ValueError(f"--section must read NAME=LEVEL, closing:CONTACT or phase:PERIOD, got {text!r}.")
    return LevelSection(name, number("--section", level), rising=level.startswith("+"))


def grid_from(text: str) -> "tuple[str, np.ndarray]":
    """NAME=FIRST:LAST:COUNT as a name and equidistant values; NAME=A,B,C as those."""
    import numpy as np

    name, equals, values = (part.strip() for part in text.partition("="))
    if not (name and equals and values):
        raise ValueError(f"--vary must read NAME=FIRST:LAST:COUNT or NAME=A,B,C, got {text!r}.")
    parts = values.split(":")
    if len(parts) == 1:
        return name, np.array([number(name, part) for part in values.split(",")])
    if len(parts) != 3:
        raise ValueError(f"--vary {name} must read {name}=FIRST:LAST:COUNT, got {values!r}.")
    first, last, count = (number(name, part) for part in parts)
    if not (count.is_integer() and 1 <= count <= _MOST):
        raise ValueError(f"--vary {name}: COUNT must be a whole number between 1 and {_MOST}, got {parts[2]}.")
    return name, np.linspace(first, last, int(count))


def range_from(text: str) -> tuple[str, float, float]:
    """NAME=FIRST:LAST."""
    name, equals, values = (part.strip() for part in text.partition("="))
    parts = values.split(":")
    if not (name and equals and len(parts) == 2):
        raise ValueError(f"--vary must read NAME=FIRST:LAST, got {text!r}.")
    return name, number(name, parts[0]), number(name, parts[1])


def require_json(path: Path | None) -> None:
    """Raise before anything is computed if --out could not be written afterwards."""
    from stickslip.cli.files import require_writable

    if path is None:
        return
    if path.suffix.lower() != ".json":
        raise ValueError(f"--out must end in .json, got {path.name!r}.")
    require_writable("--out", path)
    if path.exists():
        raise ValueError(f"--out {path} exists; give another name.")


def line(text: str, style: str = "") -> None:
    """One line on stdout."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(text, style=style), soft_wrap=True)
