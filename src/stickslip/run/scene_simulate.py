"""`simulate_scene`: the run of a scene.  It checks the request, sets the engine up, and hands both to the driver."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from stickslip._version import __version__
from stickslip.checks import real_number, whole_number
from stickslip.debug import bar_wanted
from stickslip.events.event_driven import EventDriven
from stickslip.jit.cpu import COMPILER
from stickslip.jit.fingerprint import function_fingerprint
from stickslip.jit.sources import sources_hash
from stickslip.laws import ChatterjeeRuina, ImpactLaw, Newton, Poisson, StiffnessRatios, Stronge, Walton, law_from
from stickslip.laws.friction import FrictionCurve, FrictionLaw
from stickslip.laws.stiffness_ratios import WIDEST
from stickslip.mechanisms.steppers.adaptive import Adaptive
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.steppers.paoli_schatzman import PaoliSchatzman
from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle
from stickslip.mechanisms.system import CONTACT
from stickslip.request import Checks, Records, RunOptions, grouped, require_one_of
from stickslip.run.compiling import announced
from stickslip.run.controlled import with_control
from stickslip.run.driver import Run, drive
from stickslip.run.options import chosen_stepper, number_of_steps
from stickslip.run.scene_by_mechanism import simulate_by_mechanism
from stickslip.scenes.as_one import turn_as_one
from stickslip.scenes.blows import ALGEBRAIC, AT_ONCE, WALTON
from stickslip.scenes.by_stiffness import HERTZ, LINEAR
from stickslip.scenes.collision.pairs import refuse_unknown_pairs
from stickslip.scenes.driving import start_driven
from stickslip.scenes.engine import SceneEngine, SceneState, arrays_in, materials_of
from stickslip.scenes.friction import engine_class
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import Circle, Sphere
from stickslip.scenes.start import allow_joints, check_start, consistent_velocities, hold_at_first_contact, place
from stickslip.scenes.touching import ContactLog
from stickslip.trajectory import FORCES, MOTORS, Trajectory

RULES = ("predictive", "gs05")
OVERLAP = ("raise", "resolve", "keep")
PENETRATION_TOLERANCE = 1e-6
"""Deepest overlap of bodies at the start that is accepted [m], where `Checks` does not say."""


def simulate_scene(
    scene: Scene, dt: Any, t_end: Any, progress: bool | Callable[[int], None] | None, **options: Any
) -> Trajectory:
    """Run a scene; `options` are those of `prepare_run`, described at `Scene.simulate`."""
    method, control = chosen_stepper(options.get("stepper", "moreau-midpoint")), options.pop("control", None)
    if isinstance(method, Adaptive | EventDriven):
        options.pop("stepper", None)
        if control is not None:
            raise ValueError(f"control must be left out with stepper {method.name!r}, which chooses its steps.")
        return simulate_by_mechanism(scene, dt, t_end, method, progress, **options)
    with announced(scene.name, bar_wanted(progress)):
        run = prepare_run(scene, dt, t_end, **options)
    return drive(with_control(run, control), progress)


def prepare_run(
    scene: Scene,
    dt: Any,
    t_end: Any,
    *,
    stepper: Any = "moreau-midpoint",
    rule: Any = "predictive",
    cone: Any = "circular",
    law: Any = "newton",
    tol: Any = 1e-10,
    t0: Any = 0.0,
    threads: Any = 1,
    overlap: Any = "raise",
    q0: Any = None,
    u0: Any = None,
    reached: bool = False,
    records: Records | None = None,
    checks: Checks | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Check the arguments of `Scene.simulate` and set up the run.

    q0, u0 : another start than that of the bodies
    reached : q0 is where steps have led to; bodies overlap and joints are apart as far as steps leave them
    """
    kept, checked = grouped(records, checks, options, scene.simulate)
    _require_known(checked)
    start = real_number(t0, "t0")
    steps = number_of_steps(real_number(dt, "dt"), real_number(t_end, "t_end"), start)
    whole_number(threads, "threads")
    require_one_of("rule", rule, RULES)
    require_one_of("overlap", overlap, OVERLAP)
    tolerance = real_number(tol, "tol")
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tol must lie between 0 and 1, got {tolerance:g}.")
    method, theta, implicit = _theta(stepper)
    rule = _own_rule(scene, method, rule)
    if not any(body.kind == "moving" for body in scene.bodies):
        raise ValueError(f"scene {scene.name!r} must have a body that moves; use add_body.")
    _require_resistance(scene, rule, cone)
    refuse_unknown_pairs(scene)
    chosen, number = _law(scene, law, rule, cone)
    engine = engine_class(scene)(
        scene, float(dt), theta, implicit, rule == "predictive", tolerance, _edges(scene, cone),
        checked.on_failure == "continue", int(threads), number,
    )  # fmt: skip
    _choose(engine, method, overlap)
    depth = PENETRATION_TOLERANCE if checked.penetration_tol is None else checked.penetration_tol
    engine.log = ContactLog() if kept.contacts else None
    engine.t0, engine.overlap, engine.penetration_tol = start, overlap, real_number(depth, "penetration_tol")
    start_driven(engine, start)
    if q0 is not None or u0 is not None:
        place(engine, q0, u0, start, reached)
    check_start(engine, start, "keep" if reached else overlap, engine.penetration_tol)
    first_impacts = consistent_velocities(engine, start)
    q, u = engine.state()
    hold_at_first_contact(engine, start)
    turn_as_one(engine, start)
    allow_joints(engine, start)
    state, bodies, made_of = SceneState(engine, start), _fingerprint(engine), _made_of(engine)

    def identity() -> dict[str, Any]:
        made = {"made_of": made_of, "friction": _frictions(scene), "functions": _functions(scene)}
        return {"scene": scene.name, "bodies": bodies, **made} | _identity(
            engine, method.name, q, u, {"t0": start, "dt": state.dt, "every": int(kept.every)}
        )

    def notes() -> dict[str, str]:
        return {"law": "poisson-at-once" if number == AT_ONCE else chosen.title, "solver_options": f"tol={tolerance:g}"}

    return Run(
        SceneLabels.of(scene), engine, state, method, "auto", tolerance, steps, kept, q, u, first_impacts, identity,
        notes, checked.time_limit,
    )  # fmt: skip


def _identity(engine: Any, method: str, q: np.ndarray, u: np.ndarray, times: dict[str, Any]) -> dict[str, Any]:
    """Start, times and method of a run, by which a checkpoint is known to be its own."""
    chosen = {**engine.options._asdict(), "gravity": engine.options.gravity.tolist()}
    return {
        "q0": hashlib.sha256(q.tobytes()).hexdigest(),
        "u0": hashlib.sha256(u.tobytes()).hexdigest(),
        **times,
        "method": f"{method}, {chosen!r}",
        "sources": f"stickslip {__version__} {sources_hash('scenes')}, {COMPILER}",
    }


def _require_known(checks: Checks) -> None:
    """Raise ValueError for checks that only mechanisms have."""
    if checks.initialise:
        raise ValueError("initialise is for mechanisms; a scene makes its start agree with its joints anyway.")
    if checks.on_energy_gain == "raise":
        raise ValueError(
            "on_energy_gain of a scene must be 'warn' or 'ignore', got 'raise'; see max_energy_gain of its certificate."
        )


def _fingerprint(engine: SceneEngine) -> str:
    tables = (
        engine.bodies, engine.geoms, engine.materials, engine.shapes[:2], engine.joints,
        engine.springs, engine.ignore,
    )  # fmt: skip
    digest = hashlib.sha256()
    for name, array in arrays_in("", tables):
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


def _made_of(engine: SceneEngine) -> str:
    """Masses, shapes, materials and joints of the bodies, wherever they are; as a digest."""
    bodies, geoms = engine.bodies, engine.geoms
    own = (bodies.kind, bodies.mass, bodies.inertia, geoms.kind, geoms.body, geoms.local, geoms.extent, geoms.measure)
    joints: tuple[Any, ...] = ()
    if engine.joints is not None:
        link = engine.joints.link
        joints = (link.kind, link.a, link.b, link.frame_a, link.frame_b, link.law)
    digest = hashlib.sha256()
    for name, array in arrays_in("", (*own, geoms.material, engine.materials, engine.shapes[:2], *joints)):
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


def _frictions(scene: Scene) -> str:
    """The frictions of bodies and pairs as text that does not depend on the process; functions by their code."""
    digest = hashlib.sha256()
    for material in (*(body.material for body in scene.bodies), *scene.pair_laws.values()):
        law: Any = material.friction
        if isinstance(law, FrictionCurve) and law.by_function:
            law = function_fingerprint(law.curve)
        digest.update(repr((law, material.restitution)).encode())
    return digest.hexdigest()


def _functions(scene: Scene) -> list[str]:
    """Digests of forces, torques and motions that are functions, in their order."""
    called = [part for force in scene.forces for part in (force.force, force.torque) if callable(part)]
    called += [body.motion for body in scene.bodies if body.motion is not None]
    return [function_fingerprint(function) for function in called]


def _edges(scene: Scene, cone: Any) -> int:
    """Edges of the pyramid that `cone` asks for; 0 for the circular cone, which in the plane is a pyramid anyway."""
    if isinstance(cone, str) and cone == "circular":
        return 0
    if isinstance(cone, bool) or not isinstance(cone, int | np.integer) or cone < 3:
        raise ValueError(f"cone must be 'circular' or the number of edges of a pyramid, at least 3, got {cone!r}.")
    if scene.joints:
        raise ValueError("cone must be 'circular' in a scene with joints; pyramids are for contacts alone.")
    return int(cone) if scene.dim == 3 else 0


def _law(scene: Scene, value: Any, rule: str, cone: Any) -> tuple[ImpactLaw, int]:
    """The impact law of a run, and its number in `Options.law`."""
    if isinstance(value, str) and value == "poisson-at-once":
        return _law(scene, "poisson", rule, cone)[0], AT_ONCE
    law = law_from(value)
    known: dict[ImpactLaw, int] = {
        Newton(): 0, Stronge(): 1, Poisson(model="integrated"): 2, Poisson(): 3, Walton(): WALTON,
        ChatterjeeRuina(): ALGEBRAIC, StiffnessRatios(): LINEAR, StiffnessRatios(model="hertz"): HERTZ,
    }  # fmt: skip
    if law not in known:
        raise ValueError(
            "law of a scene must be 'newton', 'stronge', 'poisson', 'poisson-at-once', 'poisson-integrated', 'walton', "
            "'chatterjee-ruina', 'stiffness-ratios' or 'stiffness-ratios-hertz', whose coefficients are those of the "
            f"bodies, got {value!r}."
        )
    number = known[law]
    if number == 0:
        return law, 0
    if scene.joints and number == WALTON:
        raise ValueError("law 'walton' of a scene is for free balls, got joints: what joints hold is no ball.")
    if rule != "predictive" or cone != "circular":
        raise ValueError(
            f"law {law.title!r} of a scene needs rule='predictive', cone='circular' and a stepper of Moreau."
        )
    materials = [*(body.material for body in scene.bodies), *scene.pair_laws.values()]
    if any(isinstance(material.friction, FrictionLaw) for material in materials):
        raise ValueError(f"friction must be a number under the law {law.title!r}: curves over slip belong to Newton's.")
    if number in (LINEAR, HERTZ):
        _require_ratios(materials)
    if number == WALTON:
        _require_balls(scene)
    elif number != ALGEBRAIC and any(material.restitution_tangential for material in materials):
        raise ValueError(
            f"restitution_tangential must be 0 under the law {law.title!r}: it belongs to 'newton', 'walton' and "
            "'chatterjee-ruina'."
        )
    return law, number


def _require_ratios(materials: list[Any]) -> None:
    """Raise ValueError where one contact is so much stiffer than another that steps cannot follow both."""
    values = [m.stiffness for m in materials if m.stiffness is not None]
    values += [1.0] if sum(m.stiffness is None for m in materials) > 1 else []
    if max(values) > WIDEST * min(values):
        raise ValueError(
            f"stiffness of bodies must have ratios of up to {WIDEST:g} (1 where none is given), got {min(values):g} "
            f"and {max(values):g}; blows one after the other are those of law='chatterjee-ruina'."
        )


def _require_resistance(scene: Scene, rule: str, cone: Any) -> None:
    """Raise ValueError where contacts resist rolling or spinning beside what does not go with it."""
    materials = [*(body.material for body in scene.bodies), *scene.pair_laws.values()]
    if not any(material.resists for material in materials):
        return
    if rule != "predictive" or cone != "circular":
        raise ValueError("rolling and patch of a body need rule='predictive', cone='circular', a stepper of Moreau.")
    if any(isinstance(material.friction, FrictionLaw | tuple) for material in materials):
        raise ValueError("rolling and patch of a body need friction coefficients that are numbers in the whole scene.")
    if any(material.patch for material in materials) and any(m.restitution_tangential for m in materials):
        raise ValueError("patch of a body must be 0 in a scene with restitution_tangential.")


def _choose(engine: SceneEngine, method: Any, overlap: str) -> None:
    """Tell the kernel the scheme of a stepper with its own rule, and that what the user lets be is not pushed apart."""
    if isinstance(method, StewartTrinkle | PaoliSchatzman):
        engine.options = engine.options._replace(scheme=method.scheme)
    if overlap == "keep":
        engine.options = engine.options._replace(sink=0.0)


def _own_rule(scene: Scene, stepper: Any, rule: str) -> str:
    """The rule of a run: the name of a stepper that has its own; ValueError beside what such a stepper lacks."""
    if not isinstance(stepper, StewartTrinkle | PaoliSchatzman):
        return rule
    if rule != "predictive":
        raise ValueError(f"rule must be left out with stepper {stepper.name!r}, which has its own, got {rule!r}.")
    if isinstance(stepper, PaoliSchatzman) and any(material.strikes_at_once for material in materials_of(scene)):
        raise ValueError(
            f"stepper {stepper.name!r}, whose impacts take two steps, has no restitution_tangential, "
            "friction_impact or RestitutionCurve; leave them out, or take 'moreau-midpoint'."
        )
    return stepper.name


def _require_balls(scene: Scene) -> None:
    """Raise ValueError unless Walton's law fits: bodies that move are balls about their centres of mass."""
    for body in scene.bodies:
        if body.kind == "moving" and not (isinstance(body.shape, Circle | Sphere) and not np.any(body.centre)):
            raise ValueError(
                f"law 'walton' of a scene is for balls about their centres of mass, got {body.name!r}; use 'newton'."
            )


def _theta(value: Any) -> tuple[MoreauMidpoint | MoreauJean | StewartTrinkle | PaoliSchatzman, float, bool]:
    """A stepper that scenes have, its theta, and whether springs are implicit.

    Stewart and Trinkle evaluate contacts, springs and forces at q_A and move with u_E, [S00] (2.11), (2.12): theta = 1.
    So do Paoli and Schatzman, whose velocities are the differences u_E = (q_E - q_A) / dt.
    """
    stepper = chosen_stepper(value)
    if isinstance(stepper, MoreauMidpoint) and stepper.projection == 0.0:
        return stepper, 0.5, False
    if isinstance(stepper, MoreauJean):
        return stepper, float(stepper.theta), True
    if isinstance(stepper, StewartTrinkle) and stepper.projection == 0.0:
        return stepper, 1.0, False
    if isinstance(stepper, PaoliSchatzman):
        return stepper, 1.0, False
    raise ValueError(
        "stepper of a scene must be 'moreau-midpoint', 'moreau-jean' (MoreauJean(theta)), 'stewart-trinkle' or "
        f"'paoli-schatzman', without projection, got {value!r}; simulate alone takes 'adaptive' and 'event-driven'."
    )


@dataclass(frozen=True)
class SceneLabels:
    """Names and units of a scene for trajectory and file; one contact channel per body that can move."""

    name: str
    contact_kinds: tuple[int, ...]
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    contact_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    units: dict[str, str]
    forced: int  # what does work beside contacts and gravity, see `Certificate`

    @classmethod
    def of(cls, scene: Scene) -> SceneLabels:
        return cls(
            scene.name,
            (CONTACT,) * len(scene.contact_names),
            scene.coordinate_names,
            scene.velocity_names,
            scene.contact_names,
            scene.parameter_names,
            scene.units,
            _forced(scene),
        )


def _forced(scene: Scene) -> int:
    """Sources of work beside contacts, gravity and springs: see `Certificate.forced`.

    The work of a torque that is given is booked with the forces, or with the motors where its joint has more rows.
    """
    moved = [body for body in scene.bodies if body.kind != "moving"]  # a static one may carry a belt
    driven = any(body.motion is not None or np.any(body.velocity) or np.any(body.angular_velocity) for body in moved)
    come_and_go = any(np.isfinite(body.life).any() for body in scene.bodies)
    damped = any(spring.damping > 0.0 for spring in scene.springs)
    turned = any(joint.torque != 0.0 for joint in scene.joints)
    motors = turned or any(joint.motor.effort > 0.0 for joint in scene.joints)
    return FORCES * bool(scene.forces or driven or come_and_go or damped or turned) + MOTORS * motors
