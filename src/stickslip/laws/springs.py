"""Several contacts at once as springs whose stiffness grows without bound at fixed ratios, with Coulomb friction.

All impulses act within no time; in the stretched time of the impact each contact has a compression x, a force F of its
normal and a stored energy E:

    F = kappa x^n (n = 1: linear, n = 3/2: Hertz),    E = kappa x^(n+1) / (n + 1),    M u' = W_N F + W_T F_T
    loading    x' = -u_N                       unloading, x > 0 and u_N > 0:    x' = -u_N / e^2
    apart      x <= 0, a gap:  x' = -u_N       -F_T in mu F Sgn(u_T)

So a contact gives back e^2 of the work that it has taken, whenever it gives back (Stronge's energetic restitution, for
any number of compressions).  Of one contact this is Stronge's law, whatever kappa.  Of several, ratios of kappa decide
who ends when: dLambda_i/dLambda_j = F_i/F_j, which is (kappa_i/kappa_j)^(1/(n+1)) (E_i/E_j)^(n/(n+1)) of Liu, Zhao and
Brogliato 2008.  A contact that has been apart counts its gap: chains of balls leave as those of springs do (Herrmann
and Schmalzle 1981).

Steps h of the implicit midpoint rule, with the mean force (E(x_E) - E(x_A)) / (x_E - x_A): in each step springs take
and give what E says, and friction takes energy, to rounding.  So energy is never gained, however coarse the steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import entry, kernel

STEP = 2e-3  # of a step, in units of 1/omega of the fastest contact
FINEST = 0.02  # least e that steps resolve; what is given back below stays exact, as energy is
SWEEPS = 4000  # of one step
QUIET = 1e-14  # of the velocities: a change that ends sweeps
SETTLED = 1e-8  # a change up to which the last sweep is taken
AT_REST = 1e-6  # of the velocities before: approaches that are left
LOOSE = 1e-10  # a force, in units of the impact, that is none
MOST = 2_000_000  # contacts times steps
FLAT = 1e-12  # of its trace squared: a determinant that is none
SLIPS = 1e-9  # of the velocities before: a slip whose end is met
SOFT = 1e-6  # least compression, in units of the impact, whose stiffness counts
FINE = 1e-4  # of a step: how well the ends of slip and of approach are met
NEAR = 1e-5  # a change of x, of x, whose mean force is that of its middle


class Springs(NamedTuple):
    """k contacts of an impact.

    Column i of G = W^T M^-1 W: for m in begin[i] to begin[i + 1] contact other[m] has the block (9,) of its rows and
    i's columns, N, 1, 2; the first is i's own.
    """

    begin: np.ndarray  # (k + 1,)
    other: np.ndarray  # (m,)
    block: np.ndarray  # (m, 9) [1/kg]
    mu: np.ndarray  # (k,)
    e: np.ndarray  # (k,)
    kappa: np.ndarray  # (k,) stiffness, of which ratios count
    n: float  # of F = kappa x^n


class Course(NamedTuple):
    """Where an impact is."""

    x: np.ndarray  # (k,) compressions
    w: np.ndarray  # (k, 3) velocities before the step
    v: np.ndarray  # (k, 3) at its midpoint
    z: np.ndarray  # (k, 3) its impulses
    sticks: np.ndarray  # (k,) bool: which contacts have no slip


@kernel
def mean_force(x: float, y: float, kappa: float, n: float) -> float:
    """Mean force of a spring between compressions x and y; none below zero."""
    if x <= 0.0 and y <= 0.0:
        return 0.0
    a, b = max(x, 0.0), max(y, 0.0)
    if n == 1.0:
        if a == x and b == y:
            return 0.5 * kappa * (x + y)
        return 0.5 * kappa * (a + b) * (b - a) / (y - x)
    if abs(y - x) <= NEAR * (a + b):
        return kappa * math.sqrt(0.5 * (a + b)) ** 3.0
    return kappa * 0.4 * (math.sqrt(b) ** 5.0 - math.sqrt(a) ** 5.0) / (y - x)


@kernel
def normal_part(x: float, v: float, g: float, h: float, kappa: float, e: float, n: float) -> float:
    """Normal impulse in a step, N = h F(x, v + g N): v is the velocity at the midpoint without it, g N what it adds."""
    if x <= 0.0 and v >= 0.0:
        return 0.0
    low, high = 0.0, h * mean_force(x, x - h * v, kappa, n)
    if v >= 0.0:
        if e == 0.0:
            return 0.0
        high = h * mean_force(x, x - h * v / (e * e), kappa, n)
    if e == 0.0 and x > 0.0:  # the force falls at once where the bodies would part: no farther than it must
        hold = -v / g
        if hold <= h * mean_force(x, x, kappa, n):
            return hold
    N = high
    for _ in range(80):
        w = v + g * N
        y = x - h * w / (e * e) if x > 0.0 and w > 0.0 else x - h * w
        new = h * mean_force(x, y, kappa, n)
        if abs(new - N) <= 1e-15 * high:
            return new
        if new > N:
            low = N
        else:
            high = N
        N = new if low < new < high else 0.5 * (low + high)
    return N


@kernel
def after_step(x: float, v: float, h: float, N: float, kappa: float, e: float, n: float) -> float:
    """Compression at the end of a step with the velocity v at its midpoint and the normal impulse N."""
    if x <= 0.0 or v <= 0.0:
        if e == 0.0 and x > 0.0 and N < h * kappa * x**n:
            return (N / (h * kappa)) ** (1.0 / n)
        return x - h * v
    if e == 0.0:
        return (N / (h * kappa)) ** (1.0 / n) if N > 0.0 else -h * v
    y = x - h * v / (e * e)
    return y if y > 0.0 else y * e * e  # from there on it is a gap


@kernel
def friction_part(G: np.ndarray, x: float, y: float, radius: float, T: np.ndarray) -> bool:
    """Write T (2,) with -T in radius Sgn(w), w = (x, y) + G_TT T / 2; G (9,): rows N, 1, 2.  Whether w = 0."""
    a, b, c = 0.5 * G[4], 0.25 * (G[5] + G[7]), 0.5 * G[8]
    T[0], T[1] = 0.0, 0.0
    size = math.sqrt(x * x + y * y)
    if radius <= 0.0 or size == 0.0 or not a + c > 0.0:
        return size == 0.0
    root = math.sqrt(0.25 * (a - c) * (a - c) + b * b)
    s = max(0.0, size / radius - 0.5 * (a + c) - root)  # |T| >= |c| / (largest eigenvalue + s)
    for _ in range(60):
        det = (a + s) * (c + s) - b * b
        if s == 0.0 and not det > FLAT * (a + c) * (a + c):
            det = (a + c) * (a + c)
            T[0], T[1] = -(a * x + b * y) / det, -(b * x + c * y) / det
            if T[0] * T[0] + T[1] * T[1] <= radius * radius:
                return True
            s = 1e-9 * (a + c)
            continue
        p, q = -((c + s) * x - b * y) / det, -((a + s) * y - b * x) / det
        length = math.sqrt(p * p + q * q)
        T[0], T[1] = p, q
        if s == 0.0 and length < radius:
            return True
        if length <= radius * (1.0 + 1e-15):
            break
        slope = ((c + s) * p * p - 2.0 * b * p * q + (a + s) * q * q) / det
        s += (length * length / slope) * (length - radius) / radius
    length = math.sqrt(T[0] * T[0] + T[1] * T[1])
    if length > radius:
        T[0], T[1] = T[0] * radius / length, T[1] * radius / length
    return False


@kernel
def touches(springs: Springs, course: Course) -> bool:
    """Whether a contact is loaded, or is closed and approaches."""
    found, x = False, course.x
    for i in range(x.shape[0]):
        found = found or (x[i] >= 0.0 and (course.w[i, 0] < -AT_REST or springs.kappa[i] * x[i] ** springs.n > LOOSE))
    return found


@kernel
def approaches(course: Course) -> bool:
    """Whether a contact that is apart will close."""
    found = False
    for i in range(course.x.shape[0]):
        found = found or (course.x[i] < 0.0 and course.w[i, 0] < -AT_REST)
    return found


@kernel
def next_step(springs: Springs, course: Course, loaded: bool) -> float:
    """Length of the next step: by the fastest contact that is closed, or closes; inf where nothing goes on.

    A flight, in which no contact is loaded, ends where the first one closes.
    """
    h, x, u, e, kappa = np.inf, course.x, course.w, springs.e, springs.kappa
    for i in range(x.shape[0]):
        if x[i] < 0.0 and not u[i, 0] < -AT_REST:
            continue
        if x[i] < 0.0 and not loaded:
            h = min(h, x[i] / u[i, 0])
            continue
        row = 0.0
        for k in range(springs.begin[i], springs.begin[i + 1]):
            row += abs(springs.block[k, 0])
        stiff = kappa[i] * springs.n
        if springs.n > 1.0:  # Hertz: at the compression that the approach leads to
            stiff *= math.sqrt(max(x[i], (1.25 * u[i, 0] ** 2 / (kappa[i] * row)) ** 0.4, SOFT))
        share = max(FINEST, e[i]) if e[i] > 0.0 and x[i] > 0.0 and u[i, 0] > 0.0 else 1.0
        own = STEP * share / math.sqrt(stiff * row)
        h = min(h, max(own, x[i] / u[i, 0]) if x[i] < 0.0 else own)
    return h


@kernel
def add_column(springs: Springs, i: int, a: float, b: float, c: float, v: np.ndarray) -> None:
    """Add half of what the impulse (a, b, c) of contact i does to velocities v (k, 3)."""
    for m in range(springs.begin[i], springs.begin[i + 1]):
        w, B = v[springs.other[m]], springs.block[m]
        w[0] += 0.5 * (B[0] * a + B[1] * b + B[2] * c)
        w[1] += 0.5 * (B[3] * a + B[4] * b + B[5] * c)
        w[2] += 0.5 * (B[6] * a + B[7] * b + B[8] * c)


@kernel(apart=True)
def sweep(springs: Springs, course: Course, h: float, ends: bool) -> float:
    """Sweep over the contacts until none changes; returns the last change.

    ends: Coulomb's law holds for the slip at the end of the step, not at its midpoint.
    """
    x, w, v, z, sticks = course
    T, change, e, kappa, n = np.empty(2), np.inf, springs.e, springs.kappa, springs.n
    for _ in range(SWEEPS):
        change = 0.0
        for i in range(x.shape[0]):
            own = springs.block[springs.begin[i]]
            a, b, c = z[i, 0], z[i, 1], z[i, 2]
            N = normal_part(x[i], v[i, 0] - 0.5 * own[0] * a, 0.5 * own[0], h, kappa[i], e[i], n)
            d = 0.5 * (N - a)
            p = v[i, 1] + own[3] * d - 0.5 * (own[4] * b + own[5] * c)
            q = v[i, 2] + own[6] * d - 0.5 * (own[7] * b + own[8] * c)
            if ends:  # (u_A + u_E)/2 = u_A/2 where u_E = 0
                p, q = p - 0.5 * w[i, 1], q - 0.5 * w[i, 2]
            sticks[i] = friction_part(own, p, q, springs.mu[i] * N, T)
            a, b, c = N - a, T[0] - b, T[1] - c
            if a == 0.0 and b == 0.0 and c == 0.0:
                continue
            z[i, 0], z[i, 1], z[i, 2] = N, T[0], T[1]
            change = max(change, own[0] * abs(a), max(own[4], own[8]) * (abs(b) + abs(c)))
            add_column(springs, i, a, b, c, v)
        if change <= QUIET:
            break
    return change


@kernel
def one_step(springs: Springs, course: Course, h: float) -> bool:
    """Impulses of a step h, from near ones, and the velocities at its midpoint, which have their part.

    Slip that ends in the step is zero at its end: at the midpoint alone it would change its sign from step to step.
    """
    ends, w = False, course.w
    change = sweep(springs, course, h, False)
    for i in range(w.shape[0]):
        ends = ends or (course.sticks[i] and (w[i, 1] != 0.0 or w[i, 2] != 0.0))
    if ends:  # of all contacts: what some have at the midpoint and others at the end, no body may be able to do
        change = sweep(springs, course, h, True)
    return change <= SETTLED


@kernel
def turns(course: Course, e: np.ndarray) -> bool:
    """Whether a slip ends or turns round in a step, or an approach does whose contact gives back less than it took."""
    w, v = course.w, course.v
    for i in range(w.shape[0]):
        if e[i] < 1.0 and w[i, 0] < 0.0 and course.x[i] > 0.0 and 2.0 * v[i, 0] - w[i, 0] > AT_REST:
            return True  # its force changes here: e = 0 left with a share of STEP of the approach
        size = abs(w[i, 1]) + abs(w[i, 2])
        if size > SLIPS:
            p, q = 2.0 * v[i, 1] - w[i, 1], 2.0 * v[i, 2] - w[i, 2]
            if p * w[i, 1] + q * w[i, 2] <= QUIET * size:
                return True
    return False


@kernel(apart=True)
def step_to_event(springs: Springs, course: Course, before: np.ndarray, last: float, h: float) -> float:
    """Do a step of at most h, from impulses `before` of a step `last`; returns its length, -1 where it fails.

    What `turns` within the step ends it, but for FINE of it.  last = 0: a flight.
    """
    finest, begun, k = FINE * h, False, course.x.shape[0]
    _, w, v, z, _ = course
    while not begun:
        share = h / last if last > 0.0 else 0.0
        for i in range(k):
            for j in range(3):
                z[i, j] = share * before[i, j]
                v[i, j] = w[i, j]
        for i in range(k):
            add_column(springs, i, z[i, 0], z[i, 1], z[i, 2], v)
        if not one_step(springs, course, h):
            return -1.0
        begun = h <= finest or not turns(course, springs.e)
        h = h if begun else max(0.25 * h, finest)
    return h


@kernel
def move_on(springs: Springs, course: Course, h: float, Lambda: np.ndarray, before: np.ndarray) -> None:
    """Compressions and velocities at the end of a step; its impulses are added up."""
    x, w, v, z, _ = course
    for i in range(x.shape[0]):
        x[i] = after_step(x[i], v[i, 0], h, z[i, 0], springs.kappa[i], springs.e[i], springs.n)
        for j in range(3):
            Lambda[i, j] += z[i, j]
            before[i, j] = z[i, j]
            w[i, j] = 2.0 * v[i, j] - w[i, j]
            if j > 0 and abs(w[i, j]) <= QUIET:
                w[i, j] = 0.0


@kernel
def begin_flight(course: Course) -> None:
    """Velocities at the midpoint of a step without impulses."""
    for i in range(course.x.shape[0]):
        for j in range(3):
            course.z[i, j], course.v[i, j] = 0.0, course.w[i, j]


@entry(apart=True)
def spring_impact(springs: Springs, u: np.ndarray, Lambda: np.ndarray) -> int:
    """Write the impulses Lambda (k, 3) of k contacts in their frames N, 1, 2; returns the steps, -1 where it fails.

    u (k, 3): velocities before, which become those after.
    """
    k, size, g, stiffest, steps, last = u.shape[0], 0.0, 0.0, 0.0, 0, 0.0
    for i in range(k):
        size = max(size, abs(u[i, 0]), abs(u[i, 1]), abs(u[i, 2]))
        g, stiffest = max(g, springs.block[springs.begin[i], 0]), max(stiffest, springs.kappa[i])
        Lambda[i, 0], Lambda[i, 1], Lambda[i, 2] = 0.0, 0.0, 0.0
    if size == 0.0:
        return 0
    own = Springs(
        springs.begin, springs.other, springs.block / g, springs.mu, springs.e, springs.kappa / stiffest, springs.n
    )
    course = Course(np.zeros(k), u / size, np.empty((k, 3)), np.zeros((k, 3)), np.zeros(k, np.bool_))
    before = np.zeros((k, 3))
    while steps * k <= MOST:
        loaded = touches(own, course)
        h = next_step(own, course, loaded)
        if h == np.inf or (not loaded and not approaches(course)):
            break
        if loaded:
            h = step_to_event(own, course, before, last, h)
            if h < 0.0:
                return -1
        else:
            begin_flight(course)
        move_on(own, course, h, Lambda, before)
        last = h if loaded else 0.0
        steps += 1
    if steps * k > MOST:
        return -1
    for i in range(k):
        for j in range(3):
            u[i, j] = size * course.w[i, j]
            Lambda[i, j] *= size / g
    return steps
