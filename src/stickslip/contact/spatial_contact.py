"""One contact with two tangents and a friction cone of any convex section, all other contacts held.

Impulses (N, T_1, T_2) and velocities xi = D (N, T) + q, normal component first.  The friction impulse lies in the
section T = (m_1 s_1, m_2 s_2) with s in N C, C = { psi <= 1 } a convex set of the plane with 0 inside, and of this set
it is the impulse that dissipates most, [S00] (2.17)-(2.19):

    0 <= N perp xi_N >= 0,    -(m_1 xi_1, m_2 xi_2) in the normal cone of N C at s

So an ellipse with semi-axes mu_1 N, mu_2 N is the unit disc C with m = (mu_1, mu_2).  A section is a row of numbers:

    DISC                        psi = |s|
    POLYGON, m, x_1, y_1, ...   corners, anticlockwise about 0
    POWER, p                    psi = (|s_1|^p + |s_2|^p)^(1/p), p > 1

The functions are kernels: the compiled steps and the reference call the same ones.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.one_contact import slip_3d, unit
from stickslip.jit import entry
from stickslip.projections import AT_BOUND

DISC, POLYGON, POWER = 0.0, 1.0, 2.0
FLAT = 1e-12  # a direction whose square is below this share, beside those before it, is theirs
ANGLES = 96  # directions of slip between which the roots for a smooth section are bracketed


@entry
def spatial_stick(D: np.ndarray, q0: float, q1: float, q2: float) -> tuple[float, float, float]:
    """-D^-1 q by D = L diag L^T; 0 along directions that those before span, as with fewer coordinates than rows."""
    d0 = D[0, 0]
    l1 = D[1, 0] / d0
    l2 = D[2, 0] / d0
    d1 = D[1, 1] - l1 * D[0, 1]
    e = D[2, 1] - l1 * D[0, 2]
    i1 = 1.0 / d1 if d1 > FLAT * D[1, 1] else 0.0
    l3 = e * i1
    d2 = D[2, 2] - l2 * D[0, 2] - l3 * e
    i2 = 1.0 / d2 if d2 > FLAT * D[2, 2] else 0.0
    r0 = 0.0
    r1 = 0.0
    r2 = 0.0
    for _ in range(2):  # the second time for what rounding left
        e0 = -(q0 + D[0, 0] * r0 + D[0, 1] * r1 + D[0, 2] * r2)
        e1 = -(q1 + D[1, 0] * r0 + D[1, 1] * r1 + D[1, 2] * r2) - l1 * e0
        e2 = -(q2 + D[2, 0] * r0 + D[2, 1] * r1 + D[2, 2] * r2) - l2 * e0 - l3 * e1
        x2 = e2 * i2
        x1 = e1 * i1 - l3 * x2
        r0 += e0 / d0 - l1 * x1 - l2 * x2
        r1 += x1
        r2 += x2
    return r0, r1, r2


@entry
def power_norm(x: float, y: float, p: float) -> float:
    """(|x|^p + |y|^p)^(1/p)."""
    a = abs(x)
    b = abs(y)
    largest = max(a, b)
    if largest == 0.0:
        return 0.0
    return largest * ((a / largest) ** p + (b / largest) ** p) ** (1.0 / p)


@entry
def section_gauge(section: np.ndarray, s1: float, s2: float) -> float:
    """psi(s) of a section: 1 on its edge."""
    if section[0] == POLYGON:
        m = int(section[1])
        worst = 0.0
        for i in range(m):
            j = i + 1 if i + 1 < m else 0
            x = section[2 + 2 * i]
            y = section[3 + 2 * i]
            n1 = section[3 + 2 * j] - y
            n2 = x - section[2 + 2 * j]
            worst = max(worst, (n1 * s1 + n2 * s2) / (n1 * x + n2 * y))
        return worst
    if section[0] == POWER:
        return power_norm(s1, s2, section[1])
    return math.sqrt(s1 * s1 + s2 * s2)


@entry
def section_extent(section: np.ndarray, axis: int) -> float:
    """The largest |s_1| (axis 0) or |s_2| (axis 1) of a section."""
    if section[0] == POLYGON:
        largest = 0.0
        for i in range(int(section[1])):
            largest = max(largest, abs(section[2 + 2 * i + axis]))
        return largest
    return 1.0


@entry
def beside_ray(y1: float, y2: float, n1: float, n2: float) -> float:
    """Distance of y to the ray along n."""
    norm = math.sqrt(n1 * n1 + n2 * n2)
    along = max(0.0, (y1 * n1 + y2 * n2) / norm)
    x1 = y1 - along * n1 / norm
    x2 = y2 - along * n2 / norm
    return math.sqrt(x1 * x1 + x2 * x2)


@entry
def polygon_defect(section: np.ndarray, s1: float, s2: float, m1: float, m2: float, y1: float, y2: float) -> float:
    """Distance of y to the normal cone of a polygon at s, which is on its edge: one ray, or at a corner a fan."""
    m = int(section[1])
    least = math.sqrt(y1 * y1 + y2 * y2)
    f1 = 0.0
    f2 = 0.0
    for turn in range(m + 1):  # once round, and the first edge again: neighbours make a fan
        i = turn if turn < m else 0
        j = i + 1 if i + 1 < m else 0
        x = section[2 + 2 * i]
        y = section[3 + 2 * i]
        n1 = section[3 + 2 * j] - y
        n2 = x - section[2 + 2 * j]
        on = n1 * s1 + n2 * s2 >= (1.0 - AT_BOUND) * (n1 * x + n2 * y)
        n1 = n1 / m1
        n2 = n2 / m2
        if on:
            least = min(least, beside_ray(y1, y2, n1, n2))
            if (f1 != 0.0 or f2 != 0.0) and f1 * y2 - f2 * y1 >= 0.0 and y1 * n2 - y2 * n1 >= 0.0:
                least = 0.0
            f1 = n1
            f2 = n2
        else:
            f1 = 0.0
            f2 = 0.0
    return least


@entry
def friction_defect(
    section: np.ndarray, N: float, T1: float, T2: float, m1: float, m2: float, x1: float, x2: float
) -> float:
    """How far the slip xi_T = (x1, x2) is from what dissipates most with the impulses [m/s]; inf off the section.

    Inside the section the whole of it; on the edge its distance to the opposite of the normal cone.
    """
    if N <= 0.0 or (m1 == 0.0 and m2 == 0.0):
        return 0.0 if T1 == 0.0 and T2 == 0.0 else math.inf
    s1 = T1 / (m1 * N)
    s2 = T2 / (m2 * N)
    gauge = section_gauge(section, s1, s2)
    if not gauge <= 1.0 + AT_BOUND:
        return math.inf
    if gauge < 1.0 - AT_BOUND:
        return math.sqrt(x1 * x1 + x2 * x2)
    if section[0] == POLYGON:
        return polygon_defect(section, s1, s2, m1, m2, -x1, -x2)
    n1 = s1
    n2 = s2
    if section[0] == POWER:
        n1 = math.copysign(abs(s1) ** (section[1] - 1.0), s1)
        n2 = math.copysign(abs(s2) ** (section[1] - 1.0), s2)
    return beside_ray(-x1, -x2, n1 / m1, n2 / m2)


@entry
def slip_on_polygon(D: np.ndarray, q0: float, q1: float, q2: float, section: np.ndarray) -> tuple[float, float, float]:
    """Impulse of slip with s on the edge of a polygon: corner after corner, side after side; the best of them."""
    m = int(section[1])
    least = math.inf
    N = 0.0
    T1 = 0.0
    T2 = 0.0
    for i in range(m):
        h = i - 1 if i > 0 else m - 1
        j = i + 1 if i + 1 < m else 0
        a = section[2 + 2 * i]
        b = section[3 + 2 * i]
        e1 = section[2 + 2 * j] - a
        e2 = section[3 + 2 * j] - b
        length = math.sqrt(e1 * e1 + e2 * e2)
        slope = D[0, 0] + D[0, 1] * a + D[0, 2] * b
        along1 = D[1, 0] + D[1, 1] * a + D[1, 2] * b
        along2 = D[2, 0] + D[2, 1] * a + D[2, 2] * b
        if slope > 0.0:  # at corner i
            r = -q0 / slope
            u1 = q1 + r * along1
            u2 = q2 + r * along2
            f1 = a - section[2 + 2 * h]
            f2 = b - section[3 + 2 * h]
            before = (u1 * f1 + u2 * f2) / math.sqrt(f1 * f1 + f2 * f2)
            wrong = max(0.0, before, -(u1 * e1 + u2 * e2) / length)
            if wrong < least:
                least = wrong
                N = r
                T1 = r * a
                T2 = r * b
        # on the side from corner i to the next: T = r corner + w e, no slip along the side
        c0 = D[0, 1] * e1 + D[0, 2] * e2
        c1 = e1 * along1 + e2 * along2
        c2 = e1 * (D[1, 1] * e1 + D[1, 2] * e2) + e2 * (D[2, 1] * e1 + D[2, 2] * e2)
        c = -(e1 * q1 + e2 * q2)
        determinant = slope * c2 - c0 * c1
        if determinant > 0.0 and c2 > 0.0:
            r = (-q0 * c2 - c0 * c) / determinant
            w = (slope * c + q0 * c1) / determinant
            outside = max(0.0, -w, w - r) * c2 / length
            inside = min(max(w, 0.0), r)
            t1 = r * a + inside * e1
            t2 = r * b + inside * e2
            u1 = q1 + D[1, 0] * r + D[1, 1] * t1 + D[1, 2] * t2
            u2 = q2 + D[2, 0] * r + D[2, 1] * t1 + D[2, 2] * t2
            wrong = max(outside, (u1 * e2 - u2 * e1) / length)
            if r >= 0.0 and wrong < least:
                least = wrong
                N = r
                T1 = t1
                T2 = t2
    return N, T1, T2


@entry
def power_point(c: float, s: float, p: float) -> tuple[float, float]:
    """The point of { |s_1|^p + |s_2|^p <= 1 } farthest along (c, s), by Hoelder's inequality."""
    dual = p / (p - 1.0)
    norm = power_norm(c, s, dual)
    return (
        math.copysign((abs(c) / norm) ** (dual - 1.0), c),
        math.copysign((abs(s) / norm) ** (dual - 1.0), s),
    )


@entry
def power_turn(
    D: np.ndarray, q0: float, q1: float, q2: float, p: float, angle: float
) -> tuple[float, float, float, float, float]:
    """For slip against the direction d of an angle: slope (u_T x d), slope (u_T . d), slope, and the point s.

    xi_N = 0 gives N = -q_N / slope, slope = D_NN + D_NT s.
    """
    c = math.cos(angle)
    s = math.sin(angle)
    if p > 2.0:  # the angle is that of the point: near the axes its direction says nothing about it
        norm = power_norm(c, s, p)
        s1 = c / norm
        s2 = s / norm
        c = math.copysign(abs(s1) ** (p - 1.0), s1)
        s = math.copysign(abs(s2) ** (p - 1.0), s2)
        norm = math.sqrt(c * c + s * s)
        c /= norm
        s /= norm
    else:
        s1, s2 = power_point(c, s, p)
    slope = D[0, 0] + D[0, 1] * s1 + D[0, 2] * s2
    x1 = slope * q1 - q0 * (D[1, 0] + D[1, 1] * s1 + D[1, 2] * s2)
    x2 = slope * q2 - q0 * (D[2, 0] + D[2, 1] * s1 + D[2, 2] * s2)
    return x2 * c - x1 * s, x1 * c + x2 * s, slope, s1, s2


@entry
def slip_on_power(
    D: np.ndarray, q0: float, q1: float, q2: float, p: float, r1: float, r2: float
) -> tuple[float, float, float]:
    """Impulse of slip on the edge of a power norm's section; of several the one nearest to the direction (r1, r2)."""
    closest = -math.inf
    N = 0.0
    T1 = 0.0
    T2 = 0.0
    before = 0.0
    width = 2.0 * math.pi / ANGLES
    size = abs(q0) + abs(q1) + abs(q2)
    for k in range(ANGLES + 1):
        high = width * (k + 0.382)
        F = power_turn(D, q0, q1, q2, p, high)[0]
        if k > 0 and before * F <= 0.0:
            low = high - width
            end = high
            for _ in range(60):
                middle = 0.5 * (low + end)
                if before * power_turn(D, q0, q1, q2, p, middle)[0] <= 0.0:
                    end = middle
                else:
                    low = middle
            _, along, slope, s1, s2 = power_turn(D, q0, q1, q2, p, end)
            nearness = s1 * r1 + s2 * r2
            if slope > 0.0 and along <= 1e-12 * slope * size and nearness > closest:
                closest = nearness
                N = -q0 / slope
                T1 = N * s1
                T2 = N * s2
        before = F
    return N, T1, T2


@entry
def spatial_contact(
    D: np.ndarray,
    q: tuple[float, float, float],
    m: tuple[float, float],
    section: np.ndarray,
    begin: tuple[float, float],
) -> tuple[float, float, float]:
    """Impulses (N, T_1, T_2) of one contact; `begin`: the friction impulse from which the search for slip begins.

    D (3, 3) comes back scaled by m.  Open first, then stick, then slip; where no slip is right, the best one, and the
    residual of the step shows it.
    """
    q0, q1, q2 = q
    m1, m2 = m
    r1, r2 = begin
    if q0 >= 0.0 or D[0, 0] <= 0.0:
        return 0.0, 0.0, 0.0
    if m1 == 0.0 and m2 == 0.0:
        return -q0 / D[0, 0], 0.0, 0.0
    D[0, 1] *= m1
    D[1, 0] *= m1
    D[0, 2] *= m2
    D[2, 0] *= m2
    D[1, 1] *= m1 * m1
    D[1, 2] *= m1 * m2
    D[2, 1] *= m1 * m2
    D[2, 2] *= m2 * m2
    q1 = q1 * m1
    q2 = q2 * m2
    N, s1, s2 = spatial_stick(D, q0, q1, q2)
    if not (N >= 0.0 and section_gauge(section, s1, s2) <= N):
        c, s = unit(r1 / m1, r2 / m2) if r1 != 0.0 or r2 != 0.0 else unit(s1, s2)
        if section[0] == POLYGON:
            N, s1, s2 = slip_on_polygon(D, q0, q1, q2, section)
        elif section[0] == POWER:
            N, s1, s2 = slip_on_power(D, q0, q1, q2, section[1], c, s)
        else:
            N, s1, s2 = slip_3d(D, q0, q1, q2, 1.0, c, s)
    return N, m1 * s1, m2 * s2
