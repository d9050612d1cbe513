"""Model files of mechanisms in generalised coordinates: from checked content to a `Scenario`, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import unknown_name
from stickslip.contact.sections import CrossSection, Polygon, PowerNorm
from stickslip.io.models.drawing import drawing_from, drawing_of
from stickslip.io.models.expressions import ExpressionError, Part, parse, require_name, text_of
from stickslip.io.models.fields import Place
from stickslip.io.models.toml_text import ModelError
from stickslip.laws.friction import Elliptic, FrictionLaw, Stribeck, TwoCoefficient
from stickslip.laws.restitution import RestitutionCurve
from stickslip.mechanisms.derivation import limited_derivatives
from stickslip.mechanisms.elements import (
    Constraint,
    Contact,
    DryFriction,
    Element,
    PrestressedSpring,
    SpragClutch,
    Stop,
)
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.mechanisms.reset import Reset
from stickslip.mechanisms.system import CLUTCH, CONSTRAINT, CONTACT, FRICTION, SPRING, TANGENT, System
from stickslip.scenario import Scenario

Expr = Any
LARGEST_MODEL = 6_000
"""Numbers, names and operations of all expressions of a file together."""
MOST_COORDINATES, MOST_CONTACTS, MOST_NAMES = 60, 200, 1_000
MOST_DERIVED = 8_000
"""Numbers, names and operations that all derivatives of a file have by the product and chain rules."""
_ALONE = (
    "gap",
    "normal_drift",
    "friction",
    "restitution_normal",
    "restitution_tangential",
    "threshold",
    "closes_when",
)


_WRONG = (ValueError, ArithmeticError, RecursionError)
"""Exceptions of a model when its numbers and expressions are not those of a mechanism."""


class Reader:
    """Reads the expressions of a file in its own names, and keeps count of their size."""

    def __init__(self, content: Mapping[str, Any], place: Place) -> None:
        self.place = place
        self.size = 0
        self.names: dict[str, Expr | Part] = {"t": sp.Symbol("t")}
        self.velocities: list[str] = []
        for name, entry in content["coordinates"].items():
            self._add(name, place.at("coordinates", name), "a coordinate")
            velocity = entry["velocity"] or f"{name}_dot"
            self._add(velocity, place.at("coordinates", name, "velocity"), "a velocity")
            self.velocities.append(velocity)
        for name in content["parameters"]:
            self._add(name, place.at("parameters", name), "a parameter")
        self.parameters = {name: self.names[name] for name in content["parameters"]}
        for name, text in content["definitions"].items():
            here = place.at("definitions", name)
            self._require_new(name, here, "a definition")
            self.names[name] = self._part(text, here, self.names)

    def _require_new(self, name: str, place: Place, what: str) -> None:
        try:
            require_name(name, f"the name of {what}")
        except ExpressionError as problem:
            raise place.error(str(problem)) from None
        if name in self.names:
            raise place.error(f"the name {name!r} is taken already; names are unique, and t is time")

    def _add(self, name: str, place: Place, what: str) -> None:
        self._require_new(name, place, what)
        self.names[name] = sp.Symbol(name)

    def _part(self, text: str, place: Place, names: Mapping[str, Expr | Part]) -> Part:
        try:
            part = parse(text, names)
        except ExpressionError as problem:
            raise place.error(str(problem)) from None
        self.size += part.size
        if self.size > LARGEST_MODEL:
            raise place.error(f"the expressions of a file may have {LARGEST_MODEL} names and operations together")
        return part

    def expression(self, text: str, place: Place) -> Expr:
        """An expression in coordinates, velocities, time, parameters and definitions."""
        return self._part(text, place, self.names).expression

    def coefficient(self, text: str, place: Place) -> Expr:
        """An expression in coordinates, time, parameters and definitions; the system refuses velocities."""
        return self._part(text, place, self.names).expression

    def restitution(self, entry: Any, place: Place) -> Any:
        """A coefficient of restitution: an expression, or a curve over the approach speed."""
        if isinstance(entry, str):
            return self.coefficient(entry, place)
        own: dict[str, Any] = {}
        for key in ("speed", "mass"):
            if entry[key] is not None:
                self._require_new(entry[key], place.at(key), f"the symbol of the {key}")
                own[key] = sp.Symbol(entry[key])
        names = {**self.names, **{symbol.name: symbol for symbol in own.values()}}
        return RestitutionCurve(self._part(entry["curve"], place.at("curve"), names).expression, **own)


def scenario_from(content: dict[str, Any], place: Place) -> Scenario:
    """The scenario of a checked file."""
    _require_one_form(content, place)
    rows = len(content["contacts"]) + len(content["constraints"])
    if len(content["coordinates"]) > MOST_COORDINATES or rows > MOST_CONTACTS:
        raise place.error(
            f"a file may have {MOST_COORDINATES} coordinates, and {MOST_CONTACTS} contacts and constraints"
        )
    for table in ("parameters", "definitions"):
        if len(content[table]) > MOST_NAMES:
            raise place.at(table).error(f"a file may have {MOST_NAMES} {table}, got {len(content[table])}")
    reader = Reader(content, place)
    q = [reader.names[name] for name in content["coordinates"]]
    u = [reader.names[name] for name in reader.velocities]
    parameters, positive, units = _parameters(content)
    for (name, entry), velocity in zip(content["coordinates"].items(), reader.velocities, strict=True):
        units |= {key: unit for key, unit in ((name, entry["unit"]), (velocity, entry["velocity_unit"])) if unit}
    contacts = [
        located(place.at("contacts", i), partial(_element, reader, entry, place.at("contacts", i)))
        for i, entry in enumerate(content["contacts"])
    ]
    constraints = [
        located(place.at("constraints", i), partial(_constraint, reader, entry, place.at("constraints", i)))
        for i, entry in enumerate(content["constraints"])
    ]
    shared: dict[str, Any] = {
        "velocities": u,
        "time": reader.names["t"],
        "parameters": {reader.parameters[name]: value for name, value in parameters.items()},
        "contacts": contacts,
        "constraints": constraints,
        "name": content["name"],
        "units": units,
        "positive": positive,
    }
    try:
        with limited_derivatives(MOST_DERIVED):
            system = _build(reader, content, q, shared, place)
    except _WRONG as problem:
        raise _complaint(problem, _origin(str(problem), content, place)) from problem
    start = content["coordinates"].values()
    return located(
        place,
        lambda: Scenario(
            system=system,
            q0=np.array([entry["start"] for entry in start]),
            u0=np.array([entry["start_velocity"] for entry in start]),
            dt=content["run"]["dt"],
            t_end=content["run"]["t_end"],
            title=content["title"] or content["name"],
            source=content["source"] or place.file,
            drawing=drawing_from(content["drawing"], system, reader.names, place.at("drawing")),
            reset=located(place.at("reset"), lambda: _reset(reader, content["reset"], place.at("reset"))),
        ),
    )


def _reset(reader: Reader, entry: dict[str, Any] | None, place: Place) -> Reset | None:
    if entry is None:
        return None
    shift, new = (
        {name: reader.expression(text, place.at(key, name)) for name, text in (entry[key] or {}).items()}
        for key in ("shift", "map")
    )
    return Reset(entry["section"], entry["swap"] or (), shift, entry["flip"] or (), new)


def _require_one_form(content: Mapping[str, Any], place: Place) -> None:
    if (content["energies"] is None) == (content["equations"] is None):
        raise place.error("give [energies] or [equations], one of the two")
    if content["equations"] is not None and content["forces"] is not None:
        raise place.at("forces").error("forces belong to [energies]; [equations] has all of them in its force")


def located(place: Place, make: Callable[[], Any]) -> Any:
    """Run checks of a model; where one fails, add the place in the file to its message."""
    try:
        return make()
    except _WRONG as problem:
        raise _complaint(problem, place) from problem


def _complaint(problem: Exception, place: Place) -> ModelError:
    if isinstance(problem, ModelError):
        return problem
    if isinstance(problem, ArithmeticError):
        return place.error("its numbers are too large or too small to compute with")
    message = str(problem) if isinstance(problem, ValueError) else "an expression is nested too deeply"
    return place.error(" ".join(message.split()))


def _origin(message: str, content: Mapping[str, Any], place: Place) -> Place:
    """The part of the file that a complaint about the derived system is about."""
    for i, contact in enumerate(content["contacts"]):
        names = [contact["name"], *(f"{contact['name']} {side}" for side in ("lower", "upper"))]  # those of a stop
        if any(f"contact {name!r}" in message for name in names):
            gap = message.startswith("gap of ") and "gap" in contact
            return place.at("contacts", i, *(["gap"] if gap else []))
    for i, constraint in enumerate(content["constraints"]):
        if f"constraint {constraint['name']!r}" in message:
            return place.at("constraints", i)
    if message.startswith(("the kinetic energy", "the mass matrix", "the potential", "mass ", "force ")):
        return place.at("energies" if content["energies"] is not None else "equations")
    return place


def _parameters(content: Mapping[str, Any]) -> tuple[dict[str, float], list[str], dict[str, str]]:
    """Values, names of those that stay positive, units."""
    values, positive, units = {}, [], {}
    for name, entry in content["parameters"].items():
        table = entry if isinstance(entry, dict) else {"value": entry, "positive": False, "unit": None}
        values[name] = table["value"]
        if table["positive"]:
            positive.append(name)
        if table["unit"]:
            units[name] = table["unit"]
    return values, positive, units


def _build(
    reader: Reader, content: Mapping[str, Any], q: list[Expr], shared: dict[str, Any], place: Place
) -> LagrangianSystem:
    if content["equations"] is not None:
        given, here = content["equations"], place.at("equations")
        return LagrangianSystem.from_equations(
            q,
            mass=_matrix(reader, given["mass"], here.at("mass")),
            force=_vector(reader, given["force"], here.at("force")),
            potential=_optional(reader, given["potential"], here.at("potential")),
            **shared,
        )
    given, here = content["energies"], place.at("energies")
    forces = None
    if content["forces"] is not None:
        names = list(content["coordinates"])
        for name in content["forces"]:
            if name not in names:
                raise place.at("forces", name).error(unknown_name("coordinate", name, names))
        forces = [reader.expression(content["forces"].get(name, "0"), place.at("forces", name)) for name in names]
    return LagrangianSystem.from_energies(
        q,
        kinetic=reader.expression(given["kinetic"], here.at("kinetic")),
        potential=reader.expression(given["potential"], here.at("potential")),
        forces=forces,
        **shared,
    )


def _matrix(reader: Reader, rows: list[list[str]], place: Place) -> sp.Matrix:
    for i, row in enumerate(rows):
        if len(row) != len(rows):
            raise place.at(i).error(f"a row of {len(rows)} expressions is expected, got {len(row)}")
    return sp.Matrix([_vector(reader, row, place.at(i)) for i, row in enumerate(rows)])


def _vector(reader: Reader, texts: list[str], place: Place) -> list[Expr]:
    return [reader.expression(text, place.at(i)) for i, text in enumerate(texts)]


def _optional(reader: Reader, text: str | None, place: Place) -> Expr | None:
    return None if text is None else reader.expression(text, place)


def _element(reader: Reader, entry: dict[str, Any], place: Place) -> Element:
    def read(key: str) -> Any:
        return _optional(reader, entry[key], place.at(key))

    def law(key: str) -> Expr:
        return reader.coefficient(entry[key], place.at(key))

    kind, name = entry["type"], entry["name"]
    if kind == "stop":
        return Stop(
            name,
            read("coordinate"),
            read("lower"),
            read("upper"),
            reader.restitution(entry["restitution"], place.at("restitution")),
        )
    if kind == "clutch":
        return SpragClutch(name, read("angle"))
    if kind == "dry-friction":
        return DryFriction(name, read("displacement"), law("threshold"))
    if kind == "prestressed-spring":
        return PrestressedSpring(name, read("displacement"), law("preload"))
    directions: dict[str, Any] = {key: _nested(reader, entry[key], place.at(key)) for key in _NESTED}
    return Contact(
        name,
        gap=read("gap"),
        section=_section(entry["section"], place.at("section")),
        normal_drift=read("normal_drift"),
        friction=law("friction") if isinstance(entry["friction"], str) else _friction(reader, entry["friction"], place),
        restitution_normal=reader.restitution(entry["restitution_normal"], place.at("restitution_normal")),
        restitution_tangential=reader.restitution(entry["restitution_tangential"], place.at("restitution_tangential")),
        threshold=law("threshold"),
        closes_when=read("closes_when"),
        **directions,
    )


_NESTED = ("slip", "slip_velocity", "tangent", "tangent_drift", "normal")
"""Keys of a contact whose values are expressions, alone or in lists."""


def _nested(reader: Reader, value: Any, place: Place) -> Any:
    """Expressions in lists as they are given; None where nothing is."""
    if isinstance(value, list):
        return tuple(_nested(reader, each, place.at(i)) for i, each in enumerate(value))
    return _optional(reader, value, place)


def _section(entry: dict[str, Any] | None, place: Place) -> CrossSection | None:
    """The section of a friction cone."""
    if entry is None:
        return None
    try:
        if entry["shape"] == "polygon":
            return Polygon(tuple(map(tuple, entry["vertices"])))
        return PowerNorm(float(entry["p"]))
    except ValueError as problem:
        raise place.error(str(problem).rstrip(".")) from None


def _section_of(contact: Contact) -> dict[str, Any]:
    """The section of a friction cone as a table."""
    section = contact.section
    if type(section) is Polygon:
        return {"shape": "polygon", "vertices": [list(corner) for corner in section.vertices]}
    if type(section) is PowerNorm:
        return {"shape": "power-norm", "p": float(section.p)}
    raise ValueError(
        f"contact {contact.name!r} has a section of the class {type(section).__name__}, which has no place in a file."
    )


def _constraint(reader: Reader, entry: dict[str, Any], place: Place) -> Constraint:
    given = {key: _optional(reader, entry[key], place.at(key)) for key in ("equation", "velocity")}
    return Constraint(entry["name"], **given)


_FRICTION_LAWS: dict[str, type[Any]] = {"two-coefficient": TwoCoefficient, "elliptic": Elliptic, "stribeck": Stribeck}


def _friction(reader: Reader, entry: dict[str, Any], place: Place) -> FrictionLaw:
    """A friction coefficient that depends on slip."""
    kind, here = _FRICTION_LAWS[entry["law"]], place.at("friction")
    values = {name: reader.coefficient(entry[name], here.at(name)) for name in kind.parameter_names}
    made: FrictionLaw = kind(**values, **({"graze": entry["graze"]} if "graze" in entry else {}))
    return made


# -- writing -----------------------------------------------------------------------------------------------------------


def is_same(again: Scenario, scenario: Scenario) -> bool:
    """Whether the scenario that a file gave has the equations and parameters of the one that was written."""
    mine: Any = scenario.system
    found: Any = again.system
    return bool(
        found.source() == mine.source()
        and (again.drawing is None) == (scenario.drawing is None)
        and _reset_of(again) == _reset_of(scenario)
        and found.parameter_vector().tolist() == mine.parameter_vector(scenario.params).tolist()
    )


def content_of(scenario: Scenario) -> dict[str, Any]:
    """The content of the file of a scenario; ValueError where its system cannot be written."""
    system = scenario.system
    if not isinstance(system, LagrangianSystem) or system.is_functions:
        raise ValueError(
            f"system {system.name!r} is made of functions, and a file holds expressions: it cannot be written; "
            "give its energies (LagrangianSystem.from_energies)."
        )
    given = system.given()
    content: dict[str, Any] = {
        "stickslip": 1,
        "kind": "lagrangian",
        "name": system.name,
        "title": scenario.title,
        "source": scenario.source,
        "coordinates": _coordinates_of(scenario),
        "parameters": _parameters_of(system, scenario.params),
    }
    if given.mass is not None:
        assert given.forces is not None
        rows = [[text_of(x) for x in given.mass.row(i)] for i in range(given.mass.rows)]
        content["equations"] = {"mass": rows, "force": [text_of(x) for x in given.forces]}
        if given.potential is not None:
            content["equations"]["potential"] = text_of(given.potential)
    else:
        content["energies"] = {"kinetic": text_of(given.kinetic)}
        if given.potential != 0:
            content["energies"]["potential"] = text_of(given.potential)
        forces = zip(system.coordinate_names, given.forces or (), strict=False)
        written = {name: text_of(force) for name, force in forces if force != 0}
        if written:
            content["forces"] = written
    elements = system.plain_contacts
    contacts = [contact for contact in elements if contact.kind < TANGENT]
    constraints = [contact for contact in elements if contact.kind >= CONSTRAINT]
    if contacts:
        content["contacts"] = [_contact_of(contact) for contact in contacts]
    if constraints:
        content["constraints"] = [_constraint_of(constraint) for constraint in constraints]
    drawing = drawing_of(scenario)
    if drawing is not None:
        content["drawing"] = drawing
    reset = _reset_of(scenario)
    if reset is not None:
        content["reset"] = reset
    content["run"] = {"dt": float(scenario.dt), "t_end": float(scenario.t_end)}
    return content


def _reset_of(scenario: Scenario) -> dict[str, Any] | None:
    """The reset of a scenario as a table."""
    reset = scenario.reset
    if reset is None:
        return None
    found = {
        "section": reset.section if reset.section is None else getattr(reset.section, "text", reset.section),
        "swap": [list(pair) for pair in reset.swap],
        "flip": list(reset.flip),
        "shift": {name: text_of(value) for name, value in reset.shift.items()},
        "map": {name: text_of(value) for name, value in reset.map.items()},
    }
    return {key: value for key, value in found.items() if value}


def _coordinates_of(scenario: Scenario) -> dict[str, Any]:
    system, found = scenario.system, {}
    for i, (name, velocity) in enumerate(zip(system.coordinate_names, system.velocity_names, strict=True)):
        units = {"unit": system.units.get(name), "velocity_unit": system.units.get(velocity)}
        found[name] = {
            "velocity": velocity,
            **{key: unit for key, unit in units.items() if unit},
            "start": float(scenario.q0[i]),
            "start_velocity": float(scenario.u0[i]),
        }
    return found


def _parameters_of(system: System, params: Mapping[str, float] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in zip(system.parameter_names, system.parameter_vector(params).tolist(), strict=True):
        found[name] = value
        if name in system.units or name in system.positive:
            found[name] = {"value": value}
            if name in system.units:
                found[name]["unit"] = system.units[name]
            if name in system.positive:
                found[name]["positive"] = True
    return found


def _friction_of(contact: Contact) -> dict[str, Any]:
    law: Any = contact.friction
    name = next((name for name, kind in _FRICTION_LAWS.items() if type(law) is kind), None)
    if name is None:
        raise ValueError(
            f"contact {contact.name!r} has the friction law {type(law).__name__}, which has no place in a file: it "
            f"cannot be written; {', '.join(_FRICTION_LAWS)} can."
        )
    values = {key: value if isinstance(value, str) else text_of(value) for key, value in law.parameters.items()}
    return {"law": name, **values, **({"graze": law.graze} if hasattr(law, "graze") else {})}


def _constraint_of(row: Contact) -> dict[str, Any]:
    """A constraint as a table."""
    if row.gap is not None:
        return {"name": row.name, "equation": text_of(row.gap)}
    return {"name": row.name, "velocity": text_of(row.slip)}


def _contact_of(contact: Contact) -> dict[str, Any]:
    """A contact as a table; laws that are names stay names."""

    def text(value: Any) -> str:
        return value if isinstance(value, str) else text_of(value)

    if contact.kind == CLUTCH:
        return {"name": contact.name, "type": "clutch", "angle": text(contact.gap)}
    if contact.kind == SPRING:
        return {
            "name": contact.name,
            "type": "prestressed-spring",
            "displacement": text(contact.gap),
            "preload": text(contact.threshold),
        }
    if contact.kind == FRICTION and not isinstance(contact.slip, list | tuple) and contact.slip is not None:
        return {
            "name": contact.name,
            "type": "dry-friction",
            "displacement": text(contact.slip),
            "threshold": text(contact.threshold),
        }
    if contact.kind != CONTACT:
        raise ValueError(f"contact {contact.name!r} is a friction joint with a direction of its own: no file has that.")
    found: dict[str, Any] = {"name": contact.name}

    def nested(value: Any) -> Any:
        return [nested(each) for each in value] if isinstance(value, list | tuple) else text(value)

    for key in _NESTED:
        if getattr(contact, key) is not None:
            found[key] = nested(getattr(contact, key))
    if contact.section is not None:
        found["section"] = _section_of(contact)
    for key in _ALONE:
        value = getattr(contact, key)
        if isinstance(value, FrictionLaw):
            found[key] = _friction_of(contact)
        elif isinstance(value, RestitutionCurve):
            found[key] = {
                "law": "speed",
                "curve": text_of(value.curve),
                "speed": value.speed.name,
                **({"mass": value.mass.name} if value.mass is not None else {}),
            }
        elif value is not None and (isinstance(value, str) or value != 0 or key == "gap"):
            found[key] = text(value)
    return {"name": found.pop("name"), "gap": found.pop("gap"), **found}
