"""Friction cones with any convex section, by maximum dissipation: [S00] (2.17)-(2.19), and its smooth isotropic form.

Impulses r = (r_N, beta) and velocities u = W r + q of n contacts in space, normal component first.  The friction cone
of a contact has the section psi(beta) <= mu r_N; psi is convex, positively homogeneous and coercive.  Of all impulses
in the section the contact takes the one that dissipates most, min u_T . beta subject to psi(beta) <= mu r_N:

    0 <= r_N perp u_N >= 0
    0 in u_T + lambda d psi(beta),    0 <= lambda perp mu r_N - psi(beta) >= 0                    [S00] (2.17), (2.18)

With C = { psi <= 1 } and its support function sigma, lambda = sigma(-u_T), and the power is -mu r_N sigma(-u_T).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.contact.any_section import one_contact_solutions
from stickslip.contact.sections import CrossSection, Ellipse
from stickslip.lcp.problems import _check_finite, _floats

CIRCLE = Ellipse()
_AT_BOUND = 1e-9  # an impulse this close to the edge of its section, relatively, counts as on the edge


# -- the problem ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DissipationProblem:
    """Contacts in space whose friction cones have convex sections; the module's docstring states the conditions.

    Attributes
    ----------
    W : Delassus matrix [1/kg], shape (3 n, 3 n).
    q : velocities without impulses [m/s], shape (3 n,).
    mu : coefficients of friction, shape (n,), or one number for all.
    section : one `CrossSection` for all contacts, or one per contact.
    """

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    section: CrossSection | Sequence[CrossSection] = CIRCLE

    def __post_init__(self) -> None:
        W, q = _floats(self.W, "W"), _floats(self.q, "q")
        n, rest = divmod(len(q), 3) if q.ndim == 1 else (0, 1)
        if rest or n == 0 or W.shape != (3 * n, 3 * n):
            raise ValueError(
                f"W, q must have shapes (3 n, 3 n), (3 n,) with n >= 1 contacts, got {W.shape}, {q.shape}."
            )
        mu = np.broadcast_to(_floats(self.mu, "mu"), (n,)).copy() if np.ndim(self.mu) == 0 else _floats(self.mu, "mu")
        if mu.shape != (n,) or not np.all((mu >= 0.0) & (mu < np.inf)):
            raise ValueError(f"mu must be {n} finite numbers >= 0, one per contact, got {self.mu!r}.")
        sections = (self.section,) * n if isinstance(self.section, CrossSection) else tuple(self.section)
        if len(sections) != n or not all(isinstance(section, CrossSection) for section in sections):
            raise ValueError(f"section must be a CrossSection or {n} of them, one per contact, got {self.section!r}.")
        _check_finite(W, "W")
        _check_finite(q, "q")
        for name, value in (("W", W), ("q", q), ("mu", mu), ("section", sections)):
            object.__setattr__(self, name, value)

    @property
    def sections(self) -> tuple[CrossSection, ...]:
        """The section of each contact, n of them."""
        assert isinstance(self.section, tuple)
        return self.section

    def multipliers(self, r: np.ndarray) -> np.ndarray:
        """lambda (n,) [m/s] of impulses r: sigma(-u_T) on the edge of the section, 0 inside."""
        u = (self.W @ r + self.q).reshape(-1, 3)
        values = np.zeros(len(u))
        for i, (section, impulse) in enumerate(zip(self.sections, r.reshape(-1, 3), strict=True)):
            if section.gauge(impulse[1:]) >= self.mu[i] * impulse[0] * (1.0 - _AT_BOUND):
                values[i] = section.support(-u[i, 1:])
        return values

    def error(self, r: np.ndarray) -> float:
        """Worst violation of the conditions by the impulses r (3 n,), dimensionless; inf for numbers not finite.

        Velocities are taken relative to V = max(|q|, |u|), impulses relative to max(|r|, V / W), with W the mean of the
        diagonal.
        """
        u = self.W @ r + self.q
        if not np.all(np.isfinite(u)):
            return math.inf
        speed = float(max(np.abs(self.q).max(), np.abs(u).max())) or 1.0
        impulse = max(float(np.abs(r).max()), speed / float(np.diag(self.W).mean()))
        worst, multipliers = 0.0, self.multipliers(r)
        for i, (section, (r_N, *beta), (u_N, *u_T)) in enumerate(
            zip(self.sections, r.reshape(-1, 3), u.reshape(-1, 3), strict=True)
        ):
            worst = max(worst, -r_N / impulse, -u_N / speed, min(r_N / impulse, u_N / speed))
            worst = max(worst, (section.gauge(np.array(beta)) - self.mu[i] * r_N) / impulse)
            if self.mu[i] * r_N > 0.0:  # else beta = 0, and any slip is in the cone of d psi(0)
                worst = max(worst, _distance(-np.array(u_T), multipliers[i], section, np.array(beta)) / speed)
        return worst


def _distance(force: np.ndarray, multiplier: float, section: CrossSection, beta: np.ndarray) -> float:
    """Distance of `force` = -u_T to lambda d psi(beta), [S00] (2.17)."""
    if multiplier == 0.0 or not beta.any():
        return float(np.hypot(*force))
    ends = multiplier * section.slopes(beta)
    along = ends[-1] - ends[0]
    square = float(along @ along)
    share = 0.0 if square == 0.0 else min(1.0, max(0.0, float((force - ends[0]) @ along) / square))
    return float(np.hypot(*(force - ends[0] - share * along)))


@dataclass(frozen=True, eq=False)
class DissipationSolution:
    """Answer to a `DissipationProblem`.

    Attributes
    ----------
    r : impulses [N s], shape (3 n,).
    u : velocities [m/s], shape (3 n,).
    multipliers : lambda [m/s], shape (n,).
    error : `DissipationProblem.error` of r.
    solved : whether error <= the tolerance.
    status : what happened, as a sentence.
    iterations : sweeps or Newton steps.
    """

    r: np.ndarray
    u: np.ndarray
    multipliers: np.ndarray
    error: float
    solved: bool
    status: str
    iterations: int


def _answer(
    problem: DissipationProblem, r: np.ndarray, tol: float, method: str, iterations: int
) -> DissipationSolution:
    error = problem.error(r)
    solved = error <= tol
    status = f"{'solved' if solved else f'error {error:.1e} exceeds {tol:.1e}'} after {iterations} {method}"
    u = problem.W @ r + problem.q
    return DissipationSolution(r, u, problem.multipliers(r), error, solved, status, iterations)


# -- any section: Gauss-Seidel with the exact solution of one contact ----------------------------------------


def solve_dissipation(
    problem: DissipationProblem, *, tol: float = 1e-10, max_sweeps: int = 2000
) -> DissipationSolution:
    """Solve contact after contact with the others held, each exactly (`one_contact_solutions`), until `error` <= tol.

    max_sweeps : limit of sweeps over all contacts.  Returns a `DissipationSolution`, whose `solved` tells success.

    Examples
    --------
    >>> p = DissipationProblem(np.eye(3), [-1.0, 0.6, 0.8], 0.5)
    >>> solve_dissipation(p).r.round(12).tolist()
    [1.0, -0.3, -0.4]
    """
    W, n = problem.W, len(problem.mu)
    r, sweeps = np.zeros(3 * n), 0
    while sweeps < max_sweeps:
        sweeps += 1
        for i in range(n):
            own = slice(3 * i, 3 * i + 3)
            block = W[own, own]
            q = problem.q[own] + W[own] @ r - block @ r[own]
            found = one_contact_solutions(block, q, float(problem.mu[i]), problem.sections[i])
            if found:
                r[own] = found[int(np.argmin([np.abs(x - r[own]).sum() for x in found]))]
        if n == 1 or problem.error(r) <= tol:
            break
    return _answer(problem, r, tol, "sweeps", sweeps)


# -- the isotropic cone as a smooth problem ------------------------------------------------------------------


def fritz_john_residual(problem: DissipationProblem, r: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Residuals (4 n,) of the smooth isotropic form with the Fritz John condition of [S00] 2.3, lambda = `multipliers`.

        0 <= r_N perp u_N >= 0,    0 = r_N u_T + 2 lambda beta,    0 <= lambda perp (mu r_N)^2 - beta . beta >= 0

    The Kuhn-Tucker condition has 1 in place of the factor r_N.  The factor lets multipliers exist at r_N = 0, where the
    smooth constraint has no gradient.  Complementarity is written with phi(a, b) = a + b - sqrt(a^2 + b^2).
    """
    return _fritz_john(problem.W, problem.q, problem.mu, r.reshape(-1, 3), multipliers)[0]


def _fritz_john(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, r: np.ndarray, lam: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Residual and an element of its generalised Jacobian; unknowns (r_N, beta_1, beta_2, lambda) per contact."""
    n = len(mu)
    u = (W @ r.ravel() + q).reshape(-1, 3)
    F, J = np.zeros(4 * n), np.zeros((4 * n, 4 * n))
    place = (4 * np.arange(n)[:, None] + np.arange(3)).ravel()  # columns of the impulses
    for i in range(n):
        row, (r_N, *beta) = 4 * i, r[i]
        F[row], d_a, d_b = _fischer(r_N, u[i, 0])
        J[row, place] = d_b * W[3 * i]
        J[row, row] += d_a
        for c in range(2):
            F[row + 1 + c] = r_N * u[i, 1 + c] + 2.0 * lam[i] * beta[c]
            J[row + 1 + c, place] = r_N * W[3 * i + 1 + c]
            J[row + 1 + c, row] += u[i, 1 + c]
            J[row + 1 + c, row + 1 + c] += 2.0 * lam[i]
            J[row + 1 + c, row + 3] = 2.0 * beta[c]
        room = (mu[i] * r_N) ** 2 - beta[0] ** 2 - beta[1] ** 2
        F[row + 3], d_a, d_b = _fischer(lam[i], room)
        J[row + 3, row + 3] = d_a
        J[row + 3, row : row + 3] += d_b * np.array([2.0 * mu[i] ** 2 * r_N, -2.0 * beta[0], -2.0 * beta[1]])
    return F, J


def _fischer(a: float, b: float) -> tuple[float, float, float]:
    """phi(a, b) = a + b - sqrt(a^2 + b^2) and its derivatives."""
    root = math.hypot(a, b)
    if root == 0.0:
        return 0.0, 1.0 - math.sqrt(0.5), 1.0 - math.sqrt(0.5)
    return a + b - root, 1.0 - a / root, 1.0 - b / root


def solve_fritz_john(problem: DissipationProblem, *, tol: float = 1e-9, max_steps: int = 200) -> DissipationSolution:
    """Solve the smooth isotropic form by a semismooth Newton method, regularised and with a line search.

    Newton's method is local: it starts from contacts that slide, and where that fails from contacts that stick.
    Judged by the conditions (2.17), (2.18) themselves: whatever else the Fritz John condition admits is not solved.
    Works in units in which the free velocities and the impulses that stop them are 1.
    """
    if any(section != Ellipse() for section in problem.sections):
        raise ValueError(
            "the smooth form of [S00] 2.3 is that of isotropic friction; use solve_dissipation for others."
        )
    speed = float(np.abs(problem.q).max()) or 1.0
    mobility = float(np.diag(problem.W).mean())
    W, q, mu = problem.W / mobility, problem.q / speed, problem.mu
    steps, best = 0, None
    for x in (_sliding_start(W, q, mu), _sticking_start(W, q)):
        x, count = _newton(W, q, mu, x, max_steps)
        steps += count
        impulses = x.reshape(-1, 4)[:, :3]
        impulses[impulses[:, 0] <= 1e-12 * max(1.0, np.abs(impulses).max())] = 0.0  # round-off of open contacts
        answer = _answer(problem, impulses.ravel() * speed / mobility, tol, "Newton steps", steps)
        best = answer if best is None or answer.error < best.error else best
        if best.solved:
            break
    assert best is not None
    return best


def _newton(W: np.ndarray, q: np.ndarray, mu: np.ndarray, x: np.ndarray, limit: int) -> tuple[np.ndarray, int]:
    """Regularised Newton steps on the residual of `_fritz_john`, each with a line search; the last iterate, steps."""
    steps = 0
    while steps < limit:
        steps += 1
        blocks = x.reshape(-1, 4)
        F, J = _fritz_john(W, q, mu, blocks[:, :3], blocks[:, 3])
        merit = float(F @ F)
        if merit <= 1e-30:
            break
        shift = 1e-12 + 1e-3 * min(1.0, merit)
        dx = np.linalg.solve(J.T @ J + shift * np.eye(len(x)), -(J.T @ F))
        length = 1.0
        while length > 1e-8:
            trial = (x + length * dx).reshape(-1, 4)
            value = _fritz_john(W, q, mu, trial[:, :3], trial[:, 3])[0]
            if float(value @ value) <= (1.0 - 1e-4 * length) * merit:
                break
            length *= 0.5
        else:
            break
        x = x + length * dx
    return x, steps


def _sliding_start(W: np.ndarray, q: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Impulses that stop each contact by itself, cut to the cone, with the multiplier |u_T| / (2 mu) of a slip."""
    x = np.zeros((len(mu), 4))
    for i in range(len(mu)):
        own = slice(3 * i, 3 * i + 3)
        x[i, 0] = max(1e-3, -q[3 * i] / W[3 * i, 3 * i])
        beta = -q[own][1:] / W[3 * i + 1, 3 * i + 1]
        size = math.hypot(*beta)
        bound = mu[i] * x[i, 0]
        x[i, 1:3] = beta * min(1.0, bound / size) if size > 0.0 else 0.0
    u = (W @ x[:, :3].ravel() + q).reshape(-1, 3)
    x[:, 3] = np.hypot(u[:, 1], u[:, 2]) / (2.0 * np.maximum(mu, 1e-3))
    return x.ravel()


def _sticking_start(W: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Impulses that stop all contacts together."""
    x = np.zeros((len(q) // 3, 4))
    x[:, :3] = np.linalg.lstsq(W, -q, rcond=None)[0].reshape(-1, 3)
    x[:, 0] = np.maximum(x[:, 0], 1e-3)
    return x.ravel()
