"""The contact problem of one time step, built in NumPy as [GS05] 5 and 6 write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.contact.planar import PlanarProblem, PlanarSolver
from stickslip.contact.spatial import Spatial, SpatialProblem
from stickslip.laws import ImpactLaw, LawSolution
from stickslip.lcp.residuals import IMPULSE_SHARE
from stickslip.mechanisms.inertia import Inertia, require_free
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, SPRING, TANGENT, System


@dataclass(frozen=True)
class StepProblem:
    """All that step 4 of [GS05] 5 needs: the velocities without contact impulses, the directions, and the local laws.

    `inertia` says how impulses change velocities: by the mass matrix, or the iteration matrix of an implicit step, and
    the constraints.  u_free keeps to the constraints; `u_loose` is what it would be without their reactions.
    `index` lists the k active contacts among the system's n; rows of W_N, W_T and w_hat belong to them.
    """

    index: np.ndarray
    g: Array
    inertia: Inertia
    u_A: Array
    u_free: Array
    W_N: Array
    W_T: Array
    w_hat: Array
    V_N: np.ndarray  # M^-1 W^T, with constraints P W^T, one column per active contact
    V_T: np.ndarray
    local: PlanarProblem
    closing: Array | None = None  # velocities by which open contacts may close until the next step, see `step_problem`
    rounding: Array | None = None  # rounding errors of all gaps [m], see `Active`
    u_loose: Array | None = None
    place: tuple[Array, float] | None = None  # (q, t) where the contacts are evaluated

    @classmethod
    def of(
        cls, index: np.ndarray, g: Array, inertia: Inertia, u: tuple[Array, Array], rows: Sequence[Array],
        gaps: tuple[Array | None, Array | None] = (None, None), u_loose: Array | None = None,
        place: tuple[Array, float] | None = None, space: Spatial | None = None, **laws: Array,
    ) -> StepProblem:  # fmt: skip
        """The problem of the active contacts: u = (u_A, u_free), rows = (W_N, W_T, w_hat), gaps = (closing, rounding).

        laws : c_N, c_T, mu, a, size_N, size_T of `PlanarProblem`.  space : contacts with two tangents, if any.
        """
        W_N, W_T, w_hat = rows
        if len(index):
            V_N, V_T = inertia.directions(W_N), inertia.directions(W_T)
        else:
            V_N, V_T = W_N.T, W_T.T  # without columns
        G_NN, G_NT, G_TT = W_N @ V_N, W_N @ V_T, W_T @ V_T
        normal, tangential = G_NN.diagonal() > 0.0, G_TT.diagonal() > 0.0
        local = PlanarProblem(G_NN=G_NN, G_NT=G_NT, G_TT=G_TT, normal=normal, tangential=tangential, **laws)
        if space is not None:
            local = SpatialProblem(**vars(local), space=space)
        return cls(index, g, inertia, *u, W_N, W_T, w_hat, V_N, V_T, local, *gaps, u_loose, place)

    @property
    def M(self) -> Array:
        """The matrix by which impulses change velocities where no constraint answers them, (f, f)."""
        return self.inertia.M

    @property
    def gamma_A(self) -> tuple[Array, Array]:
        """Relative velocities at the beginning of the step, [GS05] eq. (10)."""
        return self.velocities(self.u_A)

    def velocities(self, u: Array) -> tuple[Array, Array]:
        return self.W_N @ u + self.w_hat[:, 0], self.W_T @ u + self.w_hat[:, 1]

    def end_velocity(self, Lambda_N: Array, Lambda_T: Array) -> Array:
        """u_E of [GS05] eq. (32); a sum of terms that cancel to their last digits is zero."""
        if not len(self.index):
            return self.u_free
        u_E = self.u_free + self.inertia.solve(self.W_N.T @ Lambda_N + self.W_T.T @ Lambda_T)
        terms = np.abs(self.u_free) + np.abs(self.V_N) @ Lambda_N + np.abs(self.V_T) @ np.abs(Lambda_T)
        return np.where(np.abs(u_E) <= codes.CANCELLED * terms, 0.0, u_E)

    def reactions(self, u_E: Array, Lambda_N: Array, Lambda_T: Array) -> Array:
        """Impulses of the constraints in a step that ends with u_E, (m,) [N s]."""
        if self.u_loose is None:
            return np.zeros(0)
        by_contacts = np.linalg.solve(self.M, self.W_N.T @ Lambda_N + self.W_T.T @ Lambda_T)
        return self.inertia.answer(-self.inertia.J @ (u_E - self.u_loose - by_contacts))

    def residual(self, u_E: Array, Lambda_N: Array, Lambda_T: Array) -> float:
        """Worst violation of the laws by u_E, relative to the velocities that make it up; as the kernels measure it.

        The scale is the one of `PlanarProblem.residual`.  Of the velocities that the impulses of single contacts make a
        small share counts, not their sum, and frictions count with their bounds: on a block with feet that rests,
        frictions that cancel or vanish leave nothing but rounding errors, and these are no violation.
        """
        local = self.local
        if not np.isfinite(u_E).all() or (Lambda_N < 0).any():
            return np.inf
        if not len(self.index):
            return 0.0
        bound = local.bound(Lambda_N)
        if not local.in_space and (np.abs(Lambda_T) > bound * (1 + 1e-12)).any():
            return np.inf
        change = IMPULSE_SHARE * (np.abs(self.V_N) @ Lambda_N + np.abs(self.V_T) @ bound)
        xi_N = local.c_N + self.W_N @ (u_E - self.u_free)
        xi_T = local.c_T + self.W_T @ (u_E - self.u_free)
        size_N = local.size_N + np.abs(self.W_N) @ change
        size_T = local.size_T + np.abs(self.W_T) @ change
        if isinstance(local, SpatialProblem):
            return local.worst(Lambda_N, Lambda_T, xi_N, xi_T, size_N, size_T)
        defect_N = np.where(Lambda_N > 0, np.abs(xi_N), np.maximum(0, -xi_N)) / np.where(size_N > 0, size_N, 1)
        sliding = np.maximum(0, np.where(Lambda_T > 0, xi_T, -xi_T))
        defect_T = np.where(np.abs(Lambda_T) >= bound * (1 - 1e-12), sliding, np.abs(xi_T))
        defect_T = np.where(bound > 0, defect_T, 0) / np.where(size_T > 0, size_T, 1)
        return float(max(defect_N[local.normal].max(initial=0.0), defect_T[local.tangential].max(initial=0.0)))


class Begun(NamedTuple):
    """Begin of a step: how impulses change velocities, u_A, (W_N, W_T, w_hat), dt [s].

    place : (q, t) where the directions are taken, and the coefficients that depend on the state.
    approach : velocities before the impact; None: u_A.
    """

    inertia: Inertia
    u_A: Array
    directions: tuple[Array, Array, Array]
    dt: float
    place: tuple[Array, float]
    approach: Array | None = None


class Active(NamedTuple):
    """Contacts that take part in a step: their numbers (k,), and of all n contacts which last, and how each may close.

    lasting : (n,) bool, contacts without restitution; None: none of them.
    closing : (n,) [m/s], velocities by which contacts that are open may close until the next step; None: all zero.
    rounding : (n,) [m], rounding errors of the gaps; None: contacts without load keep no reach.
    """

    numbers: np.ndarray
    lasting: np.ndarray | None = None
    closing: Array | None = None
    rounding: Array | None = None


class Ahead(NamedTuple):
    """Gaps are those at q_A + dt u and the end of the step: u, and the gaps one step before q_A, where they count."""

    u: Array
    g_before: Array | None = None


def onto_constraints(inertia: Inertia, u_loose: Array, wanted: Array) -> Array:
    """Velocities with J u = wanted, changed along M^-1 J^T."""
    return u_loose + inertia.V @ inertia.answer(inertia.J @ u_loose - wanted) if inertia else u_loose


def met_ahead(system: System, inertia: Inertia, u: Array, g: Array, dt: float) -> Array:
    """J u_E of constraints that are met at the end of a step, (m,), where g (n,) has their equations at q_A + dt u.

    On positions g + dt J (u_E - u) is to be zero; on velocities J u_E + b.
    """
    on_positions = system.kinds[inertia.index] == CONSTRAINT
    return np.where(on_positions, inertia.J @ u - g[inertia.index] / dt, -inertia.b)


def mass_matrix(system: System, q: Array, t: float, p: Array) -> Array:
    """M(q, t), or LinAlgError where it is not positive definite."""
    M = system.mass(q, t, p)
    np.linalg.cholesky(M)  # a solver of linear equations would take any regular matrix
    return M


def gaps(system: System, q: Array, t: float, p: Array) -> Array:
    """g_N(q, t), or FloatingPointError with the name of a contact whose gap is no number."""
    g = system.gap(q, t, p)
    if np.isnan(g).any():
        culprit = system.contact_names[int(np.flatnonzero(np.isnan(g))[0])]
        raise FloatingPointError(f"the gap of contact {culprit!r} is not a number at t = {t:.9g} s")
    return g


def roundings(system: System, q: Array, t: float, p: Array) -> Array:
    """Rounding errors of the gaps at (q, t), shape (n,): a gap below is zero.  0 where they are not known."""
    sizes = system.gap_sizes(q, t, p)
    return np.where(sizes < codes.LARGEST, codes.GAP_ROUNDING * sizes, 0.0)


def reach_at_start(system: System, q: Array, u: Array, t: float, dt: float, p: Array) -> Array:
    """Gaps up to which open contacts take part in the first step of a run [m], as in the kernels.

    Forces change u by dv = dt M^-1 h and gamma_N by no more than sqrt(w_N M^-1 w_N) |dv| in the norm of the kinetic
    energy (Cauchy and Schwarz).  A contact that these forces could close within the step is taken as resting.
    """
    M, h, W_N = system.mass(q, t, p), system.force(q, u, t, p), system.geometry(q, t, p)[0]
    alpha = np.sum(W_N * np.linalg.solve(M, W_N.T).T, axis=1)
    return np.asarray(dt * dt * np.sqrt(alpha * float(h @ np.linalg.solve(M, h))))


def shut_contacts(
    system: System, q: Array, u: Array, t: float, dt: float, p: Array, loaded: np.ndarray, first: bool
) -> np.ndarray | None:
    """Contacts that cannot take part in a step from (q, u, t) whatever their gap, (n,) bool; None where all can.

    See `Contact.closes_when`.  They can if they carried load in the step before (`loaded`), or if their condition holds
    and they were outside where that step began.  first : the run begins, and contacts that touch take part as well.
    """
    if not any(system.gated):
        return None
    c, back = system.gates(q, t, p), 0.0 if first else dt
    g = system.gap(q - back * u, t - back, p)
    there = loaded | ((c > 0.0) & (first | (g > 0.0))) | (first & (np.abs(g) <= codes.BEHIND))
    return np.array(system.gated) & ~there


def active_contacts(
    system: System, g: Array, rounding: Array, dt: float, reach: Array | None, shut: np.ndarray | None = None
) -> np.ndarray:
    """Numbers of the contacts that take part in a step on velocity level, [GS05] 5, step 3 (b).

    A gap below its rounding error is closed.  A contact that carried load in the step before stays within its reach,
    see `stepper.Instant`.  Contacts that are `shut` do not take part.
    """
    kinds = system.kinds
    active = (kinds != CONTACT) | (g <= 0.0) | (g <= rounding)
    if reach is not None:
        active |= g <= reach
    active &= kinds < CONSTRAINT  # these hold anyway, and have no laws
    if dt == 0.0:
        active &= kinds != SPRING
    if shut is not None:
        active &= ~shut
    return with_tangents(kinds, active).nonzero()[0]


def with_tangents(kinds: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Active contacts (n,) bool, where second tangents take part when their contacts do."""
    second = kinds == TANGENT
    return np.where(second, np.roll(active, 1), active) if second.any() else active


def spatial_rows(system: System, index: np.ndarray) -> Spatial | None:
    """The contacts in space among the rows `index`; None where there is none."""
    tangent = system.kinds[index] == TANGENT
    return Spatial.of(tangent, [system.sections[k] for k in index]) if tangent.any() else None


def contact_problem(
    system: System,
    t: float,
    q: Array,
    u_A: Array,
    dt: float,
    p: Array,
    reach: Array | None = None,
    keep_lasting: bool = False,
    shut: np.ndarray | None = None,
) -> StepProblem:
    """Build the problem at the midpoint (t, q) of a step of length dt that begins with velocity u_A.

    dt = 0 gives the pure impact equations ([GS05] end of 6): no forces, no load-independent friction, no springs.
    """
    M = mass_matrix(system, q, t, p)
    g = gaps(system, q, t, p)
    directions = system.geometry(q, t, p)
    inertia = Inertia.at(system, q, t, p, M, directions)
    u_loose = u_A + dt * np.linalg.solve(M, system.force(q, u_A, t, p))
    # in a step the mean of u_A and u_E keeps to the constraints at the midpoint; after an impact u_E does
    wanted = -inertia.b - (inertia.rate(u_A) if dt > 0.0 else 0.0)
    u_free = onto_constraints(inertia, u_loose, wanted)
    rounding = roundings(system, q, t, p)
    index = active_contacts(system, g, rounding, dt, reach, shut)
    lasting = reach > 0.0 if keep_lasting and reach is not None else None
    if lasting is not None:
        index = np.union1d(index, np.flatnonzero(with_tangents(system.kinds, lasting)))
    closing = None if keep_lasting or dt == 0.0 else closing_velocities(g, rounding, dt)
    return step_problem(
        system,
        Active(index, lasting, closing, None if keep_lasting else rounding),
        g,
        Begun(inertia, u_A, directions, dt, (q, t)),
        u_free,
        p,
        u_loose=u_loose,
    )


def closing_velocities(g: Array, rounding: Array, dt: float, gamma_N: Array | None = None) -> Array:
    """Velocities that close gaps until a scheme looks again, those below their rounding errors not.

    From midpoint to midpoint; or, with the velocities `gamma_N` at the begin of the step, from end to end.
    """
    closing = (g - rounding) / dt - (0.0 if gamma_N is None else gamma_N)
    return np.where(g > rounding, np.maximum(0.0, closing), 0.0)


def step_problem(
    system: System,
    active: Active,
    g: Array,
    begun: Begun,
    u_free: Array,
    p: Array,
    ahead: Ahead | None = None,
    u_loose: Array | None = None,
) -> StepProblem:
    """The problem of the active contacts, with u_E = u_free + M^-1 W Lambda; P in place of M^-1 with constraints.

    On velocity level xi = gamma_E + eps gamma_A.  A prestressed spring is Sgn of its displacement: at the next
    midpoint, g + dt gamma_E; or, with `ahead`, at the end of the step: g + dt w_T (u_E - ahead.u).  With the gaps
    ahead.g_before, contacts are on position level: dt xi_N = g + dt w_N (u_E - ahead.u) + eps_N g_before.
    A contact that takes part though it is open, because it carried load before, may close its gap.
    """
    index, lasting, closing, rounding = active
    inertia, u_A, directions, dt, place, _ = begun
    W_N, W_T, w_hat = (rows[index] for rows in directions)
    mu, eps_N, eps_T, threshold = (law[index] for law in laws_of_step(system, begun, p, index))
    if lasting is not None:
        eps_N = np.where(lasting[index], 0.0, eps_N)
    kinds, g_here = system.kinds[index], g[index]
    scale = np.abs(u_A) + np.abs(u_free - u_A)
    size_N = np.abs(w_hat[:, 0]) + np.abs(W_N) @ scale
    size_T = np.abs(w_hat[:, 1]) + np.abs(W_T) @ scale
    gamma_N = W_N @ u_A + w_hat[:, 0]
    gamma_T = W_T @ u_A + w_hat[:, 1]
    offset_N = w_hat[:, 0] + eps_N * gamma_N  # [GS05] eqs. (20), (21)
    if closing is not None:
        closing = np.where(kinds == CONTACT, closing[index], 0.0)
        offset_N = offset_N + closing
    offset_T = w_hat[:, 1] + eps_T * gamma_T
    spring = kinds == SPRING
    if spring.any():
        moved = w_hat[:, 1] if ahead is None else -(W_T @ ahead.u)
        offset_T = np.where(spring, moved + g_here / dt, offset_T)
        size_T = np.where(spring, size_T + np.abs(offset_T - w_hat[:, 1]), size_T)
    if ahead is not None and ahead.g_before is not None:
        contact = kinds == CONTACT
        offset_N = np.where(contact, (g_here + eps_N * ahead.g_before[index]) / dt - W_N @ ahead.u, offset_N)
        size_N = np.where(contact, size_N + np.abs(offset_N), size_N)
    found = StepProblem.of(
        index, g, inertia, (u_A, u_free), (W_N, W_T, w_hat), (closing, rounding), u_loose, place,
        spatial_rows(system, index),
        c_N=W_N @ u_free + offset_N,
        c_T=W_T @ u_free + offset_T, mu=mu, a=threshold * dt, size_N=size_N, size_T=size_T,
    )  # fmt: skip
    if inertia:
        require_free(system, index, found.V_N, found.local.c_N, size_N)
    return found


def laws_of_step(
    system: System, begun: Begun, p: Array, index: np.ndarray | None = None
) -> tuple[Array, Array, Array, Array]:
    """The coefficients of all contacts in a step, see `System.laws_at`; those of `index` must make sense.

    On position level a contact that does not approach has no restitution where coefficients depend on the state: else
    its gap of an impact would count once more after it.
    """
    if begun.approach is None or not system.state_laws:
        return system.laws_at(*begun.place, p, begun.u_A, index)
    W_N, _, w_hat = begun.directions
    mu, eps_N, eps_T, threshold = system.laws_at(*begun.place, p, begun.approach, index)
    return mu, np.where(W_N @ begun.approach + w_hat[:, 0] >= 0.0, 0.0, eps_N), eps_T, threshold


def solve_step(
    system: System, step: StepProblem, law: ImpactLaw, solver: PlanarSolver, p: Array, coefficients: Any = None
) -> LawSolution:
    """Impulses of a time step under a law, for `contact_problem`'s step; Newton() alone gives its own `local` back.

    `coefficients` is what `law.coefficients` gave, where the caller keeps it from step to step.
    """
    if coefficients is None:
        _, eps_N, eps_T, _ = system.laws(p) if step.place is None else system.laws_at(*step.place, p, step.u_A)
        coefficients = law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
    eps_N, eps_T = (values[step.index] for values in coefficients)
    c_N, c_T = step.velocities(step.u_free)
    if step.closing is not None:
        c_N = c_N + step.closing
    spring = system.kinds[step.index] == SPRING
    free = replace(step.local, c_N=c_N, c_T=np.where(spring, step.local.c_T, c_T))
    gamma_N, gamma_T = step.gamma_A
    return law.at(step.index).solve(free, gamma_N, gamma_T, eps_N, np.where(spring, 0.0, eps_T), solver)
