"""Output of commands: files that are checked before anything is computed, JSON, and lines on stdout."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stickslip.cli.options import AsJson, JsonOut, Plot, Width
from stickslip.io.printable import printable


class Interrupted(Exception):
    """A run ended by Ctrl-C, reported and written as far as it came; the message says where."""


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


def require_plot(path: Path | None, width: str | None = None) -> None:
    """Raise before anything is computed if --plot could not be drawn afterwards, or --width is no width."""
    from stickslip.figures.files import require_figure
    from stickslip.figures.sheet import inches

    if path is not None:
        require_figure("--plot", path)
    if width is not None:
        inches(width)


def write_json(value: Any, path: Path | None, indent: int | None = None) -> None:
    """Write plain values to --out, whole or not at all."""
    from stickslip.io.disk import replacing

    if path is not None:
        with replacing(path) as draft:
            draft.write_text(json.dumps(value, indent=indent, allow_nan=False) + "\n", encoding="utf-8")


def print_json(value: Any, indent: int | None = None) -> None:
    """The one object of --json on stdout."""
    print(json.dumps(value, indent=indent, allow_nan=False))


def save_figure(draw: Callable[[], Any], path: Path, title: str, width: str | None) -> Path:
    """Draw a figure with a width such as 85mm and write it; one that takes no notice of the width is fitted to it."""
    from stickslip.figures import style
    from stickslip.figures.sheet import fit, inches, on_paper

    with on_paper(width):
        figure = draw()
    if width is not None and abs(figure.get_size_inches()[0] - inches(width)) > 1e-9:
        fit(figure, width)
    return style.save(figure, path, title=title)


@dataclass(frozen=True)
class Results:
    """Options of a command that say where its result goes: a file, a figure, and JSON in place of lines on stdout."""

    out: JsonOut = None
    plot: Plot = None
    width: Width = None
    as_json: AsJson = False

    def check(self) -> None:
        """Raise before anything is computed if a file could not be written afterwards."""
        require_json(self.out)
        require_plot(self.plot, self.width)

    def save(self, draw: Callable[[], Any], title: str) -> None:
        """Write the figure that `draw` returns to --plot, which was asked for."""
        assert self.plot is not None
        save_figure(draw, self.plot, title, self.width)

    def tell(self, report: dict[str, Any], show: Callable[[], None], indent: int | None = None) -> None:
        """Write the report to --out, and print it as JSON, or call `show` and name the files."""
        write_json(report, self.out, indent)
        if self.as_json:
            print_json(report, indent)
            return
        show()
        for path in (self.out, self.plot):
            if path is not None:
                line(f"  written     {path}")


def multiplier_text(multiplier: complex, digits: int) -> str:
    """A multiplier with its sign, and its imaginary part where it has one."""
    real = _signed(multiplier.real, digits)
    return real if abs(multiplier.imag) <= 1e-12 else f"{real} {_signed(multiplier.imag, digits)} i"


def _signed(value: float, digits: int) -> str:
    """A number with its sign; one that is zero in all of its digits is 0."""
    text = f"{value:+.{digits}f}"
    return text if float(text) else "0"


def line(text: str, style: str = "") -> None:
    """One line on stdout; what names of files, systems and quantities hold moves no cursor."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(printable(text), style=style), soft_wrap=True)
