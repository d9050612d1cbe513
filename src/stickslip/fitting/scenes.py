"""A scene with other materials, masses and starts: what a fit may vary in a scene."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stickslip.checks import unknown_name
from stickslip.scenario import Scenario, SceneScenario
from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene

_SURFACE = ("friction", "restitution", "restitution_tangential")


def free_names(scene: Scene) -> tuple[str, ...]:
    """Names of what may vary: surfaces of all bodies together or of one, masses, and the start of every body."""
    bodies = [body for body in scene.bodies[1:]]
    surfaces = tuple(f"{body.name}.{word}" for body in bodies for word in _SURFACE)
    masses = tuple(f"{body.name}.mass" for body in bodies if body.kind == "moving")
    return (*_SURFACE, *surfaces, *masses, *scene.coordinate_names, *scene.velocity_names)


def varied(scenario: SceneScenario, values: Mapping[str, float]) -> Scenario:
    """The scenario of a scene with some values changed.

    A mass takes the inertia along: the body keeps its shape and becomes denser.
    """
    scene = scenario.scene.copy()
    starts = {}
    for name, value in values.items():
        label, _, word = name.rpartition(".")
        if word in _SURFACE:
            for body in scene.bodies[1:]:
                if label in ("", body.name):
                    scene.bodies[body.number] = _with_surface(scene.bodies[body.number], word, value)
        elif word == "mass":
            heavy = next((b for b in scene.bodies if b.name == label and b.kind == "moving"), None)
            if heavy is None:
                raise ValueError(unknown_name("quantity", name, free_names(scene)))
            if not value > 0.0:
                raise ValueError(f"{name} must be positive, got {value:g}.")
            now = scene.bodies[heavy.number]
            scene.bodies[heavy.number] = replace(now, mass=value, inertia=now.inertia * (value / now.mass))
        else:
            starts[name] = value
    fresh = SceneScenario(scene, scenario.dt, scenario.t_end, scenario.title, scenario.source, scenario.options)
    return fresh.starting(starts) if starts else fresh


def _with_surface(body: Body, word: str, value: float) -> Body:
    """The body with one coefficient of its surface changed."""
    if value < 0.0 or (word != "friction" and value > 1.0):
        raise ValueError(f"{body.name}.{word} is out of range, got {value:g}.")
    changed = {word: value}
    return replace(body, material=replace(body.material, **changed))
