"""The source of a system that is given as functions of its coordinates: it calls them by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from stickslip.checks import require_numbers, shown, unknown_name
from stickslip.jit.fingerprint import function_fingerprint
from stickslip.laws.restitution import RestitutionCurve
from stickslip.mechanisms.derivation import Expr
from stickslip.mechanisms.elements import Contact, SlidingRow, approach_symbols, curve_functions, sliding_row
from stickslip.mechanisms.source import Printer, law_sources
from stickslip.mechanisms.symbolic import readable
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, LAWS, SPRING, TANGENT

Function = Callable[..., Any]


class FunctionModel:
    """Source that calls the user's functions by name and copies what they return, for `System`."""

    def __init__(
        self,
        mass: Function | ArrayLike,
        force: Function,
        contacts: Sequence[Contact],
        n_dof: int,
        parameter_names: Sequence[str],
        potential: Function | None,
        coordinate_names: Sequence[str] = (),
    ) -> None:
        _require_plain(contacts)
        self.n_dof = n_dof
        self.functions: dict[str, Function] = {}
        self.state_laws: dict[tuple[str, int], str] = {}
        self.mass_constant = not callable(mass)
        self.directions_constant = self.mass_constant
        names = {name: f"p[{i}]" for i, name in enumerate(parameter_names)}
        names |= {"t": "t"} | {name: f"q[{i}]" for i, name in enumerate(coordinate_names)} | names
        laws = [self._laws(contact, k, names) for k, contact in enumerate(contacts)]
        sliding = [law["law"] for law in laws if law["law"] is not None]
        mu_slip = [law["friction"] if law["law"] is None else law["law"].slip for law in laws] if sliding else []
        self.functions |= curve_functions(contacts)

        mass_call, M = self._mass(mass)
        mass_lines = [f"M[{i}, {j}] = {M[i][j]}" for i in range(n_dof) for j in range(n_dof)]
        force_call = self._call("force", "force", force, "q, u, t, p")
        force_lines = [f"value = {force_call}", *(f"h[{i}] = value[{i}]" for i in range(n_dof))]
        gap_lines = [f"g[{k}] = {self._gap(k, contact)}" for k, contact in enumerate(contacts)]
        row_lines = [line for k, contact in enumerate(contacts) for line in self._rows(k, contact)]
        dynamics_lines = ["force(q, u, t, p, h)", "gap(q, t, p, g)"]
        if not self.mass_constant:
            dynamics_lines.insert(0, "mass(q, t, p, M)")

        energy_lines = [*mass_call, *self._energy(M, contacts, laws, potential)]
        size_lines = [line for k, contact in enumerate(contacts) for line in self._size(k, contact)]
        self.sizes = _function("sizes", "q, t, p, s", size_lines)

        # The fingerprints make the text, and every cache that is keyed by it, change with the functions.
        notes = [f"# {key}: {function_fingerprint(self.functions[key])}" for key in sorted(self.functions)]
        self.source = "\n\n".join(
            [
                _function("mass", "q, t, p, M", [*mass_call, *mass_lines]),
                _function("force", "q, u, t, p, h", force_lines),
                _function("gap", "q, t, p, g", gap_lines),
                _function("dynamics", "q, u, t, p, M, h, g", dynamics_lines),
                _function("geometry", "q, t, p, W_N, W_T, w_hat", row_lines),
                *law_sources(
                    (
                        [law[LAWS[0]] for law in laws],
                        [law[LAWS[1]] for law in laws],
                        [law[LAWS[2]] for law in laws],
                        [law[LAWS[3]] for law in laws],
                    ),
                    mu_slip,
                    [value for law in sliding for value in law.values.values()],
                    self.state_laws,
                ),
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
        require_numbers(mass, "mass")
        matrix = np.atleast_2d(np.asarray(mass, dtype=float))
        if matrix.shape != (f, f):
            raise ValueError(f"mass must have shape ({f}, {f}), one row per coordinate, got {matrix.shape}.")
        if not np.all(np.isfinite(matrix)):
            raise ValueError(f"mass must be finite, got {shown(matrix.tolist())}.")
        return [], [[repr(float(x)) for x in row] for row in matrix]

    def _energy(
        self, M: list[list[str]], contacts: Sequence[Contact], laws: list[dict[str, Any]], potential: Function | None
    ) -> list[str]:
        """Lines that evaluate kinetic and potential energy; M has the text of the entries of the mass matrix."""
        n_dof = self.n_dof
        squares = " + ".join(f"{M[i][j]} * u[{i}] * u[{j}]" for i in range(n_dof) for j in range(n_dof))
        known = "math.nan" if potential is None else self._call("potential", "potential", potential, "q, t, p")
        lines = [f"E[0] = 0.5 * ({squares})", f"E[1] = {known}"]
        for k, contact in enumerate(contacts):
            if contact.kind == SPRING:
                preload = Printer(lines).factor(laws[k]["threshold"])
                lines.append(f"E[1] += {preload} * math.fabs({self._gap(k, contact)})")
        return lines

    def _gap(self, k: int, contact: Contact) -> str:
        if contact.kind == TANGENT:
            return f"user_gap_{k - 1}(q, t, p)"
        if contact.kind not in (CONTACT, SPRING, CONSTRAINT) or contact.gap is None:
            return "0.0"
        what = (
            f"equation of constraint {contact.name!r}"
            if contact.kind == CONSTRAINT
            else f"gap of contact {contact.name!r}"
        )
        return self._call(f"gap_{k}", what, contact.gap)

    def _size(self, k: int, contact: Contact) -> list[str]:
        """Lines that estimate how large the terms of gap k are: the gap itself, and dg/dq_j q_j for each coordinate."""
        if contact.kind != CONTACT:
            return [f"s[{k}] = 0.0"]
        lines = []
        if callable(contact.normal):
            lines.append(f"normal_{k} = user_normal_{k}(q, t, p)")
            entries = [f"normal_{k}[{j}]" for j in range(self.n_dof)]
        else:
            entries = [repr(float(x)) for x in np.asarray(contact.normal, dtype=float)]
        terms = [f"math.fabs({entry} * q[{j}])" for j, entry in enumerate(entries) if entry != "0.0"]
        return [*lines, f"s[{k}] = " + " + ".join([f"math.fabs({self._gap(k, contact)})", *terms])]

    def _rows(self, k: int, contact: Contact) -> list[str]:
        if contact.has_normal and contact.normal is None:
            raise ValueError(
                f"contact {contact.name!r} needs normal=, a function (q, t, p) returning dg/dq with {self.n_dof} "
                "entries: functions are not differentiated (LagrangianSystem.from_energies does that)."
            )
        if contact.kind >= CONSTRAINT and contact.tangent is None:
            raise ValueError(
                f"constraint {contact.name!r} needs direction=, a function (q, t, p) returning the derivative of its "
                f"equation with {self.n_dof} entries: functions are not differentiated."
            )
        if (
            contact.slip is not None
            or contact.slip_velocity is not None
            or (contact.has_tangent and contact.tangent is None)
        ):
            raise ValueError(
                f"contact {contact.name!r} needs tangent=, a function (q, t, p) returning the derivative of its "
                f"slip with {self.n_dof} entries: functions are not differentiated."
            )
        return [
            *self._row(k, contact, "normal", "W_N", 0),
            *self._row(k, contact, "tangent", "W_T", 1),
        ]

    def _row(self, k: int, contact: Contact, role: str, target: str, column: int) -> list[str]:
        value, drift = contact.direction(role), contact.direction(f"{role}_drift")
        if contact.kind == TANGENT and role == "normal":
            value = drift = None
        origin = f"{role} of contact {contact.name!r}"
        lines = []
        if value is None:
            entries = ["0.0"] * self.n_dof
        elif callable(value):
            self.directions_constant = False
            lines.append(f"{role}_{k} = {self._call(f'{role}_{k}', origin, value)}")
            entries = [f"{role}_{k}[{i}]" for i in range(self.n_dof)]
        else:
            require_numbers(value, origin)
            vector = np.asarray(value, dtype=float)
            if vector.shape != (self.n_dof,):
                raise ValueError(f"{origin} must have shape ({self.n_dof},), got {vector.shape}.")
            if not np.all(np.isfinite(vector)):
                raise ValueError(f"{origin} must be finite, got {shown(vector.tolist())}.")
            entries = [repr(float(x)) for x in vector]
        lines += [f"{target}[{k}, {i}] = {entry}" for i, entry in enumerate(entries)]
        if callable(drift):
            self.directions_constant = False
            text = self._call(f"{role}_drift_{k}", f"{role}_drift of contact {contact.name!r}", drift)
        else:
            text = repr(float(drift or 0.0))
        return [*lines, f"w_hat[{k}, {column}] = {text}"]

    def _laws(self, contact: Contact, k: int, names: Mapping[str, str]) -> dict[str, Any]:
        """Laws of contact k as expressions in the source's symbols p[0], q[0], t, ...; its friction law under "law"."""
        symbols = {name: sp.Symbol(text, real=True) for name, text in names.items()}
        if contact.kind == SPRING:  # its energy, preload |x|, is a potential only where the preload is constant
            symbols = {name: symbol for name, symbol in symbols.items() if symbol.name.startswith("p[")}

        def read(value: Any, law: str, also: frozenset[Expr] = frozenset()) -> Expr:
            if isinstance(value, RestitutionCurve):
                own = approach_symbols(k - 1 if contact.kind == TANGENT else k)
                value, also = value.at(*own), frozenset(own)
            if callable(value) and not hasattr(value, "free_symbols"):
                return sp.Symbol(self._call(f"{law}_law_{k}", f"{law} of contact {contact.name!r}", value))
            expression = sp.sympify(sp.Symbol(value) if isinstance(value, str) else value)
            free = expression.free_symbols - also
            for symbol in sorted(free, key=sp.default_sort_key):
                if symbol.name not in symbols:
                    raise ValueError(
                        f"{law} of contact {contact.name!r}: {unknown_name('parameter', symbol.name, symbols)}"
                    )
            return expression.xreplace({s: symbols[s.name] for s in free})

        law = contact.friction_law
        row: SlidingRow | None = None if law is None else sliding_row(law, k, read)
        laws = {name: read(getattr(contact, name), name) for name in LAWS[1:]}
        laws |= {"law": row, "friction": read(contact.coefficient, "friction") if row is None else row.stick}
        for name in LAWS:
            parts = [laws[name]] if name != "friction" or row is None else [row.slip, row.stick]
            for part in parts:
                if any(_of_state(x.name) for x in part.free_symbols):
                    self.state_laws.setdefault((name, k), str(readable(part, k)))
        return laws


def _require_plain(contacts: Sequence[Any]) -> None:
    """ValueError unless all contacts are of the kind that functions can describe."""
    for contact in contacts:
        if not isinstance(contact, Contact):
            raise ValueError(
                f"contacts of a system of functions must be Contact objects, got {type(contact).__name__}; "
                "elements with SymPy displacements belong to LagrangianSystem.from_energies."
            )
        if contact.closes_when is not None:
            raise ValueError(
                f"contact {contact.name!r}: closes_when must be left out in a system of functions; contacts with a "
                "condition belong to LagrangianSystem.from_energies."
            )


def _of_state(name: str) -> bool:
    """Whether a symbol of the source stands for something that changes during a run; speeds of slip do not count."""
    return name == "t" or name.startswith(("q[", "approach[", "inertia[")) or name.endswith("(q, t, p)")


def _function(name: str, arguments: str, lines: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines or ["pass"])
    return f"@dev\ndef {name}({arguments}):\n{body}\n"
