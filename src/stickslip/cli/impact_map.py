"""`stickslip impact-map NAME`: regimes of an impact over any pair of parameters; and the collisions it knows."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stickslip.cli.options import AsJson, Law, Quantities
from stickslip.cli.options import Collision as CollisionName
from stickslip.cli.output import print_json
from stickslip.cli.settings import number, split_settings
from stickslip.debug import on_terminal

if TYPE_CHECKING:
    import numpy as np

    from stickslip.laws import ImpactLaw
    from stickslip.mechanisms.system import System

_MOST_STATES = 25_000_000
_BLOCK = 200_000  # states that are solved at once; progress is shown in between
_POSITIVE = ("mass", "half_length", "length", "inertia")
_COEFFICIENTS = {"friction": 0.5, "restitution_normal": 0.5, "restitution_tangential": 0.0}
_UNITS = {
    "angle": "°", "th_1": "°", "th_2": "°", "omega_1": "rad/s", "omega_2": "rad/s", "tangential_velocity": "m/s",
    "normal_velocity": "m/s", "mass": "kg", "half_length": "m", "length": "m", "inertia": "kg m^2",
}  # fmt: skip
_LABELS = {
    "angle": r"angle  $\varphi$",
    "ratio": r"velocity ratio before the impact  $\gamma_T^-/\gamma_N^-$",
    "tangential_velocity": r"tangential velocity before the impact  $\gamma_T^-$",
    "normal_velocity": r"normal velocity before the impact  $\gamma_N^-$",
    "friction": r"friction  $\mu$",
    "restitution_normal": r"normal restitution  $\varepsilon_N$",
    "restitution_tangential": r"tangential restitution  $\varepsilon_T$",
}


@dataclass(frozen=True)
class Axis:
    """One side of a map: `cells` equal cells between low and high, solved at their centres."""

    name: str
    low: float
    high: float
    cells: int

    @property
    def centres(self) -> "np.ndarray":
        import numpy as np

        edges = np.linspace(self.low, self.high, self.cells + 1)
        return 0.5 * (edges[1:] + edges[:-1])

    @property
    def label(self) -> str:
        unit = f" [{_unit(self.name)}]" if self.name in _UNITS else ""
        return _LABELS.get(self.name, self.name.replace("_", " ")) + unit

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name, "low": self.low, "high": self.high, "cells": self.cells, "unit": _UNITS.get(self.name),
        }  # fmt: skip


@dataclass(frozen=True)
class Collision:
    """A library system at the moment its tip strikes.

    Attributes: entry, its name in the library; defaults of all quantities, angles in degrees; x, y, default axes;
    state, from quantities (numbers or arrays) to (q, u, parameters of the system).
    """

    entry: str
    defaults: dict[str, float | None]
    x: Axis
    y: Axis
    state: Callable[[dict[str, Any]], tuple["np.ndarray", "np.ndarray", dict[str, Any]]]

    @property
    def system(self) -> "System":
        from stickslip import library

        system: System = library.get(self.entry).system
        return system


def impact_map(
    name: CollisionName,
    settings: Quantities = None,
    x: Annotated[
        str | None,
        typer.Option("--x", metavar="NAME=LO:HI:N", help="Quantity along x; default: ratio, kane_pendulum friction."),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y", metavar="NAME=LO:HI:N", help="Quantity along y; default: angle, kane_pendulum restitution_normal."
        ),
    ] = None,
    law: Law = "newton",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Figure: .png, .svg or .pdf; default: impact-map-NAME-X-Y.png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw which impacts stick or slip, over any pair of quantities, and print the shares of the regimes.

    Quantities of the bar: angle, ratio (or tangential_velocity), normal_velocity, friction, restitution_normal,
    restitution_tangential, mass, half_length, inertia; of kane_pendulum: th_1, th_2, omega_1, omega_2, mass, length and
    the coefficients.
    """
    from stickslip.figures.files import require_figure
    from stickslip.laws import law_from

    collision = collision_named(name)
    values = parse_values(settings or [], collision, name)
    first = collision.x if x is None else parse_axis("--x", x, collision, name)
    second = collision.y if y is None else parse_axis("--y", y, collision, name)
    _check_axes(first, second, values)
    rule = law_from(law)
    file = Path(f"impact-map-{name}-{first.name}-{second.name}.png") if out is None else out
    require_figure("--out", file)

    begin = time.perf_counter()
    found = _solve(collision, values, first, second, rule)
    result = _report(name, law, collision, values, first, second, found, time.perf_counter() - begin)
    _draw(file, collision, result, first, second, found)
    result["file"] = str(file)
    if as_json:
        print_json(result, indent=2)
    else:
        _show(result, first, second)


def collision_named(name: str) -> Collision:
    """The collision called `name`; `impacting_bar` is the bar's name in the library."""
    from stickslip.checks import unknown_name

    known = {"bar": _BAR, "kane_pendulum": _KANE}
    if name == _BAR.entry:
        return _BAR
    if name not in known:
        raise ValueError(unknown_name("system", name, known))
    return known[name]


def parse_values(texts: Sequence[str], collision: Collision, name: str) -> dict[str, float]:
    """Settings `friction=0.3` as numbers, checked; what is not set keeps its default in `collision`."""
    values: dict[str, float] = {}
    for given, value in split_settings(texts, _COEFFICIENTS).items():
        key = _known(given, collision, name)
        if key in values:
            raise ValueError(f"{key} is set twice; the second time to {value}.")
        values[key] = number(key, value)
        _check_range(key, values[key], values[key], f"got {value}")
    if "ratio" in values and "tangential_velocity" in values:
        raise ValueError("ratio and tangential_velocity both say how fast the tip slides: set one of them.")
    return values


def parse_axis(option: str, text: str, collision: Collision, name: str) -> Axis:
    """`friction=0:2:400` as an axis."""
    key, _, span = text.partition("=")
    parts = span.split(":")
    if not key.strip() or len(parts) not in (2, 3):
        raise ValueError(f"{option} must read NAME=LO:HI:N, such as {option} friction=0:2:400, got {text!r}.")
    key = _known(key.strip(), collision, name)
    low, high = (number(f"{option} {key}", part) for part in parts[:2])
    if not low < high:
        raise ValueError(f"{option} {key} must rise from LO to HI, got {low:g}:{high:g}.")
    if len(parts) == 3 and not (parts[2].strip().isascii() and parts[2].strip().isdigit() and int(parts[2]) >= 2):
        raise ValueError(f"{option} {key} needs a whole number of at least 2 cells, got {parts[2]!r}.")
    _check_range(key, low, high, f"got {low:g}:{high:g} in {option}")
    return Axis(key, low, high, int(parts[2]) if len(parts) == 3 else 400)


def quantities(collision: Collision, values: dict[str, Any]) -> dict[str, Any]:
    """All quantities: defaults under what was set."""
    complete = {**collision.defaults, **values}
    if values.get("ratio") is not None:
        complete["tangential_velocity"] = values["ratio"] * complete["normal_velocity"]
    return complete


def _known(key: str, collision: Collision, name: str) -> str:
    from stickslip.checks import unknown_name

    key = "angle" if key == "phi" and "angle" in collision.defaults else key
    if key not in collision.defaults:
        raise ValueError(f"{name}: {unknown_name('parameter', key, collision.defaults)}")
    return key


def _check_range(key: str, low: float, high: float, got: str) -> None:
    single = low == high
    if key == "angle" and not (0.0 <= low and high <= 180.0 and not (single and low in (0.0, 180.0))):
        raise ValueError(f"angle must lie between 0 and 180 degrees, {got}: there the other tip touches.")
    if key == "friction" and low < 0.0:
        raise ValueError(f"friction must not be negative, {got}.")
    if key.startswith("restitution") and not (0.0 <= low and high <= 1.0):
        raise ValueError(f"{key} must lie in [0, 1], {got}.")
    if key in _POSITIVE and (low < 0.0 or high <= 0.0):
        raise ValueError(f"{key} must be positive, {got}.")
    if key == "normal_velocity" and high > 0.0:
        raise ValueError(f"normal_velocity must not be positive, {got}: the tip would separate.")


def _check_axes(x: Axis, y: Axis, values: dict[str, float]) -> None:
    if x.name == y.name:
        raise ValueError(f"--x and --y are both {x.name}: a map needs two quantities.")
    slide = {"ratio", "tangential_velocity"}
    if {x.name, y.name} == slide:
        raise ValueError("ratio and tangential_velocity both say how fast the tip slides: use one of them.")
    for axis in (x, y):
        if axis.name in values or (axis.name in slide and slide & set(values)):
            raise ValueError(f"{axis.name} is an axis of the map: it cannot be set, too; --x and --y choose others.")
    if x.cells * y.cells > _MOST_STATES:
        raise ValueError(f"a map of {x.cells} x {y.cells} has more than {_MOST_STATES:,} impacts; use fewer cells.")


def _solve(
    collision: Collision, values: dict[str, float], x: Axis, y: Axis, law: "ImpactLaw"
) -> dict[str, "np.ndarray"]:
    """Outcome of the impact in every cell, by name; arrays of shape (y.cells, x.cells)."""
    import numpy as np

    from stickslip.analysis.progress import reported
    from stickslip.impacts.impact import impact

    system, rows = collision.system, max(1, _BLOCK // x.cells)
    parts: list[tuple[np.ndarray, ...]] = []
    _warm_up(collision, values, law)
    with reported(None, "impacts", y.cells) as report:
        for start in range(0, y.cells, rows):
            block = y.centres[start : start + rows, None]
            given = quantities(collision, {**values, x.name: x.centres[None, :], y.name: block})
            q, u, params = collision.state(given)
            shape = (len(block), x.cells)
            q, u = np.broadcast_to(q, (*shape, q.shape[-1])), np.broadcast_to(u, (*shape, u.shape[-1]))
            hit = impact(system, q, u, law, params=params)
            gain = hit.energy_change > 1e-9 * hit.energy_before
            parts.append(
                (hit.state_code[..., 0], hit.reversal[..., 0], hit.residual, hit.solved, hit.energy_change, gain)
            )
            report(start + len(block))
    names = ("state", "reversal", "residual", "solved", "energy_change", "gain")
    return {name: np.concatenate(rows_) for name, rows_ in zip(names, zip(*parts, strict=True), strict=True)}


def _warm_up(collision: Collision, values: dict[str, float], law: "ImpactLaw") -> None:
    """Have the kernels compiled, which takes seconds the first time, and say so on a terminal."""
    if not on_terminal(sys.stderr):
        return
    from rich.console import Console

    from stickslip.impacts.impact import impact

    with Console(stderr=True).status(f"preparing the kernels of {collision.entry} (compiled once, then cached)"):
        q, u, params = collision.state(quantities(collision, values))
        impact(collision.system, q[None, :], u[None, :], law, params=params)


def _report(
    name: str, law: str, collision: Collision, values: dict[str, float], x: Axis, y: Axis,
    found: dict[str, "np.ndarray"], wall_s: float,
) -> dict[str, Any]:  # fmt: skip
    from stickslip.impacts.impact import Impact

    shares = {state: float((found["state"] == code).mean()) for code, state in enumerate(Impact.STATES)}
    fixed = fixed_values(collision, values, (x.name, y.name))
    return {
        "system": name,
        "law": law,
        "x": x.to_dict(),
        "y": y.to_dict(),
        "fixed": fixed,
        "impacts": int(found["state"].size),
        "shares": {state: share for state, share in shares.items() if share > 0.0},
        "reversal": float(found["reversal"].mean()),
        "energy_gain": float(found["gain"].mean()),
        "largest_energy_change": float(found["energy_change"].max()),
        "unsolved": int((~found["solved"]).sum()),
        "worst_residual": float(found["residual"].max()),
        "wall_s": wall_s,
    }


def fixed_values(collision: Collision, values: dict[str, Any], axes: tuple[str, ...] = ()) -> dict[str, float]:
    """Quantities with one value for all impacts, by name."""
    hidden = {*axes, "ratio"} if "ratio" not in values else {*axes, "tangential_velocity"}
    if "ratio" in axes:
        hidden.add("tangential_velocity")
    given = {**collision.defaults, **values}
    return {key: value for key, value in given.items() if key not in hidden and value is not None}


def _draw(
    file: Path, collision: Collision, result: dict[str, Any], x: Axis, y: Axis, found: dict[str, "np.ndarray"]
) -> None:
    from stickslip.figures import style
    from stickslip.figures.impact_map import map_figure

    title = f"Impact regimes of {result['system'].replace('_', ' ')}, {result['law']}"
    fixed = ", ".join(f"{key} = {style.number(value)} {_unit(key)}".rstrip() for key, value in result["fixed"].items())
    if result["law"] in ("poisson-integrated", "stronge", "stronge-lumped"):
        fixed += "; regimes by the whole impulse: slip that turns inside an impact counts as stick"
    note = (
        f"{fixed}\ncheck: {result['impacts']:,} impacts, {result['unsolved']} unsolved, residual ≤ "
        f"{result['worst_residual']:.0e}; {result['energy_gain']:.1%} gain energy"
    )
    figure = map_figure((x.label, x.centres), (y.label, y.centres), found["state"], found["reversal"], title, note)
    style.save(figure, file, title=title)


def _unit(key: str) -> str:
    from stickslip.figures import style

    return style.unit_text(_UNITS.get(key, ""))


def _show(result: dict[str, Any], x: Axis, y: Axis) -> None:
    def row(name: str, text: str) -> None:
        print(f"  {name:<14}{text}")

    print(f"{result['system']}: impact regimes under {result['law']}")
    for side, axis in (("x", x), ("y", y)):
        text = f"{axis.name} = {axis.low:g} .. {axis.high:g} {_UNITS.get(axis.name, '')}".rstrip()
        row(side, f"{text}, {axis.cells} cells")
    row("fixed", ", ".join(f"{key} {value:g}{unit_after(key)}" for key, value in result["fixed"].items()))
    for state, share in result["shares"].items():
        row(state, f"{100 * share:6.2f} %")
    row("slip reverses", f"{100 * result['reversal']:6.2f} %")
    row("energy gain", f"{100 * result['energy_gain']:6.2f} %, largest change {result['largest_energy_change']:.6g} J")
    row("check", f"{result['impacts']:,} impacts, {result['unsolved']} unsolved, worst residual "
        f"{result['worst_residual']:.1e}, {result['wall_s']:.2f} s")  # fmt: skip
    row("written", result["file"])


def unit_after(key: str) -> str:
    """The unit of a quantity with a space before it; nothing for a plain number."""
    return f" {_UNITS[key]}" if key in _UNITS else ""


def _bar_state(v: dict[str, Any]) -> tuple["np.ndarray", "np.ndarray", dict[str, Any]]:
    """The tip touches with the wanted velocities; the bar does not turn."""
    import numpy as np

    phi, s = np.radians(v["angle"]), v["half_length"]
    inertia = v["mass"] * s**2 / 3 if v["inertia"] is None else v["inertia"]
    q = np.stack(np.broadcast_arrays(0.0 * phi, s * np.sin(phi), phi), axis=-1)
    u = np.stack(np.broadcast_arrays(v["tangential_velocity"], v["normal_velocity"], 0.0), axis=-1)
    return q, u, {"inertia": inertia, **{key: v[key] for key in ("mass", "half_length", *_COEFFICIENTS)}}


def _kane_state(v: dict[str, Any]) -> tuple["np.ndarray", "np.ndarray", dict[str, Any]]:
    import numpy as np

    th_1, th_2 = np.radians(v["th_1"]), np.radians(v["th_2"])
    height = v["length"] * (np.cos(th_1) + np.cos(th_2))
    q = np.stack(np.broadcast_arrays(th_1, th_2), axis=-1)
    u = np.stack(np.broadcast_arrays(v["omega_1"], v["omega_2"]), axis=-1)
    return q, u, {"height": height, **{key: v[key] for key in ("mass", "length", *_COEFFICIENTS)}}


_BAR = Collision(
    "impacting_bar",
    {
        "angle": 45.0, "ratio": None, "tangential_velocity": -0.5, "normal_velocity": -1.0, **_COEFFICIENTS,
        "mass": 1.0, "half_length": 0.5, "inertia": None,
    },
    Axis("ratio", -10.0, 10.0, 400),
    Axis("angle", 0.0, 180.0, 400),
    _bar_state,
)  # fmt: skip
_KANE = Collision(
    "kane_pendulum",
    {
        "th_1": 20.0, "th_2": 30.0, "omega_1": -0.1, "omega_2": -0.2, **_COEFFICIENTS, "mass": 1.0, "length": 1.0,
    },
    Axis("friction", 0.0, 1.5, 400),
    Axis("restitution_normal", 0.0, 1.0, 400),
    _kane_state,
)  # fmt: skip
