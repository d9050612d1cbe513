"""A scene with other surfaces and masses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stickslip.checks import unknown_name
from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene

_SURFACE = ("friction", "restitution", "restitution_tangential")


def free_names(scene: Scene) -> tuple[str, ...]:
    """Names of what may vary: surfaces of all bodies together or of one, masses, and the start of every body."""
    bodies = [body for body in scene.bodies[1:]]
    surfaces = tuple(f"{body.name}.{word}" for body in bodies for word in _SURFACE)
    masses = tuple(f"{body.name}.mass" for body in bodies if body.kind == "moving")
    return (*_SURFACE, *surfaces, *masses, *scene.coordinate_names, *scene.velocity_names)


def varied(scene: Scene, values: Mapping[str, float]) -> tuple[Scene, dict[str, float]]:
    """A copy of a scene with some surfaces and masses changed, and the values that are left: those of its start.

    A mass takes the inertia along: the body keeps its shape and becomes denser.
    """
    other, starts = scene.copy(), {}
    for name, value in values.items():
        label, _, word = name.rpartition(".")
        if word in _SURFACE:
            touched = [body for body in other.bodies[1:] if label in ("", body.name)]
            for body in touched:
                other.bodies[body.number] = _with_surface(body, word, value)
        elif word == "mass":
            touched = [body for body in other.bodies if body.name == label and body.kind == "moving"]
            if touched and not value > 0.0:
                raise ValueError(f"{name} must be positive, got {value:g}.")
            for body in touched:
                inertia = body.inertia * (value / body.mass)
                other.bodies[body.number] = replace(body, mass=value, inertia=inertia)
        else:
            starts[name] = value
            continue
        if not touched:
            raise ValueError(unknown_name("quantity", name, free_names(scene)))
    return other, starts


def _with_surface(body: Body, word: str, value: float) -> Body:
    """The body with one coefficient of its surface changed."""
    if value < 0.0 or (word != "friction" and value > 1.0):
        raise ValueError(f"{body.name}.{word} is out of range, got {value:g}.")
    changed: dict[str, Any] = {word: value}
    return replace(body, material=replace(body.material, **changed))
