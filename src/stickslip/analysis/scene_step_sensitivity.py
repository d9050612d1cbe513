"""Derivatives of the time steps of a scene: the run, the quantities with their neighbours, and what is refused.

What a quantity changes is taken from engines of scenes beside the scene, with values near to its own.  How derivatives
are carried from step to step is in `followed_steps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stickslip.analysis.followed_steps import AWAY, PLACES, Column, Followed
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.sensitivity import known_names
from stickslip.checks import Array, real_number, whole_number
from stickslip.laws.friction import FrictionLaw
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle
from stickslip.run.driver import drive
from stickslip.run.options import chosen_stepper
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenario import SceneScenario
from stickslip.scenes import layout
from stickslip.scenes.engine import SceneEngine, materials_of
from stickslip.scenes.fusing import gather
from stickslip.scenes.held_step import turn_between
from stickslip.scenes.tables import body_table
from stickslip.scenes.varied import free_names, value_in
from stickslip.trajectory import Trajectory

STEPPERS = (MoreauMidpoint, MoreauJean, StewartTrinkle)
_OPTIONS = ("rule", "tol")  # of a scenario that its neighbours take


def scene_steps(
    scenario: SceneScenario, wrt: Sequence[str] | str, stepper: Any, dt: float | None, t_end: float | None, every: int
) -> tuple[tuple[str, ...], Followed, Trajectory]:
    """Run a scene with derivatives along it; the quantities, what was kept, and the run."""
    scene, own = scenario.scene, chosen_stepper(stepper)
    length = scenario.dt if dt is None else real_number(dt, "dt")
    end = scenario.t_end if t_end is None else real_number(t_end, "t_end")
    count = whole_number(every, "every")
    names = known_names(wrt, free_names(scene), "quantity")
    _require_known(scenario, own)
    options = {name: value for name, value in scenario.options.items() if name in _OPTIONS}
    run = prepare_run(scene, length, end, stepper=own, penetration_tol=1.0, on_energy_gain="ignore", **options)
    engine: Any = run.engine
    q, u = engine.state()
    if np.abs(q - run.q0).max(initial=0.0) > 1e-12 or np.abs(u - run.u0).max(initial=0.0) > 1e-12:
        raise ValueError("step_sensitivity: the run moves its start onto contacts; begin half a step away from them.")

    def neighbour(values: Mapping[str, float]) -> SceneEngine:
        other = scenario.with_values(values).scene if values else scene
        near: Any = prepare_run(other, length, end, stepper=own, overlap="keep", **options).engine
        return near

    twin = neighbour({})
    n, members = len(engine.bodies.kind), 0 if twin.fused_table is None else len(twin.fused_table.body)
    columns, X, carried = [], np.zeros((n, 12, len(names))), np.zeros((members, 6, len(names)))
    for j, name in enumerate(names):
        column, X[:, :, j], carried[:, :, j] = _column(scenario, name, neighbour, twin)
        columns.append(column)
    followed = Followed(twin, tuple(columns), X, carried, count)
    followed.begin(engine, 0.0)
    engine.log = followed
    trajectory = not_interrupted(drive(run, False))
    if not trajectory.complete:
        raise ArithmeticError(f"{own.name} with dt = {length:g} s {trajectory.status}")
    if followed.kept[-1][0] != trajectory.t[-1]:
        followed.keep(engine, float(trajectory.t[-1]))
    return names, followed, trajectory


def _column(scenario: SceneScenario, name: str, neighbour: Any, twin: SceneEngine) -> tuple[Column, Array, Array]:
    """A quantity with engines beside it, the derivative of the start by it (n, 12), and that of members (c, 6)."""
    value = value_in(scenario.scene, name)
    away = AWAY * (abs(value) or 1.0)
    start, inside = start_of(twin)
    engines, X, carried = [], np.zeros((len(start), 12)), np.zeros((len(inside), 6))
    for place, weight in PLACES:
        try:
            engine = neighbour({name: value + place * away})
        except ValueError as problem:
            raise ValueError(
                f"wrt: {name} = {value:g} must have neighbours on both sides, and at {value + place * away:.9g} "
                f"there is none ({problem})"
            ) from None
        if len(engine.bodies.kind) != len(start):
            raise ValueError(
                f"wrt: {name} must not part bodies that fixed joints hold as one: no run beside this one does."
            )
        engines.append(engine)
        there, within = start_of(engine)
        turn = turn_between(there[:, 3:7], start[:, 3:7])
        off = np.concatenate([there[:, :3] - start[:, :3], turn, there[:, 7:] - start[:, 7:]], axis=1)
        X += weight / away * off
        shift = np.concatenate([within[:, :3] - inside[:, :3], turn_between(within[:, 3:], inside[:, 3:])], axis=1)
        carried += weight / away * shift
    X[twin.bodies.kind == layout.CARRIED] = 0.0
    scene = scenario.scene
    of_start = name in scene.coordinate_names or name in scene.velocity_names
    tied = scene.springs or scene.joints  # to points of the world at the start
    alone = of_start and not tied
    return Column(name, None if alone else tuple(engines), away), X, carried


def start_of(engine: SceneEngine) -> tuple[Array, Array]:
    """Poses and velocities (n, 13) of the start, which joints agree with, and poses of members in composites."""
    table = body_table(engine.scene, engine.fused)
    gather(engine, table)
    inside = np.zeros((0, 7)) if engine.fused_table is None else engine.fused_table.local
    return np.concatenate([table.pose, engine.bodies.vel], axis=1), inside


def _require_known(scenario: SceneScenario, own: Any) -> None:
    """Refuse steppers and scenes whose steps have no equations here."""
    if type(own) not in STEPPERS:
        known = ", ".join(kind.name for kind in STEPPERS)
        raise ValueError(f"stepper must be one of {known} for step_sensitivity, got {getattr(own, 'name', own)!r}.")
    scene, surfaces = scenario.scene, list(materials_of(scenario.scene))
    for found, word in (
        (any(isinstance(surface.friction, FrictionLaw) for surface in surfaces), "friction that depends on slip"),
        (any(surface.resists for surface in surfaces), "resistance to rolling or spinning"),
        (scenario.options.get("cone", "circular") != "circular", "pyramids in place of the friction cone"),
        (scenario.options.get("law", "newton") != "newton", "impact laws other than Newton's"),
    ):
        if found:
            raise ValueError(
                f"step_sensitivity knows no derivative of steps with {word}, which scene {scene.name!r} has."
            )
