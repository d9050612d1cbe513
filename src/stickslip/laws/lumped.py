"""Stronge's lumped model of one contact: bilinear normal spring, tangential spring behind a Coulomb element.

[PG05] section 7, Figs. 12 and 13.  Normal stiffness kappa in compression and kappa/e^2 in restitution, tangential
stiffness kappa/eta^2 throughout; the elements have no inertia, the configuration is frozen.  In units of
1/sqrt(kappa alpha) for time and |gamma_N^-| for velocity, with beta, delta divided by alpha:

    z' = -gamma_N,   gamma_N' = F + delta T,   gamma_T' = delta F + beta T,   F = k (z - z_0)
    compression k = 1, z_0 = 0;   restitution from the deepest point z_m: k = 1/e^2, z_0 = (1 - e^2) z_m
    stick:  x' = gamma_T, T = -x/eta^2                     until |x| reaches mu eta^2 F
    slip s: x = s mu eta^2 F, T = -s mu F                  until s (gamma_T - x') falls to 0

Every phase is linear with constant coefficients and is propagated exactly; its end is bracketed on a fine grid and
bisected.  Compression ends at gamma_N = 0, the impact at F = 0.  Coupling may drive the bodies together again during
restitution; then the stiff line is followed back to z_m, and the soft line from z_m on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stickslip.jit import entry
from stickslip.laws.base import LawSolution, Phase, Striking, numbers_of, one_row
from stickslip.laws.routh import MOTIONS, STAGES

if TYPE_CHECKING:
    from stickslip.contact.planar import PlanarProblem

MAX_LUMPED_PHASES = 40
SAMPLES = 0.05  # grid of the event search, in units of 1/(largest frequency)
MAX_SAMPLES = 4_000_000
GRAZING = 1e-9  # share of |gamma_T| that stands for gamma_N^- -> 0 where a jam makes an impact of it


@entry
def stick_modes(beta: float, delta: float, eta2: float, k: float) -> tuple:
    """Frequencies and rotation (cos, sin) of y'' = -K y, y = (z - z_0, x), in coordinates that make K symmetric."""
    off = -delta * math.sqrt(k / eta2)
    first = k
    second = beta / eta2
    angle = 0.5 * math.atan2(2.0 * off, first - second)
    c = math.cos(angle)
    s = math.sin(angle)
    mean = 0.5 * (first + second)
    half = math.hypot(0.5 * (first - second), off)
    return math.sqrt(mean + half), math.sqrt(max(0.0, mean - half)), c, s


@entry
def propagate_stick(
    t: float, state: np.ndarray, k: float, z_0: float, eta2: float, modes: tuple, out: np.ndarray
) -> None:
    """State (z, gamma_N, x, gamma_T) after time t of sticking."""
    omega_1, omega_2, c, s = modes
    root = math.sqrt(k)
    eta = math.sqrt(eta2)
    Y_1, Y_2 = (state[0] - z_0) * root, state[2] / eta
    V_1, V_2 = -state[1] * root, state[3] / eta
    a_1, a_2 = c * Y_1 + s * Y_2, -s * Y_1 + c * Y_2
    b_1, b_2 = c * V_1 + s * V_2, -s * V_1 + c * V_2
    cos_1, sin_1 = math.cos(omega_1 * t), math.sin(omega_1 * t)
    cos_2, sin_2 = math.cos(omega_2 * t), math.sin(omega_2 * t)
    over_2 = sin_2 / omega_2 if omega_2 > 0.0 else t
    m_1 = a_1 * cos_1 + b_1 * sin_1 / omega_1
    m_2 = a_2 * cos_2 + b_2 * over_2
    d_1 = -a_1 * omega_1 * sin_1 + b_1 * cos_1
    d_2 = -a_2 * omega_2 * sin_2 + b_2 * cos_2
    out[0] = z_0 + (c * m_1 - s * m_2) / root
    out[1] = -(c * d_1 - s * d_2) / root
    out[2] = (s * m_1 + c * m_2) * eta
    out[3] = (s * d_1 + c * d_2) * eta


@entry
def slip_impulse(t: float, F: float, gamma_N: float, k: float, kappa: float) -> tuple[float, float]:
    """int F dt and F after time t of slipping; kappa = 1 - mu s delta < 0 is the jam, where both grow."""
    square = kappa * k
    if square > 0.0:
        omega = math.sqrt(square)
        cosine, sine = math.cos(omega * t), math.sin(omega * t) / omega
        fall = 2.0 * math.sin(0.5 * omega * t) ** 2 / square
    elif square < 0.0:
        omega = math.sqrt(-square)
        cosine, sine = math.cosh(omega * t), math.sinh(omega * t) / omega
        fall = 2.0 * math.sinh(0.5 * omega * t) ** 2 / -square
    else:
        cosine, sine, fall = 1.0, t, 0.5 * t * t
    return F * sine - k * gamma_N * fall, F * cosine - k * gamma_N * sine


@entry
def move(
    t: float,
    slip: float,
    state: np.ndarray,
    k: float,
    z_0: float,
    constants: tuple,
    modes: tuple,
    out: np.ndarray,
) -> float:
    """State after time t of the present phase; return int F dt (slip only)."""
    beta, delta, mu, eta2 = constants
    if slip == 0.0:
        propagate_stick(t, state, k, z_0, eta2, modes, out)
        return 0.0
    kappa = 1.0 - mu * slip * delta
    impulse, F = slip_impulse(t, k * (state[0] - z_0), state[1], k, kappa)
    out[0] = z_0 + F / k
    out[1] = state[1] + kappa * impulse
    out[2] = mu * eta2 * slip * F
    out[3] = state[3] + (delta - beta * mu * slip) * impulse
    return impulse


@entry
def indicator(
    which: int, stage: int, slip: float, s: np.ndarray, k: float, z_0: float, z_m: float, mu_eta2: float
) -> float:
    """Positive inside the phase: 0 end of the stage, 1 return to the soft line, 2 end of stick or slip."""
    F = k * (s[0] - z_0)
    if which == 0:
        return -s[1] if stage == 0 else F
    if which == 1:
        return z_m - s[0] if stage == 1 else 1.0
    if slip == 0.0:
        return mu_eta2 * F - abs(s[2])
    if mu_eta2 == 0.0:
        return 1.0  # without friction nothing sticks
    return slip * s[3] + mu_eta2 * k * s[1]  # s (gamma_T - x'), x' = -s mu eta^2 k gamma_N


@entry
def phase_end(
    stage: int,
    slip: float,
    state: np.ndarray,
    line: tuple[float, float, float],
    constants: tuple,
    modes: tuple,
    out: np.ndarray,
) -> tuple[float, int]:
    """Duration of the phase and what ends it, -1 if nothing does; `line` are k, z_0 and z_m of the normal spring."""
    k, z_0, z_m = line
    _, delta, mu, eta2 = constants
    mu_eta2 = mu * eta2
    fastest = modes[0] if slip == 0.0 else math.sqrt(abs(1.0 - mu * slip * delta) * k)
    step = SAMPLES / max(fastest, 0.05 * math.sqrt(k))
    before = 0.0
    for sample in range(1, MAX_SAMPLES):
        after = sample * step
        move(after, slip, state, k, z_0, constants, modes, out)
        event = -1
        first = math.inf
        for which in range(3):
            move(after, slip, state, k, z_0, constants, modes, out)
            if indicator(which, stage, slip, out, k, z_0, z_m, mu_eta2) >= -1e-14:
                continue
            low, high = before, after
            for _ in range(80):
                middle = 0.5 * (low + high)
                if middle <= low or middle >= high:
                    break
                move(middle, slip, state, k, z_0, constants, modes, out)
                if indicator(which, stage, slip, out, k, z_0, z_m, mu_eta2) < 0.0:
                    high = middle
                else:
                    low = middle
            if high < first:
                first = high
                event = which
        if event >= 0:
            return first, event
        before = after
    return 0.0, -1


@entry
def lumped(
    beta: float, delta: float, psi: float, mu: float, e: float, eta2: float, phases: np.ndarray
) -> tuple[float, float, int]:
    """Lambda_N, Lambda_T (units |gamma_N^-|/alpha) of an impact with gamma_N^- = -1, gamma_T^- = psi, and its phases.

    beta, delta are divided by alpha.  Rows (stage, slip, duration, normal impulse) go into `phases`, which has
    MAX_LUMPED_PHASES rows; their number is -1 if the impact does not end.
    """
    constants = (beta, delta, mu, eta2)
    state = np.array([0.0, -1.0, 0.0, psi])
    after = np.empty(4)
    determinant = beta - delta * delta
    N, T = 0.0, 0.0
    stage = 0
    k, z_0, z_m = 1.0, 0.0, 0.0
    slip = 0.0
    if mu == 0.0 or abs(psi) > mu * eta2:
        slip = 1.0 if psi >= 0.0 else -1.0
    for count in range(MAX_LUMPED_PHASES):
        modes = stick_modes(beta, delta, eta2, k)
        duration, event = phase_end(stage, slip, state, (k, z_0, z_m), constants, modes, after)
        if event < 0 or (slip == 0.0 and not determinant > 0.0):
            return N, T, -1
        impulse = move(duration, slip, state, k, z_0, constants, modes, after)
        if slip == 0.0:
            change_N, change_T = after[1] - state[1], after[3] - state[3]
            impulse = (beta * change_N - delta * change_T) / determinant
            T += (change_T - delta * change_N) / determinant
        else:
            T -= mu * slip * impulse
        N += impulse
        phases[count, 0] = stage
        phases[count, 1] = slip
        phases[count, 2] = duration
        phases[count, 3] = impulse
        for i in range(4):
            state[i] = after[i]
        if event == 0 and stage == 1:
            return N, T, count + 1
        if event == 0:
            state[1] = 0.0
            if e == 0.0:
                return N, T, count + 1
            stage = 1
            z_m = state[0]
            k = 1.0 / (e * e)
            z_0 = (1.0 - e * e) * z_m
        elif event == 1:
            state[0] = z_m
            stage = 0
            k = 1.0
            z_0 = 0.0
        elif slip == 0.0:
            slip = 1.0 if state[2] > 0.0 else -1.0
        else:
            slip = 0.0
    return N, T, -1


@entry
def lumped_impact(contact: Striking, e: float, eta2: float, phases: np.ndarray) -> tuple[float, float, int]:
    """`lumped` in the contact's own units; gamma_N = 0 as the limit from below."""
    alpha, beta, delta, gamma_N, gamma_T, mu = contact
    if gamma_N > 0.0:
        return 0.0, 0.0, 0
    if gamma_N == 0.0:
        if alpha - mu * abs(delta) >= 0.0 or gamma_T * delta <= 0.0:
            return 0.0, 0.0, 0
        gamma_N = -GRAZING * abs(gamma_T)
    unit = -gamma_N / alpha
    if beta == 0.0:
        beta, mu = alpha, 0.0  # no tangential direction
    N, T, count = lumped(beta / alpha, delta / alpha, -gamma_T / gamma_N, mu, e, eta2, phases)
    for i in range(count):
        phases[i, 3] *= unit
    return N * unit, T * unit, count


def integrate_lumped(problem: PlanarProblem, i: int, e: float, eta2: float) -> LawSolution:
    """Contact i of `problem` alone, c_N and c_T its velocities before the impact."""
    table = np.zeros((MAX_LUMPED_PHASES, 4))
    N, T, count = lumped_impact(numbers_of(problem, i), e, eta2, table)
    phases = tuple(
        Phase(STAGES[int(row[0])], MOTIONS[int(row[1])], float(row[3]), float(row[2])) for row in table[: max(0, count)]
    )
    return one_row(problem, i, N, T, count, phases)
