"""The papers' mechanisms and a few classics, one file each; every entry returns a `Scenario` without running it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from stickslip.checks import known_keywords, unknown_name
from stickslip.circuits.scenario import CircuitScenario
from stickslip.library import circuits, scenes
from stickslip.library.angled_bar import angled_bar
from stickslip.library.ball_on_turntable import ball_on_turntable
from stickslip.library.billiards import billiards
from stickslip.library.bouncing_ball import bouncing_ball, bouncing_ball_on_table
from stickslip.library.brick_on_ramp import brick_on_ramp
from stickslip.library.chaplygin_sleigh import chaplygin_sleigh
from stickslip.library.chatterjee_rod import chatterjee_rod
from stickslip.library.compass_gait import compass_gait
from stickslip.library.four_bar import four_bar
from stickslip.library.friction_oscillator import block_on_belt, friction_oscillator
from stickslip.library.gear_rattle import gear_rattle
from stickslip.library.impact_oscillator import impact_oscillator
from stickslip.library.impacting_bar import impacting_bar
from stickslip.library.kane_pendulum import kane_pendulum
from stickslip.library.newton_cradle import newton_cradle
from stickslip.library.one_way_clutch import one_way_clutch
from stickslip.library.painleve_rod import painleve_rod
from stickslip.library.pendulum_against_stop import pendulum_against_stop
from stickslip.library.rimless_wheel import rimless_wheel
from stickslip.library.rolling_coin import rolling_coin
from stickslip.library.slider_crank import slider_crank
from stickslip.library.slider_crank_ideal import slider_crank_ideal
from stickslip.library.sliding_ball import sliding_ball
from stickslip.library.sliding_coin import sliding_coin
from stickslip.library.sliding_top import sliding_top
from stickslip.library.solenoid import solenoid
from stickslip.library.spinning_top import spinning_top
from stickslip.library.three_masses import three_masses
from stickslip.library.two_balls import two_balls
from stickslip.library.woodpecker import woodpecker
from stickslip.scenario import Scenario, SceneScenario

__all__ = [
    "CircuitScenario",
    "Scenario",
    "SceneScenario",
    "angled_bar",
    "ball_on_turntable",
    "billiards",
    "block_on_belt",
    "bouncing_ball",
    "bouncing_ball_on_table",
    "brick_on_ramp",
    "chaplygin_sleigh",
    "chatterjee_rod",
    "circuit_names",
    "circuits",
    "compass_gait",
    "four_bar",
    "friction_oscillator",
    "gear_rattle",
    "get",
    "impact_oscillator",
    "impacting_bar",
    "kane_pendulum",
    "keywords",
    "names",
    "newton_cradle",
    "one_way_clutch",
    "painleve_rod",
    "pendulum_against_stop",
    "rimless_wheel",
    "rolling_coin",
    "scene_names",
    "scenes",
    "slider_crank",
    "slider_crank_ideal",
    "sliding_ball",
    "sliding_coin",
    "sliding_top",
    "solenoid",
    "spinning_top",
    "three_masses",
    "two_balls",
    "units",
    "woodpecker",
]


def _offered(entry: Callable[..., Any]) -> Callable[..., Any]:
    """An entry as a function of this module, which proposes a keyword in place of a wrong one."""
    function = known_keywords(entry)
    function.__module__ = __name__
    return function


_ENTRIES: dict[str, Callable[..., Scenario]] = {
    entry.__name__: _offered(entry)
    for entry in (
        woodpecker,
        slider_crank,
        slider_crank_ideal,
        four_bar,
        bouncing_ball,
        bouncing_ball_on_table,
        brick_on_ramp,
        friction_oscillator,
        block_on_belt,
        gear_rattle,
        impact_oscillator,
        impacting_bar,
        kane_pendulum,
        newton_cradle,
        pendulum_against_stop,
        painleve_rod,
        two_balls,
        three_masses,
        chatterjee_rod,
        angled_bar,
        rimless_wheel,
        compass_gait,
        chaplygin_sleigh,
        ball_on_turntable,
        rolling_coin,
        spinning_top,
        sliding_ball,
        sliding_top,
        sliding_coin,
        one_way_clutch,
        solenoid,
    )
}

_SCENES: dict[str, Callable[..., SceneScenario]] = {
    name: _offered(entry) for name, entry in {billiards.__name__: billiards, **scenes.ENTRIES}.items()
}
_CIRCUITS: dict[str, Callable[..., CircuitScenario]] = {
    name: _offered(entry) for name, entry in circuits.ENTRIES.items()
}
globals().update(_ENTRIES, **_SCENES, **_CIRCUITS)  # every entry is a function of this module: library.cube_stack()


_LISTED = re.compile(r"^((?:\w+, )*\w+) : (.*(?:\n {4,}.*)*)", re.MULTILINE)
"""Keywords in a docstring, and what is said about them."""


def names() -> tuple[str, ...]:
    """Names of the entries that are systems with generalised coordinates."""
    return tuple(_ENTRIES)


def scene_names() -> tuple[str, ...]:
    """Names of the entries that are scenes of bodies and shapes."""
    return tuple(_SCENES)


def circuit_names() -> tuple[str, ...]:
    """Names of the entries that are circuits."""
    return tuple(_CIRCUITS)


def keywords(name: str) -> dict[str, Any]:
    """Keywords of the entry `name` and their defaults; ValueError for a name that the library does not have."""
    return {key: value.default for key, value in inspect.signature(_entry(name)).parameters.items()}


def units(name: str) -> dict[str, str]:
    """Units of the keywords of the entry `name`; keywords without a unit are left out.

    The units are read from the docstring of the entry: from "`speed` [m/s]", or from a line "speed : of a ball [m/s]".
    """
    text = inspect.getdoc(_entry(name)) or ""
    found = dict(re.findall(r"`(\w+)` \[([^\]]+)\]", text))
    for listed, meaning in _LISTED.findall(text):
        own, given = listed.split(", "), re.findall(r"\[([^\]\d]+(?:\^\d)?)\]", meaning)  # citations have digits
        if len(given) == 1:
            found |= dict.fromkeys(own, given[0])
        elif len(given) == len(own):
            found |= dict(zip(own, given, strict=True))
    return {key: unit for key, unit in found.items() if key in keywords(name)}


def meanings(name: str) -> dict[str, str]:
    """What the keywords of the entry `name` are, in the words of its docstring; keywords without words are left out."""
    found: dict[str, str] = {}
    for listed, meaning in _LISTED.findall(inspect.getdoc(_entry(name)) or ""):
        words = " ".join(meaning.split())
        found |= dict.fromkeys(listed.split(", "), f"{listed}: {words}" if "," in listed else words)
    return {key: words for key, words in found.items() if key in keywords(name)}


def get(name: str, **parameters: Any) -> Any:
    """Return the library entry `name` with its keywords set: a `Scenario`, a `SceneScenario` or a `CircuitScenario`.

    Raises ValueError for a name or a keyword that the library does not have.

    >>> get("bouncing_ball", restitution=0.5).dt
    0.001
    """
    entry = _entry(name)
    known = keywords(name)
    for key in parameters:
        if key not in known:
            raise ValueError(f"library entry {name!r}: {unknown_name('parameter', key, known)}")
    return entry(**parameters)


def _entry(name: str) -> Callable[..., Scenario]:
    entries: dict[str, Callable[..., Any]] = {**_ENTRIES, **_SCENES, **_CIRCUITS}
    if name not in entries:
        raise ValueError(unknown_name("library entry", name, entries))
    return entries[name]
