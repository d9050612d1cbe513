"""A checked request for an ensemble of scenes: all that a core or a worker on another machine needs to run members."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.analysis.sections import DriveSection, PhaseSection, Section, watched
from stickslip.checks import real_number
from stickslip.ensembles.observables import bytes_per_member, observables_of
from stickslip.ensembles.plan import Plan, plan_of
from stickslip.ensembles.request import points_of, skipped_steps, watching_of
from stickslip.ensembles.scene_watch import Asked
from stickslip.jit.sources import sources_hash
from stickslip.laws import Newton, law_title
from stickslip.run.options import number_of_steps
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenario import SceneScenario
from stickslip.scenes.scene import Scene
from stickslip.scenes.start import Overlap

OPTIONS = ("stepper", "rule", "cone", "law", "tol", "overlap", "penetration_tol", "on_failure")
"""Options of `Scene.simulate` that the members of an ensemble take."""
_STEP_COST = 200  # of a body, in steps of a mechanism


@dataclass(frozen=True, eq=False)
class SceneRequest:
    """An ensemble of scenes to compute: the scene, its members, step, method and observables.

    Attributes
    ----------
    scenario : the scene, with the values that members share where they do not vary.
    plan : what varies.
    observe, section, travel, points, skip : what is watched; from step `skip` on.
    dt, steps : step size [s] and number of steps.
    options : of `Scene.simulate`, those of `OPTIONS` that are not left to it.
    """

    scenario: SceneScenario
    plan: Plan
    observe: tuple[str, ...]
    section: Section | None
    travel: int
    points: int
    skip: int
    dt: float
    steps: int
    options: Mapping[str, Any]

    @property
    def system(self) -> Scene:
        """The scene, which names coordinates, velocities and contacts as a system does."""
        return self.scenario.scene

    @property
    def t_end(self) -> float:
        return self.steps * self.dt

    @property
    def step_cost(self) -> int:
        """Cost of a step of a scene, in steps of a mechanism."""
        return _STEP_COST * max(1, len(self.system.contact_names))

    @property
    def units(self) -> dict[str, str]:
        return dict(self.scenario.units)

    @property
    def asked(self) -> Asked:
        """Section, travel and period that the members watch."""
        kind, place, level = watched(self.system, self.section)  # type: ignore[arg-type]  # it has the names
        period = float(self.section.period) if isinstance(self.section, PhaseSection) else 0.0
        return Asked(kind, place, level, period, self.travel, self.points, self.skip, self.dt, self.system.dim)

    @property
    def bytes_per_member(self) -> int:
        return bytes_per_member(self.observe, self.system, self.points)

    @property
    def working_bytes(self) -> int:
        """Bytes that a member takes in its chunk; its tables are gone when it is done."""
        return 2 * self.bytes_per_member + 1000

    def describe(self) -> dict[str, Any]:
        """Words and numbers for the file."""
        scene = self.system
        start = dict(
            zip(
                (*scene.coordinate_names, *scene.velocity_names),
                (*self.scenario.q0.tolist(), *self.scenario.u0.tolist()),
                strict=True,
            )
        )
        return {
            "system": scene.name,
            "stepper": str(getattr(self.options["stepper"], "name", self.options["stepper"])),
            "solver": "auto",
            "law": law_title(self.options["law"]),
            "tolerance": float(self.options["tol"]),
            "dt": self.dt,
            "steps": self.steps,
            "t_end": self.t_end,
            "skip": self.skip * self.dt,
            "section": "" if self.section is None else self.section.text,
            "travel": scene.coordinate_names[self.travel] if self.travel >= 0 else "",
            "observe": ",".join(self.observe),
            "units": json.dumps(self.units),
            "parameters": json.dumps(dict(zip(scene.parameter_names, scene.gravity.tolist(), strict=False))),
            "start": json.dumps(start),
        }

    def fingerprint(self, kind: str) -> str:
        """Hash of all that the result depends on."""
        digest = hashlib.sha256()
        run = prepare_run(self.system, self.dt, self.t_end, **{**self.options, "overlap": "keep"})
        head: list[Any] = [__version__, sources_hash(), kind, run.identity(), repr(sorted(self.options.items()))]
        head += [self.points, repr(self.plan.axes), self.describe()]
        digest.update(json.dumps(head, sort_keys=True).encode())
        for name, (axis, values) in self.plan.values.items():
            digest.update(f"{name}\0{axis}\0".encode() + np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:32]


def prepare_scenes(
    scenario: SceneScenario,
    vary: Any,
    observe: Any,
    *,
    dt: Any = None,
    t_end: Any = None,
    section: Any = None,
    travel: Any = None,
    points: Any = None,
    skip: Any = 0.0,
    solver: Any = "auto",
    params: Any = None,
    samples: Any = None,
    seed: Any = 0,
    paired: bool = False,
    **options: Any,
) -> SceneRequest:
    """Check everything that can be checked before a member runs; `options`: those of `OPTIONS`."""
    if solver != "auto":
        raise ValueError(f"solver of a scene must be 'auto', got {solver!r}.")
    if params:
        raise ValueError("params are for mechanisms; vary or set quantities of a scene by name, such as cube.mass.")
    step = real_number(scenario.dt if dt is None else dt, "dt")
    steps = number_of_steps(step, real_number(scenario.t_end if t_end is None else t_end, "t_end"), 0.0)
    wanted = observables_of(observe)
    plan = plan_of(scenario, vary, samples, seed, paired)
    _require_plain_names(plan)
    cut, way = watching_of(scenario.system, wanted, section, travel)
    if isinstance(cut, DriveSection):
        raise ValueError(f"section of a scene must not be {cut.text!r}: it has no parameter with a period; use every:.")
    given = {name: value for name, value in options.items() if value is not None}
    defaults = {"stepper": "moreau-midpoint", "law": Newton(), "tol": 1e-10, "overlap": "raise"}
    chosen = {name: value for name, value in {**defaults, **scenario.options, **given}.items() if name in OPTIONS}
    request = SceneRequest(
        scenario, plan, wanted, cut, way, points_of(wanted, points), skipped_steps(skip, step, steps), step, steps,
        chosen,
    )  # fmt: skip
    _check_extremes(request)
    return request


def _require_plain_names(plan: Plan) -> None:
    """Raise where a name cannot be that of an axis in a file."""
    for name in plan.values:
        if "/" in name or "," in name:
            raise ValueError(f"vary: {name!r} must be without slash and comma to name an axis; rename the body.")


def _check_extremes(request: SceneRequest) -> None:
    """Raise where the first member, or a value at the end of an axis, makes no scene that can run.

    Bodies that overlap are a matter of single members, unless nothing of places and sizes varies.
    """
    first = {name: float(values[0]) for name, values in request.plan.members(0, 1).items()}
    for changed in [{}, *request.plan.extremes()]:
        scene = request.scenario.with_values({**first, **changed}).scene
        try:
            prepare_run(scene, request.dt, request.t_end, **request.options)
        except Overlap:
            if all(_leaves_places(name, request.system) for name in request.plan.values):
                raise


def _leaves_places(name: str, scene: Scene) -> bool:
    """Whether a quantity has nothing to say in where bodies and their surfaces are at the start."""
    word = name.rpartition(".")[2]
    surfaces = ("friction", "restitution", "restitution_tangential", "friction_impact", "patch", "rolling", "stiffness")
    return name in (*scene.velocity_names, *scene.parameter_names) or word in (*surfaces, "mass", "density")
