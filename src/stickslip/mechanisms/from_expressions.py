"""Equations of motion from what a user gives: energies and forces, or mass matrix and forces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from stickslip.checks import require_unique, unknown_name
from stickslip.mechanisms.contact_rows import contact_row
from stickslip.mechanisms.derivation import Expr, lagrange
from stickslip.mechanisms.elements import Constraint, Contact, Element
from stickslip.mechanisms.notation import Notation
from stickslip.mechanisms.symbolic import Equations
from stickslip.mechanisms.system import CONSTRAINT, SPRING, require_few_contacts


@dataclass(frozen=True)
class Given:
    """Expressions from which a system was derived, in plain symbols: energies and forces, or mass matrix and forces.

    One of `kinetic` and `mass` is None; `potential` is None where it is not known.
    """

    kinetic: Expr | None
    potential: Expr | None
    forces: tuple[Expr, ...] | None
    mass: sp.ImmutableMatrix | None = None

    def replaced(self, names: Mapping[Expr, Expr]) -> Given:
        """Return these expressions in other symbols."""
        return Given(
            None if self.kinetic is None else self.kinetic.xreplace(names),
            None if self.potential is None else self.potential.xreplace(names),
            None if self.forces is None else tuple(force.xreplace(names) for force in self.forces),
            None if self.mass is None else self.mass.xreplace(names),
        )


def rows_of_constraints(constraints: Iterable[Constraint]) -> tuple[Contact, ...]:
    """The rows of the constraints."""
    if not isinstance(constraints, Iterable) or isinstance(constraints, str):
        raise ValueError(f"constraints must be a list of Constraint, got {constraints!r}.")
    given = tuple(constraints)
    for each in given:
        if not isinstance(each, Constraint):
            raise ValueError(f"constraints must be a list of Constraint(name, equation=...), got {each!r} in it.")
    return tuple(row for each in given for row in each.contacts())


def _require_names(rows: Sequence[Contact]) -> None:
    """ValueError where two contacts or constraints have one name."""
    held = any(row.kind >= CONSTRAINT for row in rows)
    require_unique("contact and constraint names" if held else "contact names", [row.name for row in rows])


def element_tuple(contacts: Iterable[Element]) -> tuple[Element, ...]:
    """The elements, once and for all."""
    if not isinstance(contacts, Iterable) or isinstance(contacts, str):
        raise ValueError(f"contacts must be a list of contacts and elements, got {contacts!r}.")
    return tuple(contacts)


def rows_of_elements(elements: tuple[Element, ...], constraints: Iterable[Constraint] = ()) -> tuple[Contact, ...]:
    """The contacts of all elements, then the rows of the constraints."""
    require_few_contacts(len(elements))
    for element in elements:
        if not callable(getattr(element, "contacts", None)):
            raise ValueError(
                f"contacts must be a list of elements such as Contact, Stop or a joint, got {element!r} in it."
            )
    rows = tuple(row for element in elements for row in element.contacts()) + rows_of_constraints(constraints)
    _require_names(rows)
    return rows


def derived_from_energies(
    name: str,
    notation: Notation,
    kinetic: Expr,
    potential: Expr,
    forces: Sequence[Expr] | Mapping[Expr, Expr] | None,
    contacts: Sequence[Contact],
) -> tuple[Equations, Given]:
    """Equations of motion by Lagrange's equations of the second kind, and the expressions that they came from."""
    q, u, t = notation.state
    T = notation.read(kinetic, "kinetic")
    V = notation.read(potential, "potential")
    Q = _generalised_forces(notation, forces)
    M, h = lagrange(q, u, t, T, V, Q)
    given = Given(T, V, None if Q is None else tuple(Q))
    return _equations_of_motion(name, notation, M, h, T, V, contacts), given.replaced(notation.original)


def taken_as_given(
    name: str, notation: Notation, M: sp.Matrix, force: Sequence[Expr], potential: Expr, contacts: Sequence[Contact]
) -> tuple[Equations, Given]:
    """Equations of motion with mass matrix M and force h as a user gave them, and these expressions."""
    q, u, _ = notation.state
    f = len(q)
    if M.shape != (f, f):
        raise ValueError(f"mass must have shape ({f}, {f}), one row per coordinate, got {M.shape}.")
    if len(force) != f:
        raise ValueError(f"force must have {f} entries, one per coordinate, got {len(force)}.")
    M = sp.ImmutableMatrix(f, f, lambda i, j: notation.read(M[i, j], f"mass[{i}, {j}]", "qtp"))
    for i in range(f):
        for j in range(i):
            if not (M[i, j] - M[j, i]).expand().is_zero:
                raise ValueError(f"mass must be symmetric, got [{i}, {j}] = {M[i, j]} and [{j}, {i}] = {M[j, i]}.")
    h = sp.ImmutableMatrix(f, 1, [notation.read(x, f"force on {s.name!r}") for x, s in zip(force, q, strict=True)])
    T = sum((M[i, j] * u[i] * u[j] for i in range(f) for j in range(f)), sp.S.Zero) / 2
    V = sp.nan if potential is None else notation.read(potential, "potential", "qtp")
    given = Given(None, None if potential is None else V, tuple(h), M)
    return _equations_of_motion(name, notation, M, h, T, V, contacts), given.replaced(notation.original)


def _equations_of_motion(
    name: str,
    notation: Notation,
    M: sp.ImmutableMatrix,
    h: sp.ImmutableMatrix,
    T: Expr,
    V: Expr,
    contacts: Sequence[Contact],
) -> Equations:
    """Equations of motion with the rows of the contacts, in the user's own symbols."""
    q, u, t = notation.state
    rows = [contact_row(notation, contact, k, q, t) for k, contact in enumerate(contacts)]
    f, n = len(q), len(rows)
    laws = [row["law"] for row in rows if row["law"] is not None]
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
        mu_slip=tuple(row["friction"] if row["law"] is None else row["law"].slip for row in rows) if laws else (),
        law_values=tuple(value for law in laws for value in law.values.values()),
        gates=tuple(row["gate"] for row in rows) if any(row["gate"] != 1 for row in rows) else (),
    )
    return equations.replaced(notation.original)


def _generalised_forces(notation: Notation, forces: Sequence[Expr] | Mapping[Expr, Expr] | None) -> list[Expr] | None:
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
