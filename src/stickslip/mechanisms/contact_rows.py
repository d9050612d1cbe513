"""Rows of contacts and constraints: gaps and slips as expressions, differentiated to force directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from stickslip.laws.restitution import RestitutionCurve
from stickslip.mechanisms.derivation import Expr, derivative, gradient, shorten
from stickslip.mechanisms.elements import Contact, SlidingRow, approach_symbols, sliding_row
from stickslip.mechanisms.jumps import find_jump
from stickslip.mechanisms.notation import Notation
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, LAWS, SPRING, TANGENT


def contact_row(notation: Notation, contact: Contact, k: int, q: Sequence[Expr], t: Expr) -> dict[str, Any]:
    """Differentiate gap and slip: w = d g/d q, w_hat = d g/d t [GS05] eq. (10)."""
    if contact.kind >= CONSTRAINT:
        return _constraint_row(notation, contact)

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
    if contact.kind in (CONTACT, SPRING, TANGENT):
        meet = "; use abs, max, min, or a piecewise whose pieces meet"
        _require_continuous(notation, displacement, f"gap of contact {contact.name!r}", "gaps", meet)
    law = contact.friction_law
    sliding = None if law is None else _sliding_row(notation, contact, k)
    row: dict[str, Any] = {name: _coefficient(notation, contact, k, name) for name in LAWS[1:]}
    row["law"] = sliding
    row["friction"] = _coefficient(notation, contact, k, "friction") if sliding is None else sliding.stick
    row |= {"kind": contact.kind, "w_N": zero, "w_hat_N": sp.S.Zero, "w_T": zero, "w_hat_T": sp.S.Zero}
    row["g_N"] = displacement if contact.kind in (CONTACT, SPRING, TANGENT) else sp.S.Zero
    row["gate"] = sp.S.One if contact.closes_when is None else read(contact.closes_when, "closes_when")
    if contact.has_normal:
        row["w_N"] = gradient(displacement, q) if contact.normal is None else direction(contact.normal, "normal")
        moving = contact.normal_drift
        row["w_hat_N"] = derivative(displacement, t) if moving is None else read(moving, "normal_drift")
        _require_direction(row["w_N"], contact, "gap" if contact.normal is None else "normal")
    slip, drift = contact.direction("slip"), contact.direction("tangent_drift")
    if contact.tangent is not None:
        row["w_T"] = direction(contact.direction("tangent"), "tangent")
        row["w_hat_T"] = read(0 if drift is None else drift, "tangent_drift")
    elif contact.slip_velocity is not None:
        rate = notation.read(contact.direction("slip_velocity"), f"slip_velocity of contact {contact.name!r}")
        row["w_T"], row["w_hat_T"] = _rates(notation, rate, f"slip_velocity of contact {contact.name!r}")
    elif contact.has_tangent:
        pairs = slip if isinstance(slip, (list, tuple)) else [(1, slip)]
        terms = [(sp.S.One, displacement)]
        if contact.kind != SPRING:
            terms = [(read(factor, "slip factor"), read(slip, "slip")) for factor, slip in pairs]
        row["w_T"] = [shorten(sum(a * derivative(slip, x) for a, slip in terms)) for x in q]
        row["w_hat_T"] = sum(a * derivative(slip, t) for a, slip in terms)
    _require_no_jump(row, contact)
    if contact.has_tangent:
        what = next((key for key in ("tangent", "slip_velocity") if getattr(contact, key) is not None), "slip")
        _require_direction(row["w_T"], contact, what)
    return row


def _constraint_row(notation: Notation, contact: Contact) -> dict[str, Any]:
    """The row of a constraint: J and b of J u + b = 0 stand in the place of w_T and w_hat_T."""
    q, _, t = notation.state
    zero = [sp.S.Zero] * len(q)
    row: dict[str, Any] = dict.fromkeys((*LAWS, "g_N", "w_hat_N", "w_hat_T"), sp.S.Zero)
    row |= {"law": None, "kind": contact.kind, "w_N": zero, "w_T": zero, "gate": sp.S.One}
    if contact.tangent is not None:
        raise ValueError(f"constraint {contact.name!r}: direction= belongs to a system of functions; give equation=.")
    if contact.gap is not None:
        g = row["g_N"] = notation.read(contact.gap, f"equation of constraint {contact.name!r}", "qtp")
        _require_continuous(notation, g, f"equation of constraint {contact.name!r}", "it", "")
        row |= {"w_T": gradient(g, q), "w_hat_T": shorten(derivative(g, t))}
        what = "equation"
    else:
        rate = notation.read(contact.slip, f"velocity of constraint {contact.name!r}")
        row["w_T"], row["w_hat_T"] = _rates(notation, rate, f"velocity of constraint {contact.name!r}")
        what = "velocity"
    if all(entry.is_zero for entry in row["w_T"]):
        raise ValueError(
            f"{what} of constraint {contact.name!r} does not depend on any "
            f"{'coordinate' if what == 'equation' else 'velocity'}: no reaction can keep it."
        )
    return row


def _rates(notation: Notation, rate: Expr, what: str) -> tuple[list[Expr], Expr]:
    """The row w and the drift w_hat of a velocity w^T u + w_hat; ValueError where it is not linear in u."""
    u = notation.state[1]
    w = gradient(rate, u)
    if any(not entry.free_symbols.isdisjoint(u) for entry in w):
        raise ValueError(f"{what} must be linear in the velocities, got {str(rate)[:80]}.")
    return w, shorten(rate.xreplace(dict.fromkeys(u, sp.S.Zero)))


def _coefficient(notation: Notation, contact: Contact, k: int, name: str) -> Expr:
    """A coefficient of contact k in real plain symbols; a law of the approach in those of `approach_symbols`."""
    value, also = contact.coefficient if name == "friction" else getattr(contact, name), frozenset[Expr]()
    if isinstance(value, RestitutionCurve):
        own = approach_symbols(k - 1 if contact.kind == TANGENT else k)  # a second tangent approaches as its contact
        value, also = value.at(*own), frozenset(own)
    # the energy of a spring, preload |x|, is a potential only where the preload is constant
    allowed = "p" if contact.kind == SPRING else "qtp"
    return notation.read(value, f"{name} of contact {contact.name!r}", allowed, also)


def _sliding_row(notation: Notation, contact: Contact, k: int) -> SlidingRow:
    """The friction law of contact k in real plain symbols."""
    law = contact.friction_law
    assert law is not None

    def read(value: Any, what: str, also: frozenset[Expr]) -> Expr:
        return notation.read(value, f"{what} of {type(law).__name__} of contact {contact.name!r}", "qtp", also)

    return sliding_row(law, k, read)


def _require_continuous(notation: Notation, expression: Expr, what: str, whose: str, help: str) -> None:
    """ValueError where an expression jumps: `what` it is, `whose` rule it breaks, and what may `help`."""
    q, _, t = notation.state
    values = {notation.real[s]: notation.values[s.name] for s in notation.parameters}
    jump = find_jump(expression, {*q, t}, values)
    if jump is not None:
        raise ValueError(f"{what} jumps at {jump!s:.80}: {whose} must be continuous in coordinates and time{help}.")


def _require_no_jump(row: Mapping[str, Any], contact: Contact) -> None:
    """Raise where a slip, or a gap that looked continuous, has the derivative of a jump."""
    for what, entries in (("gap", (*row["w_N"], row["w_hat_N"])), ("slip", (*row["w_T"], row["w_hat_T"]))):
        jumps = sorted(set().union(*(sp.sympify(x).atoms(sp.DiracDelta) for x in entries)), key=sp.default_sort_key)
        if jumps:
            raise ValueError(
                f"{what} of contact {contact.name!r} jumps where {jumps[0].args[0]} = 0: it must be continuous in "
                "coordinates and time; use abs, max, min, or a piecewise whose pieces meet."
            )


def _require_direction(w: Sequence[Expr], contact: Contact, what: str) -> None:
    if all(entry.is_zero for entry in w):
        raise ValueError(f"{what} of contact {contact.name!r} does not depend on any coordinate: no force acts there.")
