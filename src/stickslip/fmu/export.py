"""`export_fmu`: a mechanism as an FMI 3.0 co-simulation unit with its compiled kernel inside.

The kernel is that of ensembles: one member, a row of numbers that holds state, contact memory and book.  LLVM writes
its object code; a C compiler puts the functions of the standard around it (`unit.c`).  The steps of the unit are those
of `simulate`, bit for bit.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from stickslip import codes
from stickslip._version import __version__
from stickslip.checks import unknown_name
from stickslip.ensembles.request import Request, prepare
from stickslip.io.disk import replacing
from stickslip.jit import cpu
from stickslip.jit.translate import Program
from stickslip.mechanisms.templates.structs import Asked
from stickslip.scenario import Scenario

COMPILERS = ("cc", "gcc", "clang")
LONGEST = 120  # [s] that a compiler may take
REASONS = {
    codes.EVENTS_FULL: "too many impacts in one step",
    codes.UNSOLVED: "a contact problem was not solved",
    codes.BLOWN_UP: "the motion has blown up",
    codes.MASS_INDEFINITE: "the mass matrix is not positive definite",
    codes.GAP_NOT_A_NUMBER: "a gap is not a number",
    codes.MATRIX_INDEFINITE: "the matrix of a step is not positive definite",
    codes.PENETRATES: "bodies penetrate",
    codes.LAW_OUT_OF_RANGE: "a coefficient of a contact is out of range",
    codes.START_NOT_FINITE: "coordinates or velocities are not finite",
    codes.START_OFF: "a constraint does not hold",
}


@dataclass(frozen=True)
class Variable:
    """A variable of the unit: name, type, value reference, and how others may use it."""

    name: str
    type: str  # Float64, Int64 or Boolean
    reference: int
    causality: str
    variability: str
    initial: str | None = None
    start: float | None = None
    unit: str | None = None
    description: str = ""

    def xml(self) -> str:
        found = {
            "name": self.name, "valueReference": str(self.reference), "causality": self.causality,
            "variability": self.variability, "description": self.description or None, "initial": self.initial,
            "unit": self.unit, "start": None if self.start is None else repr(float(self.start)),
        }  # fmt: skip
        return f"    <{self.type} " + " ".join(f"{key}={quoteattr(x)}" for key, x in found.items() if x) + "/>"


def compiler() -> str:
    """The C compiler, $CC or one of `COMPILERS`; ValueError where there is none."""
    wanted = os.environ.get("CC")
    for name in (wanted, *COMPILERS) if wanted else COMPILERS:
        if name and shutil.which(name.split()[0]):
            return name
    raise ValueError(
        f"export of an FMU needs a C compiler, and none of $CC, {', '.join(COMPILERS)} is here; install one "
        "(gcc or clang), or name it in CC."
    )


def platform_of() -> tuple[str, str]:
    """FMI's name of this platform, and the suffix of its libraries."""
    machines = {"amd64": "x86_64", "arm64": "aarch64"}
    machine = machines.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform == "darwin":
        return f"{machine}-darwin", ".dylib"
    if sys.platform.startswith("linux"):
        return f"{machine}-linux", ".so"
    raise ValueError(f"FMUs are exported on Linux and macOS, got {sys.platform!r}.")


def export_fmu(
    scenario: Scenario,
    out: str | Path,
    *,
    inputs: Sequence[str] = (),
    dt: float | None = None,
    t_end: float | None = None,
    stepper: Any = "moreau-midpoint",
    solver: Any = "auto",
    law: Any = None,
) -> Path:
    """Write a mechanism as an FMI 3.0 co-simulation unit.

    Parameters
    ----------
    scenario : the mechanism, such as `stickslip.library.woodpecker()`.
    out : the file to be, NAME.fmu.
    inputs : parameters that another tool drives; all others are tunable parameters.
    dt : internal step size [s]; communication steps are whole numbers of it.
    t_end : end of the default experiment [s].
    stepper, solver, law : as in `ensemble`.
    """
    path = Path(out)
    if path.suffix != ".fmu":
        raise ValueError(f"the file of an FMU must end in .fmu, got {path.name!r}.")
    scenario.require_coordinates("it is {kind}; an FMU is made of a mechanism with generalised coordinates.")
    names = scenario.system.parameter_names
    for name in inputs:
        if name not in names:
            raise ValueError(f"inputs: {unknown_name('parameter', name, names)}")
    made, (where, suffix) = compiler(), platform_of()
    first = scenario.system.coordinate_names[0]
    request = prepare(
        scenario, {first: [float(scenario.q0[0])]}, ["final"], dt=dt, t_end=t_end, stepper=stepper, solver=solver,
        law=law, paired=True,
    )  # fmt: skip
    identifier = "".join(x if x.isascii() and x.isalnum() else "_" for x in scenario.system.name) or "unit"
    identifier = identifier if identifier[0].isalpha() else f"unit_{identifier}"
    variables = _variables(request, set(inputs))
    token = hashlib.sha256(f"{__version__} {request.fingerprint('cpu')} {sorted(inputs)}".encode()).hexdigest()[:32]
    library = _library(request, made, token, suffix)
    with replacing(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", _description(request, scenario, identifier, token, variables))
        archive.writestr(f"binaries/{where}/{identifier}{suffix}", library)
    return path


# -- variables ---------------------------------------------------------------------------------------------------------


def _references(request: Request) -> dict[str, int]:
    """First value reference of each group."""
    system, c = request.system, request.system.n_contacts
    sizes = [
        ("FIRST_P", len(system.parameter_names)), ("FIRST_STATE", 2 * system.n_dof), ("FIRST_IMPULSE", c),
        ("FIRST_ENERGY", 2), ("FIRST_STRUCK", c), ("FIRST_LOADED", c), ("FIRST_COUNT", c), ("FAILED_REFERENCE", 1),
        ("RESIDUAL_REFERENCE", 1), ("PENETRATION_REFERENCE", 1),
    ]  # fmt: skip
    found, place = {}, 1  # 0 is time
    for name, size in sizes:
        found[name] = place
        place += size
    return found


def _variables(request: Request, inputs: set[str]) -> list[Variable]:
    system, at = request.system, _references(request)
    units, p = dict(system.units), request.p
    found = [Variable("time", "Float64", 0, "independent", "continuous", unit="s", description="time")]
    for k, name in enumerate(system.parameter_names):
        cause, vary, begins = ("input", "continuous", None) if name in inputs else ("parameter", "tunable", "exact")
        unit = units.get(name) or None
        found.append(Variable(name, "Float64", at["FIRST_P"] + k, cause, vary, begins, float(p[k]), unit))
    names = (*system.coordinate_names, *system.velocity_names)
    fixed = system.has_friction_laws
    for k, (name, value) in enumerate(zip(names, [*request.q0, *request.u0], strict=True)):
        initial, start = ("calculated", None) if fixed else ("exact", float(value))
        found.append(
            Variable(
                name, "Float64", at["FIRST_STATE"] + k, "output", "continuous", initial, start, units.get(name) or None
            )
        )
    for k, name in enumerate(system.contact_names):
        for group, suffix, kind, told in (
            ("FIRST_IMPULSE", "normal_impulse", "Float64", "normal impulse of the last internal step"),
            ("FIRST_STRUCK", "struck", "Boolean", "an impact happened in the last communication step"),
            ("FIRST_LOADED", "loaded", "Boolean", "the contact pressed in the last internal step"),
            ("FIRST_COUNT", "impacts", "Int64", "impacts since the start"),
        ):
            unit = "N.s" if kind == "Float64" else None
            vary = "continuous" if kind == "Float64" else "discrete"
            found.append(
                Variable(f"{name}.{suffix}", kind, at[group] + k, "output", vary, "calculated", None, unit, told)
            )
    for k, name in enumerate(("kinetic", "potential")):
        found.append(
            Variable(
                f"energy.{name}", "Float64", at["FIRST_ENERGY"] + k, "output", "continuous", "calculated", unit="J"
            )
        )
    for name, kind, reference, told in (
        ("failed_steps", "Int64", "FAILED_REFERENCE", "steps whose contact problem was not solved"),
        ("max_residual", "Float64", "RESIDUAL_REFERENCE", "largest residual of the contact laws"),
        ("max_penetration", "Float64", "PENETRATION_REFERENCE", "largest penetration"),
    ):
        vary = "continuous" if kind == "Float64" else "discrete"
        found.append(
            Variable(f"certificate.{name}", kind, at[reference], "output", vary, "calculated", description=told)
        )
    return found


def _description(request: Request, scenario: Scenario, identifier: str, token: str, variables: list[Variable]) -> str:
    outputs = [x for x in variables if x.causality == "output"]
    units = sorted({x.unit for x in variables if x.unit})
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(scenario.system.name)} '
        f'instantiationToken="{token}" description={quoteattr(scenario.title)} '
        f'generationTool="stickslip {__version__}" variableNamingConvention="flat">',
        f'  <CoSimulation modelIdentifier="{identifier}" canHandleVariableCommunicationStepSize="true" '
        f'fixedInternalStepSize="{request.dt!r}" canGetAndSetFMUState="true" canSerializeFMUState="true"/>',
        "  <UnitDefinitions>",
        *(f"    <Unit name={quoteattr(unit)}/>" for unit in units),
        "  </UnitDefinitions>",
        "  <LogCategories>",
        '    <Category name="logStatusError"/>',
        '    <Category name="logStatusWarning"/>',
        "  </LogCategories>",
        f'  <DefaultExperiment startTime="0.0" stopTime="{request.steps * request.dt!r}" stepSize="{request.dt!r}"/>',
        "  <ModelVariables>",
        *(variable.xml() for variable in variables),
        "  </ModelVariables>",
        "  <ModelStructure>",
        *(f'    <Output valueReference="{x.reference}"/>' for x in outputs),
        *(f'    <InitialUnknown valueReference="{x.reference}"/>' for x in outputs if x.initial == "calculated"),
        "  </ModelStructure>",
        "</fmiModelDescription>",
        "",
    ]
    return "\n".join(lines)


# -- machine code ------------------------------------------------------------------------------------------------------


def _object(request: Request) -> bytes:
    """Object code of the kernel, for every processor of this kind; it needs nothing but itself."""
    rows, P = request.rows(0, 1)
    asked = Asked(float(request.dt), 1, request.sweeps, float(request.solver.tol), float(request.penetration_tol))
    kernel = request.module.advance_members
    program = Program(kernel.short_loops, whole=True)
    text = kernel.translated((rows, P, asked), program).program.module.text()
    program.require_alone(kernel.python.__name__)
    host = cpu.host()
    general = "x86-64" if host.triple.startswith("x86_64") else "generic"
    target = cpu.Target(host.triple, general, "")
    machine = cpu.described(target).create_target_machine(
        cpu=general, features="", opt=cpu.OPTIMISATION, reloc="pic", codemodel="default"
    )
    return bytes(machine.emit_object(cpu.optimised(text, machine, cpu.PLAIN_OPTIMISATION, vectors=False)))


def _header(request: Request, token: str) -> str:
    system, layout = request.system, request.module
    rows, P = request.rows(0, 1)
    book = layout.BOOK_OF_MEMBER
    numbers = {
        "ROW": rows.shape[1], "PARAMETERS": len(system.parameter_names), "PARAMETERS_ALL": P.shape[1],
        "DOF": system.n_dof, "CONTACTS": system.n_contacts, "STATUS": layout.STATUS, "STEPS_DONE": layout.STEPS_DONE,
        "IMPULSE": layout.IMPULSE_BEFORE, "ENERGY": layout.ENERGY_END, "IMPACTS": book + codes.IMPACTS,
        "FAILED": book + codes.FAILED_STEPS, "RESIDUAL": book + codes.MAX_RESIDUAL,
        "PENETRATION": book + codes.MAX_PENETRATION, "SWEEPS": request.sweeps,
        "LAW_OUT_OF_RANGE": codes.LAW_OUT_OF_RANGE,
        "START_IS_FIXED": int(system.has_friction_laws), "TIME_MATTERS": int(_depends_on_time(request)),
        **_references(request),
    }  # fmt: skip
    reals = {"STEP": request.dt, "TOLERANCE": request.solver.tol, "DEPTH": request.penetration_tol}
    reasons = [REASONS.get(k, "the motion has ended") for k in range(max(REASONS) + 1)]
    return "\n".join(
        [
            f'#define TOKEN "{token}"',
            *(f"#define {name} {int(value)}" for name, value in numbers.items()),
            *(f"#define {name} {float(value).hex()}" for name, value in reals.items()),
            f"static const double ROW_AT_START[] = {{{_c_numbers(rows[0])}}};",
            f"static const double P_AT_START[] = {{{_c_numbers(P[0])}}};",
            f"static const char *const REASONS[] = {{{', '.join(f'{chr(34)}{x}{chr(34)}' for x in reasons)}}};",
            "",
        ]
    )


def _c_numbers(values: np.ndarray) -> str:
    """Numbers in hexadecimal, to the last bit."""
    words = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}
    return ", ".join(words.get(text, text) for text in (float(x).hex() for x in values))


def _depends_on_time(request: Request) -> bool:
    """Whether the equations may change with time: forces that are given may."""
    return bool(getattr(request.system, "forced", True))


def _library(request: Request, made: str, token: str, suffix: str) -> bytes:
    """The shared library of the unit."""
    with tempfile.TemporaryDirectory(prefix="stickslip-") as folder:
        place = Path(folder)
        (place / "unit.h").write_text(_header(request, token), encoding="utf-8")
        (place / "unit.c").write_bytes(files("stickslip.fmu").joinpath("unit.c").read_bytes())
        (place / "kernel.o").write_bytes(_object(request))
        command = [
            *made.split(), "-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-o", f"unit{suffix}",
            "unit.c", "kernel.o", "-lm",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=LONGEST, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise ValueError(f"the C compiler {made!r} did not run: {problem}.") from None
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
            raise ValueError(f"the C compiler {made!r} failed: {first[:200]}.")
        return (place / f"unit{suffix}").read_bytes()
