"""The active contacts of a step: those that take part in its contact problem, with what their laws ask of them."""

from __future__ import annotations

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.problem import (
    above,
    approach,
    bore,
    by_law,
    carries,
    changed,
    coarse_slop,
    gaps_of_pair,
    last_impulse,
    lowest_beside,
    mobility,
    restitution_of,
    same_pair,
    set_arms,
    stretched,
    take_belt,
    take_resistance,
    take_turn,
    takes_part,
    tangents,
    was_held,
)
from stickslip.scenes.islands.slips import curves, gap_beyond, spins_past, turn_as_one, turns
from stickslip.scenes.layout import ZERO, Active, Contacts
from stickslip.scenes.parts import Matter


@kernel(inline=True)
def turned_on(
    matter: Matter,
    contacts: Contacts,
    active: Active,
    n: int,
    vel: np.ndarray,
    eps_N: float,
    speeds: tuple[float, float],
) -> tuple[float, float, float]:
    """What the bodies' turning adds to the approach of active contact n beyond the tangent [m/s], and its two speeds.

    speeds : with the velocities before, and with the free ones.
    """
    bodies, geoms, _, _, options = matter
    c, dt, more = active.contact[n], options.dt, 0.0
    u0, v0 = speeds
    if turn_as_one(bodies.ahead[contacts.a[c]], bodies.ahead[contacts.b[c]]):
        more = gap_beyond(bodies.ahead, geoms, contacts, active, n, dt)
        held = u0 + gap_beyond(vel, geoms, contacts, active, n, -dt)
        # It comes or goes: Newton's law is that of the midpoint.  And no floor is raised: that would gain energy.
        if more < 0.0 or (eps_N > 0.0 and abs(held) > more):
            more = 0.0
        else:
            u0, v0 = held, v0 + more
    elif curves(bodies.ahead, geoms, contacts, active, n):
        more = gap_beyond(bodies.ahead, geoms, contacts, active, n, dt)
        held = u0 + gap_beyond(vel, geoms, contacts, active, n, -dt)
        # A blow has parted it, and it meets again: another blow.  To hold it raises the floor, which would gain energy.
        parted = held * (1.0 + eps_N) > 0.5 * eps_N * changed(bodies, contacts, c)
        if eps_N > 0.0 and more < 0.0 and parted and -u0 > abs(v0 - u0):
            return 0.0, u0, v0
        u0, v0 = held, v0 + more
    return more, u0, v0


@kernel(inline=True)
def foreseen(
    dt: float, gaps: tuple[float, float, float, float, float], speeds: tuple[float, float], eps_N: float, slop: float
) -> tuple[bool, float]:
    """Whether a contact strikes, and the least approach that its bodies may end with [m/s], where gaps are foreseen.

    gaps : its own, the lowest beside it; the least and the widest of its pair, and what the pair may keep.
    speeds : as for `turned_on`.
    """
    gap, near, least, widest, kept = gaps
    u0, v0 = speeds
    floor, reach = (0.0, slop) if widest <= slop else (-above(near, least, kept) / dt, 0.0)
    strikes = u0 < 0.0 and near + dt * u0 <= reach
    if strikes:
        floor = max(floor, -eps_N * u0)
    elif u0 > 0.0 and v0 > 0.0 and gap <= slop:
        floor = -eps_N * u0
    elif u0 > 0.0 and abs(gap) <= slop and floor == 0.0:
        # Points of one face stay in a plane: one that rises by rounding would take the load of the others.
        floor = max(-eps_N * u0, -slop / dt)
    return strikes, floor


@kernel(apart=True)
def activate(matter: Matter, contacts: Contacts, count: int, vel: np.ndarray, active: Active) -> int:
    """Write the active contacts in the order of their points; returns their number.  vel: velocities before.

    Under a law of `blows` contacts have no restitution here: it has been taken into account before.
    """
    bodies, geoms, materials, curves, options = matter
    dt, dim, n = options.dt, options.dim, ZERO
    least, widest, kept, begin = 0.0, 0.0, 0.0, 0
    for c in range(count):
        a, b, gap = contacts.a[c], contacts.b[c], contacts.gap[c]
        if c == 0 or not same_pair(contacts, c - 1, c):
            begin = c
            least, widest = gaps_of_pair(contacts, c, count)
            kept = options.slop if carries(contacts, c, count) else 0.0
        active.contact[n] = c
        set_arms(contacts, c, bodies, a, b, active, n)
        slop = options.slop if widest <= options.slop else coarse_slop(bodies, a, b, options.slop)
        frame = active.frame[n]
        tangents(contacts.normal[c], dim == 2, frame)
        v0, _, _ = approach(active, n, bodies, bodies.free, a, b)
        u0, u1, u2 = approach(active, n, bodies, vel, a, b)
        k, m = geoms.material[contacts.pair[c, 0]], geoms.material[contacts.pair[c, 1]]
        bounces = (materials.eps_N[k, m] > 0.0 or materials.curve[k, m] >= 0) and options.law == 0
        taken, lasts = takes_part(bodies, contacts, c, options, (u0, v0), slop, bounces)
        if not taken or spins_past(bodies, geoms, contacts, active, n, v0, options):
            continue
        mu, axes_of = materials.mu[k, m], materials.axes_of[k, m]
        if axes_of > 0 and dim == 3 and mu > 0.0:
            mu = stretched(bodies.mid[a if axes_of == 1 else b], mu, materials.aspect[k, m], frame)
            u0, u1, u2 = approach(active, n, bodies, vel, a, b)
        active.before[n, 0], active.before[n, 1], active.before[n, 2] = u0, u1, u2
        bias = active.bias[n]
        eps_N, eps_T = (materials.eps_N[k, m], materials.eps_T[k, m]) if options.law == 0 else (0.0, 0.0)
        if materials.curve[k, m] >= 0 and bounces:
            eps_N = restitution_of(materials, curves, k, m, -u0, mobility(bodies, a, b, active, n, 1))
        blow = u0 < 0.0 and gap + dt * u0 <= slop and -u0 > abs(v0 - u0)
        if materials.mu_impact[k, m] >= 0.0 and blow and not was_held(bodies, contacts, c, -u0):
            mu = materials.mu_impact[k, m]
        blow = blow and not bore(bodies, contacts, c, -u0)
        turning, more = options.predictive and not blow and turns(bodies, a, b, dt), 0.0
        if turning:
            more, u0, v0 = turned_on(matter, contacts, active, n, vel, eps_N, (u0, v0))
        if options.predictive:
            near = least if gap - least <= slop else lowest_beside(contacts, c, begin, count, slop)
            active.impact[n], floor = foreseen(dt, (gap, near, least, widest, kept), (u0, v0), eps_N, slop)
            bias[0] = more - floor
        elif lasts:
            active.impact[n], bias[0] = False, max(gap, 0.0) / dt
        else:
            active.impact[n], bias[0] = by_law(options, gap, u0, eps_N, slop)
        take_belt(active, n, bodies, a, b)
        struck = active.impact[n] or not options.predictive
        bias[1], bias[2] = (eps_T * u1, eps_T * u2) if struck else (0.0, 0.0)
        active.gap[n], active.mu[n], active.turning[n] = gap, mu, turning
        take_turn(bodies, geoms, contacts, active, n, more, dt)
        take_resistance(materials, k, m, active, n)
        last_impulse(contacts, active, n, dim)
        active.mobility[n] = mobility(bodies, a, b, active, n, dim)
        n += 1
    return n
