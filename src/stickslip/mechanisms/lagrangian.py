"""LagrangianSystem: a mechanism given by its energies and gaps (SymPy), or by functions of its coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from stickslip.checks import Array
from stickslip.jit.fingerprint import function_fingerprint, uses_objects
from stickslip.mechanisms.composed import stored_energy
from stickslip.mechanisms.derivation import Expr
from stickslip.mechanisms.elements import Constraint, Contact, Element, curve_functions
from stickslip.mechanisms.from_expressions import (
    Given,
    derived_from_energies,
    element_tuple,
    rows_of_constraints,
    rows_of_elements,
    taken_as_given,
)
from stickslip.mechanisms.functions import Function, FunctionModel
from stickslip.mechanisms.kinks import branched, kink_contacts, kink_levels, kink_source
from stickslip.mechanisms.notation import Notation
from stickslip.mechanisms.source import drift_source, jacobian_source, model_source, sizes_source
from stickslip.mechanisms.symbolic import Equations
from stickslip.mechanisms.system import CONTACT, System, require_few_contacts

__all__ = ["Contact", "LagrangianSystem"]


class LagrangianSystem(System):
    """A mechanical system in generalised coordinates, M(q, t) du - h(q, u, t) dt - dR = 0 [GS05] eq. (6).

    `LagrangianSystem.from_energies` derives it from SymPy expressions. The constructor takes functions in
    the kernel language (docs/kernels.md); the vector `p` holds the parameters in their given order.  Other functions
    run on the reference engine, slowly.

    Parameters
    ----------
    mass : function (q, t, p) -> (f, f) array, or a constant (f, f) array
    force : function (q, u, t, p) -> (f,) array
        h: gyroscopic terms and all classical forces.  Implicit steppers differentiate it by central differences, to
        about 1e-10 of its size.  This error changes the number of their iterations, not the limit.
    contacts : sequence of Contact
        With `gap=` a function (q, t, p) -> float and `normal=`, `tangent=` functions (q, t, p) -> (f,) array
        or constant vectors; `normal_drift=`, `tangent_drift=` functions (q, t, p) -> float where gaps move
        with time. Coefficients are numbers, names of parameters, or SymPy expressions in these names.
    constraints : sequence of Constraint
        With `equation=` a function (q, t, p) -> float and `direction=`, `drift=` its derivatives by q and t; without
        `equation`, a constraint on the velocities.
    coordinates, velocities : sequence of str
        Names; needed unless `mass` is an array.
    parameters : dict, name -> value
    potential : function (q, t, p) -> float, optional
        Potential energy [J]; without it the energy of a trajectory is not known (nan).
    units : dict, name -> unit, optional

    A function that returns a tuple instead of an array compiles for the GPU as well.
    """

    def __init__(
        self,
        *,
        mass: Function | ArrayLike,
        force: Function,
        contacts: Iterable[Contact] = (),
        constraints: Iterable[Constraint] = (),
        coordinates: Sequence[str] | None = None,
        velocities: Sequence[str] | None = None,
        parameters: Mapping[str, float] | None = None,
        potential: Function | None = None,
        name: str = "system",
        units: Mapping[str, str] | None = None,
    ) -> None:
        given = tuple(
            row for contact in contacts for row in (contact.contacts() if isinstance(contact, Contact) else (contact,))
        )
        contacts = (*given, *rows_of_constraints(constraints))
        require_few_contacts(len(contacts))
        if coordinates is None:
            if callable(mass):
                raise ValueError("coordinates= must name the coordinates when mass is a function, got none.")
            coordinates = [f"q{i + 1}" for i in range(len(np.atleast_2d(np.asarray(mass))))]
        parameters = {str(key): value for key, value in (parameters or {}).items()}
        model = FunctionModel(mass, force, contacts, len(coordinates), tuple(parameters), potential, tuple(coordinates))
        self.state_laws = model.state_laws
        super().__init__(
            name=name,
            coordinate_names=coordinates,
            velocity_names=velocities or [f"{x}_dot" for x in coordinates],
            contact_names=[contact.name for contact in contacts],
            contact_kinds=[contact.kind for contact in contacts],
            parameters=parameters,
            source=model.source,
            mass_constant=model.mass_constant,
            directions_constant=model.directions_constant,
            units=units,
            inject=model.functions,
            friction_laws=[contact.friction_law for contact in contacts],
        )
        self._equations: Equations | None = None
        self._given: Given | None = None
        self._contacts = contacts
        self.sections = tuple(contact.section for contact in contacts)
        self._plain: dict[Expr, Expr] = {}
        self._function_sizes = model.sizes

    @classmethod
    def from_energies(
        cls,
        q: Sequence[Expr],
        *,
        kinetic: Expr,
        potential: Expr = 0,
        forces: Sequence[Expr] | Mapping[Expr, Expr] | None = None,
        parameters: Mapping[Expr, float] | None = None,
        contacts: Iterable[Element] = (),
        constraints: Iterable[Constraint] = (),
        name: str = "system",
        velocities: Sequence[Expr] | None = None,
        time: Expr = None,
        units: Mapping[str, str] | None = None,
        positive: Iterable[str] = (),
    ) -> LagrangianSystem:
        """Derive a system from its energies and gaps by Lagrange's equations of the second kind.

        Parameters
        ----------
        q : sequence of f symbols
            Plain symbols, or functions of time from `sympy.physics.mechanics.dynamicsymbols`.
        kinetic, potential : expression
            T(q, u, t), at most quadratic in the velocities, and V(q, t) [J].
        forces : sequence of f expressions or dict, coordinate -> expression; optional
            Further generalised forces, functions of (q, u, t).
        parameters : dict, symbol or name -> value
            Every other symbol that the expressions contain. Values can be changed at run time.
        contacts : sequence of Contact, Stop, SpragClutch, PrestressedSpring, DryFriction, TranslationalClearanceJoint,
            RevoluteClearanceJoint, Prandtl, Masing, Rope, Ratchet; energies of springs in them join `potential`
        constraints : sequence of Constraint
            Equations that always hold: closed loops, drives, rolling. The energies are those without them.
        velocities : sequence of f symbols
            The symbols of dq/dt in the expressions. Needed with plain symbols; time functions may use
            `x.diff()`.
        time : symbol, optional
            Its default is the symbol named t.
        units : dict, name -> unit, optional
        positive : names of parameters, optional
            Masses, lengths and clearances that must stay positive, whatever values a run gives them.
        """
        contacts = element_tuple(contacts)
        rows = rows_of_elements(contacts, constraints)
        stored = stored_energy(contacts)
        potential = potential if stored == 0 else potential + stored
        expressions = [kinetic, potential, forces, [vars(row) for row in rows]]
        notation = Notation(q, velocities, time, parameters or {}, expressions)
        equations, given = derived_from_energies(name, notation, kinetic, potential, forces, rows)
        return cls._derived(equations, given, notation, rows, units, positive)

    @classmethod
    def from_equations(
        cls,
        q: Sequence[Expr],
        *,
        mass: Expr,
        force: Sequence[Expr],
        potential: Expr = None,
        parameters: Mapping[Expr, float] | None = None,
        contacts: Iterable[Element] = (),
        constraints: Iterable[Constraint] = (),
        name: str = "system",
        velocities: Sequence[Expr] | None = None,
        time: Expr = None,
        units: Mapping[str, str] | None = None,
        positive: Iterable[str] = (),
    ) -> LagrangianSystem:
        """Take M and h of M(q, t) du/dt = h(q, u, t) as they are printed in a paper; gaps are differentiated.

        Parameters
        ----------
        q, parameters, contacts, constraints, name, velocities, time, units, positive : as for `from_energies`.
        mass : (f, f) nested sequence or SymPy matrix of expressions in (q, t), symmetric
        force : sequence of f expressions in (q, u, t)
            h: gyroscopic terms and all classical forces, gravity among them.
        potential : expression, optional
            V(q, t) [J], for the energy book only; without it the energy of a trajectory is not known (nan). The
            kinetic energy is u^T M u / 2.
        """
        contacts = element_tuple(contacts)
        rows = rows_of_elements(contacts, constraints)
        if stored_energy(contacts) != 0:
            raise ValueError(
                "contacts with springs of their own (Prandtl, Masing) belong to from_energies; here give their forces "
                "in force=, and DryFriction for their sliders."
            )
        M = sp.Matrix(mass)
        expressions = [M, list(force), potential, [vars(row) for row in rows]]
        notation = Notation(q, velocities, time, parameters or {}, expressions)
        equations, given = taken_as_given(name, notation, M, force, potential, rows)
        return cls._derived(equations, given, notation, rows, units, positive)

    @classmethod
    def _derived(
        cls,
        equations: Equations,
        given: Given,
        notation: Notation,
        rows: tuple[Contact, ...],
        units: Mapping[str, str] | None,
        positive: Iterable[str],
    ) -> LagrangianSystem:
        """The system of derived equations."""
        system = cls.__new__(cls)
        curves = curve_functions(rows)
        notes = [f"# {key}: {function_fingerprint(function)}\n" for key, function in curves.items()]
        system.state_laws = equations.state_laws
        System.__init__(
            system,
            name=equations.name,
            coordinate_names=[s.name for s in notation.q],
            velocity_names=[s.name for s in notation.u],
            contact_names=equations.contact_names,
            contact_kinds=equations.kind,
            parameters=notation.values,
            source="".join([model_source(equations), *notes]),
            mass_constant=equations.mass_constant,
            directions_constant=equations.directions_constant,
            force_depends_on_u=equations.force_depends_on_u,
            units=units,
            positive=positive,
            inject=curves,
            injected_into=("laws", "friction", "laws_at", "friction_at"),
            friction_laws=[row.friction_law for row in rows],
            forced=given.forces is not None or equations.depends_on_time,
        )
        system.gated = tuple(row.closes_when is not None for row in rows)
        system.sections = tuple(row.section for row in rows)
        system._equations = equations
        system._given = given
        system._contacts = rows
        system._plain = dict(notation.plain)
        return system

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The contacts as they were given, those of elements among them."""
        return self._contacts

    @property
    def plain_contacts(self) -> tuple[Contact, ...]:
        """The contacts with plain symbols in place of functions of time and their derivatives."""
        if not self._plain:
            return self._contacts
        return tuple(
            replace(contact, **{key: _in_symbols(value, self._plain) for key, value in vars(contact).items()})
            for contact in self._contacts
        )

    @property
    def is_functions(self) -> bool:
        """Whether the system was given as functions, not as expressions."""
        return self._equations is None

    def given(self) -> Given:
        """Return what the system was derived from: energies and forces, or mass matrix and forces."""
        if self._given is None:
            raise ValueError(f"system {self.name!r} was given as functions: it has no expressions.")
        return self._given

    def equations(self) -> Equations:
        """Return the derived equations: SymPy matrices M, h, g_N, W_N, ...; `.text()` and `.latex()` show them."""
        if self._equations is None:
            raise ValueError(f"system {self.name!r} was given as functions: it has no symbolic equations.")
        return self._equations

    @property
    def gap_units(self) -> tuple[str, ...]:
        """Metres; for a gap that is a coordinate up to sign and shift, w_N = e_k or -e_k, the unit of q_k."""
        eq = self._equations
        if eq is None:
            return super().gap_units
        units = []
        held = set(self.constraints.tolist())
        for row in [(eq.W_T if k in held else eq.W_N).row(k).tolist()[0] for k in range(self.n_contacts)]:
            moved = [k for k, entry in enumerate(row) if entry != 0]
            plain = len(moved) == 1 and row[moved[0]] in (1, -1)
            units.append(self.units.get(self.coordinate_names[moved[0]], "m") if plain else "m")
        return tuple(units)

    def sizes_source(self) -> str:
        """Source of `sizes`, see `System`: from the expressions of the gaps, or from their values and gradients."""
        if self._equations is None:
            return self._function_sizes
        return sizes_source(self._equations)

    def jacobian_source(self) -> str:
        """Exact derivatives of derived forces; differences where the forces were given as functions."""
        if self._equations is None:
            return super().jacobian_source()
        return jacobian_source(self._equations)

    @cached_property
    def branched(self) -> System:
        """The system with the branches of its kinks held, see `System.branched`."""
        if self._equations is None:
            return self
        found = branched(self._equations, [c.kind == CONTACT and c.normal is None for c in self._contacts])
        if found is None:
            return self
        equations, branches = found
        system = LagrangianSystem.__new__(LagrangianSystem)
        names = [f"branch {j + 1}" for j in range(len(branches.names))]
        system.state_laws = self.state_laws
        System.__init__(
            system,
            name=self.name,
            coordinate_names=self.coordinate_names,
            velocity_names=self.velocity_names,
            contact_names=self.contact_names,
            contact_kinds=self.contact_kinds,
            parameters={
                **dict(zip(self.parameter_names, self.parameter_values, strict=True)),
                **dict.fromkeys(names, 1.0),
            },
            source=f"{model_source(equations, frozenset(self.state_laws))}\n\n{kink_source(branches)}",
            inject=self.inject,
            injected_into=self.injected_into,
            friction_laws=self.friction_laws,
        )
        system._equations, system._given, system._contacts, system._plain = equations, None, self._contacts, {}
        system.sections = self.sections
        system.__dict__["branched"] = system
        system.kink_contacts = kink_contacts(equations, branches)
        system.kink_gates = tuple(name in branches.gates for name in branches.names)
        system.kink_levels = kink_levels(equations, branches)
        return system

    def drift_source(self) -> str:
        """Source of `drift`, see `System`: differentiated symbolically where the equations are known."""
        return super().drift_source() if self._equations is None else drift_source(self._equations)

    def check(
        self,
        q0: ArrayLike,
        u0: ArrayLike,
        params: Mapping[Any, float] | None = None,
        t: float = 0.0,
        names: tuple[str, str] = ("q0", "u0"),
    ) -> tuple[Array, Array, Array]:
        """Check the system at a state, see `System.check`; for functions also the shapes of what they return."""
        self._require_same_functions()
        if self._equations is None:
            q, u = self._states(q0, u0, names)
            self._check_functions(q, u, t, self.parameter_vector(params))
        q, u, p = super().check(q0, u0, params, t, names)
        if self._equations is None:
            self._compare_directions(q, t, p)
        return q, u, p

    def _require_same_functions(self) -> None:
        """Functions are compiled with the globals and arrays that they use; these must be as they were."""
        for key, function in self.inject.items():
            if uses_objects(function):
                continue  # nothing of it is compiled: each call finds the object as it is
            if f"# {key}: {function_fingerprint(function)}" not in self._source:
                raise ValueError(
                    f"{key.removeprefix('user_')} of system {self.name!r} uses a global, an array or a function that "
                    "has changed since the system was made: make the system anew, or make a parameter of it."
                )

    def _check_functions(self, q: Array, u: Array, t: float, p: Array) -> None:
        f = self.n_dof
        for key, function in self.inject.items():
            if key in curve_functions(self._contacts):
                continue  # of a speed, not of the state: checked with the laws
            role = key.removeprefix("user_").rstrip("0123456789").rstrip("_")
            digits = key.rsplit("_", 1)[-1]
            owner = f" of contact {self.contact_names[int(digits)]!r}" if digits.isdigit() else ""
            try:
                value = np.asarray(function(q, u, t, p) if role == "force" else function(q, t, p), dtype=float)
            except Exception as problem:  # whatever a user's function raises
                reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
                raise ValueError(
                    f"{role}{owner} cannot be evaluated at q = {q.tolist()}, t = {t:g}: {reason}"
                ) from problem
            shape = {"mass": (f, f), "force": (f,), "normal": (f,), "tangent": (f,)}.get(role, ())
            if value.shape != shape:
                raise ValueError(f"{role}{owner} must return shape {shape}, got {value.shape}.")

    def _compare_directions(self, q: Array, t: float, p: Array) -> None:
        """Warn where normal and normal_drift are not the derivatives of the gap (central differences)."""
        W_N, _, w_hat = self.geometry(q, t, p)
        point = np.append(q, t)
        given = np.column_stack([W_N, w_hat[:, 0]])
        measured = np.empty_like(given)
        for i in range(len(point)):
            step = 1e-6 * max(1.0, abs(point[i]))
            ends = []
            for sign in (1.0, -1.0):
                moved = point.copy()
                moved[i] += sign * step
                ends.append(self.gap(moved[:-1], moved[-1], p))
            measured[:, i] = (ends[0] - ends[1]) / (2 * step)
        for k, contact in enumerate(self._contacts):
            scale = max(1e-3, float(np.abs(measured[k]).max()))
            worst = int(np.abs(given[k] - measured[k]).argmax())
            if contact.kind == CONTACT and abs(given[k, worst] - measured[k, worst]) > 1e-3 * scale:
                what = f"normal[{worst}]" if worst < self.n_dof else "normal_drift"
                warnings.warn(
                    f"contact {contact.name!r}: {what} = {given[k, worst]:.6g}, but differences of its gap give "
                    f"{measured[k, worst]:.6g}; normal= is dg/dq and normal_drift= is dg/dt.",
                    stacklevel=4,
                )


def _in_symbols(value: Any, plain: Mapping[Expr, Expr]) -> Any:
    """Expressions, alone or in sequences, with functions of time replaced by symbols; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(_in_symbols(each, plain) for each in value)
    return value.xreplace(plain) if isinstance(value, sp.Basic) else value
