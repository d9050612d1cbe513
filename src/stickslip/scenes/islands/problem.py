"""The contact problem of a step: which contacts are active, what they ask for, which islands they form.

Predictive rule (scenes): a contact is active if it is closed, or if it would close within the step by the free motion,
g_M + dt u_N,free <= 0.  It then asks for

    u_N >= -g_M / dt    while g_M > 0: the bodies meet exactly at the next midpoint (midpoints leapfrog),
    u_N >= -eps_N u_N,A where the velocity before closes the contact by itself, g_M + dt u_N,A <= 0: Newton's law,

whichever is larger, and u_N >= 0 where all points of a pair have g_M <= slop.  Of a pair that carried load g_M counts
less slop: rounding that adds up to slop, far from the origin, would else be taken back in one step, and hands let go.
Points whose gaps differ by no more than slop from smaller ones of their pair count as having these.  (Of each point by
itself, the points of two faces would ask for velocities that contradict one another by slop / dt, which no solution can
meet.)  But it is
u_N >= -eps_N u_N,A where a point is closed and opens by itself, before and without impulses: held at zero while its
neighbours bounce, it would gain energy.  For floors f, u = u_A + G Lambda and 0 <= u - f perp Lambda >= 0 without
friction, the kinetic energy changes by Lambda . (u + u_A) / 2.  With one eps and d = f + eps u_A this is

    Lambda . d / (1 + eps) - (1 - eps) / (2 (1 + eps)) Lambda . G Lambda,

so that no floor may lie above Newton's -eps u_A, also where that is negative.  (Such a point may sink in by
eps u_A dt until its own blow in the next step.  Coefficients that differ, and friction, may gain energy by the law
itself.)  Points without restitution that are in reach take part in any case, so that an impulse at one contact cannot
drive another one in.  There is no velocity threshold: a body at rest has u_N,A = 0, and a body that lands gently
rebounds by at most eps_N g_M / dt, which the next steps shrink by eps_N each time. Rule of the paper, [GS05] 5: active
if g_M <= 0, xi = u + eps u_A in the laws.  Rule of [S00] (2.13), where M is A: active if g_A + dt u_N,A <= 0, which is
f(q + h v) to first order, with the same laws.  Rule of Paoli and Schatzman: g_E + eps g_B >= 0 with the gap g_B one
step before A; to first order this is u_N >= -(g_A + eps (g_A - dt u_N,A)) / dt.  An impact takes two steps.

Slip is that over the step, from midpoint to midpoint (`slips`).  With the arms of the midpoint alone what sticks to a
body that turns, or pivots on a corner, would go along the tangent, and creep outwards by omega^2 dt / 2 times the arm
in a second.  Gaps between bodies that turn as one are taken over the step as well: what is held in a hand that turns
would leave it for a step and come back in the next one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.codes import GRAIN, PAOLI, STEWART
from stickslip.jit import call_address, kernel
from stickslip.scenes.islands.slips import slip_beyond
from stickslip.scenes.layout import (
    MOVING,
    ROWS_PER_JOINT,
    STATIC,
    Active,
    Bodies,
    Contacts,
    Geoms,
    Materials,
    Options,
)
from stickslip.scenes.parts import Island, Problems, World
from stickslip.scenes.rotation import times, x_axis

# Of the slop: points of a loaded pair that stand above others of it come down so far below slop.  A step leaves 1e-13 m
# of what it asks for.  If points came down to slop, up to which gaps count as closed, this would tell whether they are
# closed, and what is asked back of one of them would contradict the others of a face by 1e-10 m/s: it would choose
# which three of four points carry the load, and friction follows the load.
DEEPER = 0.1
LEFT = 1e-6  # of the speed of a blow: a load that would change velocities by less was none
# Of the speed of an approach: what was held before changed velocities by more.  What is pressed on in a step, and on a
# curve approaches in the next, approaches by what its load changes, or four times that at the end of a rod.
BRAKED = 0.25


@kernel
def tangents(n: np.ndarray, planar: bool, frame: np.ndarray) -> None:
    """Rows n, t_1, t_2 of a right-handed frame; in the plane t_1 lies in it."""
    a, b, c = n[0], n[1], n[2]
    frame[0], frame[1], frame[2] = a, b, c
    if planar:
        frame[3], frame[4], frame[5] = -b, a, 0.0
        frame[6], frame[7], frame[8] = 0.0, 0.0, 1.0
        return
    if abs(a) < 0.7:
        x, y, z = 0.0, c, -b
    else:
        x, y, z = -c, 0.0, a
    norm = 1.0 / math.sqrt(x * x + y * y + z * z)
    x, y, z = x * norm, y * norm, z * norm
    frame[3], frame[4], frame[5] = x, y, z
    frame[6], frame[7], frame[8] = b * z - c * y, c * x - a * z, a * y - b * x


@kernel
def stretched(pose: np.ndarray, mu_1: float, aspect: float, frame: np.ndarray) -> float:
    """Turn the tangents to the x axis of a body and scale them so that elliptic friction has a circular cone.

    r = (r_N, S r'), S = diag(mu_1, mu_2) / mu, mu = sqrt(mu_1 mu_2), which is returned: with rows S t the law of
    maximum dissipation for the ellipse is Coulomb's law for r' ([S00] (2.17)-(2.19)).
    """
    x, y, z = x_axis(pose)
    n0, n1, n2 = frame[0], frame[1], frame[2]
    along = x * n0 + y * n1 + z * n2
    x, y, z = x - along * n0, y - along * n1, z - along * n2
    norm = math.sqrt(x * x + y * y + z * z)
    if norm > 1e-9:
        x, y, z = x / norm, y / norm, z / norm
        frame[3], frame[4], frame[5] = x, y, z
        frame[6], frame[7], frame[8] = n1 * z - n2 * y, n2 * x - n0 * z, n0 * y - n1 * x
    mu = mu_1 * math.sqrt(aspect)
    for k in range(3):
        frame[3 + k] *= mu_1 / mu
        frame[6 + k] *= mu_1 * aspect / mu
    return mu


@kernel
def contact_velocity(
    active: Active, i: int, bodies: Bodies, vel: np.ndarray, a: int, b: int
) -> tuple[float, float, float]:
    """Velocity of b relative to a at contact i, in its frame."""
    p, q, f = active.arm_a[i], active.arm_b[i], active.frame[i]
    v, w = vel[a], vel[b]
    x = w[0] + w[4] * q[2] - w[5] * q[1] - v[0] - v[4] * p[2] + v[5] * p[1]
    y = w[1] + w[5] * q[0] - w[3] * q[2] - v[1] - v[5] * p[0] + v[3] * p[2]
    z = w[2] + w[3] * q[1] - w[4] * q[0] - v[2] - v[3] * p[1] + v[4] * p[0]
    return times(f, x, y, z)


@kernel
def belt_along(active: Active, i: int, bodies: Bodies, a: int, b: int) -> float:
    """Share of belts on static bodies in the velocity of contact i along its normal, where they do not count [m/s]."""
    f, total = active.frame[i], 0.0
    for body, sign in ((a, -1.0), (b, 1.0)):
        if bodies.kind[body] == STATIC:
            v = bodies.vel[body]
            total += sign * (f[0] * v[0] + f[1] * v[1] + f[2] * v[2])
    return total


@kernel
def approach(
    active: Active, i: int, bodies: Bodies, vel: np.ndarray, a: int, b: int
) -> tuple[float, float, float]:  # fmt: skip
    """Velocity of b relative to a at contact i, in its frame; along the normal without belts."""
    u0, u1, u2 = contact_velocity(active, i, bodies, vel, a, b)
    belt = belt_along(active, i, bodies, a, b)
    return (u0 - belt if belt != 0.0 else u0), u1, u2


@kernel
def take_belt(active: Active, i: int, bodies: Bodies, a: int, b: int) -> None:
    """Take belts out of what contact i asks for along its normal."""
    belt = belt_along(active, i, bodies, a, b)
    if belt != 0.0:
        active.bias[i, 0] -= belt


@kernel
def world_impulse(active: Active, i: int, dim: int) -> tuple[float, float, float]:
    """Impulse of contact i on body b as a world vector."""
    f, r = active.frame[i], active.r[i]
    t = r[2] if dim == 3 else 0.0
    return (
        f[0] * r[0] + f[3] * r[1] + f[6] * t,
        f[1] * r[0] + f[4] * r[1] + f[7] * t,
        f[2] * r[0] + f[5] * r[1] + f[8] * t,
    )


@kernel
def apply_contact(active: Active, i: int, bodies: Bodies, a: int, b: int, dim: int) -> None:
    """Add the impulse of contact i to the end velocities."""
    x, y, z = world_impulse(active, i, dim)
    if bodies.kind[a] == MOVING:
        p, m, v = active.arm_a[i], bodies.inv_mass[a], bodies.end[a]
        v[0] -= m * x
        v[1] -= m * y
        v[2] -= m * z
        d, e, f = times(bodies.inv_inertia[a], p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x)
        v[3] -= d
        v[4] -= e
        v[5] -= f
    if bodies.kind[b] == MOVING:
        p, m, v = active.arm_b[i], bodies.inv_mass[b], bodies.end[b]
        v[0] += m * x
        v[1] += m * y
        v[2] += m * z
        d, e, f = times(bodies.inv_inertia[b], p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x)
        v[3] += d
        v[4] += e
        v[5] += f


@kernel
def side_product(
    bodies: Bodies, body: int, f: np.ndarray, p: np.ndarray, g: np.ndarray, q: np.ndarray, row: int, column: int
) -> float:
    """f_row M^-1 g_column^T of two frames with arms p, q on the same body."""
    if bodies.kind[body] != MOVING:
        return 0.0
    a, b, c = f[3 * row], f[3 * row + 1], f[3 * row + 2]
    x, y, z = g[3 * column], g[3 * column + 1], g[3 * column + 2]
    total = bodies.inv_mass[body] * (a * x + b * y + c * z)
    u, v, w = times(bodies.inv_inertia[body], q[1] * z - q[2] * y, q[2] * x - q[0] * z, q[0] * y - q[1] * x)
    return total + (p[1] * c - p[2] * b) * u + (p[2] * a - p[0] * c) * v + (p[0] * b - p[1] * a) * w


@kernel
def last_impulse(contacts: Contacts, active: Active, m: int, dim: int) -> None:
    """Give active contact m the impulse of the last step."""
    frame, p = active.frame[m], contacts.impulse[active.contact[m]]
    for k in range(dim):
        f0, f1, f2 = frame[3 * k], frame[3 * k + 1], frame[3 * k + 2]
        active.r[m, k] = (f0 * p[0] + f1 * p[1] + f2 * p[2]) / (f0 * f0 + f1 * f1 + f2 * f2)
    turned = contacts.turned[active.contact[m]]
    for k in range(3):
        active.turn[m, k] = 0.0
        if (
            active.patch[m] if k == 0 else active.rolling[m]
        ) > 0.0:  # normals turn: what is left along others is no load
            active.turn[m, k] = frame[3 * k] * turned[0] + frame[3 * k + 1] * turned[1] + frame[3 * k + 2] * turned[2]


@kernel
def same_pair(contacts: Contacts, i: int, j: int) -> bool:
    """Whether two points belong to one pair of geometries."""
    return contacts.pair[i, 0] == contacts.pair[j, 0] and contacts.pair[i, 1] == contacts.pair[j, 1]


@kernel
def gaps_of_pair(contacts: Contacts, c: int, count: int) -> tuple[float, float]:
    """The smallest and the largest gap of the pair whose points begin at number c."""
    least, widest, k = contacts.gap[c], contacts.gap[c], c + 1
    while k < count and same_pair(contacts, c, k):
        least, widest = min(least, contacts.gap[k]), max(widest, contacts.gap[k])
        k += 1
    return least, widest


@kernel
def lowest_beside(contacts: Contacts, c: int, begin: int, count: int, slop: float) -> float:
    """The smallest gap of a pair, whose points begin at number `begin`, that is at most slop below that of point c."""
    low, k = contacts.gap[c], begin
    while k < count and same_pair(contacts, c, k):
        if contacts.gap[c] - contacts.gap[k] <= slop:
            low = min(low, contacts.gap[k])
        k += 1
    return low


@kernel
def carries(contacts: Contacts, c: int, count: int) -> bool:
    """Whether a point of the pair whose points begin at number c carried an impulse in the step before."""
    k, found = c, False
    while k < count and (k == c or same_pair(contacts, k - 1, k)):
        p = contacts.impulse[k]
        found = found or p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0
        k += 1
    return found


@kernel
def changed(bodies: Bodies, contacts: Contacts, c: int) -> float:
    """How fast the load that point c carried in the step before would send its bodies apart [m/s]."""
    p, mobility = contacts.impulse[c], bodies.inv_mass[contacts.a[c]] + bodies.inv_mass[contacts.b[c]]
    return mobility * math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])


@kernel
def bore(bodies: Bodies, contacts: Contacts, c: int, speed: float) -> bool:
    """Whether point c carried a load in the step before, beside what a blow of this speed [m/s] would make of it.

    Newton's method leaves some 1e-10 of the load of others at a point that carries nothing, or zero, as rounding goes.
    """
    return changed(bodies, contacts, c) > LEFT * speed


@kernel
def was_held(bodies: Bodies, contacts: Contacts, c: int, speed: float) -> bool:
    """Whether point c touched in the step before, by its load there and the speed of its approach now [m/s].

    What would close by the forces of a step alone is braked in it, by less than these change, so that it meets the
    other body at the next midpoint: it strikes there, in the next step, though it carried a load.
    """
    return changed(bodies, contacts, c) > BRAKED * speed


@kernel
def set_arms(contacts: Contacts, c: int, bodies: Bodies, a: int, b: int, active: Active, n: int) -> None:
    """Arms of active contact n, the point c of the bodies a and b."""
    # The impulse acts midway between the surfaces, so that two free bodies keep their angular momentum; on a body
    # that meets a fixed one it acts at its own surface, where it will be when the gap is closed.
    shift = 0.0
    if bodies.kind[a] != MOVING:
        shift = 0.5 * contacts.gap[c]
    elif bodies.kind[b] != MOVING:
        shift = -0.5 * contacts.gap[c]
    to_a, to_b = (0.0, 1.0) if bodies.kind[a] == MOVING else (1.0, 0.0)
    for k in range(3):
        x = contacts.point[c, k] + shift * contacts.normal[c, k]
        apart = bodies.mid[b, k] - bodies.mid[a, k]
        active.arm_a[n, k] = x + to_a * apart
        active.arm_b[n, k] = x - to_b * apart


@kernel
def take_resistance(materials: Materials, k: int, m: int, active: Active, n: int) -> None:
    """Give active contact n the resistance to spinning and rolling of materials k and m."""
    active.patch[n], active.rolling[n] = materials.patch[k, m], materials.rolling[k, m]
    active.hertz[n] = materials.hertz[k, m] > 0.0


@kernel
def coarse_slop(bodies: Bodies, a: int, b: int, slop: float) -> float:
    """Gaps that count as closed far from the origin, where coordinates are coarse [m]."""
    for k in range(3):
        slop = max(slop, GRAIN * max(abs(bodies.mid[a, k]), abs(bodies.mid[b, k])))
    return slop


@kernel
def mobility(bodies: Bodies, a: int, b: int, active: Active, n: int, rows: int) -> float:
    """Mean diagonal of the local matrix of active contact n, over its first rows [1/kg]."""
    frame, size = active.frame[n], 0.0
    for k in range(rows):
        size += side_product(bodies, a, frame, active.arm_a[n], frame, active.arm_a[n], k, k)
        size += side_product(bodies, b, frame, active.arm_b[n], frame, active.arm_b[n], k, k)
    return size / rows


@kernel
def restitution_of(materials: Materials, curves: np.ndarray, k: int, m: int, speed: float, mobility: float) -> float:
    """eps_N of a pair of materials at an approach speed [m/s]; mobility: w_N^T M^-1 w_N [1/kg].

    A curve whose value is outside [0, 1] gives what is not a number, which ends the run.
    """
    number = materials.curve[k, m]
    if number < 0:
        return materials.eps_N[k, m]
    e = call_address(curves[number], 0.0, max(0.0, speed), 1.0 / mobility)
    return e if 0.0 <= e <= 1.0 else np.nan


@kernel
def take_turn(bodies: Bodies, geoms: Geoms, contacts: Contacts, active: Active, n: int, more: float, dt: float) -> None:
    """Write what turning adds to gap (`more`) and slip of active contact n over the step; slip joins its bias."""
    beyond, bias = active.beyond[n], active.bias[n]
    beyond[0], beyond[1], beyond[2] = more, 0.0, 0.0
    if active.turning[n] and active.mu[n] > 0.0:
        beyond[1], beyond[2] = slip_beyond(bodies.ahead, geoms, contacts, active, n, dt)
        bias[1], bias[2] = bias[1] + beyond[1], bias[2] + beyond[2]


@kernel
def above(gap: float, least: float, kept: float) -> float:
    """Way that a gap has to close [m]; least: the smallest of its pair; kept: as a pair with load may keep, else 0."""
    over = max(gap - kept, 0.0)
    return over + DEEPER * kept if over > 0.0 and gap - least > kept else over


@kernel
def stays_open(options: Options, gap: float, before: float, free: float, slop: float, bounces: bool) -> bool:
    """Whether a contact takes no part, by its normal velocity before and without impulses."""
    if options.scheme == STEWART:  # [S00] (2.13)
        return gap + options.dt * before > slop
    if options.scheme == 0 and not options.predictive:  # [GS05] 5
        return gap > slop
    return options.predictive and gap > slop and gap + options.dt * free > 0.0 and bounces


@kernel
def stays_loaded(bodies: Bodies, contacts: Contacts, c: int, before: float, free: float, bounces: bool) -> bool:
    """Whether point c carried load in the step before and does not rebound, by its normal velocities before and free.

    Under rules that are not foreseeing it takes part whatever its gap, and may close with gap / dt and no faster:
    directions that turn open gaps by O(dt^2) a step, and without load the bodies would fall for a step and strike.
    """
    change = abs(free - before)
    return bore(bodies, contacts, c, change) and not (bounces and before > change)


@kernel
def takes_part(
    bodies: Bodies, contacts: Contacts, c: int, options: Options, speeds: tuple[float, float], slop: float,
    bounces: bool,
) -> tuple[bool, bool]:  # fmt: skip
    """Whether point c takes part in a step, and whether it does so as `stays_loaded` says; speeds: before and free."""
    gap, (before, free) = contacts.gap[c], speeds
    opens = stays_open(options, gap, before, free, slop, bounces)
    lasts = not (options.predictive or options.scheme == PAOLI) and (opens or gap > slop)
    lasts = lasts and stays_loaded(bodies, contacts, c, before, free, bounces)
    return lasts or not opens, lasts


@kernel
def by_law(options: Options, gap: float, before: float, eps: float, slop: float) -> tuple[bool, float]:
    """Whether a contact is struck, and its bias along the normal, under a rule that is not predictive."""
    if options.scheme == PAOLI:
        # only within an impact are contacts below: they come up to where they were a step before, times eps
        struck = (before < 0.0 and gap + options.dt * before <= slop) or (eps > 0.0 and gap < -slop)
        return struck, (gap + eps * (gap - options.dt * before)) / options.dt
    return before < 0.0, eps * before


@kernel
def root(parent: np.ndarray, i: int) -> int:
    """Root of body i, the path to it shortened."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def join(parent: np.ndarray, bodies: Bodies, a: int, b: int) -> None:
    """Put two bodies into one island, if both can move."""
    if bodies.kind[a] == MOVING and bodies.kind[b] == MOVING:
        p, q = root(parent, a), root(parent, b)
        if p < q:
            parent[q] = p
        else:
            parent[p] = q


@kernel(apart=True)
def islands(
    bodies: Bodies, contacts: Contacts, n: int, active: Active, joints: Any, n_rows: int, parent: np.ndarray,
    label: np.ndarray,
) -> int:  # fmt: skip
    """Number the islands in the order of their first contact or row; write them into `active` and `joints`."""
    for i in range(parent.shape[0]):
        parent[i] = i
        label[i] = -1
    for i in range(n):
        join(parent, bodies, contacts.a[active.contact[i]], contacts.b[active.contact[i]])
    if joints is not None:
        if n_rows > 0:
            for j in range(joints.link.kind.shape[0]):
                if joints.row.used[j * ROWS_PER_JOINT]:  # a joint without its first row has none
                    join(parent, bodies, joints.link.a[j], joints.link.b[j])
    count = 0
    for i in range(n):
        a, b = contacts.a[active.contact[i]], contacts.b[active.contact[i]]
        k = root(parent, a if bodies.kind[a] == MOVING else b)
        if label[k] < 0:
            label[k] = count
            count += 1
        active.island[i] = label[k]
    if joints is not None:
        if n_rows > 0:
            for j in range(joints.link.kind.shape[0]):
                s, own = j * ROWS_PER_JOINT, -1
                if joints.row.used[s]:
                    a, b = joints.link.a[j], joints.link.b[j]
                    k = root(parent, a if bodies.kind[a] == MOVING else b)
                    if label[k] < 0:
                        label[k] = count
                        count += 1
                    own = label[k]
                for m in range(ROWS_PER_JOINT):
                    joints.row.island[s + m] = own if joints.row.used[s + m] else -1
    return count


@kernel
def island_of(world: World, contacts: Contacts, problems: Problems, k: int) -> Any:
    """Island k of the step."""
    return Island(
        world.bodies, contacts, problems.active, problems.order, problems.begins[k], problems.begins[k + 1],
        world.joints, problems.rows, problems.row_begins[k], problems.row_begins[k + 1],
    )  # fmt: skip
