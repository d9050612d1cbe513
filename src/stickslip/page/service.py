"""Requests in, payloads out: what the page may ask for, within bounds, one run at a time.

A request is stateless: it holds every value of its tab, so that two tabs do not disturb each other.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from stickslip import library
from stickslip.io.netcdf import load
from stickslip.model.system import unknown_name
from stickslip.page.controls import controls, numbers, require_sizes, with_values
from stickslip.page.document import standalone
from stickslip.page.payload import payload
from stickslip.trajectory import Trajectory

MOST_STEPS = 200_000
MOST_RECORDS = 20_000
MOST_SECONDS = 15.0
"""Of a simulation, its compilation aside; what was computed until then is shown."""
_LONGEST_PIECE = 2.0  # seconds; a run goes in pieces of a tenth
STEPPERS = ("moreau-midpoint", "moreau-jean", "paoli-schatzman", "stewart-trinkle")
SCENE_STEPPERS = STEPPERS[:2]
_FIELDS = ("system", "set", "start", "dt", "t_end", "stepper")


class Service:
    """Answers of the page's server; `files` are the saved runs that may be shown, by the names given to them."""

    def __init__(self, first: str | None = None, files: Sequence[Path] = ()) -> None:
        self.files = {_label(i, path, files): path for i, path in enumerate(files)}
        self.first = first or next(iter(self.files), None) or library.names()[0]
        self._running = threading.Lock()

    def catalogue(self) -> dict[str, Any]:
        """What can be chosen: library entries and saved runs."""
        entries = [{"name": name, "saved": False} for name in entry_names()]
        return {"first": self.first, "systems": [*entries, *({"name": name, "saved": True} for name in self.files)]}

    def describe(self, name: str) -> dict[str, Any]:
        """Sliders of a library entry; a saved run has none."""
        if name in self.files:
            return {"name": name, "controls": [], "steppers": []}
        scenario = _default(name)
        return {
            "name": name,
            "controls": [control.to_dict() for control in controls(name, scenario)],
            "steppers": SCENE_STEPPERS if hasattr(scenario, "scene") else STEPPERS,
        }

    def run(self, request: Any) -> dict[str, Any]:
        """Simulate what the request asks for, or open a saved run, and return its payload."""
        begin = time.perf_counter()
        trajectory, scenario, notes = self._computed(request)
        found = payload(trajectory, scenario)
        found["notes"] = notes
        found["saved"] = request["system"] if request["system"] in self.files else None
        found["seconds"] = {"simulated": trajectory.wall_s, "total": time.perf_counter() - begin}
        return found

    def export(self, request: Any) -> bytes:
        """The same run as a page of its own."""
        trajectory, scenario, _ = self._computed(request)
        return standalone(trajectory, scenario)

    def _computed(self, request: Any) -> tuple[Trajectory, Any, list[str]]:
        """The run, what it is a run of, and warnings that came with it."""
        name, options = _checked(request)
        if name in self.files:
            trajectory = load(self.files[name])
            return trajectory, scenario_of(trajectory), []
        if name not in entry_names():
            raise ValueError(unknown_name("library entry or saved run", name[:60], [*entry_names(), *self.files]))
        scenario = scenario_for(name, options)
        dt, t_end = _times(scenario, options)
        with self._running, warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", RuntimeWarning)
            trajectory = _simulated(scenario, dt, t_end, options.get("stepper", STEPPERS[0]))
        words = [str(note.message) for note in notes if issubclass(note.category, RuntimeWarning)]
        if trajectory.status.startswith("interrupted"):
            words.append(f"the page ends a run after {MOST_SECONDS:g} s; `stickslip run {name} --out run.nc` does not")
        return trajectory, scenario, words


def _label(number: int, path: Path, files: Sequence[Path]) -> str:
    """The file's name; its number too where two files have the same."""
    same = sum(other.name == path.name for other in files) > 1
    return f"{path.name} ({number + 1})" if same else path.name


@lru_cache(maxsize=256)
def _default(name: str) -> Any:
    """The scenario of a library entry as it is."""
    return library.get(name)


def _checked(request: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(request, Mapping):
        raise ValueError(f"a request must be an object, got {type(request).__name__}.")
    for key in request:
        if key not in _FIELDS:
            raise ValueError(unknown_name("field", str(key)[:60], _FIELDS))
    name = request.get("system")
    if not isinstance(name, str) or len(name) > 200:
        raise ValueError("system must be the name of a library entry or of a saved run.")
    options = {key: value for key, value in request.items() if value is not None}
    stepper = options.get("stepper", STEPPERS[0])
    if stepper not in STEPPERS:
        raise ValueError(f"stepper must be one of {', '.join(STEPPERS)} on the page, got {stepper!r:.60}.")
    return name, options


def scenario_for(name: str, options: Mapping[str, Any]) -> Any:
    """The scenario that a request describes."""
    wanted = options.get("set", {})
    if not isinstance(wanted, Mapping):
        raise ValueError(f"set must map names to values, got {type(wanted).__name__}.")
    keywords = with_values(name, wanted)
    require_sizes(name, _default(name), keywords)
    scenario = library.get(name, **keywords) if keywords else _default(name)
    start = numbers(options.get("start", {}), "start")
    return scenario.starting(start) if start else scenario


def _times(scenario: Any, options: Mapping[str, Any]) -> tuple[float, float]:
    asked = numbers({key: options[key] for key in ("dt", "t_end") if key in options}, "times")
    dt, t_end = asked.get("dt", scenario.dt), asked.get("t_end", scenario.t_end)
    if not (dt > 0.0 and t_end >= dt):
        raise ValueError(f"dt must be positive and t_end at least dt, got dt = {dt:g} s, t_end = {t_end:g} s.")
    steps = t_end / dt
    if steps > MOST_STEPS * (1.0 + 1e-9):
        raise ValueError(
            f"{steps:,.0f} steps are too many for the page, which takes {MOST_STEPS:,}: enlarge dt or shorten t_end; "
            "`stickslip run` has no such limit."
        )
    return dt, t_end


def _simulated(scenario: Any, dt: float, t_end: float, stepper: str) -> Trajectory:
    """The run, or as much of it as `MOST_SECONDS` allow."""
    every = max(1, math.ceil(t_end / dt / MOST_RECORDS))
    last, spent = time.perf_counter(), 0.0

    def watch(step: int) -> None:
        nonlocal last, spent
        now = time.perf_counter()
        spent += min(now - last, _LONGEST_PIECE)  # what takes longer is a kernel that is compiled on its first use
        last = now
        if spent > MOST_SECONDS:
            raise KeyboardInterrupt

    return scenario.simulate(dt=dt, t_end=t_end, stepper=stepper, every=every, progress=watch)


def entry_names() -> tuple[str, ...]:
    """Names of all library entries, systems and scenes."""
    return (*library.names(), *library.scene_names())


def scenario_of(trajectory: Trajectory) -> Any:
    """The library entry that a trajectory came from, with its parameters, or None.

    A name alone proves nothing: coordinates, velocities, contacts and parameters must have the same names too.
    """
    name = trajectory.system_name.replace(" ", "_")
    if name not in entry_names():
        return None
    known = library.keywords(name)
    numeric = {key for key, default in known.items() if isinstance(default, float) or default is None}
    values = {key: value for key, value in trajectory.parameters.items() if key in numeric}
    is_scene = name in library.scene_names()
    try:
        scenario: Any = _default(name) if is_scene else library.get(name, **values)
    except (ValueError, ArithmeticError):
        return None
    system = scenario.system
    same = (
        tuple(system.coordinate_names) == tuple(trajectory.coordinate_names)
        and tuple(system.velocity_names) == tuple(trajectory.velocity_names)
        and tuple(system.contact_names) == tuple(trajectory.contact_names)
        and (is_scene or set(system.parameter_names) == set(trajectory.parameters))  # a scene's are its gravity
    )
    return scenario if same else None
