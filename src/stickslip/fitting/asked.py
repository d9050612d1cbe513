"""What a fit is asked for, checked before models are built, files are read, or most of the package is loaded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import Array, real_array, real_number, unknown_name, whole_number
from stickslip.ensembles.devices import device_name
from stickslip.fitting.data import check_unit
from stickslip.fitting.notes import notes_path
from stickslip.fitting.tables import require_file
from stickslip.laws import law_from


@dataclass(frozen=True)
class How:
    """How a fit is computed, and what its report says.

    estimated : whether the noise comes from the residuals
    search : points of the search; None: as many as the model asks for
    seed : of search and bootstrap
    level, profile, draws : probability and kind of intervals; fits to data made anew
    pieces : into which motions are cut; None: where they are chaotic
    device : where the points of the search run
    """

    estimated: bool
    search: int | None
    seed: int
    level: float
    profile: bool
    draws: int
    pieces: int | None
    device: str


def how(
    noise: Any, *, search: Any, seed: Any, level: Any, profile: bool, bootstrap: Any, shooting: Any = None,
    device: Any = "cpu",
) -> How:  # fmt: skip
    """Keywords of `fit`, checked."""
    return How(
        estimated=noise is None,
        search=None if search is None else whole_number(search, "search", 0),
        seed=whole_number(seed, "seed", 0),
        level=_level(level),
        profile=profile,
        draws=whole_number(bootstrap, "bootstrap", 0),
        pieces=None if shooting is None else whole_number(shooting, "shooting", 1),
        device=device_name(device),
    )


def ranges(free: Any) -> tuple[tuple[str, ...], Array, Array]:
    """Names of the free quantities, and the ends of their ranges."""
    if not isinstance(free, Mapping) or not free:
        raise ValueError('free must map names to ranges, such as {"friction": (0.0, 1.0)}, got none.')
    low, high = [], []
    for name, bounds in free.items():
        pair = real_array(bounds, f"free[{name!r}] must be a pair (low, high) of numbers.")
        if pair.shape != (2,) or not np.all(np.isfinite(pair)) or not pair[0] < pair[1]:
            raise ValueError(f"free[{name!r}] must be a pair (low, high) with low < high, got {bounds!r}.")
        low.append(pair[0])
        high.append(pair[1])
    return tuple(str(name) for name in free), np.array(low), np.array(high)


def check_names(names: Sequence[str], known: Collection[str]) -> None:
    """ValueError where a free quantity is none of the model."""
    for name in names:
        if name not in known:
            raise ValueError(f"free: {unknown_name('quantity', name, tuple(known))}")


def check_words(
    free: Any, files: Sequence[Path], *, law: Any, starts: Mapping[str, Any], units: Mapping[str, str], noise: Any,
    notes: Path | None, **computing: Any,
) -> None:  # fmt: skip
    """ValueError for what needs no model to be wrong; `computing` are the keywords of `how`."""
    ranges(free)
    law_from(law)
    how(noise, profile=True, **computing)
    if noise is not None:
        for name, value in noise.items() if isinstance(noise, Mapping) else [("", noise)]:
            positive(value, f"noise[{name!r}]" if name else "noise")
    for name, value in starts.items():
        positive(value, f"starts[{name!r}]")
    for label, unit in units.items():
        check_unit(unit, label, "units")
    if notes is not None:
        notes_path(notes)
    for path in files:
        require_file(path)


def positive(value: Any, what: str) -> float:
    """A standard deviation."""
    found = real_number(value, what)
    if not found > 0.0:
        raise ValueError(f"{what} must be a positive standard deviation, got {value:g}.")
    return found


def _level(level: Any) -> float:
    share = real_number(level, "level")
    if not 0.0 < share < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {share:g}.")
    return share
