"""Requests in, payloads out: what the page may ask for, within bounds.

A request is stateless: it holds every value of its tab, so that two tabs do not disturb each other.  The server lets
each run be computed by a process of its own (`workers`), which asks the `Service` there.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stickslip import library
from stickslip.checks import did_you_mean, unknown_name
from stickslip.io.load import load
from stickslip.jit import making
from stickslip.page.controls import PAGE_RECORDS, PAGE_STEPS, controls, numbers, require_sizes, with_values
from stickslip.page.document import standalone
from stickslip.page.entries import Entry, LibraryEntry, ModelEntry, entry_names, scenario_of
from stickslip.page.glances import glances
from stickslip.page.grabbing import Grab, grabbed_start
from stickslip.page.overlay import contact_options
from stickslip.page.payload import HISTORY, payload
from stickslip.trajectory import Trajectory

MOST_STEPS = PAGE_STEPS
MOST_SECONDS = 15.0
"""Of a simulation, its compilation aside; what was computed until then is shown."""
_FIELDS = ("system", "set", "start", "dt", "t_end", "stepper", "grab")
LIBRARY, MODEL, SAVED = "library", "model", "saved"
"""Kinds of what can be chosen."""


class ClientGone(ConnectionError):
    """Nobody waits for this run any more."""


compiling = making.run(making.Clock())
"""Tells the seconds in which kernels were made from those in which something was computed."""


def _present() -> bool:
    return False


def as_json(value: Any) -> bytes:
    """The text of an answer."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


class Service:
    """Answers of the page's server.

    first is what is shown at the beginning; files are the saved runs and model files (.toml) that may be shown, by
    the names given to them.  `tell` is called when a simulation begins (True) and ends (False).
    """

    def __init__(
        self, first: str | None = None, files: Sequence[Path] = (), *, tell: Callable[[bool], None] | None = None
    ) -> None:
        self.paths = tuple(files)
        self._tell = tell or (lambda begins: None)
        named = {_label(i, path, files): path for i, path in enumerate(files)}
        self.models = {name: ModelEntry(path) for name, path in named.items() if path.suffix == ".toml"}
        self.files = {name: path for name, path in named.items() if name not in self.models}
        self.first = first or next(iter(named), None) or library.names()[0]

    def catalogue(self) -> dict[str, Any]:
        """Entries of the page's menu: model files, saved runs, library entries."""
        names = ((MODEL, self.models), (SAVED, self.files), (LIBRARY, entry_names()))
        return {
            "first": self.first,
            "systems": [
                {"name": name, "kind": "scene" if name in library.scene_names() else kind}
                for kind, group in names
                for name in group
            ],
        }

    def describe(self, name: str) -> dict[str, Any]:
        """Sliders and steppers of a library entry or model file; a saved run has none."""
        if name in self.files:
            return {"name": name, "controls": [], "steppers": [], "stepper": ""}
        entry = self._entry(name)
        sliders = controls(entry.keywords, entry.scenario, entry.units, entry.meanings)
        return {
            "name": name,
            "controls": [control.to_dict() for control in sliders],
            "steppers": entry.steppers,
            "stepper": entry.stepper,
        }

    def required(self, request: Any) -> str:
        """Name of the system that a request asks for; ValueError where it names none that there is."""
        name, _ = _checked(request)
        if name not in self.files:
            self._entry(name)
        return name

    def answer(self, path: str, request: Any, gone: Callable[[], bool] = _present) -> bytes:
        """Answer to a request to `/api/system`, `/api/glances`, `/api/run`, `/api/grab`, `/api/export`."""
        if path == "/api/glances":
            return as_json(glances())
        if path == "/api/system":
            return as_json(self.describe(request["system"]))
        if path == "/api/grab":
            return as_json(self.grabbed(request, gone))
        return self.export(request, gone) if path == "/api/export" else as_json(self.run(request, gone))

    def run(self, request: Any, gone: Callable[[], bool] = _present) -> dict[str, Any]:
        """Simulate what the request asks for, or open a saved run, and return its payload.

        `gone` says whether the client has left: then the run ends with `ClientGone`.
        """
        begin, processor = time.perf_counter(), time.thread_time()
        trajectory, scenario, notes = self._computed(request, gone)
        found = payload(trajectory, scenario)
        found["notes"] = [*notes, *found["notes"]]
        found["saved"] = request["system"] if request["system"] in self.files else None
        found["seconds"] = {
            "simulated": trajectory.wall_s,
            "total": time.perf_counter() - begin,
            "processor": time.thread_time() - processor,
        }
        return found

    def grabbed(self, request: Any, gone: Callable[[], bool] = _present) -> dict[str, Any]:
        """The start that follows when a body is grabbed at the end of this run and moved, see `grabbed_start`.

        The run is computed as far as the hand waited: `t_end` of the request.  A scene is grabbed at its start.
        """
        name, options = _checked(request)
        grab = Grab.from_request(options.pop("grab", None))
        if name in self.files:
            raise ValueError("a saved run cannot be grabbed: it is not simulated again.")
        scenario = scenario_for(self._entry(name), options)
        if scenario.kind != "mechanism" or options.get("t_end") == 0.0:
            q, t = scenario.q0, 0.0
        else:
            trajectory, scenario, _ = self._computed(options, gone)
            q, t = trajectory.q[-1], float(trajectory.t[-1])
        return {"start": grabbed_start(scenario, grab, q, t)}

    def export(self, request: Any, gone: Callable[[], bool] = _present) -> bytes:
        """A run as a page of its own."""
        trajectory, scenario, _ = self._computed(request, gone)
        return standalone(trajectory, scenario)

    def _entry(self, name: str) -> Entry:
        if name in self.models:
            return self.models[name]
        if name not in entry_names():
            known = [*self.models, *self.files, *entry_names()]
            raise ValueError(unknown_name("library entry, model file or saved run", name[:60], known))
        return LibraryEntry(name)

    def _computed(self, request: Any, gone: Callable[[], bool]) -> tuple[Trajectory, Any, list[str]]:
        """The trajectory, its scenario, and the warnings of the run."""
        name, options = _checked(request)
        if "grab" in options:
            raise ValueError("grab is a field of requests to /api/grab alone.")
        if name in self.files:
            trajectory = load(self.files[name])
            return trajectory, scenario_of(trajectory), []
        entry = self._entry(name)
        method = entry.options(_stepper(entry, options))
        scenario = scenario_for(entry, options)
        dt, t_end = _times(scenario, options)
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", RuntimeWarning)
            self._tell(True)
            trajectory = _simulated(scenario, dt, t_end, method, gone)
            self._tell(False)
        words = [str(note.message) for note in notes if issubclass(note.category, RuntimeWarning)]
        if trajectory.status.startswith("interrupted"):
            end = f"at t = {trajectory.t[-1]:.3g} s of {t_end:g} s"
            words.append(
                f"the page ends a run after {MOST_SECONDS:g} s, this one {end}; shorten t_end or enlarge dt; "
                f"`stickslip run {name} --out run.nc` has no such limit"
            )
        return trajectory, scenario, words


def _label(number: int, path: Path, files: Sequence[Path]) -> str:
    """The name of a file, with its number where two files have one name."""
    same = sum(other.name == path.name for other in files) > 1
    return f"{path.name} ({number + 1})" if same else path.name


def _checked(request: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(request, Mapping):
        raise ValueError(f"a request must be an object, got {type(request).__name__}.")
    for key in request:
        if key not in _FIELDS:
            raise ValueError(unknown_name("field", str(key)[:60], _FIELDS))
    name = request.get("system")
    if not isinstance(name, str) or len(name) > 200:
        raise ValueError("system must be the name of a library entry, a model file or a saved run.")
    return name, {key: value for key, value in request.items() if value is not None}


def _stepper(entry: Entry, options: Mapping[str, Any]) -> str | None:
    stepper = options.get("stepper")
    if stepper is not None and not (isinstance(stepper, str) and stepper in entry.steppers):
        meant = did_you_mean(stepper, entry.steppers)
        raise ValueError(f"stepper must be one of {', '.join(entry.steppers)} on the page, got {stepper!r:.60}{meant}")
    return stepper


def scenario_for(entry: Entry, options: Mapping[str, Any]) -> Any:
    """The scenario that a request describes."""
    wanted = options.get("set", {})
    if not isinstance(wanted, Mapping):
        raise ValueError(f"set must map names to values, got {type(wanted).__name__}.")
    keywords = with_values(entry.keywords, wanted)
    require_sizes(entry.keywords, entry.scenario, keywords)
    scenario = entry.with_keywords(keywords)
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


def _simulated(
    scenario: Any, dt: float, t_end: float, method: Mapping[str, Any], gone: Callable[[], bool]
) -> Trajectory:
    """The run, or as much of it as `MOST_SECONDS` allow.

    Points and forces of contacts cost far more than the steps of a scene: it has no more records than the page draws.
    """
    contacts = contact_options(scenario, HISTORY)
    every = max(1, math.ceil(t_end / dt / (HISTORY if contacts else PAGE_RECORDS)))
    begin, left = time.perf_counter() - compiling.seconds, False

    def watch(step: int) -> None:
        nonlocal left
        left = gone()
        if left or time.perf_counter() - compiling.seconds - begin > MOST_SECONDS:
            raise KeyboardInterrupt

    trajectory: Trajectory = scenario.simulate(dt=dt, t_end=t_end, every=every, progress=watch, **contacts, **method)
    if left:
        raise ClientGone(trajectory.status)
    return trajectory
