"""A checked request for an ensemble: all that a core, a GPU or a worker on another machine needs to compute members."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.analysis.sections import (
    SECTIONS,
    TRAVELS,
    DriveSection,
    PhaseSection,
    Section,
    cycles,
    read_section,
    watched,
)
from stickslip.checks import Array, on_top, real_number, unknown_name
from stickslip.contact.planar import PlanarSolver, solver_from
from stickslip.control import ControlLaw, memory_of, steps_between
from stickslip.ensembles.observables import NEED_SECTION, bytes_per_member, observables_of, read_rows
from stickslip.ensembles.plan import Plan, plan_of
from stickslip.jit.sources import sources_hash
from stickslip.laws import NAMED_LAWS, ImpactLaw, Newton, law_from
from stickslip.laws.compiled import has_kernel, kernel_numbers, kernel_options
from stickslip.mechanisms.engines import Compiled
from stickslip.mechanisms.generate import STACK_LIMIT, WHAT_HELPS, NotKernels, compiled_module
from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE, check_penetration, penetration_tolerance
from stickslip.mechanisms.steering import MechanismController
from stickslip.mechanisms.steppers.sliding import sticking_at_start
from stickslip.mechanisms.steppers.stepper import Stepper
from stickslip.mechanisms.system import CONTACT, System
from stickslip.mechanisms.tangents import require_for_tangents
from stickslip.run.controlled import require_law
from stickslip.run.options import chosen_stepper, number_of_steps
from stickslip.scenario import Scenario, require_scenario

NEVER_LOADED = -10.0  # as in `Memory.start`
SWEEPS = 10_000


@dataclass(frozen=True, eq=False)
class Request:
    """An ensemble to compute: system, members, step, stepper, solver and observables.

    Attributes
    ----------
    system, q0, u0, p : the system, and the start and the parameters that members share where they do not vary.
    plan : what varies.
    observe, section, travel, points, skip : what is watched; from step `skip` on.
    dt, steps : step size [s] and number of steps.
    stepper, solver, penetration_tol, law : as in `simulate`; a law of None is Newton's with the system's coefficients.
    control : the control law of every member, or None.
    """

    system: System
    q0: Array
    u0: Array
    p: Array
    plan: Plan
    observe: tuple[str, ...]
    section: Section | DriveSection | None
    travel: int
    points: int
    skip: int
    dt: float
    steps: int
    stepper: Stepper
    solver: PlanarSolver
    penetration_tol: float
    law: ImpactLaw | None = None
    control: ControlLaw | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Compile-time constants of the kernel."""
        kind, place, _ = watched(self.system, self.section)
        return {
            **self.stepper.options,
            **kernel_options(self.law),
            "WATCHED": True,
            "SECTION": kind,
            "PLACE": place,
            "EXTREMES": "extremes" in self.observe,
            "SHARES": "shares" in self.observe,
        }

    @cached_property
    def module(self) -> ModuleType:
        """The generated module; nothing is compiled before one of its functions is called."""
        try:
            return compiled_module(self.system, "members", self.solver.name, self.options)
        except NotKernels as reason:
            raise ValueError(f"{reason} {WHAT_HELPS[:-1]}; an ensemble runs kernels alone.") from None

    @cached_property
    def controller(self) -> MechanismController:
        """The control law as machine code; ValueError where it is none."""
        assert self.control is not None
        apart = steps_between(self.control.rate, self.dt)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                found = MechanismController(self.system, self.control, memory_of(self.control), 0, apart)
            except RuntimeWarning as reason:
                raise ValueError(f"an ensemble runs kernels alone: {reason}") from None
        if found.plain:
            raise ValueError("an ensemble runs kernels alone: control must not have compiled=False.")
        return found

    def __getstate__(self) -> dict[str, Any]:
        own = ("module", "controller")  # machine code cannot be sent
        return {key: value for key, value in self.__dict__.items() if key not in own}

    step_cost = 1

    @property
    def units(self) -> Mapping[str, str]:
        return self.system.units

    @property
    def sweeps(self) -> int:
        return self.solver.max_iterations or SWEEPS

    def rows(self, first: int, last: int) -> tuple[Array, Array]:
        """Rows (n, width) of the members first .. last - 1 at their start, and their parameters (n, parameters)."""
        layout, system = self.module, self.system
        n, f = last - first, system.n_dof
        rows = np.zeros((n, layout.ROW_SIZE + self.points * layout.POINT_SIZE))
        numbers = np.concatenate([self.p, kernel_numbers(self.law, system.n_contacts)])
        P = np.tile(numbers if len(numbers) else np.zeros(1), (n, 1))
        rows[:, :f], rows[:, f : 2 * f] = self.q0, self.u0
        for name, values in self.plan.members(first, last).items():
            if name in system.parameter_names:
                P[:, system.parameter_names.index(name)] = values
            elif name in system.coordinate_names:
                rows[:, system.coordinate_names.index(name)] = values
            else:
                rows[:, f + system.velocity_names.index(name)] = values
        rows[:, layout.LAST_LOADED : layout.CARRIED] = NEVER_LOADED
        if system.has_friction_laws:
            for row, p in zip(rows, P, strict=True):
                self._begin_friction(layout, row, p[: len(system.parameter_names)])
        book = rows[:, layout.BOOK_OF_MEMBER :]
        book[:, layout.FIRST_WATCHED] = self.skip
        book[:, layout.LEVEL] = watched(system, self.section)[2]
        book[:, layout.TRAVEL] = self.travel
        book[:, layout.N_POINTS] = self.points
        if isinstance(self.section, PhaseSection | DriveSection):
            book[:, layout.CYCLE] = cycles(system, self.section, P)
            with np.errstate(invalid="ignore"):
                # phases that have passed before the watch begins
                book[:, layout.PHASES] = np.floor(self.skip * self.dt / book[:, layout.CYCLE] * (1.0 + 1e-12))
        book[:, layout.LEAST : layout.LARGEST_SEEN] = np.inf
        book[:, layout.LARGEST_SEEN : layout.STEPS_IN] = -np.inf
        return rows, P

    def _begin_friction(self, layout: ModuleType, row: Array, p: Array) -> None:
        """Check the friction laws of a member and note which of its contacts stick at the start."""
        f = self.system.n_dof
        q, u = row[:f], row[f : 2 * f]
        try:
            self.system.check_parameters(p)
        except ValueError:
            row[layout.STATUS] = layout.LAW_OUT_OF_RANGE
            return
        if np.all(np.isfinite(row[: 2 * f])):
            sticks = sticking_at_start(self.system, q, u, 0.0, p, self.penetration_tol)
            row[layout.CARRIED + 2 : layout.REACH_OF_MEMBER : 3] = sticks

    def read(self, rows: Array) -> dict[str, np.ndarray]:
        """Read the observables of members from their rows at the end of the run."""
        return read_rows(self.module, rows, self.observe, 0.0, self.dt)

    @property
    def bytes_per_member(self) -> int:
        return bytes_per_member(self.observe, self.system, self.points)

    @property
    def working_bytes(self) -> int:
        """Bytes that a member takes while it is computed, on the host."""
        layout = self.module
        return 8 * (2 * (layout.ROW_SIZE + self.points * layout.POINT_SIZE) + len(self.p)) + self.bytes_per_member

    def describe(self) -> dict[str, Any]:
        """Words and numbers for the file."""
        system = self.system
        return {
            "system": system.name,
            "stepper": self.stepper.name,
            "solver": self.solver.name,
            **({} if self.law is None else {"law": repr(self.law)}),
            **({} if self.control is None else {"control": self.control.identity()}),
            "tolerance": float(self.solver.tol),
            "dt": self.dt,
            "steps": self.steps,
            "t_end": self.steps * self.dt,
            "skip": self.skip * self.dt,
            "section": "" if self.section is None else self.section.text,
            "travel": system.coordinate_names[self.travel] if self.travel >= 0 else "",
            "observe": ",".join(self.observe),
            "units": json.dumps(dict(system.units)),
            "parameters": json.dumps(dict(zip(system.parameter_names, self.p.tolist(), strict=True))),
            "start": json.dumps(
                dict(
                    zip(
                        (*system.coordinate_names, *system.velocity_names),
                        [*self.q0.tolist(), *self.u0.tolist()],
                        strict=True,
                    )
                )
            ),
        }

    def fingerprint(self, kind: str) -> str:
        """Hash of all that the result depends on; `kind` is "cpu" or "gpu", whose last digits may differ."""
        digest = hashlib.sha256()
        head: list[Any] = [
            __version__,
            sources_hash(),
            kind,
            self.system.fingerprint,
            repr(self.stepper),
            repr(self.solver),
        ]
        head += [self.points, self.penetration_tol, repr(self.plan.axes), self.describe()]
        digest.update(json.dumps(head, sort_keys=True).encode())
        for name, (axis, values) in self.plan.values.items():
            digest.update(f"{name}\0{axis}\0".encode() + np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:32]


def prepare(
    scenario: Scenario,
    vary: Any,
    observe: Any,
    *,
    dt: Any = None,
    t_end: Any = None,
    stepper: Any = "moreau-midpoint",
    solver: Any = "auto",
    law: Any = None,
    control: Any = None,
    params: Mapping[Any, float] | None = None,
    section: Any = None,
    travel: Any = None,
    points: Any = None,
    skip: Any = 0.0,
    penetration_tol: Any = PENETRATION_TOLERANCE,
    **sampling: Any,
) -> Request:
    """Check everything that can be checked before anything is computed; `sampling`: samples, seed, paired."""
    require_scenario(scenario, "an ensemble")
    system = scenario.system
    step = real_number(scenario.dt if dt is None else dt, "dt")
    steps = number_of_steps(step, real_number(scenario.t_end if t_end is None else t_end, "t_end"), 0.0)
    wanted = observables_of(observe)
    chosen_stepper, chosen_solver = _method(system, stepper, solver)
    require_for_tangents(system, chosen_solver, law_from(law))
    chosen_law = _law(chosen_stepper, law)
    plan = plan_of(scenario, vary, **sampling)
    p = system.parameter_vector(on_top(scenario.params, params))
    tolerance = penetration_tolerance(penetration_tol)
    cut, way = watching_of(system, wanted, section, travel)
    request = Request(
        system,
        np.array(scenario.q0),
        np.array(scenario.u0),
        p,
        plan,
        wanted,
        cut,
        way,
        points_of(wanted, points),
        skipped_steps(skip, step, steps),
        step,
        steps,
        chosen_stepper,
        chosen_solver,
        tolerance,
        chosen_law,
        control,
    )
    if control is not None:
        require_law(control)
        assert not request.controller.plain  # it says what is wrong with the law
    _check_extremes(request)
    return request


def _method(system: System, stepper: Any, solver: Any) -> tuple[Stepper, PlanarSolver]:
    chosen, method = chosen_stepper(stepper), solver_from(solver)
    if not isinstance(chosen, Stepper) or chosen.scheme is None or chosen.level != "velocity":
        raise ValueError(f"ensembles run with compiled steppers on velocity level, got {chosen.name!r}.")
    if not Compiled.available(chosen, method):
        raise ValueError(f"solver {method.name!r} has no compiled kernel, and ensembles need one; try 'auto'.")
    if system.n_contacts > STACK_LIMIT:
        raise ValueError(
            f"ensembles take systems with at most {STACK_LIMIT} contacts, got {system.n_contacts}; use simulate."
        )
    return chosen, method


def _law(stepper: Stepper, law: Any) -> ImpactLaw | None:
    """The impact law of the members; None for Newton's with the system's coefficients."""
    chosen = law_from(law)
    if chosen == Newton():
        return None
    if not has_kernel(chosen):
        raise ValueError(
            f"law {type(chosen).__name__} is of a class without a kernel, and ensembles need one; use simulate, or one "
            f"of {', '.join(name for name, law in NAMED_LAWS.items() if has_kernel(law))}."
        )
    if not stepper.takes_laws:
        raise ValueError(f"law {chosen.name!r} runs with stepper 'moreau-midpoint' only, got {stepper.name!r}.")
    return chosen


def watching_of(
    system: Any, observe: tuple[str, ...], section: Any, travel: Any
) -> tuple[Section | DriveSection | None, int]:
    """The section and the number of the coordinate that travels, -1 for none."""
    needing = [name for name in observe if name in NEED_SECTION]
    chosen = SECTIONS.get(system.name) if section is None else read_section(section)
    if needing and chosen is None:
        raise ValueError(
            f"observable {needing[0]!r} needs a section, and {system.name!r} has none of its own; give one, such as "
            f"section='{system.coordinate_names[0]}<0' (--section)."
        )
    cut = chosen if needing or section is not None else None
    watched(system, cut)  # checks the names in it
    name = TRAVELS.get(system.name) if travel is None else travel
    if name is None and "drop" in observe:
        raise ValueError(
            f"observable 'drop' needs a coordinate that travels; give one of {', '.join(system.coordinate_names)} as "
            "travel= (--travel)."
        )
    if name is None:
        return cut, -1
    if name not in system.coordinate_names:
        raise ValueError(f"travel: {unknown_name('coordinate', str(name), system.coordinate_names)}")
    return cut, system.coordinate_names.index(name)


def points_of(observe: tuple[str, ...], points: Any) -> int:
    """How many points of the section are kept."""
    if "points" not in observe:
        if points is not None:
            raise ValueError("points= counts points of the section; add 'points' to what is observed.")
        return 0
    if points is None:
        return 16
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or not 1 <= points <= 100_000:
        raise ValueError(f"points must be a whole number from 1 to 100000, got {points!r}.")
    return int(points)


def skipped_steps(skip: Any, dt: float, steps: int) -> int:
    """Steps before anything is watched."""
    seconds = real_number(skip, "skip")
    if not 0.0 <= seconds < steps * dt:
        raise ValueError(f"skip must lie between 0 and t_end = {steps * dt:g} s, got {seconds:g}.")
    return round(seconds / dt)


def _check_extremes(request: Request) -> None:
    """Raise where all members would be refused, or parameters lie out of range at the end of an axis.

    Starts that penetrate are a matter of single members, unless all members do, or nothing of the start varies.
    """
    system = request.system
    names = system.parameter_names
    varied = set(request.plan.values)
    base = {names[i]: value for i, value in enumerate(request.p.tolist())}
    first = {name: float(values[0]) for name, (_, values) in request.plan.values.items() if name in names}
    for one in [{}, *(one for one in request.plan.extremes() if set(one) <= set(names))]:
        try:
            _, _, p = system.check(request.q0, request.u0, {**base, **first, **one})
            request.stepper.check(system, p)
            if request.law is not None:
                _, eps_N, eps_T, _ = system.laws(p)
                request.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        except ValueError as problem:
            if not one:
                raise
            values = ", ".join(f"{name} = {value:g}" for name, value in one.items())
            raise ValueError(f"members with {values}: {problem}") from None
    if not varied & {*system.coordinate_names}:
        _check_starts(request)


def _check_starts(request: Request) -> None:
    """Raise where the start, which all members share, penetrates whatever the varied parameters are."""
    system, plan, names = request.system, request.plan, request.system.parameter_names
    own = dict(zip(names, request.p.tolist(), strict=True))

    def gaps(changed: Mapping[str, float]) -> Array:
        p = {**own, **{name: value for name, value in changed.items() if name in names}}
        return system.start_gap(request.q0, 0.0, np.array(list(p.values())))

    def member(k: int) -> dict[str, float]:
        return {name: float(values[0]) for name, values in plan.members(k, k + 1).items()}

    first = member(0)
    same = all(np.array_equal(gaps({**first, **one}), gaps(first)) for one in plan.extremes())
    unilateral = np.array(system.contact_kinds, dtype=int) == CONTACT
    for k in range(1 if same else plan.size):  # as a rule the first one is good
        if np.all(gaps(member(k))[unilateral] >= -request.penetration_tol):
            return
    check_penetration(system, gaps(first), request.penetration_tol, "the start", "starts")
