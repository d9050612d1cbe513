"""Runs of a scene by steppers that mechanisms have: the adaptive rule, and the one that goes from event to event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stickslip.events.event_driven import EventDriven
from stickslip.mechanisms.steppers.adaptive import Adaptive
from stickslip.request import Checks, Records, grouped
from stickslip.run.scene_as_mechanism import as_mechanism, judged, seen_as_scene
from stickslip.run.simulate import simulate
from stickslip.scenes.scene import Scene
from stickslip.trajectory import Trajectory

PLAIN = {"rule": "predictive", "cone": "circular", "overlap": "raise"}
"""Options of scenes that these runs have not, and the values that say nothing."""


def simulate_by_mechanism(
    scene: Scene, dt: Any, t_end: Any, method: Adaptive | EventDriven, progress: bool | Callable[[int], None] | None,
    *, law: Any = "newton", t0: Any = 0.0, tol: Any = None, threads: Any = 1, records: Records | None = None,
    checks: Checks | None = None, **options: Any,
) -> Trajectory:  # fmt: skip
    """Run the mechanism that `as_mechanism` makes of a scene; the records are those of the scene's bodies.

    Columns of contacts are those of the mechanism, one for each point that may touch.  tol and threads belong to the
    steps of scenes: these runs have a tolerance of their own, in the stepper.
    """
    for key, plain in PLAIN.items():
        if options.pop(key, plain) != plain:
            raise ValueError(f"{key} of a scene by {method.name!r} must be {plain!r}: the scene runs as a mechanism.")
    kept, checked = grouped(records, checks, options, scene.simulate)
    if kept.out is not None or kept.contacts:
        raise ValueError(
            f"a scene by {method.name!r} has no out= and no contacts=True; save() the run, and see run.events()."
        )
    moving = judged(scene) if isinstance(method, EventDriven) else as_mechanism(scene)
    run = simulate(
        moving.system, moving.q0, moving.u0, dt=dt, t_end=t_end, stepper=method, law=law, t0=t0, progress=progress,
        records=kept, checks=checked,
    )  # fmt: skip
    q, u = seen_as_scene(scene, run.q, run.u)
    return replace(
        run, q=q, u=u, coordinate_names=scene.coordinate_names, velocity_names=scene.velocity_names,
        system_name=scene.name, units={**run.units, **scene.units},
    )  # fmt: skip
