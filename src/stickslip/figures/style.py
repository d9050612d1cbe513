"""One look for all figures: fonts, colours that colour-blind readers can tell apart, labels, and export."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip._version import __version__
from stickslip.io.disk import NotRegular, open_binary, replacing
from stickslip.trajectory import CLOSED, IMPACT, OPEN, SLIP_MINUS, SLIP_PLUS, STICK

SIGNATURE = f"Drawn by stickslip {__version__}"
FORMATS = ("png", "svg", "pdf")
TICKS = 8.5
"""Size of the numbers at the axes [pt]."""

INK, GREY, FAINT, PAPER = "#22272E", "#6B7280", "#E4E7EB", "#FFFFFF"
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito, 2008
STATE_COLOURS = {
    OPEN: PAPER,
    STICK: "#0072B2",
    SLIP_PLUS: "#E69F00",
    SLIP_MINUS: "#CC79A7",
    IMPACT: "#D55E00",
    CLOSED: "#009E73",
}

_LOOK: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a picture is equal on every machine
    "font.size": TICKS,
    "mathtext.fontset": "dejavuserif",  # letters of formulas in italics, as high as the words around them
    "text.color": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.xmargin": 0.0,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 1.6,
    "figure.facecolor": PAPER,
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "stickslip",  # without it two files of one run would differ
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


@contextmanager
def look() -> Iterator[None]:
    """Context in which figures are drawn with the package's fonts, colours and sizes."""
    with mpl.rc_context({**mpl.rcParamsDefault, "backend": mpl.rcParams["backend"], **_LOOK}):
        yield


class Picture(Figure):
    """A figure that a notebook shows; it needs no window and no clean-up."""

    def _repr_png_(self) -> bytes:
        room = io.BytesIO()
        with look():
            self.savefig(room, format="png", dpi=110)
        return room.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """An empty figure [inch] that needs no window and no clean-up."""
    return Picture(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: str | Path, *, title: str = "", dpi: int = 200) -> Path:
    """Write a figure; the suffix of `path` makes it PNG, SVG or PDF.  Return the path.

    The file carries `SIGNATURE`, by which `is_ours` knows it.  ValueError for another suffix.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ValueError(f"a figure's file must end in {', '.join('.' + f for f in FORMATS)}, got {path.name!r}.")
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Software": SIGNATURE, "Title": title},
        "svg": {"Creator": SIGNATURE, "Title": title, "Date": None},
        "pdf": {"Creator": SIGNATURE, "Title": title, "CreationDate": None},
    }
    with look(), replacing(path) as draft:
        figure.savefig(draft, format=kind, dpi=dpi, metadata=metadata[kind])
    return path


def is_ours(path: str | Path) -> bool:
    """Whether a picture or film was written by this package, in whatever version."""
    try:
        with open_binary(path) as file:
            return b"Drawn by stickslip" in file.read()
    except NotRegular:
        return False


_SPELT = {"phi": r"\varphi", "th": r"\theta"}
_GREEK = ("phi", "theta", "psi", "alpha", "beta", "gamma", "omega", "delta", "xi")


def symbol(name: str) -> str:
    """A quantity's name as mathematics: phi_M becomes $\\varphi_{M}$, whole words stay words."""

    def tex(part: str) -> str:
        if part in _SPELT:
            return _SPELT[part]
        return f"\\{part}" if part in _GREEK else part

    head, *tail = name.split("_")
    if not (len(head) <= 2 or head in _GREEK):
        return name.replace("_", " ")
    below = ",".join(tex(part) for part in tail)
    return f"${tex(head)}_{{{below}}}$" if below else f"${tex(head)}$"


def unit_text(unit: str) -> str:
    """A unit for a label: m/s^2 becomes m/s²."""
    return re.sub(r"\^(\d)", lambda match: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(match[1])], unit)


def number(value: float) -> str:
    """A number as people write it: 1e-5 rather than 1e-05."""
    return re.sub(r"e([+-])0*(\d)", lambda match: f"e{match[1].replace('+', '')}{match[2]}", f"{value:g}")


_LETTERS = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "Δ": r"\Delta", "δ": r"\delta", "ε": r"\varepsilon", "η": r"\eta",
    "θ": r"\theta", "Λ": r"\Lambda", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ξ": r"\xi", "φ": r"\varphi",
    "ω": r"\omega",
}  # fmt: skip
_FORMULA = re.compile(r"(\$[^$]*\$)")
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?)0*(\d+)(?![\w.]*\d)")
_GREEK_LETTER = re.compile(f"Δt|[{''.join(_LETTERS)}](?![a-z])")


def typeset(text: str) -> str:
    """Words with their formulas in mathematical type: 1e-5 becomes $10^{-5}$, μ becomes $\\mu$, "t [s]" "$t$ [s]".

    What stands between dollars already is left as it is.
    """
    text = re.sub(r"^([A-Za-z])(?= \[)", r"$\1$", text)
    return "".join(part if part.startswith("$") else _typeset_words(part) for part in _FORMULA.split(text))


def _typeset_words(text: str) -> str:
    def power(match: re.Match[str]) -> str:
        mantissa, sign, exponent = match[1], match[2].replace("+", ""), match[3]
        if int(exponent) == 0:
            return mantissa
        factor = "" if float(mantissa) == 1.0 else rf"{mantissa}\times "
        return rf"${factor}10^{{{sign}{exponent}}}$"

    def letter(match: re.Match[str]) -> str:
        return r"$\Delta t$" if match[0] == "Δt" else f"${_LETTERS[match[0]]}$"

    return _GREEK_LETTER.sub(letter, _POWER.sub(power, text))


def prefix(values: np.ndarray, unit: str) -> tuple[float, str]:
    """Factor and unit that bring values between 1 and 1000: (1e3, "mJ") for some thousandths of a joule."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    for power, letter in ((0, ""), (3, "m"), (6, "µ"), (9, "n")):
        if largest * 10.0**power >= 1.0 or largest == 0.0:
            return 10.0**power, letter + unit
    return 1.0, unit


def axis_label(names: str | tuple[str, ...], units: Mapping[str, str]) -> str:
    """Label of an axis that shows one quantity, or several with one unit: symbols, and the unit in brackets."""
    names = (names,) if isinstance(names, str) else names
    unit = units.get(names[0], "")
    return ", ".join(symbol(name) for name in names) + (f" [{unit_text(unit)}]" if unit else "")


def thin(t: np.ndarray, *series: np.ndarray, points: int = 4000) -> tuple[np.ndarray, ...]:
    """Leave records out that a picture cannot show: keep the extremes of every series in short intervals of time.

    Runs of at most 2 `points` records are returned whole.
    """
    if len(t) <= 2 * points:
        return (t, *series)
    edges = np.linspace(0, len(t), points // (2 * len(series)) + 2).astype(int)
    keep = {0, len(t) - 1}
    for start, stop in pairwise(edges):
        for values in series:
            part = values[start:stop]
            keep |= {start + int(np.argmin(part)), start + int(np.argmax(part))}
    rows = np.array(sorted(keep))
    return (t[rows], *(values[rows] for values in series))


def panel(ax: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Set title and axis labels of a panel in one call."""
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
