"""Exported pages that simulate a mechanism: kernels as WebAssembly, and how to call and draw them.

Pages of scenes: `simulating_scenes`.

Four modules go into the file: `start` prepares a start, `march` does the steps, `measure` finds gaps and energies of
records, `frames` places the shapes of the drawing.  The middle two are the kernels of `simulate`; the others are
written in their language.  The script `assets/simulate.js` fills their arrays, as `engines.Compiled` does.

A page that cannot simulate shows the run that was recorded, and says why: `Recorded` has the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from stickslip import codes, library
from stickslip.checks import Array
from stickslip.contact.planar import solver_from
from stickslip.drawing import primitives as draw
from stickslip.engine import Block, Memory
from stickslip.io.models.drawing import traced_shapes
from stickslip.io.models.expressions import ExpressionError
from stickslip.io.models.traced import Traced, Untraceable, expression_of
from stickslip.jit import KernelError, web
from stickslip.laws import Newton
from stickslip.mechanisms.engines import Compiled
from stickslip.mechanisms.generate import NotKernels, compiled_module, constants, import_generated
from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE
from stickslip.mechanisms.source import function_source, source_symbols
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, NONHOLONOMIC, TANGENT, System
from stickslip.page.controls import PAGE_RECORDS, PAGE_STEPS, PARAMETER, controls
from stickslip.page.payload import LIMITS
from stickslip.page.recorded import Recorded, packed
from stickslip.page.simulating_scenes import simulating_scene
from stickslip.page.tracks import split
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

_FRAMES = '''"""Places of the shapes of a drawing, and what a page wants to know of the start and the end of a run."""

import math

import numpy as np

from stickslip.jit.marks import dev, entry, sincos

{model}

{places}

@entry
def frames(Q, U, T, p, shapes, pushes, coefficients):
    """Numbers of the shapes (n, k), h . M^-1 h (n,) of the states, and the laws of the contacts (4, contacts)."""
    M = np.empty(({f}, {f}))
    h = np.empty({f})
    y = np.empty({f})
    laws(p, coefficients[0], coefficients[1], coefficients[2], coefficients[3])
    for i in range(Q.shape[0]):
        places(Q[i], T[i], p, shapes[i])
        mass(Q[i], T[i], p, M)
        force(Q[i], U[i], T[i], p, h)
        total = 0.0
        for j in range({f}):  # h = L y with M = L L^T, hence h . M^-1 h = y . y
            for k in range(j, {f}):
                s = M[k, j]
                for m in range(j):
                    s -= M[k, m] * M[j, m]
                M[k, j] = s / M[j, j] if k > j else math.sqrt(s)
            s = h[j]
            for m in range(j):
                s -= M[j, m] * y[m]
            y[j] = s / M[j, j]
            total += y[j] * y[j]
        pushes[i] = total
'''


def simulating(trajectory: Trajectory, scenario: Any) -> dict[str, Any]:
    """Kernels, sliders and drawing of a run, for a page that simulates; raises `Recorded` where it cannot."""
    if getattr(scenario, "kind", "") == "scene":
        return simulating_scene(trajectory, scenario)
    _require_simple(trajectory, scenario)
    system: System = scenario.system
    p = system.parameter_vector(trajectory.parameters)
    names = trajectory.parameters
    begun = _begun(scenario, trajectory)
    try:
        shapes, fixed = ([], ()) if scenario.drawing is None else traced_shapes(begun)
    except (Untraceable, ExpressionError, TypeError):
        raise Recorded("its drawing is a Python function that has no formulas") from None
    picture = _Picture(system)
    drawn = [part for shape in shapes for part in picture.parts(shape)]
    try:
        modules = _modules(system, p, picture.numbers)
    except (KernelError, NotKernels) as reason:
        raise Recorded(f"its kernel does not run in a browser ({reason})") from None
    words = library.meanings(system.name) if system.name in library.names() else {}
    sliders = [c for c in controls(names, begun, None, words) if not (c.section == PARAMETER and c.key in fixed)]
    return {
        **modules,
        "controls": [control.to_dict() for control in sliders],
        "fixed": sorted(fixed),
        "parameters": list(system.parameter_names),
        "p": p.tolist(),
        "q0": trajectory.q[0].tolist(),
        "u0": trajectory.u[0].tolist(),
        "t0": float(trajectory.t[0]),
        "dt": trajectory.dt,
        "t_end": begun.t_end,
        "every": trajectory.every,
        "kinds": [_KINDS.get(kind, "plain") for kind in system.contact_kinds],
        "gated": list(system.gated),
        "first": _first_impacts(trajectory),
        "forced": int(system.forced),
        "special": _special(trajectory),
        "tolerance": float(solver_from("auto").tol),
        "depth": PENETRATION_TOLERANCE,
        "book": {name: getattr(codes, name) for name in _BOOK} | {"size": codes.BOOK_SIZE},
        "most_steps": PAGE_STEPS,
        "limits": {**LIMITS, "records": PAGE_RECORDS},
        "shapes": drawn,
        "numbers": len(picture.numbers),
        "follow": _follow(scenario),
        "fitted": scenario.drawing is not None and scenario.drawing.view is None,
    }


def _first_impacts(trajectory: Trajectory) -> list[list[float]]:
    """Rows of the impulses with which constraints took up the start."""
    table = trajectory.impacts()
    rows = np.column_stack([table[name].astype(float) for name in table.columns])
    return [row.tolist() for row in rows[table["time"] <= float(trajectory.t[0])]]


def _special(trajectory: Trajectory) -> list[dict[str, str]]:
    """Lines of the certificate beyond those that all runs have, with one for every number that may get a line."""
    certificate = trajectory.certificate
    told = replace(certificate, projection_energy=1.0, energy_in_play=1.0) if certificate.constrained else certificate
    return [vars(entry) for entry in told.entries()[USUAL_ENTRIES:]]


def _follow(scenario: Scenario) -> int | None:
    """Number of the coordinate that the view follows."""
    name = None if scenario.drawing is None else scenario.drawing.follow
    return None if name is None else scenario.system.coordinate_names.index(name)


_KINDS = {CONTACT: "contact", TANGENT: "tangent", CONSTRAINT: "constraint", NONHOLONOMIC: "rate"}
USUAL_ENTRIES = 5
"""Lines that every certificate without projection of contacts has."""
_BOOK = (
    "FAILED_STEPS",
    "MAX_RESIDUAL",
    "MAX_PENETRATION",
    "MAX_ENERGY_GAIN",
    "FALLBACKS",
    "GAIN_STEP",
    "CONTACT_WORK",
    "MAX_LCP_SIZE",
    "PROJECTION_ENERGY",
    "CONSTRAINT_ERROR",
    "CONSTRAINT_RATE",
    "FRICTION_ROUNDS",
    "FRICTION_CONTRACTION",
)


def _require_simple(trajectory: Trajectory, scenario: Any) -> None:
    """Raise `Recorded` for runs that differ from what the script of the page does."""
    if not isinstance(scenario, Scenario) or scenario.kind != "mechanism":
        raise Recorded("mechanisms and scenes simulate in a browser, circuits do not")
    system = scenario.system_of(trajectory)
    if system is None or set(trajectory.parameters) != set(system.parameter_names):
        raise Recorded("its system has other parameters than the run")
    usual = MoreauMidpoint()
    if trajectory.stepper != usual.name or not _chosen(trajectory, "stepper", usual):
        raise Recorded(f"its stepper is not {usual.name} without options, which alone runs in a browser")
    solver = solver_from("auto")
    others = trajectory.solver != solver.name or not _chosen(trajectory, "solver", solver)
    if others or trajectory.attributes.get("law") != "newton" or not _chosen(trajectory, "law", Newton()):
        raise Recorded("its solver or impact law is not the usual one, which alone runs in a browser")
    if trajectory.engine != Compiled.name:
        raise Recorded("it was computed by the reference engine, which is plain Python")
    if _begins_with_impact(trajectory, system):
        raise Recorded("it begins with an impact of its contacts (initialise), which Python solves")


def _begins_with_impact(trajectory: Trajectory, system: System) -> bool:
    """Whether contacts strike at the start; impulses of constraints alone are found by the page itself."""
    table = trajectory.impacts()
    at_start = table["time"] <= float(trajectory.t[0])
    return bool(np.any(np.isin(table["contact"][at_start], system.constraints, invert=True)))


def _chosen(trajectory: Trajectory, what: str, usual: Any) -> bool:
    """Whether stepper, solver or law of a run had the options of the `usual` one."""
    return f"{type(usual).__name__}({trajectory.attributes.get(f'{what}_options', '')})" == repr(usual)


def _begun(scenario: Scenario, trajectory: Trajectory) -> Scenario:
    """The scenario as the run has it: its parameters, start, step size and end."""
    t_end = float(trajectory.t[0]) + trajectory.steps * trajectory.dt
    return replace(
        scenario, params=dict(trajectory.parameters), q0=trajectory.q[0], u0=trajectory.u[0], dt=trajectory.dt,
        t_end=t_end,
    )  # fmt: skip


# -- kernels -----------------------------------------------------------------------------------------------------------


def _modules(system: System, p: Array, numbers: Sequence[Any]) -> dict[str, Any]:
    """The three modules, packed, and where the room of each begins."""
    solver, stepper = solver_from("auto"), MoreauMidpoint()
    engine = Compiled.build(system, stepper, solver)
    f, n = system.n_dof, system.n_contacts
    memory = Memory.start(np.zeros(f), np.zeros(f), p, 0.0, n, 1.0)
    block = Block.room(1, 1, memory.sizes)
    row, rows = np.zeros(1), np.zeros((1, f))
    marching = engine.arguments(memory, 1, block)
    starts = compiled_module(system, "start", solver.name, stepper.options).start
    samples = {
        "start": (starts, (*marching[:2], np.zeros(n), np.zeros((n, 3)), 0.0, 0)),
        "march": (engine.module.march, marching),
        "measure": (engine.module.measure, (rows, rows, row, p, np.zeros((1, n)), np.zeros((1, 2)))),
        "frames": (
            _frames(system, numbers).frames,
            (rows, rows, row, p, np.zeros((1, len(numbers))), row, np.zeros((4, n))),
        ),
    }
    run = samples["march"][1][0]
    found: dict[str, Any] = {"sweeps": int(run.sweeps), "modules": {}}
    for name, (kernel, arguments) in samples.items():
        made = web.module(kernel, arguments)
        found["modules"][name] = {"z": packed(made.code), "room": made.room, "results": list(made.results)}
    return found


def _frames(system: System, numbers: Sequence[Any]) -> Any:
    """The generated module with the kernel `frames`."""
    named = [sp.Symbol(name) for name in system.coordinate_names]
    parameters = [sp.Symbol(name) for name in system.parameter_names]
    symbols = source_symbols(named, [], sp.Symbol("t"), parameters)
    places = function_source(
        "places", "q, t, p, x", [(f"x[{i}]", number.xreplace(symbols)) for i, number in enumerate(numbers)]
    )
    model = constants(system, "auto", {}) + "\n\n" + system.source()
    return import_generated(system, _FRAMES.format(model=model, places=places, f=system.n_dof), "frames")


# -- drawing -----------------------------------------------------------------------------------------------------------


class _Picture:
    """Shapes as plain values whose numbers are constants or places in the row of a frame: {"n": place}.

    Attributes
    ----------
    numbers : expressions of the row.
    """

    def __init__(self, system: System) -> None:
        self.numbers: list[Any] = []
        self._known: dict[Any, int] = {}
        self._moving = {sp.Symbol(name) for name in (*system.coordinate_names, "t")}

    def parts(self, shape: draw.Primitive) -> list[dict[str, Any]]:
        """What a shape becomes: itself, a group with its items and markers, or its items where these change."""
        if not isinstance(shape, draw.Group):
            return [self._simple(shape)]
        solid = [item for item in shape.items if not isinstance(item, draw.Marker)]
        if any(self._moving & number.free_symbols for item in solid for number in _expressions(item)):
            return [self._simple(item) for item in shape]
        place = shape.placement
        items = [self._simple(item) for item in solid]
        marks = [self._simple(item.placed(place)) for item in shape.items if isinstance(item, draw.Marker)]
        where = [self._number(x) for x in (*place.origin, place.c, place.s)]
        return [{"kind": "group", "name": shape.name, "items": items, "marks": marks, "values": where}]

    def _simple(self, shape: draw.Primitive) -> dict[str, Any]:
        if isinstance(shape, draw.Smooth):
            through = [self._number(x) for point in shape.through for x in point]
            pieces = len(shape.points) // len(shape.through)
            kind = draw.Polygon.kind
            return {"kind": kind, "style": shape.style, "smooth": pieces, "values": through, **_fitted(shape)}
        _, what, numbers = split(shape)
        return {**what, "values": [self._number(x) for x in numbers], **_fitted(shape)}

    def _number(self, x: float) -> Any:
        if not isinstance(x, Traced) or x.expression.is_number:
            return float(expression_of(x))
        place = self._known.setdefault(x.expression, len(self.numbers))
        if place == len(self.numbers):
            self.numbers.append(x.expression)
        return {"n": place}


def _fitted(shape: draw.Primitive) -> Mapping[str, bool]:
    return {"fits": True} if draw.bounded(shape) else {}


def _expressions(shape: draw.Primitive) -> Iterator[Any]:
    """Expressions of the numbers of a simple shape."""
    numbers = [x for point in shape.through for x in point] if isinstance(shape, draw.Smooth) else split(shape)[2]
    return (expression_of(x) for x in numbers)
