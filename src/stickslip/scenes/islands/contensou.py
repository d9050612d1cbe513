"""Coulomb-Contensou friction: sliding and spinning at one contact, its potential and its forces.

A contact presses with N over a disc of radius R.  Each point of the disc has Coulomb friction.  With the slip v of its
centre and the spin w about its normal, k = |v| / (R |w|):

    Phi(v, w) = mu int p |v + w n x x| dA = mu N R |w| D(k),
    F = -mu N f(k) v/|v|,    T = -mu N R tau(k) sgn w,    f = D',    tau = D - k D'.

D is the mean distance to the pole of the motion, in units of R.  For constant pressure it has elliptic integrals, for
Hertz' pressure it is elementary.  At rest force and torque may be any of the set C(mu N) that Phi supports.
References: Contensou 1963; Zhuravlev 1998; Leine and Glocker 2003.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import entry, kernel

TERMS = 26  # of the series in 1/k^2 for k > FAR, where the closed forms cancel
FAR = 2.0
ALONE = 1e8  # k from which on there is slip alone
STEPS = 60  # of Newton's method
HALVINGS = 40


@kernel
def elliptic(m: float) -> tuple[float, float]:
    """K(m) and E(m) for 0 <= m < 1, by the arithmetic-geometric mean."""
    a, b, c, power, total = 1.0, math.sqrt(1.0 - m), math.sqrt(m), 0.5, 0.5 * m
    for _ in range(40):
        if abs(c) <= 1e-17 * a:
            break
        mean, b, c = 0.5 * (a + b), math.sqrt(a * b), 0.5 * (a - b)
        a, power = mean, 2.0 * power
        total += power * c * c
    K = 0.5 * math.pi / a
    return K, K * (1.0 - total)


@entry
def contensou(k: float, hertz: bool) -> tuple[float, float, float]:
    """f, tau and f' at k = |v| / (R |w|)."""
    if k > FAR:
        f, tau, slope, c, w, x = 1.0, 0.0, 0.0, 1.0, 1.0, 1.0
        for n in range(1, TERMS + 1):
            c *= ((n - 1.5) / n) ** 2
            # moments of the pressure: 2 int p r^(2n + 1) dr = 1/(n + 1), or 3/2 B(n + 1, 3/2)
            w = w * n / (n + 1.5) if hertz else 1.0 / (n + 1.0)
            x /= k * k
            f += (1.0 - 2.0 * n) * c * w * x
            tau += 2.0 * n * c * w * x * k
            slope += 2.0 * n * (2.0 * n - 1.0) * c * w * x / k
        return f, tau, slope
    if hertz:
        if k <= 1.0:
            q = k * k
            return (
                3.0 * math.pi / 32.0 * k * (4.0 - q),
                3.0 * math.pi / 16.0 * (1.0 - q + 0.375 * q * q),
                3.0 * math.pi / 32.0 * (4.0 - 3.0 * q),
            )
        q, s, a = k * k, math.sqrt(k * k - 1.0), math.asin(1.0 / k)
        f = 3.0 / 16.0 * (k * (4.0 - q) * a + (q + 2.0) * s / k)
        D = 3.0 / 8.0 * (1.0 + q - q * q / 8.0) * a + 3.0 / 64.0 * (14.0 + q) * s
        return f, D - k * f, 3.0 / 16.0 * ((4.0 - 3.0 * q) * a + (3.0 - 2.0 / q) * s)
    q, third = k * k, 4.0 / (3.0 * math.pi)
    if k < 1e-4:  # f = k - k^3/8, tau = 2/3 - k^2/2
        return k - k * q / 8.0, 2.0 / 3.0 - 0.5 * q, 1.0 - 0.375 * q
    if abs(k - 1.0) < 1e-14:
        return 2.0 * third, 2.0 / 3.0 * third, third
    if k < 1.0:
        K, E = elliptic(q)
        g = (1.0 + q) * E - (1.0 - q) * K
        return third * g / k, third / 3.0 * ((4.0 - 2.0 * q) * E - (1.0 - q) * K), third * (3.0 * E - g / q)
    K, E = elliptic(1.0 / q)
    f = third * ((q + 1.0) * E - (q - 1.0) * K)
    tau = third / 3.0 * k * ((4.0 - 2.0 * q) * E + (q - 1.0) * (2.0 * q - 3.0) / q * K)
    return f, tau, third * (2.0 * k * (E - K) + (2.0 * K - E) / k)


@kernel
def inside(F: float, T: float, hertz: bool) -> bool:
    """Whether force F and torque T over R, both over mu N and not negative, lie in the set C."""
    c = 3.0 * math.pi / 16.0 if hertz else 2.0 / 3.0
    if F * F + (T / c) ** 2 > 1.0:  # C lies in this ellipse, and is convex with the corners (1, 0) and (0, c)
        return False
    if F + T / c <= 1.0:
        return True
    low, high = 0.0, 0.5 * math.pi
    for _ in range(50):  # the point of the boundary with the force F: f grows with k = tan(angle)
        angle = 0.5 * (low + high)
        f, _, _ = contensou(math.tan(angle), hertz)
        if f < F:
            low = angle
        else:
            high = angle
    _, tau, _ = contensou(math.tan(low), hertz)
    return T <= tau


@kernel
def gradient(x: np.ndarray, load: float, hertz: bool, g: np.ndarray, H: np.ndarray) -> None:
    """Gradient (3,) and Hessian (9,) of load Phi / (mu N) at x = (v_1, v_2, R w), which is not zero."""
    v, y = math.sqrt(x[0] * x[0] + x[1] * x[1]), abs(x[2])
    sign = 1.0 if x[2] >= 0.0 else -1.0
    f, tau, along, mixed, across, spin = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if y > v / ALONE:
        k = v / y
        f, tau, slope = contensou(k, hertz)
        along, mixed, spin = slope / y, -k * slope / y, k * k * slope / y
        across = f / v if v > 1e-12 * y else slope / y
    else:
        across, spin = 1.0 / v, (0.2 if hertz else 0.25) / v
    c, s = (x[0] / v, x[1] / v) if v > 0.0 else (1.0, 0.0)
    g[0], g[1], g[2] = load * f * c, load * f * s, load * tau * sign
    H[0] = load * (along * c * c + across * s * s)
    H[1] = load * (along - across) * c * s
    H[4] = load * (along * s * s + across * c * c)
    H[2], H[5], H[8] = load * mixed * sign * c, load * mixed * sign * s, load * spin
    H[3], H[6], H[7] = H[1], H[2], H[5]


@entry
def patch_slopes(x: np.ndarray, hertz: bool, g: np.ndarray, H: np.ndarray) -> None:
    """Gradient (3,) and Hessian (9,) of Phi / (mu N) at x = (v_1, v_2, R w), which is not zero."""
    gradient(x, 1.0, hertz, g, H)


@kernel
def solve_3(A: np.ndarray, b: np.ndarray, x: np.ndarray) -> None:
    """x = A^-1 b of a positive definite matrix (9,), by Cholesky's factors."""
    a = math.sqrt(A[0])
    d, e = A[3] / a, A[6] / a
    f = math.sqrt(A[4] - d * d)
    g = (A[7] - e * d) / f
    h = math.sqrt(A[8] - e * e - g * g)
    p = b[0] / a
    q = (b[1] - d * p) / f
    r = (b[2] - e * p - g * q) / h
    x[2] = r / h
    x[1] = (q - g * x[2]) / f
    x[0] = (p - d * x[1] - e * x[2]) / a


@kernel
def downhill(A: np.ndarray, q: np.ndarray, x: np.ndarray, load: float, hertz: bool, g: np.ndarray, H: np.ndarray,
             R: np.ndarray) -> None:  # fmt: skip
    """R = -A (x - q) - load Phi'(x) / (mu N), and the Hessian H of the last term."""
    gradient(x, load, hertz, g, H)
    for i in range(3):
        R[i] = -g[i]
        for j in range(3):
            R[i] -= A[3 * i + j] * (x[j] - q[j])


@entry(apart=True)
def spin_and_slide(
    A: np.ndarray, q: np.ndarray, load: float, hertz: bool, x: np.ndarray, r: np.ndarray
) -> None:  # fmt: skip
    """Impulses r and velocities x of one contact, x = q + G r, -r in the subdifferential of load Phi / (mu N).

    A = G^-1 (9,), rows t_1, t_2 and R times the spin; load = mu Lambda_N.  At rest x = 0, r = -A q.  Otherwise x
    minimises a strictly convex function that is smooth there: Newton's method, damped, from x, or from q where x = 0.
    """
    size = 0.0
    for i in range(3):
        r[i] = -(A[3 * i] * q[0] + A[3 * i + 1] * q[1] + A[3 * i + 2] * q[2])
        size += abs(q[i])
    if load > 0.0 and inside(math.sqrt(r[0] * r[0] + r[1] * r[1]) / load, abs(r[2]) / load, hertz):
        x[0], x[1], x[2] = 0.0, 0.0, 0.0
        return
    g, H, d, trial, M, R = np.empty(3), np.zeros(9), np.empty(3), np.empty(3), np.empty(9), np.empty(3)
    if x[0] == 0.0 and x[1] == 0.0 and x[2] == 0.0:
        for i in range(3):
            x[i] = q[i]
    downhill(A, q, x, load, hertz, g, H, R)
    for _ in range(STEPS):
        for i in range(9):
            M[i] = A[i] + H[i]
        solve_3(M, R, d)
        slope, part = R[0] * d[0] + R[1] * d[1] + R[2] * d[2], 1.0
        if abs(d[0]) + abs(d[1]) + abs(d[2]) <= 2e-16 * size:
            break
        for _ in range(
            HALVINGS
        ):  # along d a convex function falls as long as R . d > 0; not far beyond its lowest point
            for i in range(3):
                trial[i] = x[i] + part * d[i]
            if trial[0] != 0.0 or trial[1] != 0.0 or trial[2] != 0.0:
                downhill(A, q, trial, load, hertz, g, H, R)
                if R[0] * d[0] + R[1] * d[1] + R[2] * d[2] >= -0.5 * slope:
                    break
            part *= 0.5
        for i in range(3):
            x[i] = trial[i]
        # The next step would be the square of this one, in units of x: close to rest the force turns within x itself.
        length = abs(x[0]) + abs(x[1]) + abs(x[2])
        if part == 1.0 and abs(d[0]) + abs(d[1]) + abs(d[2]) <= 1e-9 * length:
            break
    gradient(x, load, hertz, g, H)
    for i in range(3):
        r[i] = -g[i]


@entry
def resist(G: np.ndarray, q: np.ndarray, bound: float, r: np.ndarray) -> None:
    """Impulses r (2,) in a disc, -r in bound Sgn(q + G r); G (4,) symmetric and positive definite.

    At rest r = -G^-1 q.  Otherwise r = -(G + a 1)^-1 q with |r| = bound, and |r| falls with a.
    """
    trace, det = G[0] + G[3], G[0] * G[3] - G[1] * G[2]
    r[0], r[1] = -(G[3] * q[0] - G[1] * q[1]) / det, -(G[0] * q[1] - G[2] * q[0]) / det
    if r[0] * r[0] + r[1] * r[1] <= bound * bound:
        return
    if bound <= 0.0:
        r[0], r[1] = 0.0, 0.0
        return
    low, high = 0.0, math.sqrt(q[0] * q[0] + q[1] * q[1]) / bound
    a = max(0.0, high - trace)
    for _ in range(200):
        p, s, d = G[0] + a, G[3] + a, det + a * (trace + a)
        r[0], r[1] = -(s * q[0] - G[1] * q[1]) / d, -(p * q[1] - G[2] * q[0]) / d
        length = math.sqrt(r[0] * r[0] + r[1] * r[1])
        if length > bound:
            low = a
        else:
            high = a
        # |r|' = -r . (G + a)^-1 r / |r|; Newton on 1/|r|, which is nearly linear in a
        slope = (r[0] * (s * r[0] - G[1] * r[1]) + r[1] * (p * r[1] - G[2] * r[0])) / (d * length)
        step = (length - bound) * length / (bound * slope)
        new = a + step
        if abs(step) <= 1e-16 * new:
            break
        a = new if low < new < high else 0.5 * (low + high)
        if not low < a < high:
            break
    length = bound / math.sqrt(r[0] * r[0] + r[1] * r[1])
    r[0], r[1] = length * r[0], length * r[1]
