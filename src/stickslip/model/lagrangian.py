"""LagrangianSystem: a mechanism given by its energies and gaps (SymPy), or by functions of its coordinates."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import dynamicsymbols

from stickslip.model.elements import Contact, Element
from stickslip.model.symbolic import (
    Equations,
    Expr,
    Printer,
    derivative,
    gradient,
    lagrange,
    laws_source,
    model_source,
)
from stickslip.model.system import (
    CONTACT,
    SPRING,
    Array,
    System,
    function_fingerprint,
    require_unique,
    unknown_name,
)

__all__ = ["Contact", "LagrangianSystem"]

Function = Callable[..., Any]
LAWS = ("friction", "restitution_normal", "restitution_tangential", "threshold")


class LagrangianSystem(System):
    """A mechanical system in generalised coordinates, M(q, t) du - h(q, u, t) dt - dR = 0 [GS05] eq. (6).

    `LagrangianSystem.from_energies` derives it from SymPy expressions. The constructor takes functions that
    Numba can compile; there the vector `p` holds the parameters in their given order.

    Parameters
    ----------
    mass : function (q, t, p) -> (f, f) array, or a constant (f, f) array
    force : function (q, u, t, p) -> (f,) array
        h: gyroscopic terms and all classical forces.
    contacts : sequence of Contact
        With `gap=` a function (q, t, p) -> float and `normal=`, `tangent=` functions (q, t, p) -> (f,) array
        or constant vectors; `normal_drift=`, `tangent_drift=` functions (q, t, p) -> float where gaps move
        with time. Laws are numbers, names of parameters, or SymPy expressions in symbols of those names.
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
        coordinates: Sequence[str] | None = None,
        velocities: Sequence[str] | None = None,
        parameters: Mapping[str, float] | None = None,
        potential: Function | None = None,
        name: str = "system",
        units: Mapping[str, str] | None = None,
    ) -> None:
        contacts = tuple(contacts)
        if coordinates is None:
            if callable(mass):
                raise ValueError("coordinates= must name the coordinates when mass is a function, got none.")
            coordinates = [f"q{i + 1}" for i in range(len(np.atleast_2d(np.asarray(mass))))]
        parameters = {str(key): value for key, value in (parameters or {}).items()}
        model = _FunctionModel(mass, force, contacts, len(coordinates), tuple(parameters), potential)
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
        )
        self._equations: Equations | None = None
        self._contacts = contacts

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
        name: str = "system",
        velocities: Sequence[Expr] | None = None,
        time: Expr = None,
        units: Mapping[str, str] | None = None,
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
        contacts : sequence of Contact, Stop, SpragClutch, PrestressedSpring, DryFriction
        velocities : sequence of f symbols
            The symbols of dq/dt in the expressions. Needed with plain symbols; time functions may use
            `x.diff()`.
        time : symbol, optional
            Its default is the symbol named t.
        units : dict, name -> unit, optional
        """
        rows = tuple(row for element in contacts for row in element.contacts())
        require_unique("contact names", [row.name for row in rows])
        expressions = [kinetic, potential, forces, [vars(row) for row in rows]]
        notation = _Notation(q, velocities, time, parameters or {}, expressions)
        equations = _derive(name, notation, kinetic, potential, forces, rows)
        system = cls.__new__(cls)
        System.__init__(
            system,
            name=name,
            coordinate_names=[s.name for s in notation.q],
            velocity_names=[s.name for s in notation.u],
            contact_names=equations.contact_names,
            contact_kinds=equations.kind,
            parameters=notation.values,
            source=model_source(equations),
            mass_constant=equations.mass_constant,
            directions_constant=equations.directions_constant,
            force_depends_on_u=equations.force_depends_on_u,
            units=units,
        )
        system._equations = equations
        system._contacts = rows
        return system

    def equations(self) -> Equations:
        """Return the derived equations: SymPy matrices M, h, g_N, W_N, ...; `.text()` and `.latex()` show them."""
        if self._equations is None:
            raise ValueError(f"system {self.name!r} was given as functions: it has no symbolic equations.")
        return self._equations

    def check(
        self, q0: ArrayLike, u0: ArrayLike, params: Mapping[Any, float] | None = None, t: float = 0.0
    ) -> tuple[Array, Array, Array]:
        """Check the system at a state, see `System.check`; for functions also the shapes of what they return."""
        if self._equations is None:
            q = self._state(q0, "q0", "coordinate", self.coordinate_names)
            u = self._state(u0, "u0", "velocity", self.velocity_names)
            self._check_functions(q, u, t, self.parameter_vector(params))
        q, u, p = super().check(q0, u0, params, t)
        if self._equations is None:
            self._compare_directions(q, t, p)
        return q, u, p

    def _check_functions(self, q: Array, u: Array, t: float, p: Array) -> None:
        f = self.n_dof
        for key, function in self.inject.items():
            role = key.removeprefix("user_").rstrip("0123456789").rstrip("_")
            value = np.asarray(function(q, u, t, p) if role == "force" else function(q, t, p), dtype=float)
            shape = {"mass": (f, f), "force": (f,), "normal": (f,), "tangent": (f,)}.get(role, ())
            if value.shape != shape:
                digits = key.rsplit("_", 1)[-1]
                owner = f" of contact {self.contact_names[int(digits)]!r}" if digits.isdigit() else ""
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


# -- from energies -------------------------------------------------------------------------------------------


class _Notation:
    """The symbols of a model: what the user calls coordinates, velocities, time and parameters.

    Expressions are read into plain symbols known to be real (else SymPy differentiates Abs as a complex
    function); `original` maps those back to the user's own.
    """

    def __init__(
        self,
        q: Sequence[Expr],
        velocities: Sequence[Expr] | None,
        time: Expr,
        parameters: Mapping[Expr, float],
        expressions: Any,
    ) -> None:
        q = tuple(q) if isinstance(q, (Sequence, sp.MatrixBase, sp.Tuple)) else (q,)
        found: dict[str, Expr] = {}
        for symbol in _symbols(expressions):
            found.setdefault(symbol.name, symbol)

        self.values = {str(getattr(key, "name", key)): value for key, value in parameters.items()}
        if len(self.values) < len(parameters):
            raise ValueError(f"parameter names must be unique, got {', '.join(str(key) for key in parameters)}.")
        self.parameters = tuple(
            key if isinstance(key, sp.Symbol) else found.get(str(key), sp.Symbol(str(key))) for key in parameters
        )
        if time is None:
            time = found["t"] if "t" in found and "t" not in self.values else dynamicsymbols._t
        self.t = time

        self.plain: dict[Expr, Expr] = {}
        self.q = tuple(self._plain_symbol(x, "coordinate") for x in q)
        self.u = self._velocity_symbols(q, velocities)
        self.symbols = {s.name: s for s in (*self.q, *self.u, *self.parameters, self.t)}
        if len(self.symbols) < 2 * len(self.q) + len(self.parameters) + 1:
            names = [s.name for s in (*self.q, *self.u, *self.parameters, self.t)]
            require_unique("coordinate, velocity, parameter and time names", names)
        self.real = {s: s if s.is_real else sp.Symbol(s.name, real=True) for s in self.symbols.values()}
        self.original = {real: s for s, real in self.real.items()}

    def _plain_symbol(self, x: Expr, kind: str) -> Expr:
        if isinstance(x, sp.Symbol):
            return x
        if isinstance(x, AppliedUndef) and x.args == (self.t,):
            self.plain[x] = sp.Symbol(x.func.__name__, real=True)
            return self.plain[x]
        raise ValueError(f"a {kind} must be a SymPy symbol or a function of time {self.t} (dynamicsymbols), got {x!r}.")

    def _velocity_symbols(self, q: Sequence[Expr], velocities: Sequence[Expr] | None) -> tuple[Expr, ...]:
        if velocities is None:
            if any(isinstance(x, sp.Symbol) for x in q):
                raise ValueError(
                    "plain symbols need velocities=, the symbols that stand for their time derivatives in kinetic "
                    "and forces; or take q from sympy.physics.mechanics.dynamicsymbols and write x.diff()."
                )
            u: tuple[Expr, ...] = tuple(sp.Symbol(f"{x.name}_dot", real=True) for x in self.q)
        else:
            u = tuple(self._plain_symbol(x, "velocity") for x in velocities)
            if len(u) != len(q):
                raise ValueError(f"velocities must have {len(q)} entries, one per coordinate, got {len(u)}.")
        for x, symbol in zip(q, u, strict=True):
            if isinstance(x, AppliedUndef):
                self.plain[sp.Derivative(x, self.t)] = symbol
        return u

    def read(self, value: Any, origin: str, allowed: str = "qutp") -> Expr:
        """Return a user's expression in real plain symbols; only the groups of symbols in `allowed` may occur."""
        if isinstance(value, str):
            if value not in self.symbols:
                raise ValueError(f"{origin}: {unknown_name('symbol', value, self.symbols)}")
            value = self.symbols[value]
        try:
            expression = sp.sympify(value, strict=True)
        except sp.SympifyError:
            raise ValueError(f"{origin} must be a number or a SymPy expression, got {value!r}.") from None
        if not isinstance(expression, sp.Expr):
            raise ValueError(f"{origin} must be one SymPy expression, got {type(value).__name__} {value!r}.")
        if self.plain:
            if any(d not in self.plain for d in expression.atoms(sp.Derivative)):
                expression = expression.doit()
            expression = expression.xreplace(self.plain)
        left = sorted(expression.atoms(AppliedUndef, sp.Derivative), key=sp.default_sort_key)
        if left:
            raise ValueError(f"{origin} contains {left[0]}, which is neither a coordinate nor its first derivative.")
        groups = {"q": self.q, "u": self.u, "t": (self.t,), "p": self.parameters}
        permitted = {symbol for key in allowed for symbol in groups[key]}
        for symbol in sorted(expression.free_symbols - permitted, key=sp.default_sort_key):
            self._refuse(symbol, origin, allowed)
        return expression.xreplace(self.real)

    def _refuse(self, symbol: Expr, origin: str, allowed: str) -> None:
        known = self.symbols.get(symbol.name)
        if known is None:
            raise ValueError(
                f"{origin} contains {symbol.name!r}, which is neither coordinate, velocity, time nor parameter; "
                f"add it as parameters={{{symbol.name}: value}}."
            )
        if known != symbol:
            raise ValueError(
                f"{origin} contains a second symbol called {symbol.name!r} with other assumptions than the "
                "coordinate, velocity, time or parameter of that name; use one symbol for both."
            )
        words = {"q": "coordinates", "u": "velocities", "t": "time", "p": "parameters"}
        raise ValueError(
            f"{origin} may depend on {', '.join(words[key] for key in allowed)} only, but contains {symbol.name!r}."
        )


def _symbols(values: Any) -> Iterator[Expr]:
    """Symbols of all expressions in nested containers, in a fixed order."""
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, sp.Basic):
        yield from sorted(values.free_symbols, key=sp.default_sort_key)
    elif isinstance(values, (list, tuple, sp.MatrixBase)):
        for value in values:
            yield from _symbols(value)


def _derive(
    name: str,
    notation: _Notation,
    kinetic: Expr,
    potential: Expr,
    forces: Sequence[Expr] | Mapping[Expr, Expr] | None,
    contacts: Sequence[Contact],
) -> Equations:
    q, u, t = (
        [notation.real[s] for s in notation.q],
        [notation.real[s] for s in notation.u],
        notation.real[notation.t],
    )
    T = notation.read(kinetic, "kinetic")
    V = notation.read(potential, "potential")
    M, h = lagrange(q, u, t, T, V, _generalised_forces(notation, forces))

    rows = [_contact_row(notation, contact, q, t) for contact in contacts]
    f, n = len(q), len(rows)
    for row in rows:
        if row["kind"] == SPRING:
            V += row["threshold"] * sp.Abs(row["g_N"])  # in the energy book only: its force is set-valued
    equations = Equations(
        name=name,
        q=tuple(q),
        u=tuple(u),
        t=t,
        parameters=tuple(notation.real[s] for s in notation.parameters),
        M=M,
        h=h,
        contact_names=tuple(contact.name for contact in contacts),
        kind=tuple(contact.kind for contact in contacts),
        g_N=sp.ImmutableMatrix(n, 1, [row["g_N"] for row in rows]),
        W_N=sp.ImmutableMatrix(n, f, [x for row in rows for x in row["w_N"]]),
        w_hat_N=sp.ImmutableMatrix(n, 1, [row["w_hat_N"] for row in rows]),
        W_T=sp.ImmutableMatrix(n, f, [x for row in rows for x in row["w_T"]]),
        w_hat_T=sp.ImmutableMatrix(n, 1, [row["w_hat_T"] for row in rows]),
        mu=tuple(row["friction"] for row in rows),
        eps_N=tuple(row["restitution_normal"] for row in rows),
        eps_T=tuple(row["restitution_tangential"] for row in rows),
        threshold=tuple(row["threshold"] for row in rows),
        kinetic=T,
        potential=V,
    )
    return equations.replaced(notation.original)


def _generalised_forces(notation: _Notation, forces: Sequence[Expr] | Mapping[Expr, Expr] | None) -> list[Expr] | None:
    if forces is None:
        return None
    if isinstance(forces, Mapping):
        names = [s.name for s in notation.q]
        given = {}
        for key, value in forces.items():
            coordinate = str(getattr(notation.plain.get(key, key), "name", key))
            if coordinate not in names:
                raise ValueError(f"forces: {unknown_name('coordinate', coordinate, names)}")
            given[coordinate] = value
        forces = [given.get(coordinate, 0) for coordinate in names]
    if len(forces) != len(notation.q):
        raise ValueError(f"forces must have {len(notation.q)} entries, one per coordinate, got {len(forces)}.")
    return [notation.read(force, f"force on {x.name!r}") for force, x in zip(forces, notation.q, strict=True)]


def _contact_row(notation: _Notation, contact: Contact, q: Sequence[Expr], t: Expr) -> dict[str, Any]:
    """Differentiate gap and slip: w = d g/d q, w_hat = d g/d t [GS05] eq. (10)."""

    def read(value: Any, what: str, allowed: str = "qtp") -> Expr:
        return notation.read(value, f"{what} of contact {contact.name!r}", allowed)

    def direction(values: Any, what: str) -> list[Expr]:
        values = list(values)
        if len(values) != len(q):
            raise ValueError(
                f"{what} of contact {contact.name!r} must have {len(q)} entries, one per coordinate, got {len(values)}."
            )
        return [read(value, what) for value in values]

    zero = [sp.S.Zero] * len(q)
    displacement = sp.S.Zero if contact.gap is None else read(contact.gap, "gap")
    row: dict[str, Any] = {law: read(getattr(contact, law), law, "p") for law in LAWS}
    row |= {"kind": contact.kind, "w_N": zero, "w_hat_N": sp.S.Zero, "w_T": zero, "w_hat_T": sp.S.Zero}
    row["g_N"] = displacement if contact.kind in (CONTACT, SPRING) else sp.S.Zero
    if contact.has_normal:
        row["w_N"] = gradient(displacement, q) if contact.normal is None else direction(contact.normal, "normal")
        drift = contact.normal_drift
        row["w_hat_N"] = derivative(displacement, t) if drift is None else read(drift, "normal_drift")
        _require_direction(row["w_N"], contact, "gap" if contact.normal is None else "normal")
    if contact.tangent is not None:
        row["w_T"] = direction(contact.tangent, "tangent")
        row["w_hat_T"] = read(0 if contact.tangent_drift is None else contact.tangent_drift, "tangent_drift")
    elif contact.has_tangent:
        slip = displacement if contact.kind == SPRING else read(contact.slip, "slip")
        row["w_T"] = gradient(slip, q)
        row["w_hat_T"] = derivative(slip, t)
    if contact.has_tangent:
        _require_direction(row["w_T"], contact, "slip" if contact.tangent is None else "tangent")
    return row


def _require_direction(w: Sequence[Expr], contact: Contact, what: str) -> None:
    if all(entry.is_zero for entry in w):
        raise ValueError(f"{what} of contact {contact.name!r} does not depend on any coordinate: no force acts there.")


# -- from functions ------------------------------------------------------------------------------------------


class _FunctionModel:
    """Source that calls the user's functions by name and copies what they return, for `System`."""

    def __init__(
        self,
        mass: Function | ArrayLike,
        force: Function,
        contacts: Sequence[Contact],
        n_dof: int,
        parameter_names: Sequence[str],
        potential: Function | None,
    ) -> None:
        for contact in contacts:
            if not isinstance(contact, Contact):
                raise ValueError(
                    f"contacts of a system of functions must be Contact objects, got {type(contact).__name__}; "
                    "elements with SymPy displacements belong to LagrangianSystem.from_energies."
                )
        self.n_dof = n_dof
        self.functions: dict[str, Function] = {}
        self.mass_constant = not callable(mass)
        self.directions_constant = self.mass_constant
        laws = [_function_laws(contact, parameter_names) for contact in contacts]

        mass_call, M = self._mass(mass)
        mass_lines = [f"M[{i}, {j}] = {M[i][j]}" for i in range(n_dof) for j in range(n_dof)]
        force_call = self._call("force", "force", force, "q, u, t, p")
        force_lines = [f"value = {force_call}", *(f"h[{i}] = value[{i}]" for i in range(n_dof))]
        gap_lines = [f"g[{k}] = {self._gap(k, contact)}" for k, contact in enumerate(contacts)]
        row_lines = [line for k, contact in enumerate(contacts) for line in self._rows(k, contact)]
        dynamics_lines = ["force(q, u, t, p, h)", "gap(q, t, p, g)"]
        if not self.mass_constant:
            dynamics_lines.insert(0, "mass(q, t, p, M)")

        squares = " + ".join(f"{M[i][j]} * u[{i}] * u[{j}]" for i in range(n_dof) for j in range(n_dof))
        known = "math.nan" if potential is None else self._call("potential", "potential", potential, "q, t, p")
        energy_lines = [*mass_call, f"E[0] = 0.5 * ({squares})", f"E[1] = {known}"]
        for k, contact in enumerate(contacts):
            if contact.kind == SPRING:
                preload = Printer(energy_lines).factor(laws[k]["threshold"])
                energy_lines.append(f"E[1] += {preload} * math.fabs({self._gap(k, contact)})")

        # The fingerprints make the text, and every cache that is keyed by it, change with the functions.
        notes = [f"# {key}: {function_fingerprint(self.functions[key])}" for key in sorted(self.functions)]
        self.source = "\n\n".join(
            [
                _function("mass", "q, t, p, M", [*mass_call, *mass_lines]),
                _function("force", "q, u, t, p, h", force_lines),
                _function("gap", "q, t, p, g", gap_lines),
                _function("dynamics", "q, u, t, p, M, h, g", dynamics_lines),
                _function("geometry", "q, t, p, W_N, W_T, w_hat", row_lines),
                laws_source(*([law[key] for law in laws] for key in LAWS)),
                _function("energy", "q, u, t, p, E", energy_lines),
                "\n".join(notes) + "\n",
            ]
        )

    def _call(self, key: str, origin: str, function: Any, arguments: str = "q, t, p") -> str:
        """Register a user's function and return the text that calls it."""
        if not callable(function):
            raise ValueError(f"{origin} must be a function of ({arguments}), got {function!r}.")
        signature = inspect.signature(getattr(function, "py_func", function))
        try:
            signature.bind(*arguments.split(","))
        except TypeError:
            raise ValueError(f"{origin} must be a function of ({arguments}), got one of {signature}.") from None
        self.functions[f"user_{key}"] = function
        return f"user_{key}({arguments})"

    def _mass(self, mass: Any) -> tuple[list[str], list[list[str]]]:
        """Return the lines that evaluate the mass matrix, and the text of its entries."""
        f = self.n_dof
        if callable(mass):
            call = [f"mass_value = {self._call('mass', 'mass', mass)}"]
            return call, [[f"mass_value[{i}][{j}]" for j in range(f)] for i in range(f)]
        matrix = np.atleast_2d(np.asarray(mass, dtype=float))
        if matrix.shape != (f, f):
            raise ValueError(f"mass must have shape ({f}, {f}), one row per coordinate, got {matrix.shape}.")
        return [], [[repr(float(x)) for x in row] for row in matrix]

    def _gap(self, k: int, contact: Contact) -> str:
        if contact.kind not in (CONTACT, SPRING):
            return "0.0"
        return self._call(f"gap_{k}", f"gap of contact {contact.name!r}", contact.gap)

    def _rows(self, k: int, contact: Contact) -> list[str]:
        if contact.has_normal and contact.normal is None:
            raise ValueError(
                f"contact {contact.name!r} needs normal=, a function (q, t, p) returning dg/dq with {self.n_dof} "
                "entries: functions are not differentiated (LagrangianSystem.from_energies does that)."
            )
        if contact.slip is not None or (contact.has_tangent and contact.tangent is None):
            raise ValueError(
                f"contact {contact.name!r} needs tangent=, a function (q, t, p) returning the derivative of its "
                f"slip with {self.n_dof} entries: functions are not differentiated."
            )
        return [
            *self._row(k, contact, "normal", "W_N", 0),
            *self._row(k, contact, "tangent", "W_T", 1),
        ]

    def _row(self, k: int, contact: Contact, role: str, target: str, column: int) -> list[str]:
        value, drift = getattr(contact, role), getattr(contact, f"{role}_drift")
        origin = f"{role} of contact {contact.name!r}"
        lines = []
        if value is None:
            entries = ["0.0"] * self.n_dof
        elif callable(value):
            self.directions_constant = False
            lines.append(f"{role}_{k} = {self._call(f'{role}_{k}', origin, value)}")
            entries = [f"{role}_{k}[{i}]" for i in range(self.n_dof)]
        else:
            vector = np.asarray(value, dtype=float)
            if vector.shape != (self.n_dof,):
                raise ValueError(f"{origin} must have shape ({self.n_dof},), got {vector.shape}.")
            entries = [repr(float(x)) for x in vector]
        lines += [f"{target}[{k}, {i}] = {entry}" for i, entry in enumerate(entries)]
        if callable(drift):
            self.directions_constant = False
            text = self._call(f"{role}_drift_{k}", f"{role}_drift of contact {contact.name!r}", drift)
        else:
            text = repr(float(drift or 0.0))
        return [*lines, f"w_hat[{k}, {column}] = {text}"]


def _function_laws(contact: Contact, parameter_names: Sequence[str]) -> dict[str, Expr]:
    """Laws of a contact as expressions in the source's symbols p[0], p[1], ..."""
    vector = {name: sp.Symbol(f"p[{i}]", real=True) for i, name in enumerate(parameter_names)}
    laws = {}
    for law in LAWS:
        value = getattr(contact, law)
        if isinstance(value, str):
            value = sp.Symbol(value)
        expression = sp.sympify(value)
        for symbol in sorted(expression.free_symbols, key=sp.default_sort_key):
            if symbol.name not in vector:
                raise ValueError(f"{law} of contact {contact.name!r}: {unknown_name('parameter', symbol.name, vector)}")
        laws[law] = expression.xreplace({s: vector[s.name] for s in expression.free_symbols})
    return laws


def _function(name: str, arguments: str, lines: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines or ["pass"])
    return f"@dev\ndef {name}({arguments}):\n{body}\n"
