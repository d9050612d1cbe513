"""`simulate`: the run of a mechanism.  It checks the request, chooses the engine, and hands both to the driver."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Unpack

import numpy as np

from stickslip._version import __version__
from stickslip.checks import Array, real_number, refuse_unknown_options
from stickslip.contact.planar import PlanarSolver, solver_from
from stickslip.control import ControlLaw
from stickslip.engine import Memory
from stickslip.events.event_driven import EventDriven, EventEngine
from stickslip.jit.cpu import COMPILER
from stickslip.jit.sources import sources_hash
from stickslip.laws import ImpactLaw, Newton, law_from
from stickslip.laws.compiled import has_kernel
from stickslip.mechanisms.engines import Compiled, MechanismEngine, Reference
from stickslip.mechanisms.generate import WHAT_HELPS, NotKernels
from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE, check_penetration, penetration_tolerance
from stickslip.mechanisms.steppers.adaptive import Adaptive, AdaptiveEngine
from stickslip.mechanisms.steppers.moreau_midpoint import consistent_velocities, start_on_constraints
from stickslip.mechanisms.steppers.sliding import sticking_at_start
from stickslip.mechanisms.steppers.stepper import Stepper
from stickslip.mechanisms.system import System, require_system
from stickslip.mechanisms.tangents import require_for_tangents
from stickslip.request import Checks, Records, RunOptions, grouped, require_one_of
from stickslip.run.controlled import with_control
from stickslip.run.driver import Run, drive
from stickslip.run.gain import report_gain
from stickslip.run.options import Integrator, chosen_stepper, number_of_steps
from stickslip.trajectory import Trajectory

ENGINES = ("auto", "compiled", "reference")
_START = "q0 (`start` of a coordinate in a model file)"


def simulate(
    system: System,
    q0: Any,
    u0: Any,
    *,
    dt: float,
    t_end: float,
    stepper: str | Integrator = "moreau-midpoint",
    solver: str | PlanarSolver = "auto",
    law: str | ImpactLaw | None = None,
    params: Mapping[Any, float] | None = None,
    t0: float = 0.0,
    engine: str = "auto",
    control: ControlLaw | None = None,
    progress: bool | Callable[[int], None] | None = None,
    records: Records | None = None,
    checks: Checks | None = None,
    **options: Unpack[RunOptions],
) -> Trajectory:
    """Compute the motion of a system from (q0, u0) and return it with its certificate.

    Parameters
    ----------
    system : what moves; see `LagrangianSystem`.
    q0, u0 : initial coordinates and velocities, shape (f,).
    dt, t_end : step size and end time [s]; the number of steps is (t_end - t0) / dt, rounded.  For "event-driven" and
        "adaptive", which choose their steps, dt is the spacing of the records.
    stepper : "moreau-midpoint", "moreau-jean", "paoli-schatzman", "stewart-trinkle", "adaptive", "event-driven" or a
        stepper object such as `MoreauJean(theta=1)`.
    solver : "auto", "lemke", "gauss-seidel", "enumerate", "newton", "augmented-lagrangian", "alternating" or a
        solver object.
    law : impact law, an object or "newton", "poisson", "stronge", "walton" with the contacts' own coefficients; None is
        Newton's.  All of them are compiled; a law of your own class runs on the reference engine, and the run warns of
        it.  `Stronge` and `Walton` know one contact and stop where two are closed at once.
    params : parameter values that differ from the system's own, by name.
    engine : "compiled", "reference" (plain NumPy), or "auto": compiled where stepper and solver have a kernel; where
        they have none, the run warns that it is on the reference engine.
    control : a `ControlLaw`, which sets parameters at a rate of its own.
    progress : show a progress bar on stderr (None: on a terminal or in a notebook, after two seconds);
        or a function of the number of steps done, called some times a second, which may raise KeyboardInterrupt to end
        the run as Ctrl-C does.
    records, checks : `Records` and `Checks`, where their fields are described; the fields are keywords of this call as
        well: every, out, overwrite, resume; penetration_tol, on_failure, time_limit, on_energy_gain,
        initialise.

    Ctrl-C, a failed step or a state that is no longer finite end the run; the trajectory so far is returned with
    `complete` False and `status` saying where and why.  Bad input raises ValueError before anything is computed.
    """
    kept, checked = grouped(records, checks, options, simulate)
    require_system(system)
    run = prepare(system, q0, u0, dt, t_end, stepper, solver, law, params, t0, engine, kept, checked)
    trajectory = drive(with_control(run, control), progress)
    if checked.on_energy_gain != "ignore":
        report_gain(run, trajectory, checked.on_energy_gain)
    return trajectory


def prepare(
    system: System, q0: Any, u0: Any, dt: Any, t_end: Any, stepper: Any, solver: Any, law: Any, params: Any, t0: Any,
    engine: Any, records: Records, checks: Checks,
) -> Run:  # fmt: skip
    """Check the arguments of `simulate` and set up the run."""
    start = real_number(t0, "t0")
    steps = number_of_steps(real_number(dt, "dt"), real_number(t_end, "t_end"), start)
    require_one_of("engine", engine, ENGINES)
    method, by = chosen_stepper(stepper), solver_from(solver)
    q, u, p = system.check(q0, u0, params, start)
    if isinstance(method, Stepper):
        method.check(system, p)
        if method.warning:
            warnings.warn(f"stepper {method.name!r}: {method.warning}", RuntimeWarning, stacklevel=3)
    if method.name == "adaptive" and any(system.gated):
        raise ValueError(
            f"stepper 'adaptive' cannot run system {system.name!r}: its trial steps do not know which contacts were "
            f"loaded, and contact {system.contact_names[system.gated.index(True)]!r} has closes_when; take "
            "'moreau-midpoint' or 'event-driven'."
        )
    depth = PENETRATION_TOLERANCE if checks.penetration_tol is None else checks.penetration_tol
    tolerance = penetration_tolerance(depth)
    check_penetration(system, system.start_gap(q, start, p), tolerance, _START, "starts")
    if isinstance(method, EventDriven):
        q = method.onto_contacts(system, q, start, p)
    elif method.level == "position":
        # on position level one step would push a penetration out again, with a velocity of its depth over dt
        q = EventDriven(gap_tol=1e-15).onto_contacts(system, q, start, p)
    q, u, first_impacts = start_on_constraints(system, start, q, u, p)
    if checks.initialise:
        u, more = consistent_velocities(system, start, q, u, by, p)
        first_impacts = np.concatenate([first_impacts, more])
    impact_law, go_on = law_from(law), checks.on_failure == "continue"
    require_for_tangents(system, by, impact_law)
    memory = Memory.start(q, u, p, start, system.n_contacts, float(dt))
    memory.carried[:, 2] = sticking_at_start(system, q, u, start, p, tolerance)
    special, values = _checked_law(impact_law, system, p), p.copy()  # a control law changes p
    chosen = _engine(system, method, by, engine, go_on, special, start + steps * float(dt), steps)

    def identity() -> dict[str, Any]:
        return {
            **({"t_end": start + steps * memory.dt} if chosen.chooses_steps else {}),  # some steps are shares of it
            "system": system.name,
            "equations": hashlib.sha256(system.source().encode()).hexdigest(),
            "parameters": values.tolist(),
            "q0": q.tolist(),
            "u0": u.tolist(),
            "t0": start,
            "dt": memory.dt,
            "every": int(records.every),
            "method": f"{method!r}, {by!r}, {impact_law!r}, {chosen.name}",
            "on_failure": checks.on_failure,
            "sources": f"stickslip {__version__} {sources_hash()}, {COMPILER}",
        }

    def notes() -> dict[str, str]:
        return _notes(system, values, method, by, impact_law)

    return Run(
        system, chosen, memory, method, by.name, float(by.tol), steps, records, q, u, first_impacts, identity, notes,
        checks.time_limit,
    )  # fmt: skip


def prepare_steps(
    system: System, q: Any, u: Any, dt: float, t: float, params: Mapping[str, float], options: dict[str, Any]
) -> Run:
    """A run from (q, u) at t [s] that is to be stepped by hand; `options` as `simulate` takes them.

    `reached` among them: steps have led to q, with contacts as deep as steps leave them.
    """
    records, checks = options.pop("records"), options.pop("checks")
    if options.pop("reached", False):
        checks = replace(checks, penetration_tol=_depth(system, q, u, t, params, checks))
    asked = {"stepper": "moreau-midpoint", "solver": "auto", "law": None, "engine": "auto"}
    refuse_unknown_options("Simulator", options, asked)
    asked |= options
    stepper = chosen_stepper(asked["stepper"])
    if not isinstance(stepper, Stepper):
        raise ValueError(
            f"stepper of a Simulator must have steps of one length, got {stepper.name!r}, which divides the time of a "
            "whole run; use simulate."
        )
    how = stepper, asked["solver"], asked["law"], params, t, asked["engine"]
    return prepare(system, q, u, dt, t + dt, *how, records, checks)


def _depth(system: System, q: Any, u: Any, t: float, params: Mapping[str, float], checks: Checks) -> float:
    """The penetration that is accepted [m]: that of a state which steps have led to, where it is deeper."""
    q, _, p = system.check(q, u, params, t)
    own = PENETRATION_TOLERANCE if checks.penetration_tol is None else checks.penetration_tol
    return max([own, *(-system.start_gap(q, t, p)).tolist()])


def _notes(system: System, p: Array, stepper: Integrator, solver: PlanarSolver, law: ImpactLaw) -> dict[str, str]:
    """Options besides the names of stepper and solver: for the trajectory's attributes and its file."""
    _, eps_N, eps_T, _ = system.laws(p)
    eps_N, eps_T = law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
    laws = [f"{name}: {each}" for name, each in zip(system.contact_names, system.friction_laws, strict=True) if each]
    return {
        **({"friction_laws": "; ".join(laws)} if laws else {}),
        **({"state_laws": _state_laws(system)} if system.state_laws else {}),
        "law": law.title,
        "law_options": _options(law),
        "restitution_normal": _restitution(system, "restitution_normal", eps_N),
        "restitution_tangential": _restitution(system, "restitution_tangential", eps_T),
        "stepper_options": _options(stepper),
        "solver_options": _options(solver),
    }


def _restitution(system: System, name: str, values: Array) -> str:
    """Coefficients by contact, as JSON; those that depend on the state as text."""
    laws = system.state_laws
    shown = {
        contact: laws.get((name, k), "") if np.isnan(value) else value
        for k, (contact, value) in enumerate(zip(system.contact_names, values.tolist(), strict=True))
    }
    return json.dumps(shown)


def _state_laws(system: System) -> str:
    """The coefficients that depend on the state, in words."""
    return "; ".join(f"{system.contact_names[k]}: {name} = {text}" for (name, k), text in system.state_laws.items())


def _options(choice: Any) -> str:
    """The options of a stepper, solver or law as one would type them."""
    return ", ".join(f"{field.name}={getattr(choice, field.name)!r}" for field in fields(choice))


def _checked_law(law: ImpactLaw, system: System, p: Array) -> ImpactLaw | None:
    """The law where it is not what the kernels do anyway; its coefficients are checked here."""
    if law == Newton():
        return None
    _, eps_N, eps_T, _ = system.laws(p)
    law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
    return law


def _engine(
    system: System, stepper: Integrator, solver: PlanarSolver, wanted: str, go_on: bool, law: ImpactLaw | None,
    t_end: float, steps: int,
) -> MechanismEngine:  # fmt: skip
    """The engine for a stepper and a solver, as far as `wanted` leaves a choice; ValueError where there is none."""
    if isinstance(stepper, EventDriven):
        if wanted == "reference":
            raise ValueError("the event-driven integrator has no reference engine; use engine='auto' or 'compiled'.")
        if wanted == "compiled" and len(system.spatial):
            raise ValueError(
                "the event-driven integrator has no kernel for contacts with two tangents; use engine='auto', which "
                "runs it as plain Python."
            )
        try:
            return EventEngine(system, stepper, solver, law or Newton(), t_end, kernels_alone=wanted == "compiled")
        except NotKernels as reason:
            raise ValueError(f"{reason} {WHAT_HELPS[:-1]}; engine='auto' runs it as plain Python.") from None
    if isinstance(stepper, Adaptive):
        inner = _engine(system, stepper.stepper, solver, wanted, go_on, law, t_end, steps)
        assert isinstance(inner, (Compiled, Reference))
        helper = Reference(system, stepper.stepper, solver, go_on, law)
        return AdaptiveEngine(system, stepper, solver, inner, helper, t_end, steps)
    if law is not None and not stepper.takes_laws:
        takers = "'moreau-midpoint', 'adaptive' and 'event-driven'"
        raise ValueError(f"law {law.name!r} runs with the steppers {takers} only, got {stepper.name!r}.")
    if not has_kernel(law):
        assert law is not None
        if wanted == "compiled":
            raise ValueError(f"law {law.name!r} has no compiled kernel; use engine='reference' or 'auto'.")
        if wanted == "auto":
            warnings.warn(
                f"law {type(law).__name__} is of a class without a kernel: the run is on the reference engine, some "
                "hundred times slower.",
                RuntimeWarning,
                stacklevel=4,
            )
        return Reference(system, stepper, solver, go_on, law)
    if wanted == "reference":
        return Reference(system, stepper, solver, go_on, law)
    if not Compiled.available(stepper, solver):
        what = f"solver {solver.name!r}" if stepper.scheme is not None else f"stepper {stepper.name!r}"
        if wanted == "compiled":
            raise ValueError(f"{what} has no compiled kernel; use engine='reference' or 'auto'.")
        warnings.warn(
            f"{what} has no kernel: the run is on the reference engine, some hundred times slower; engine='reference' "
            "says that this is meant.",
            RuntimeWarning,
            stacklevel=4,
        )
        return Reference(system, stepper, solver, go_on, law)
    try:
        return Compiled.build(system, stepper, solver, go_on, law)
    except NotKernels as reason:
        if wanted == "compiled":
            raise ValueError(f"{reason} {WHAT_HELPS[:-1]}; or use engine='reference'.") from None
        slower = "engine='reference' runs it, some hundred times slower;"
        warnings.warn(f"{reason} {slower} {WHAT_HELPS}", RuntimeWarning, stacklevel=4)
        return Reference(system, stepper, solver, go_on, law)
