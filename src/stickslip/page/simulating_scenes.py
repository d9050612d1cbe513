"""Exported pages that simulate a scene: its time loop as WebAssembly, and the memory from which a run begins.

The file holds the march of `stickslip.scenes.step` and its arguments as one image of memory; the script
`assets/scenes.js` lets the march go on in this memory.  A slider changes numbers of the image.  Which numbers, and how,
is found by building the scene with other values: a number x of the image follows the slider's value p by one of
`FORMULAS`, with the same bits at every value that is tried, also where several sliders are moved.  What follows no
formula, as a number of bodies or the corners of another shape, has no slider.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stickslip import codes, library
from stickslip.checks import Array
from stickslip.jit import KernelError, entry, web
from stickslip.on_request import service
from stickslip.page.arrows import Shown, room_for, write_arrows
from stickslip.page.controls import PAGE_RECORDS, PAGE_STEPS, PARAMETER, Control, controls
from stickslip.page.entries import entry_names
from stickslip.page.overlay import MOST_ARROWS, link_points
from stickslip.page.payload import LIMITS
from stickslip.page.recorded import Recorded, packed
from stickslip.page.space import moving_radii, scene_picture
from stickslip.scenario import SceneScenario
from stickslip.scenes import step
from stickslip.scenes.collision.pairs import numbered
from stickslip.scenes.layout import MOVING
from stickslip.scenes.notes import record, rotor_energy
from stickslip.scenes.parts import CREEP, HELD, OPEN_LOADS, OPEN_NORMALS, PLASTIC
from stickslip.trajectory import Trajectory
from stickslip.trajectory.certificate import CREEP as CREEP_TOLD

MOST_BODIES = 20
"""Moving bodies of a scene that simulates in a browser: more of them would make a phone wait."""
ROWS = 1
"""Records of one march: the forces of a record stand in the memory until the next step."""
TRIED, TOGETHER = 11, 5
"""Values of a slider at which its formulas are compared, and draws of values of all sliders."""
_Formula = Callable[[Any, Any, Any], Any]
FORMULAS: tuple[_Formula, ...] = (
    lambda p, a, b: a * p,
    lambda p, a, b: p + a,
    lambda p, a, b: a - p,
    lambda p, a, b: a / p,
    lambda p, a, b: a * (p * p),
    lambda p, a, b: b + a * p,
)
"""How a number of the image follows a value p; a and b are constants.  The script has them in this order."""
_BOOK = (
    "FAILED_STEPS", "MAX_RESIDUAL", "MAX_PENETRATION", "MAX_ENERGY_GAIN", "GAIN_STEP", "FALLBACKS", "CONTACT_WORK",
    "MAX_LCP_SIZE", "PROJECTION_ENERGY", "PROJECTIONS",
)  # fmt: skip
_OWN = {"CREEP": CREEP, "OPEN_LOADS": OPEN_LOADS, "OPEN_NORMALS": OPEN_NORMALS}
_PLACES = {
    "span/steps": "steps", "span/every": "every", "problems/counts": "counts", "diary/book/numbers": "book",
    "diary/book/counts": "struck", "diary/book/events": "events", "shown/records/q": "q", "shown/records/u": "u",
    "shown/records/impulse": "impulse", "shown/records/state": "state", "shown/records/gap": "gap",
    "shown/records/energy": "energy", "shown/arrows/written": "arrows", "shown/arrows/parts": "forces",
}  # fmt: skip
"""Arguments of the march that the script reads or writes, and its words for them."""
_ARGUMENTS = ("world", "search", "first", "second", "problems", "diary", "span", "shown")


@entry
def simulated(
    world: Any, search: Any, first: Any, second: Any, problems: Any, diary: Any, span: Any, shown: Shown
) -> tuple[int, int, int, float]:
    """`march`, or without steps to do: the present state as a record, and sum m (g + F/m)^2 / 2 of the bodies."""
    records = shown.records
    if span.steps > 0:
        status, done, written = step.do_steps(world, search, first, second, problems, diary, span, records)
        points = problems.counts[step.ACTIVE]
        if problems.counts[step.SIDE] == 0:  # the end of a step has turned the sides round
            write_arrows(world, second.contacts, problems.active, points, shown.arrows)
        else:
            write_arrows(world, first.contacts, problems.active, points, shown.arrows)
        return status, done, written, 0.0
    record(world.bodies, world.springs, world.options, diary, 0, records)
    if world.joints is not None:
        records.energy[0, 0] += rotor_energy(world.joints, world.bodies)
    bodies, push = world.bodies, 0.0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING:
            for k in range(3):
                pull = world.options.gravity[k] + bodies.wrench[i, k] / bodies.mass[i]
                push += 0.5 * bodies.mass[i] * pull * pull
    return 0, 0, 1, push


def simulating_scene(trajectory: Trajectory, scenario: SceneScenario) -> dict[str, Any]:
    """Kernel, image and sliders of the run of a scene; raises `Recorded` where it cannot simulate in a browser."""
    try:
        starts = _Starts(trajectory, scenario)
        given, functions = starts.arguments({})
        _require_usual(trajectory, scenario)
    except Recorded:
        raise
    except (ValueError, ArithmeticError) as reason:
        raise Recorded(f"its scene does not begin it again: {str(reason).rstrip('.')}") from None
    try:
        kernel = web.module(simulated, given, functions)
    except KernelError as reason:
        raise Recorded(f"its kernel does not run in a browser ({reason})") from None
    known, own = starts.sliders(), kernel.image(*given)
    followed = _Following(starts, kernel, own).found(known)
    kept = [control for control in known if control.key == "t_end" or control.key in followed]
    places = {f"{_ARGUMENTS[int(name[0])]}{name[1:]}": place for name, place in kernel.places(*given).items()}
    return {
        "scene": True,
        "modules": {"march": {"z": packed(kernel.code), "room": kernel.room, "results": list(kernel.results)}},
        "image": packed(own),
        "places": {word: places[name] for name, word in _PLACES.items()} | _joint_errors(given[0].joints, places),
        "controls": [control.to_dict() for control in kept],
        "following": followed,
        "fixed": sorted({control.key for control in known} - {control.key for control in kept}),
        **_about_run(trajectory),
        "results": kernel.arguments,
        "book": {name: getattr(codes, name) for name in _BOOK} | _OWN | {"size": len(given[5].book.numbers)},
        "counts": {"PLASTIC": PLASTIC, "HELD": HELD},
        "most_steps": PAGE_STEPS,
        "limits": {**LIMITS, "records": PAGE_RECORDS},
        "radii": moving_radii(scenario.scene),
        "links": link_points(scenario.scene),
        "most_arrows": MOST_ARROWS,
        "dim": scenario.scene.dim,
    }  # fmt: skip


def _about_run(trajectory: Trajectory) -> dict[str, Any]:
    """Sizes and times of the run."""
    return {
        "sizes": [trajectory.q.shape[1], trajectory.u.shape[1], len(trajectory.contact_names)],
        "t0": float(trajectory.t[0]),
        "dt": trajectory.dt,
        "t_end": float(trajectory.t[0]) + trajectory.steps * trajectory.dt,
        "every": trajectory.every,
        "gap": np.where(np.isfinite(trajectory.gap[0]), trajectory.gap[0], 1e300).tolist(),
        "forced": int(trajectory.certificate.forced),
        "proof": [vars(line) for line in trajectory.certificate.with_all_lines().entries()],
        "creep": CREEP_TOLD,
    }


def _joint_errors(joints: Any, places: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Where the largest error of each joint stands: the first one, the way to the next, and how many there are."""
    if joints is None:
        return {}
    begin, _ = places["world/joints/link"]
    offset = joints.link.dtype.fields["error"][1]
    return {"joints": (begin + offset, joints.link.dtype.itemsize, len(joints.link))}


def _require_usual(trajectory: Trajectory, scenario: SceneScenario) -> None:
    """Raise `Recorded` unless the run is the one that its scenario does by itself, bit for bit."""
    if trajectory.stepper != "moreau-midpoint" or trajectory.attributes.get("law") != "newton":
        raise Recorded("its stepper or impact law is not the usual one, which alone runs in a browser")
    if not trajectory.complete:
        raise Recorded("it ended early")
    t0 = float(trajectory.t[0])
    t_end = t0 + trajectory.steps * trajectory.dt
    again = scenario.simulate(dt=trajectory.dt, t0=t0, t_end=t_end, every=trajectory.every, progress=False)
    if again.q.tobytes() != trajectory.q.tobytes() or again.u.tobytes() != trajectory.u.tobytes():
        raise Recorded("it has options that its scene does not have by itself")


class _Starts:
    """Arguments of the march at the start of the run, also for other values of the sliders."""

    def __init__(self, trajectory: Trajectory, scenario: SceneScenario) -> None:
        self.trajectory, self.scenario = trajectory, scenario
        if sum(body.column >= 0 for body in scenario.scene.bodies) > MOST_BODIES:
            raise Recorded(f"scenes of more than {MOST_BODIES} bodies do not simulate in a browser")
        if any(body.life != (-np.inf, np.inf) for body in scenario.scene.bodies):
            raise Recorded("bodies of it appear or vanish, which Python does")
        name = trajectory.system_name.replace(" ", "_")
        self.entry = name if name in entry_names() and self._is_entry(name) else None
        self.picture = self._picture(scenario)

    def _is_entry(self, name: str) -> bool:
        """Whether the scenario is the library's own."""
        own = library.get(name)
        if own.kind != "scene":
            return False
        try:
            given, ours = (self._arguments_of(one, self.trajectory.dt) for one in (self.scenario, own))
        except ValueError:
            return False
        return _bytes(given) == _bytes(ours)

    def sliders(self) -> list[Control]:
        """Sliders of the live page; of a scene that the library does not have, its laws, gravity and velocities."""
        trajectory, scenario = self.trajectory, self.scenario
        keywords: Mapping[str, Any] = {}
        units, words = {}, {}
        if self.entry is not None:
            keywords, units = library.keywords(self.entry), library.units(self.entry)
            words = library.meanings(self.entry)
        else:
            keywords, units = self._quantities(), scenario.scene.units
        found = controls(keywords, scenario, units, words)
        times = {"dt": trajectory.dt, "t_end": trajectory.steps * trajectory.dt}
        sliders = [control for control in found if control.section == PARAMETER and control.index < 0]
        return [control for control in sliders if not control.whole] + _times(found, times)

    def _quantities(self) -> dict[str, float]:
        """Values of what may vary in a scene of one's own: laws that all bodies share, and speeds of a few."""
        scene = self.scenario.scene
        found: dict[str, float] = {}
        for word in ("friction", "restitution"):
            values = {_plain(getattr(body.material, word)) for body in scene.bodies[1:]}
            if len(values) == 1 and (value := values.pop()) is not None:
                found[word] = value
        moving = [body for body in scene.bodies if body.kind == "moving"]
        for name, value in zip(scene.velocity_names, self.scenario.u0, strict=True):
            if len(moving) <= 2 or value != 0.0:
                found[name] = float(value)
        return dict(list(found.items())[:12])

    def arguments(self, values: Mapping[str, float]) -> tuple[tuple[Any, ...], dict[int, Any]]:
        """Arguments of the march for values of sliders, and the functions that it calls by numbers."""
        others = {key: value for key, value in values.items() if key != "dt"}
        scenario = self.scenario
        if others:
            made = self.scenario.with_values(others) if self.entry is None else library.get(self.entry, **others)
            scenario = made
            if self._picture(scenario) != self.picture:
                raise ValueError("its picture changes")
        return self._arguments_of(scenario, values.get("dt", self.trajectory.dt))

    def _arguments_of(self, scenario: SceneScenario, dt: float) -> tuple[tuple[Any, ...], dict[int, Any]]:
        t0 = float(self.trajectory.t[0])
        given = {name: value for name, value in scenario.options.items() if name != "every"}
        run = service("prepare a scene")(scenario.scene, dt, t0 + dt, t0=t0, **given)
        found = run.engine.arguments_elsewhere(run.state, ROWS)
        if found is None:
            raise Recorded("functions of Python drive it")
        world, *rest, records = found
        shapes, functions = numbered(world.shapes)
        shown = Shown(records, room_for(run.engine.contacts_room))
        return (world._replace(shapes=shapes), *rest, shown), functions

    def _picture(self, scenario: SceneScenario) -> str:
        """What the page draws of a scene, less the poses of its bodies."""
        scene, q = scenario.scene, self.trajectory.q[:1]
        shown = scene_picture(scene, q, self.trajectory.t[:1]) | {"links": link_points(scene)}
        return json.dumps(shown, sort_keys=True) + json.dumps(moving_radii(scene))


def _plain(law: Any) -> float | None:
    return float(law) if isinstance(law, int | float) else None


def _bytes(found: tuple[tuple[Any, ...], dict[int, Any]]) -> bytes:
    return b"".join(np.ascontiguousarray(part).tobytes() for part in web.parts(found[0]))


def _times(found: list[Control], own: Mapping[str, float]) -> list[Control]:
    """Sliders for dt and t_end."""
    return [control for control in found if control.key in own and control.section != PARAMETER]


class _Following:
    """Finds which numbers of the image follow a slider, and by which formula."""

    def __init__(self, starts: _Starts, kernel: web.WebKernel, own: bytes) -> None:
        self.starts, self.kernel = starts, kernel
        self.own = np.frombuffer(own, np.uint64)

    def found(self, known: list[Control]) -> dict[str, dict[str, Any]]:
        """Numbers of the image by slider: places, numbers of formulas and their constants."""
        found: dict[str, dict[str, Any]] = {}
        taken: set[int] = set()
        for control in known:
            parts = None if control.key == "t_end" else self._of(control)
            if parts is not None and taken.isdisjoint(parts["at"]):
                found[control.key] = parts
                taken.update(parts["at"])
        moved = {control.key: control for control in known if control.key in found}
        while found and not self._together([moved[key] for key in found], found):
            found.pop(next(iter(found)))
        return found

    def _image(self, values: Mapping[str, float]) -> np.ndarray | None:
        """Words of the image for values of sliders; None where a run cannot begin with them."""
        try:
            image = np.frombuffer(self.kernel.image(*self.starts.arguments(values)[0]), np.uint64)
        except (ValueError, ArithmeticError):
            return None
        return image if len(image) == len(self.own) else None

    def _of(self, control: Control) -> dict[str, Any] | None:
        p = np.array([control.value, *_spread(control)])
        images: list[np.ndarray] = [self.own]
        for value in p[1:].tolist():
            image = self._image({control.key: value})
            if image is None:
                return None
            images.append(image)
        words = np.array(images)
        at = np.flatnonzero((words != words[0]).any(axis=0))
        parts = [fitted(p, words[:, k].view(float)) for k in at]
        known = [part for part in parts if part is not None]
        if not parts or len(known) < len(parts):
            return None
        numbers, a, b = zip(*known, strict=True)
        return {"at": at.tolist(), "formula": list(numbers), "a": list(a), "b": list(b)}

    def _together(self, moved: list[Control], found: Mapping[str, dict[str, Any]]) -> bool:
        """Whether formulas of several sliders at once give the image that Python builds."""
        random = np.random.default_rng(30)
        for _ in range(TOGETHER):
            values = {control.key: float(random.choice(_spread(control))) for control in moved}
            image, ours = self._image(values), self.own.copy()
            for key, parts in found.items():
                for at, number, a, b in zip(*(parts[name] for name in ("at", "formula", "a", "b")), strict=True):
                    ours[at] = np.array(FORMULAS[number](values[key], a, b), float).view(np.uint64)
            if image is None or not np.array_equal(image, ours):
                return False
        return True


def _spread(control: Control) -> list[float]:
    """Values along a slider, its ends among them, as a person sets them: four digits."""
    part = np.linspace(0.0, 1.0, TRIED)
    low, high = control.low, control.high
    values = low * (high / low) ** part if control.log else low + part * (high - low)
    inside = [float(f"{x:.4g}") for x in values[1:-1]]
    return [float(low), *(x for x in inside if x != control.value), float(high)]


def fitted(p: Array, x: Array) -> tuple[int, float, float] | None:
    """Number and constants of the formula by which x follows p, with the same bits everywhere; None for no formula."""
    if not np.isfinite(x).all():
        return None
    i, j = 0 if p[0] != 0.0 else 1, len(p) - 1
    with np.errstate(all="ignore"):
        slope = _short((x[j] - x[i]) / (p[j] - p[i]))
        first = (x[i] / p[i], x[i] - p[i], x[i] + p[i], x[i] * p[i], x[i] / (p[i] * p[i]), slope)
        for number, (formula, exact) in enumerate(zip(FORMULAS, first, strict=True)):
            b = _short(x[i] - slope * p[i])
            for a in (float(exact), _short(exact)):
                if np.array_equal(_words(formula(p, a, b)), _words(x)):
                    return number, a, b
    return None


def _short(x: float) -> float:
    """A number as a person writes it, without the last digits of a division."""
    return float(f"{x:.13g}")


def _words(x: Any) -> np.ndarray:
    return np.ascontiguousarray(x, float).view(np.uint64)
