"""Services of an object that need a room above its own: a trajectory saves itself, a scenario runs itself.

Imports point down the layers of the architecture.  The few calls that go up are listed here, and nowhere else: an
object asks for a service by its name, and the module behind it is imported then.  What is done in one way with a
mechanism and in another with a scene has two names here, with the `kind` of the scenario in them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

SERVICES = {
    "simulate a mechanism": "stickslip.run.simulate:simulate",
    "simulate a scene": "stickslip.run.scene_simulate:simulate_scene",
    "take a scene as a mechanism": "stickslip.run.scene_as_mechanism:judged",
    "see a mechanism as a scene": "stickslip.run.scene_as_mechanism:seen_as_scene",
    "prepare a mechanism": "stickslip.run.simulate:prepare_steps",
    "prepare a scene": "stickslip.run.scene_simulate:prepare_run",
    "simulate a circuit": "stickslip.run.circuit_simulate:simulate_circuit",
    "plot a circuit": "stickslip.figures.circuit:plot",
    "save a circuit run": "stickslip.io.circuit_files:save",
    "circuit run as a dataset": "stickslip.io.circuit_files:to_dataset",
    "plot a mechanism": "stickslip.figures.trajectory:plot",
    "plot a scene": "stickslip.figures.scene:plot",
    "show a mechanism moving": "stickslip.page.payload:moving_mechanism",
    "show a scene moving": "stickslip.page.space:moving_scene",
    "glance at a mechanism": "stickslip.page.glances:of_mechanism",
    "glance at a scene": "stickslip.page.glances:of_scene",
    "grab a body of a mechanism": "stickslip.page.grabbing:of_mechanism",
    "grab a body of a scene": "stickslip.page.grabbing:of_scene",
    "draw a scene": "stickslip.drawing.scene:scene_drawing",
    "save a trajectory": "stickslip.io.stream:save",
    "trajectory as a dataset": "stickslip.io.trajectory_layout:to_dataset",
    "draw a limit cycle": "stickslip.figures.limit_cycle:draw",
    "plot a fit": "stickslip.figures.fit:plot",
    "film a run": "stickslip.figures.animation:animate",
    "show a run": "stickslip.page.showing:show",
    "scenario of a run": "stickslip.page.showing:scenario_for",
    "save a figure": "stickslip.figures.style:save",
}
"""Name of a service -> module and function."""


def service(name: str) -> Callable[..., Any]:
    """The function behind the name of a service."""
    module, function = SERVICES[name].split(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
