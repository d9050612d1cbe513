"""Which members an ensemble has: what varies, over which values, and what member number i is made of.

Axes span a grid in the order in which they are given, the last one fastest.  Random samples, and arrays that are given
in pairs, share one axis `sample` behind the others.  Nothing of the size of the ensemble is stored: values are looked
up for the members that are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import Array, refuse_masked, require_numbers, shown, unknown_name, whole_number
from stickslip.run.records import memory_budget
from stickslip.scenario import Scenario

SAMPLE = "sample"
LONGEST_AXIS = 2**31
DISTRIBUTIONS = {"uniform": ("low", "high"), "normal": ("mean", "deviation")}
_HELP = "write start:end:count, start:end:count:log, values with commas, uniform:low:high or normal:mean:deviation"


@dataclass(frozen=True, eq=False)
class Plan:
    """The varied quantities of an ensemble.

    Attributes
    ----------
    axes : names and lengths of the dimensions, in order.
    values : for every varied quantity its axis and its values along it.
    """

    axes: tuple[tuple[str, int], ...]
    values: Mapping[str, tuple[str, Array]]

    @property
    def size(self) -> int:
        """Number of members."""
        return math.prod(length for _, length in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(length for _, length in self.axes)

    def members(self, first: int, last: int) -> dict[str, Array]:
        """The varied quantities of the members first .. last - 1, shape (last - first,) each."""
        places = dict(zip((name for name, _ in self.axes), self._places(np.arange(first, last)), strict=True))
        return {name: values[places[axis]] for name, (axis, values) in self.values.items()}

    def _places(self, members: np.ndarray) -> Sequence[np.ndarray]:
        return np.unravel_index(members, self.shape) if self.axes else ()

    def extremes(self) -> list[dict[str, float]]:
        """One quantity at a time at its least and its largest value: what is worth a check before anything runs."""
        found = []
        for name, (_, values) in self.values.items():
            for value in (float(values.min()), float(values.max())):
                found.append({name: value})
        return found


def plan_of(scenario: Scenario, vary: Any, samples: Any = None, seed: Any = 0, paired: bool = False) -> Plan:
    """Check the request of `ensemble` and return its plan."""
    if not isinstance(vary, Mapping) or not vary:
        raise ValueError(f"vary must map names to values, such as {{'friction': '0.2:0.4:1001'}}, got {vary!r}.")
    known = scenario.quantities
    for name in vary:
        if name not in known:
            raise ValueError(f"vary: {unknown_name('parameter', str(name), known)}")
    seed = whole_number(seed, "seed", 0)
    random = [name for name, value in vary.items() if _distribution(value)]
    count = _sample_count(samples, random)
    generator = np.random.Generator(np.random.Philox(seed))
    axes: list[tuple[str, int]] = []
    values: dict[str, tuple[str, Array]] = {}
    for name, value in vary.items():
        if name in random:
            values[name] = (SAMPLE, _draw(name, value, count, generator))
            continue
        along = axis_values(name, value)
        if paired:
            values[name] = (SAMPLE, along)
        else:
            axes.append((name, len(along)))
            values[name] = (name, along)
    lengths = {name: len(along) for name, (axis, along) in values.items() if axis == SAMPLE}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"values that go in pairs must be equally many, got {told}.")
    if lengths:
        axes.append((SAMPLE, next(iter(lengths.values()))))
    return Plan(tuple(axes), values)


def axis_values(name: str, value: Any) -> Array:
    """The values of one axis, from text such as "0.2:0.4:1001", a number, or an array."""
    if isinstance(value, str):
        return _from_text(name, value)
    refuse_masked(value, name)
    try:
        require_numbers(value, name)
        values = np.atleast_1d(np.array(value, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"vary: {name} must be numbers or text; {_HELP}, got {shown(value)}.") from None
    return _checked(name, values, value)


def _from_text(name: str, text: str) -> Array:
    parts = [part.strip() for part in text.split(":")]
    if len(parts) == 1:
        return _checked(name, np.array([_number(name, part, text) for part in text.split(",")]), text)
    if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3] != "log"):
        raise ValueError(f"vary: {name} cannot be read; {_HELP}, got {text!r}.")
    start, end, count = (_number(name, part, text) for part in parts[:3])
    if not (count >= 1 and count.is_integer()):
        raise ValueError(f"vary: the count of {name} must be a whole number >= 1, got {text!r}.")
    if 8.0 * count > memory_budget() or count >= LONGEST_AXIS:
        raise ValueError(f"vary: the {count:.3g} values of {name} alone do not fit into memory; split the range.")
    if len(parts) == 4:
        if not start * end > 0.0:
            raise ValueError(f"vary: {name} on a log scale needs ends of one sign and not zero, got {text!r}.")
        return _checked(name, np.geomspace(start, end, int(count)), text)
    return _checked(name, np.linspace(start, end, int(count)), text)


def _number(name: str, part: str, text: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise ValueError(f"vary: {name} cannot be read; {_HELP}, got {text!r}.") from None


def _checked(name: str, values: Array, given: Any) -> Array:
    if values.ndim != 1 or not values.size:
        raise ValueError(f"vary: {name} must be a list of numbers, got shape {values.shape}.")
    if not np.isfinite(values).all():
        shown = given if isinstance(given, str) else "an array with infinite or missing values"
        raise ValueError(f"vary: {name} must be finite, got {shown}.")
    return values


def _distribution(value: Any) -> bool:
    return isinstance(value, str) and value.split(":")[0].strip() in DISTRIBUTIONS


def _sample_count(samples: Any, random: Sequence[str]) -> int:
    if samples is None:
        if random:
            raise ValueError(f"{random[0]} is drawn at random: say how often with samples=1000 (--samples).")
        return 0
    whole_number(samples, "samples")
    if not random:
        raise ValueError("samples counts random values, and none is asked for; such as friction=uniform:0.2:0.4.")
    if 8 * int(samples) * len(random) > memory_budget():
        raise ValueError(f"{samples:.3g} samples do not fit into memory; take several ensembles with different seeds.")
    return int(samples)


def _draw(name: str, text: str, count: int, generator: np.random.Generator) -> Array:
    kind, *rest = (part.strip() for part in text.split(":"))
    if len(rest) != len(DISTRIBUTIONS[kind]):
        raise ValueError(f"vary: {name} must read {kind}:{':'.join(DISTRIBUTIONS[kind])}, got {text!r}.")
    first, second = (_number(name, part, text) for part in rest)
    if kind == "uniform":
        if not first <= second:
            raise ValueError(f"vary: {name} must have low <= high, got {text!r}.")
        return _checked(name, generator.uniform(first, second, count), text)
    if second < 0.0:
        raise ValueError(f"vary: the deviation of {name} must not be negative, got {text!r}.")
    return _checked(name, generator.normal(first, second, count), text)
