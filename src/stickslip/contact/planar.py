"""The contact problem of one step in the plane, and the solvers that a step can be given.

Unknown impulses Lambda_N, Lambda_T of k closed contacts; G = W^T M^-1 W over the directions W = (W_N, W_T):

    xi_N = c_N + G_NN Lambda_N + G_NT Lambda_T,      -Lambda_N in Upr(xi_N)                            [GS05] eq. (12)
    xi_T = c_T + G_TN Lambda_N + G_TT Lambda_T,      -Lambda_T in (mu Lambda_N + a) Sgn(xi_T)

with a >= 0 the load-independent part of the friction bound [GS05] end of 6.  A contact may lack its normal part (dry
friction joint, prestressed spring) or its tangential part (frictionless stop, clutch).  `planar_lcp` writes the problem
as the LCP of [GS05] eq. (33).

Everything here is NumPy: the reference that the compiled kernels are held against.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stickslip.checks import did_you_mean, whole_number
from stickslip.contact.planar_lcp import PlanarLcp, impulses_of, new_lcp
from stickslip.contact.two_contacts import ALL, ROUNDING, Pair, correction, first_branch, left_over, two_contacts
from stickslip.lcp.enumeration import LIMIT as ENUMERATION_LIMIT
from stickslip.lcp.gauss_seidel import one_contact
from stickslip.lcp.residuals import IMPULSE_SHARE
from stickslip.lcp.solve import enumerate_lcp, solve_lcp

SETTLED_NOT = "did not settle"


@dataclass(frozen=True)
class PlanarProblem:
    """Data of one planar contact problem; rows of contacts without a normal or tangential part are zero.

    Attributes
    ----------
    G_NN, G_NT, G_TT : blocks of the Delassus matrix [1/kg], (k, k)
    c_N, c_T : xi_N and xi_T without impulses [m/s], (k,)
    mu : coefficients of friction [-], (k,)
    a : load-independent part of the friction bound [N s], (k,)
    normal, tangential : whether a contact has a normal and a tangential part, (k,) bool
    size_N, size_T : sizes of the terms that add up to c_N and c_T [m/s], (k,)
    """

    G_NN: np.ndarray
    G_NT: np.ndarray
    G_TT: np.ndarray
    c_N: np.ndarray
    c_T: np.ndarray
    mu: np.ndarray
    a: np.ndarray
    normal: np.ndarray
    tangential: np.ndarray
    size_N: np.ndarray
    size_T: np.ndarray

    in_space: ClassVar[bool] = False  # whether contacts have two tangents, see `contact.spatial`

    @property
    def contacts(self) -> int:
        return len(self.mu)

    def slip_velocities(self, Lambda_N: np.ndarray, Lambda_T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """xi_N and xi_T [m/s] of impulses Lambda_N, Lambda_T [N s], all of shape (k,)."""
        xi_N = self.c_N + self.G_NN @ Lambda_N + self.G_NT @ Lambda_T
        xi_T = self.c_T + self.G_NT.T @ Lambda_N + self.G_TT @ Lambda_T
        return xi_N, xi_T

    def bound(self, Lambda_N: np.ndarray) -> np.ndarray:
        return self.mu * Lambda_N + self.a

    def residual(self, Lambda_N: np.ndarray, Lambda_T: np.ndarray) -> float:
        """Worst violation of the two inclusions, relative to the velocities; inf for impossible impulses.

            max_i |defect_i| / s_i,    s = size + IMPULSE_SHARE |G| (Lambda_N, bound)

        The scale is the size of the velocities without impulses, plus 1e-4 of the velocities that impulses make.  At
        tol = 1e-10 this leaves room for 1e-14 of the latter, their rounding errors, and for nothing else.  Counted in
        full, a pair of huge impulses that nearly cancel would excuse any velocity.  Friction counts with its bound:
        contacts that could carry impulses which cancel make velocities uncertain, also where the impulses vanish.
        """
        if not self.contacts:
            return 0.0
        xi_N, xi_T = self.slip_velocities(Lambda_N, Lambda_T)
        bound = self.bound(Lambda_N)
        if not (np.isfinite(Lambda_N) & np.isfinite(Lambda_T)).all() or (Lambda_N < 0.0).any():
            return np.inf
        if (np.abs(Lambda_T) > bound * (1.0 + 1e-12)).any():
            return np.inf
        size_N = self.size_N + IMPULSE_SHARE * (np.abs(self.G_NN) @ Lambda_N + np.abs(self.G_NT) @ bound)
        size_T = self.size_T + IMPULSE_SHARE * (np.abs(self.G_NT.T) @ Lambda_N + np.abs(self.G_TT) @ bound)
        defect_N = np.where(Lambda_N > 0.0, np.abs(xi_N), np.maximum(0.0, -xi_N)) / np.where(size_N > 0, size_N, 1.0)
        at_bound = np.abs(Lambda_T) >= bound * (1.0 - 1e-12)
        against = np.where(Lambda_T > 0.0, xi_T, -xi_T)  # on the bound the slip must oppose the impulse
        slip = np.where(bound > 0.0, np.maximum(0.0, against), 0.0)
        defect_T = np.where(at_bound, slip, np.abs(xi_T)) / np.where(size_T > 0, size_T, 1.0)
        return float(max(defect_N[self.normal].max(initial=0.0), defect_T[self.tangential].max(initial=0.0)))

    def lcp(self) -> PlanarLcp:
        """The LCP [GS05] eq. (33), without the rows of parts that are absent; scaled to unit diagonals."""
        mu = np.diag(self.mu)
        G_NE, G_TE = self.G_NN - self.G_NT @ mu, self.G_NT.T - self.G_TT @ mu
        k = self.contacts
        E = np.block([[G_NE, self.G_NT], [G_TE, self.G_TT]]).reshape(2, k, 2, k)
        b = np.array([self.c_N - self.G_NT @ self.a, self.c_T - self.G_TT @ self.a])
        d = np.zeros((k, 3))
        d[self.normal, 0] = 1.0 / np.sqrt(np.diag(self.G_NN)[self.normal])
        d[self._frictional, 1] = 1.0 / np.sqrt(np.diag(self.G_TT)[self._frictional])
        d[self._frictional, 2] = 1.0 / d[self._frictional, 1]
        return new_lcp(E, b, self.mu, self.a, d)

    @property
    def _frictional(self) -> np.ndarray:
        """Tangential parts that can carry an impulse at all."""
        return self.tangential & ((self.mu > 0.0) | (self.a > 0.0))


@dataclass(frozen=True)
class PlanarSolution:
    """Impulses [N s], worst residual, and what happened."""

    Lambda_N: np.ndarray
    Lambda_T: np.ndarray
    residual: float
    solved: bool
    status: str
    iterations: int


@dataclass(frozen=True)
class PlanarSolver(ABC):
    """Base of the solvers of one contact step: small frozen options with one method.

    A subclass sets `name`, under which it can be asked for, and writes `_solve`.  The answer of `_solve` is judged
    here.

    Attributes
    ----------
    tol : largest residual that counts as solved, between 0 and 1
    max_iterations : limit of pivots, steps or sweeps; None for the method's default
    """

    tol: float = 1e-10
    max_iterations: int | None = None

    name = ""
    in_space: ClassVar[bool] = False  # whether contacts may have two tangents

    def __post_init__(self) -> None:
        if not (isinstance(self.tol, (int, float)) and 0.0 < self.tol < 1.0):
            raise ValueError(f"tol of {type(self).__name__} must be a number between 0 and 1, got {self.tol!r}.")
        if self.max_iterations is not None:
            whole_number(self.max_iterations, f"max_iterations of {type(self).__name__}")

    def solve(self, problem: PlanarProblem) -> PlanarSolution:
        """Solve and check; `solved` only if the residual on this problem is at most `tol`."""
        if not problem.contacts:
            empty = np.zeros(0)
            return PlanarSolution(empty, empty, 0.0, True, "no closed contact", 0)
        if problem.in_space and not self.in_space:
            raise ValueError(not_in_space(self.name))
        Lambda_N, Lambda_T, iterations, status = self._solve(problem)
        residual = problem.residual(Lambda_N, Lambda_T)
        solved = residual <= self.tol
        if not solved and status.startswith("solved"):
            status = f"residual {residual:.1e} exceeds {self.tol:.1e} after {iterations} iterations of {self.name}"
        elif solved and not status.startswith("solved") and SETTLED_NOT not in status:
            status = f"solved: the best impulses of {self.name} are within the tolerance"
        return PlanarSolution(Lambda_N, Lambda_T, residual, solved, status, iterations)

    @abstractmethod
    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        """Lambda_N, Lambda_T, iterations, and a sentence that starts with "solved" where the method believes so."""


@dataclass(frozen=True)
class Lemke(PlanarSolver):
    """Lemke's method on the LCP of [GS05] eq. (33), scaled to unit diagonals; see `PlanarSolver` for its options."""

    name = "lemke"

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        return _by_lcp(problem, "lemke", self.max_iterations)


@dataclass(frozen=True)
class SemismoothNewton(PlanarSolver):
    """Semismooth Newton method (Fischer-Burmeister) on the LCP of [GS05] eq. (33); Lemke's method where it stalls.

    See `PlanarSolver` for its options.
    """

    name = "newton"

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        return _by_lcp(problem, "newton", self.max_iterations)


@dataclass(frozen=True)
class Enumerate(PlanarSolver):
    """All supports of the LCP of [GS05] eq. (33) in turn until one solves; for up to six closed contacts with friction.

    See `PlanarSolver` for its options.
    """

    name = "enumerate"

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        rows = int(problem.normal.sum() + 2 * problem._frictional.sum())
        if rows > ENUMERATION_LIMIT:
            none = np.zeros(problem.contacts)
            reason = f"enumeration takes up to {ENUMERATION_LIMIT} rows of the LCP, this step has {rows}"
            return none, none.copy(), 0, reason
        return _by_lcp(problem, "enumerate", None)


def _by_lcp(problem: PlanarProblem, method: str, limit: int | None) -> tuple[np.ndarray, np.ndarray, int, str]:
    lcp = problem.lcp()
    s = solve_lcp(lcp.A, lcp.b, method, tol=1e-9, max_iterations=limit)
    Lambda_N, Lambda_T = impulses_of(s.x, lcp, problem.mu, problem.a)
    # without the advice about methods of `solve_lcp`, which cannot be followed here
    sentence = "; ".join(part for part in str(s.status).split("; ") if "method=" not in part)
    return Lambda_N, Lambda_T, s.iterations, sentence


@dataclass(frozen=True)
class GaussSeidel(PlanarSolver):
    """Contact after contact, each solved exactly with the others held (Moreau, Jean); at most 10,000 sweeps.

    See `PlanarSolver` for its options.
    """

    name = "gauss-seidel"
    in_space = True

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        k = problem.contacts
        Lambda_N, Lambda_T = np.zeros(k), np.zeros(k)
        limit = self.max_iterations or 10_000
        if problem.in_space:
            return _in_space(problem).sweeps(limit)
        for sweep in range(1, limit + 1):
            change = 0.0
            for i in range(k):
                alpha, beta, delta = problem.G_NN[i, i], problem.G_TT[i, i], problem.G_NT[i, i]
                xi_N, xi_T = problem.slip_velocities(Lambda_N, Lambda_T)
                c_N = xi_N[i] - alpha * Lambda_N[i] - delta * Lambda_T[i]
                c_T = xi_T[i] - delta * Lambda_N[i] - beta * Lambda_T[i]
                N, T = one_contact(alpha, beta, delta, c_N, c_T, problem.mu[i], problem.a[i])
                step = abs(alpha * (N - Lambda_N[i])) + abs(beta * (T - Lambda_T[i]))
                change = max(change, step / max(problem.size_N[i], problem.size_T[i], 1e-300))
                Lambda_N[i], Lambda_T[i] = N, T
            if k == 1 or change < 1e-14:
                return Lambda_N, Lambda_T, sweep, f"solved in {sweep} sweep{'s' if sweep > 1 else ''}"
        return Lambda_N, Lambda_T, limit, f"Gauss-Seidel {SETTLED_NOT} in {limit} sweeps"


@dataclass(frozen=True)
class _Pair(PlanarSolver):
    """Two contacts at once by their branches; a stage of `Auto` where there are two."""

    name = "branches of two contacts"

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        none = np.zeros(problem.contacts)
        if problem.contacts != 2 or not problem.normal.all():
            return none, none.copy(), 0, "not a pair of contacts"
        G = np.block([[problem.G_NN, problem.G_NT], [problem.G_NT.T, problem.G_TT]])
        c, x = np.concatenate([problem.c_N, problem.c_T]), np.zeros(4)
        branch = np.array([first_branch(problem.c_T[i], bool(problem._frictional[i])) for i in range(2)])
        pushes = (problem.c_N < 0.0).astype(np.int64)
        mu, a = problem.mu, problem.a
        pair = Pair(np.arange(2), pushes, branch, mu, a, G, np.empty((4, 5)), c.copy(), x, np.empty(4))
        rounds = two_contacts(pair, ALL)
        if rounds < 0:
            return none, none.copy(), -rounds, "no branches of the two contacts are consistent"
        pair.c[:] = np.concatenate(problem.slip_velocities(x[:2], x[2:]))
        if left_over(pair) > ROUNDING * np.abs(c).sum():
            correction(pair, ALL)
            x = np.maximum(x + pair.dx, np.array([0.0, 0.0, -np.inf, -np.inf]))
            bound = problem.bound(x[:2])
            x[2:] = np.clip(x[2:], -bound, bound)
        return x[:2], x[2:], rounds, f"solved in {rounds} round{'s' if rounds > 1 else ''}"


@dataclass(frozen=True)
class AugmentedLagrangian(PlanarSolver):
    """Proximal-point equations of Alart and Curnier, solved by a semismooth Newton method with fixed-point rescue.

        Lambda_N = prox_{>= 0}(Lambda_N - rho_N xi_N),    Lambda_T = prox_{[-bound, bound]}(Lambda_T - rho_T xi_T)

    The branch of each prox picks one linear system; where the branches return to an earlier choice, a sweep of the
    plain fixed point breaks the cycle.
    """

    name = "augmented-lagrangian"
    in_space = True

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        if problem.in_space:
            return _in_space(problem).newton(self.max_iterations or 200, self.tol)
        k = problem.contacts
        Lambda_N, Lambda_T = np.zeros(k), np.zeros(k)
        rho_N = 1.0 / np.where(problem.normal, np.diag(problem.G_NN), 1.0)
        rho_T = 1.0 / np.where(problem.tangential, np.diag(problem.G_TT), 1.0)
        limit = self.max_iterations or 200
        seen: set[bytes] = set()
        for iteration in range(1, limit + 1):
            xi_N, xi_T = problem.slip_velocities(Lambda_N, Lambda_T)
            closed = problem.normal & (Lambda_N - rho_N * xi_N > 0.0)
            trial = Lambda_T - rho_T * xi_T
            bound = np.where(closed | ~problem.normal, problem.bound(np.maximum(0.0, Lambda_N)), problem.a)
            slip = np.where(np.abs(trial) > bound, np.sign(trial), 0.0)
            slip = np.where(problem._frictional, slip, 2.0)  # 2: no tangential impulse
            key = np.concatenate([closed, slip]).tobytes()
            if key in seen:
                Lambda_N = np.where(problem.normal, np.maximum(0.0, Lambda_N - 0.5 * rho_N * xi_N), 0.0)
                bound = problem.bound(Lambda_N)
                Lambda_T = np.clip(Lambda_T - 0.5 * rho_T * xi_T, -bound, bound)
                seen.clear()
                continue
            seen.add(key)
            Lambda_N, Lambda_T = self._branch(problem, closed, slip)
            if problem.residual(Lambda_N, Lambda_T) <= 0.01 * self.tol:
                return Lambda_N, Lambda_T, iteration, f"solved in {iteration} Newton step{'s' if iteration > 1 else ''}"
        return Lambda_N, Lambda_T, limit, f"augmented Lagrangian {SETTLED_NOT} in {limit} steps"

    @staticmethod
    def _branch(problem: PlanarProblem, closed: np.ndarray, slip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Impulses for given branches: xi_N = 0 where closed, xi_T = 0 where slip == 0, Lambda_T = slip bound else."""
        k = problem.contacts
        s = np.where(np.abs(slip) == 1.0, slip, 0.0)
        A, b = np.eye(2 * k), np.zeros(2 * k)
        stick = slip == 0.0
        for i in range(k):
            if closed[i]:
                A[i, :k], A[i, k:], b[i] = problem.G_NN[i], problem.G_NT[i], -problem.c_N[i]
            if stick[i]:
                A[k + i, :k], A[k + i, k:], b[k + i] = problem.G_NT[:, i], problem.G_TT[i], -problem.c_T[i]
            elif s[i] != 0.0:
                A[k + i, i], b[k + i] = -s[i] * problem.mu[i], s[i] * problem.a[i]
        scale = np.abs(A).max(axis=1)
        x = np.linalg.lstsq(A / scale[:, None], b / scale, rcond=1e-14)[0]
        Lambda_N = np.where(closed, np.maximum(0.0, x[:k]), 0.0)
        bound = problem.bound(Lambda_N)
        # On the bound exactly: a small mu Lambda_N would have lost digits in the solution of the whole system.
        return Lambda_N, np.where(stick, np.clip(x[k:], -bound, bound), s * bound)


@dataclass(frozen=True)
class Alternating(PlanarSolver):
    """Normal impulses for given friction, then friction for given normal impulses, in turn (Panagiotopoulos).

    Each of the two is an LCP with a symmetric matrix, the optimality condition of a quadratic program.  The iteration
    contracts where friction is small; at most 1,000 rounds.  See `PlanarSolver` for its options.
    """

    name = "alternating"

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        k, N, T = problem.contacts, np.flatnonzero(problem.normal), np.flatnonzero(problem._frictional)
        Lambda_N, Lambda_T = np.zeros(k), np.zeros(k)
        limit = self.max_iterations or 1_000
        for turn in range(1, limit + 1):
            before = np.concatenate([Lambda_N, Lambda_T])
            if len(N):
                c = problem.c_N + problem.G_NT @ Lambda_T
                Lambda_N[N] = solve_lcp(problem.G_NN[np.ix_(N, N)], c[N], tol=1e-12).x
            if len(T):
                Lambda_T[T] = self._friction(problem, T, Lambda_N)
            after = np.concatenate([Lambda_N, Lambda_T])
            if np.abs(after - before).max() <= 1e-15 * np.abs(after).max():
                return Lambda_N, Lambda_T, turn, f"solved in {turn} round{'s' if turn > 1 else ''}"
        return Lambda_N, Lambda_T, limit, f"alternating subproblems {SETTLED_NOT} in {limit} rounds"

    @staticmethod
    def _friction(problem: PlanarProblem, T: np.ndarray, Lambda_N: np.ndarray) -> np.ndarray:
        """Lambda_T of the contacts T with their bounds held: the rows Lambda_R, xi_L of [GS05] eq. (33)."""
        m, G = len(T), problem.G_TT[np.ix_(T, T)]
        bound = problem.bound(Lambda_N)[T]
        c = (problem.c_T + problem.G_NT.T @ Lambda_N)[T]
        A = np.block([[G, np.eye(m)], [-np.eye(m), np.zeros((m, m))]])
        x = solve_lcp(A, np.concatenate([c - G @ bound, 2.0 * bound]), tol=1e-12).x
        right, left = x[:m], x[m:]
        inside = np.clip(right - bound, -bound, bound)
        return np.where(left > 0.0, bound, np.where(right > 0.0, inside, -bound))


@dataclass(frozen=True)
class _Cones(PlanarSolver):
    """The solvers for frictional contact problems, where contacts with two tangents share a load."""

    name = "cones"
    in_space = True

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        found: tuple[np.ndarray, np.ndarray, int, str] = _in_space(problem).by_cones(self.tol)
        return found


@dataclass(frozen=True)
class Auto(PlanarSolver):
    """A ladder of methods, each answer checked; see `PlanarSolver` for its options.

    The branches of two contacts, if two are closed; ten sweeps of Gauss-Seidel; Lemke's method; Newton's method;
    `AugmentedLagrangian`; for up to four contacts every support; up to 10,000 sweeps; in space at last
    the solvers for frictional contact problems.
    """

    name = "auto"
    in_space = True

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        stages: list[PlanarSolver] = (
            [
                GaussSeidel(self.tol, 30),
                AugmentedLagrangian(self.tol),
            ]
            if problem.in_space
            else [
                *([_Pair(self.tol)] if problem.contacts == 2 else []),
                GaussSeidel(self.tol, 10),
                Lemke(self.tol),
                SemismoothNewton(self.tol),
                AugmentedLagrangian(self.tol),
            ]
        )
        if problem.contacts <= 4 and not problem.in_space:
            stages.append(Enumerate(self.tol))
        stages.append(GaussSeidel(self.tol, self.max_iterations or 10_000))
        if problem.in_space:
            stages.append(_Cones(self.tol))
        best = stages[0].solve(problem)
        done = best.solved and SETTLED_NOT not in best.status  # as the kernels: sweeps must have settled, too
        for stage in stages[1:]:
            if done:
                break
            answer = stage.solve(problem)
            if answer.residual < best.residual or answer.solved:
                best = answer
            done = answer.solved and SETTLED_NOT not in answer.status
        return best.Lambda_N, best.Lambda_T, best.iterations, best.status


SOLVERS: dict[str, type[PlanarSolver]] = {
    solver.name: solver
    for solver in (Auto, Lemke, GaussSeidel, Enumerate, SemismoothNewton, AugmentedLagrangian, Alternating)
}


def not_in_space(name: str) -> str:
    """Why a solver cannot be had for contacts with two tangents."""
    others = ", ".join(repr(key) for key, solver in SOLVERS.items() if solver.in_space)
    return f"solver must be one of {others} for contacts with two tangents, whose friction is no LCP, got {name!r}."


def _in_space(problem: PlanarProblem) -> Any:
    """The problem as what it is, a `SpatialProblem`, whose module imports this one."""
    return problem


def solver_from(value: str | PlanarSolver) -> PlanarSolver:
    """A solver object from its name or from itself."""
    if isinstance(value, PlanarSolver):
        return value
    if isinstance(value, str) and value in SOLVERS:
        return SOLVERS[value]()
    law = "; ss.Newton is an impact law, the solver is SemismoothNewton()" if type(value).__name__ == "Newton" else ""
    end = did_you_mean(value, SOLVERS)
    raise ValueError(f"solver must be one of {', '.join(SOLVERS)} or a solver object, got {value!r}{law}{end}")


def all_solutions(problem: PlanarProblem, tol: float = 1e-10) -> list[PlanarSolution]:
    """Every solution of a small contact problem; those that differ only in the split of xi_T count as one."""
    lcp = problem.lcp()
    if len(lcp.b) > ENUMERATION_LIMIT:
        raise ValueError(
            f"every solution is listed for contact problems of up to {ENUMERATION_LIMIT} rows; the {problem.contacts} "
            f"contacts of this one make {len(lcp.b)}: keep to the one solution that was found."
        )
    found: list[PlanarSolution] = []
    for s in enumerate_lcp(lcp.A, lcp.b, tol=tol):
        N, T = impulses_of(s.x, lcp, problem.mu, problem.a)
        answer = PlanarSolution(N, T, problem.residual(N, T), True, str(s.status), s.iterations)
        scale = max(1e-300, float(np.abs(N).max(initial=0.0)))
        if all(np.abs(N - o.Lambda_N).max() + np.abs(T - o.Lambda_T).max() > 1e-9 * scale for o in found):
            found.append(replace(answer, solved=answer.residual <= tol))
    return found
