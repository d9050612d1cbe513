"""Text of model functions that nobody gave: derivatives by differences, sizes of gaps from the coordinates."""

SIZES_OF_COORDINATES = """@dev
def sizes(q, t, p, s):
    gap(q, t, p, s)
    total = 0.0
    for j in range(len(q)):
        total += abs(q[j])
    for k in range(len(s)):
        s[k] = abs(s[k]) + total
"""
JACOBIAN_BY_DIFFERENCES = """@dev
def jacobian(q, u, t, p, K, C, work):
    for j in range(N_COORDINATES):
        x = q[j]
        step = 6e-6 * max(1.0, math.fabs(x))
        q[j] = x + step
        force(q, u, t, p, work[0])
        q[j] = x - step
        force(q, u, t, p, work[1])
        q[j] = x
        for i in range(N_COORDINATES):
            K[i, j] = (work[0, i] - work[1, i]) / (2.0 * step)
        x = u[j]
        step = 6e-6 * max(1.0, math.fabs(x))
        u[j] = x + step
        force(q, u, t, p, work[0])
        u[j] = x - step
        force(q, u, t, p, work[1])
        u[j] = x
        for i in range(N_COORDINATES):
            C[i, j] = (work[0, i] - work[1, i]) / (2.0 * step)
"""
# Central differences of eighth order; the first line is room of shapes (n, f) and (n, 2) without a call to allocate it.
DRIFT_BY_DIFFERENCES = """@dev
def drift(q, u, t, p, zeta):
    W_N, W_T, w_hat = zeta[:, :1] * u, zeta[:, :1] * u, zeta * 1.0
    speed = 0.0
    for i in range(u.shape[0]):
        speed = max(speed, abs(u[i]))
    step = 5e-4 / (1.0 + speed)  # truncation and round-off near 1e-12 for motions of a few hundred rad/s
    zeta[:, :] = 0.0
    for away, weight in ((1.0, 4.0 / 5.0), (2.0, -1.0 / 5.0), (3.0, 4.0 / 105.0), (4.0, -1.0 / 280.0)):
        for sign in (-1.0, 1.0):
            tau = sign * away * step
            geometry(q + tau * u, t + tau, p, W_N, W_T, w_hat)
            for k in range(zeta.shape[0]):
                gamma_N, gamma_T = w_hat[k, 0], w_hat[k, 1]
                for j in range(u.shape[0]):
                    gamma_N += W_N[k, j] * u[j]
                    gamma_T += W_T[k, j] * u[j]
                zeta[k, 0] += sign * weight * gamma_N / step
                zeta[k, 1] += sign * weight * gamma_T / step
"""
