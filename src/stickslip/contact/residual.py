"""How far impulses are from a solution: one residual per contact, a velocity, and the measure of FCLIB beside it.

Velocity.  With u = W r + q and the mobility m = trace(W_ii) / d [1/kg], Signorini's condition and Coulomb's law are

    u_N = max(0, u_N - m r_N),                  e_N = min(u_N, m r_N)
    r_T = P_D(r_T - u_T / m),  D = D(mu r_N),   e_T = m (r_T - P_D(r_T - u_T / m))

e_N is the approach of an open contact, and the normal velocity of a closed one.  e_T is the slip of a contact that
sticks, and for one that slides the part of the slip that its friction does not oppose.  Both are velocities [m/s],
whatever the unit of mass, whatever mu.  The residual of a problem is that of its worst contact, relative to the largest
velocity without impulses:

    residual = max_i |(e_N, e_T)_i| / v,        v = max_i |q_i|            (joint rows: |u|, and |q| in v)

Velocities that impulses make are rounded.  Where heavy bodies press light ones, W r adds up terms that are millions of
times larger than v, and no impulses in double precision make u better than their rounding.  So a violation counts only
as far as rounding does not explain it:

    |(e_N, e_T)_i| - ROUNDINGS eps load_i,  at least 0,       load_i = max_a (|W| |r|)_a over the rows of contact i

Rounding explains at most MOST_ROUNDING of v.  Beyond, nothing is known of the velocity, and eps load_i is the least
that a violation counts: impulses that grow without bound are no solution, even where W r + q rounds to zero.

W r + q itself is summed in double precision, and that adds another rounding or two.  Near the bound, where they could
decide, the velocities are summed with twice the digits (`sharp_velocity`): what counts as solved is what exact
arithmetic calls so.

Where q is zero the residual is an absolute velocity.  The ellipse of an anisotropic contact is stretched to a circle.
The violation found there is divided by the smaller of the two stretches: never less than in the velocities as given.

Natural map.  FCLIB's measure, a sum over contacts that compares impulses with velocities:

    error = || r - P_K(r - u - mu |u_T| e_N) || / max(|q|, |r|, |u|)

Kernels get scaled contacts, r = unit z, u = w / unit (see `contacts`), and a `gauge`: mobility (n,) of the scaled
contacts, unit (n,), to_speed (n,) that turns a scaled violation into one in velocities, and numbers: KIND, SCALE, ALL.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.blocks import Coupled
from stickslip.contact.cones import squares
from stickslip.jit import entry
from stickslip.projections import EPS, norm_2d, project_cone_2d, project_cone_3d, worse

ROUNDINGS = 8.0  # roundings of u that are no violation: all 568 problems with masses 1e6 apart then reach 1e-12
MOST_ROUNDING = 1e-6  # of v; largest eps |W| |r| / v of those problems: 1.4e-8 (plane, 300 contacts)
RUNAWAY = 0.02  # error in velocities that contradicts any natural map: impulses grow without bound; not varied

SPLIT = 2.0**27 + 1.0  # halves of 26 digits each: their products are exact

MEASURES = ("velocity", "natural-map")
VELOCITY, NATURAL_MAP = 0.0, 1.0  # KIND of a gauge: the place in MEASURES
KIND, SCALE, ALL = range(3)  # of the numbers; SCALE: v, or |q|^2 of all contacts; ALL: how many contacts these are


@entry(inline=True)
def violation(u: np.ndarray, r: np.ndarray, k: int, mu: float, mobility: float, dim: int) -> float:
    """|(e_N, e_T)| of the contact whose rows begin at k."""
    load = mobility * r[k]
    e_N = load if load < u[k] else u[k]
    bound = mu * r[k] if r[k] > 0.0 else 0.0
    y1, y2 = r[k + 1] - u[k + 1] / mobility, 0.0
    e1, e2 = u[k + 1], 0.0
    if dim == 3:
        y2 = r[k + 2] - u[k + 2] / mobility
        e2 = u[k + 2]
    size = norm_2d(y1, y2) if dim == 3 else abs(y1)
    if not size <= bound:
        e1 = mobility * (r[k + 1] - bound * y1 / size)
        e2 = mobility * (r[k + 2] - bound * y2 / size) if dim == 3 else 0.0
    return math.sqrt(e_N * e_N + e1 * e1 + e2 * e2)


@entry
def worst_violation(
    u: np.ndarray, r: np.ndarray, mu: np.ndarray, load: np.ndarray, gauge: tuple, dim: int, first: int, last: int
) -> float:
    """Residual in velocities of contacts first .. last - 1; inf where a number is not finite.

    load (n,): max_a (|W| |r|)_a of each contact, scaled as u is; empty: rounding explains nothing.
    """
    mobility, _, to_speed, numbers = gauge
    worst, most = 0.0, MOST_ROUNDING * numbers[SCALE]
    for i in range(first, last):
        found = violation(u, r, dim * i, mu[i], mobility[i], dim) * to_speed[i]
        if load.shape[0] > 0:
            rounding = EPS * load[i] * to_speed[i]
            found = found - ROUNDINGS * rounding if ROUNDINGS * rounding <= most else worse(found, rounding)
        worst = worse(worst, found)
    return worst / numbers[SCALE] if worst < np.inf else np.inf


@entry(inline=True)
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and what rounding took from it, exactly (Knuth)."""
    s = a + b
    c = s - a
    return s, (a - (s - c)) + (b - c)


@entry(inline=True)
def two_product(a: float, b: float) -> tuple[float, float]:
    """a b and what rounding took from it, exactly (Dekker), while 1e8 a, 1e8 b and a b are numbers."""
    p, x, y = a * b, SPLIT * a, SPLIT * b
    a1, b1 = x - (x - a), y - (y - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@entry
def sharp_velocity(contacts: Coupled, r: np.ndarray, i: int, a: int) -> float:
    """Row a of contact i of u = W r + q, summed with twice the digits and rounded once."""
    data, indptr, indices, q, _ = contacts
    dim = data.shape[1]
    total, rest = q[dim * i + a], 0.0
    for p in range(indptr[i], indptr[i + 1]):
        for b in range(dim):
            product, lost = two_product(data[p, a, b], r[dim * indices[p] + b])
            total, left = two_sum(total, product)
            rest += left + lost
    return total + rest


@entry
def sharpened(
    contacts: Coupled, u: np.ndarray, r: np.ndarray, load: np.ndarray, gauge: tuple, first: int, last: int
) -> np.ndarray:
    """u with sharp velocities of the contacts for which rounding of u could decide whether rounding explains them."""
    mobility, _, to_speed, numbers = gauge
    mu, dim, sharp = contacts.mu, contacts.data.shape[1], u.copy()
    for i in range(first, last):
        most = ROUNDINGS * EPS * load[i]
        found = violation(u, r, dim * i, mu[i], mobility[i], dim)
        if 0.0 < found <= 2.0 * most and most * to_speed[i] <= MOST_ROUNDING * numbers[SCALE]:
            for a in range(dim):
                sharp[dim * i + a] = sharp_velocity(contacts, r, i, a)
    return sharp


@entry
def natural_map(
    u: np.ndarray, q: np.ndarray, r: np.ndarray, mu: np.ndarray, gauge: tuple, dim: int, first: int, last: int
) -> float:
    """Natural map of contacts first .. last - 1, r = unit z and u = w / unit; inf where a number is not finite.

    A part of a problem with ALL contacts has its share of the tolerance by contacts: errors of at most tol in all parts
    make an error of at most tol of the whole.
    """
    _, unit, _, numbers = gauge
    total, q_square, r_square, u_square = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        k, s = dim * i, unit[i]
        p = s * s
        if dim == 3:
            slip = norm_2d(u[k + 1], u[k + 2])
            y0 = r[k] - u[k] / p - mu[i] * slip / p
            y0, y1, y2 = project_cone_3d(y0, r[k + 1] - u[k + 1] / p, r[k + 2] - u[k + 2] / p, mu[i])
            total += (s * (r[k] - y0)) ** 2 + (s * (r[k + 1] - y1)) ** 2 + (s * (r[k + 2] - y2)) ** 2
        else:
            y0 = r[k] - u[k] / p - mu[i] * abs(u[k + 1]) / p
            y0, y1 = project_cone_2d(y0, r[k + 1] - u[k + 1] / p, mu[i])
            total += (s * (r[k] - y0)) ** 2 + (s * (r[k + 1] - y1)) ** 2
        for a in range(k, k + dim):
            q_square += (q[a] / s) ** 2
            r_square += (s * r[a]) ** 2
            u_square += (u[a] / s) ** 2
    size = max(max(numbers[SCALE] if numbers[KIND] == NATURAL_MAP else 0.0, q_square), max(r_square, u_square))
    if not (total < np.inf and size < np.inf):
        return np.inf
    if numbers[KIND] == NATURAL_MAP and numbers[ALL] > last - first:
        total *= numbers[ALL] / (last - first)
    return math.sqrt(total / size) if size > 0.0 else math.sqrt(total)


@entry
def loads(
    data: np.ndarray, indptr: np.ndarray, indices: np.ndarray, r: np.ndarray, first: int, last: int
) -> np.ndarray:
    """max_a (|W| |r|)_a of contacts first .. last - 1, at their places in an array of all, shape (n,)."""
    dim = data.shape[1]
    load = np.zeros(indptr.shape[0] - 1)
    for i in range(first, last):
        for a in range(dim):
            total = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                for b in range(dim):
                    total += abs(data[p, a, b] * r[dim * indices[p] + b])
            load[i] = max(load[i], total)
    return load


@entry(apart=True)
def error_in(contacts: Coupled, u: np.ndarray, r: np.ndarray, gauge: tuple, first: int, last: int) -> float:
    """The measure that the gauge asks for, of contacts first .. last - 1; u = W r + q."""
    data, indptr, indices, q, mu = contacts
    dim = data.shape[1]
    if gauge[3][KIND] == NATURAL_MAP:
        return natural_map(u, q, r, mu, gauge, dim, first, last)
    error = worst_violation(u, r, mu, np.empty(0), gauge, dim, first, last)
    if not error <= MOST_ROUNDING:  # rounding would not change much, and costs a product
        return error
    load = loads(data, indptr, indices, r, first, last)
    sharp = sharpened(contacts, u, r, load, gauge, first, last)
    return worst_violation(sharp, r, mu, load, gauge, dim, first, last)


@entry
def plain_gauge(q: np.ndarray, contacts: int) -> tuple:
    """Gauge of the natural map of contacts that are not scaled."""
    numbers = np.array([NATURAL_MAP, squares(q, 0, q.shape[0]), float(contacts)])
    return np.ones(contacts), np.ones(contacts), np.ones(contacts), numbers
