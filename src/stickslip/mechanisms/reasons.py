"""Why the run of a mechanism ended before its end, in words, and what helps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.contact.planar import PlanarSolver
from stickslip.engine import Memory
from stickslip.mechanisms.steppers.contact_problem import active_contacts, roundings
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.mechanisms.system import LawError, System


def reason(
    system: System, stepper: Any, solver: PlanarSolver, memory: Memory, code: int, finer: str, of_law: bool = False
) -> str:
    """Why a march stopped with a status code in the step that begins at `memory`.

    finer : what helps against an unstable motion.
    of_law : the impact law, and no solver, has no answer.
    """
    t, dt = memory.t, memory.dt
    if np.abs(memory.u).max() > math.sqrt(codes.LARGEST):
        code = codes.BLOWN_UP  # whatever stumbled over it first
    at_end = getattr(stepper, "at_end", False)
    if code == codes.UNSOLVED:
        number = _closed(system, memory, 1.0 if at_end else 0.5)
        closed = f"{number} closed contact{'' if number == 1 else 's'}"
        detail = memory.problem_text or f"{solver.name} found no solution within {solver.tol:g}"
        if of_law:
            return f"failed at t = {t:.9g} s with {closed}: {detail}"
        hint = "a smaller dt" if solver.name == "auto" else "solver='auto' or a smaller dt"
        return f"failed at t = {t:.9g} s with {closed}: {detail}; try {hint}"
    ahead, place = (1.0, "the end") if at_end else (0.5, "the middle")
    where = f"at q = {(memory.q + ahead * dt * memory.u).tolist()}, {place} of the step"
    if code == codes.MASS_INDEFINITE:
        return f"failed at t = {t:.9g} s: the mass matrix is not positive definite {where}; try a smaller dt"
    if code == codes.GAP_NOT_A_NUMBER:
        name = system.contact_names[int(memory.book[codes.CULPRIT])]
        text = memory.problem_text or f"the gap of contact {name!r} is not a number"
        return f"failed at t = {t:.9g} s: {text}, {where}; check roots, logarithms and quotients in the gap"
    if code == codes.LAW_OUT_OF_RANGE:
        return f"failed at t = {t:.9g} s: {memory.problem_text or _law(system, memory, 0.0 if at_end else 0.5)}"
    if code == codes.CONTROL_FAILED:
        return f"failed at t = {t:.9g} s: {memory.problem_text}"
    if code == codes.MATRIX_INDEFINITE:
        return (
            f"failed at t = {t:.9g} s: the iteration matrix M - theta dt dh/du - (theta dt)^2 dh/dq is not positive "
            "definite, forces grow faster than this step can follow; try a smaller dt"
        )
    return f"failed at t = {t:.9g} s: the motion grows beyond all bounds in the next step; {finer}"


def _law(system: System, memory: Memory, part: float) -> str:
    """Which coefficient makes no sense where the next step evaluates its contacts, after this part of the step."""
    k = int(memory.book[codes.CULPRIT])
    place = memory.q + part * memory.dt * memory.u, memory.t + part * memory.dt
    try:
        system.laws_at(*place, memory.p, memory.u, [k])
    except LawError as problem:
        return str(problem).rstrip(".")
    return f"a coefficient of contact {system.contact_names[k]!r} is out of its range"


def finer(stepper: Any) -> str:
    """Advice for a motion that a stepper with a fixed step makes unstable."""
    stiff = " or, for stiff forces, the implicit stepper MoreauJean(theta=1)"
    return f"try a smaller dt{'' if stepper.name == MoreauJean.name else stiff}"


def _closed(system: System, memory: Memory, part: float) -> int:
    """Contacts in the problem of the next step; its gaps are evaluated after this part of the step."""
    where = memory.q + part * memory.dt * memory.u, memory.t + part * memory.dt, memory.p
    return len(active_contacts(system, system.gap(*where), roundings(system, *where), memory.dt, memory.reach))
