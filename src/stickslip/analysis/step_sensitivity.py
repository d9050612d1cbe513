"""Derivatives of time steps: the map from step to step, with the active set of each step held.

A solved step says which contacts push, stick and slip.  With these sets held, a step is a system of equations
R(q_A, u_A, t, p; y) = 0 for y = (u_E, Lambda), and dy = -R_y^-1 (R_q dq_A + R_u du_A + R_p dp).

This is the derivative of the discrete map.  It does not tend to that of the motion where contacts strike, however small
the step: held sets are held times of impacts, and the change of these times is missing.  See docs/sensitivities.md.
Here are the steps of mechanisms; those of scenes are in `scene_step_sensitivity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.analysis.derivative_table import DerivativeTable
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.scene_step_sensitivity import scene_steps
from stickslip.analysis.sensitivity import checked_names, quantities, with_params
from stickslip.analysis.slopes import Slopes
from stickslip.checks import Array, real_number, whole_number
from stickslip.contact.planar import PlanarSolver
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.steppers.contact_problem import roundings
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.steppers.stepper import Instant, Stepper, StepReport
from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle
from stickslip.mechanisms.system import CONTACT, SPRING, System
from stickslip.run.options import chosen_stepper
from stickslip.scenario import Scenario, as_scenario, require_scenario
from stickslip.trajectory import Trajectory

_MARGIN = 1e-7  # contacts nearer to the edge of their law, relative, are at a corner of it
_SAME = 1e-7  # share of the velocities by which the end of a step may miss the equations that are differentiated


@dataclass(frozen=True, eq=False, repr=False)
class StepSensitivity(DerivativeTable):
    """Derivatives of a motion by time steps, one column per quantity.

    Attributes
    ----------
    names : (k,) quantities: parameters, coordinates and velocities of the start
    t : (n,) ends of the steps that are kept [s];  q, u : (n, f, k) derivatives of coordinates and velocities
    end : (2 f, k), those of (q, u) at the end
    reliable : no step is at a corner of its contact laws: the discrete map has a derivative
    reason : where and why not; empty where reliable
    strikes : (m,) times of the steps in which contacts strike, limits of joints are struck or ropes come taut [s].
        Behind the first of them the derivative does not tend to that of the motion as dt goes to 0; use `sensitivity`
        there
    trajectory : the run itself
    """

    names: tuple[str, ...]
    t: Array
    q: Array
    u: Array
    end: Array
    reliable: bool
    reason: str
    strikes: Array
    trajectory: Trajectory

    @property
    def converges(self) -> bool:
        """Whether no contact strikes, so that the derivative tends to that of the motion as dt goes to 0."""
        return not len(self.strikes)

    def headline(self) -> str:
        return (
            f"derivatives of the time steps of {self.trajectory.system_name}: {self.count()}, t = "
            f"{self.t[0]:g} .. {self.t[-1]:g} s"
        )

    def remarks(self) -> list[str]:
        if self.converges:
            return super().remarks()
        said = f"contacts strike from t = {self.strikes[0]:.6g} s on: behind it these are not those of the motion"
        return [*super().remarks(), said]


@dataclass(frozen=True)
class _Followed(Stepper):
    """A stepper that keeps what each of its steps began with, ended with, and reported."""

    own: Stepper = field(default_factory=MoreauMidpoint)
    steps: list[tuple[Instant, Instant, StepReport]] = field(default_factory=list, compare=False)

    name = "followed"
    order_smooth = 1

    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        after, said = self.own.step(system, state, dt, solver, p, law)
        self.steps.append((state, after, said))
        return after, said


def step_sensitivity(
    scenario: Any, wrt: Sequence[str] | str, *, stepper: Any = "moreau-midpoint", dt: float | None = None,
    t_end: float | None = None, every: int = 1, params: Mapping[Any, float] | None = None,
) -> StepSensitivity:  # fmt: skip
    """Derivatives of a motion by time steps: of the discrete map, by the active sets of its solved steps.

    They are derivatives of the numbers that a stepper returns.  They tend to the derivatives of the motion in smooth
    motion, in lasting contact, in stick and slip; they do not where contacts strike, see `StepSensitivity.strikes`.
    `sensitivity` gives the derivatives of the motion.

    Parameters
    ----------
    scenario : a scenario of a mechanism or of a scene, or a Scene, with dt and t_end
    wrt : names of parameters, coordinates (their start) and velocities (their start).  Of a scene: all that
        `with_values` of its scenario takes: surfaces, masses, sizes, loads, gravity, joints, starts
    stepper : "moreau-midpoint", "moreau-jean" or "stewart-trinkle", or one of these with options, without projection
    dt : step [s]; None: the scenario's.  t_end : end of the run [s]; None: the scenario's
    every : keep every N-th step
    params : parameters of a mechanism that differ from the scenario's

    Raises
    ------
    ValueError : an unknown name or stepper; a mechanism with constraints, kinks, second tangents or friction that
        depends on slip; a scene with resistance to rolling, or friction that depends on slip; a start that the run
        moves
    ArithmeticError : the run does not come to its end
    """
    if dt is not None and not real_number(dt, "dt") > 0.0:
        raise ValueError(f"dt must be positive [s], got {dt:g}.")
    moving = scenario if isinstance(scenario, Scenario | System) else as_scenario(scenario, dt, None, None)
    if isinstance(moving, Scenario) and moving.kind == "scene":
        if moving is not scenario and t_end is None:
            raise ValueError("t_end must be given [s]; only scenarios, such as those of the library, have one.")
        return _of_scene(moving, wrt, stepper, dt, t_end, every, params)
    require_scenario(scenario, "step_sensitivity")
    system = scenario.system
    system.require_planar("step_sensitivity")
    own: Any = chosen_stepper(stepper)
    _require_known(system, own)
    case = with_params(scenario, params)
    names, count = checked_names(case, wrt), whole_number(every, "every")
    step = case.dt if dt is None else real_number(dt, "dt")
    end = case.t_end if t_end is None else real_number(t_end, "t_end")
    followed, run = _followed_run(case, own, step, end)
    return _along_steps(case, names, followed, run, count)


def _followed_run(case: Scenario, own: Any, dt: float, end: float) -> tuple[_Followed, Trajectory]:
    """A run whose steps are kept; its start is that of the scenario."""
    followed = _Followed(own=own)
    run = case.simulate(
        dt=dt, t_end=end, stepper=followed, engine="reference", on_energy_gain="ignore", penetration_tol=1.0,
        progress=False,
    )  # fmt: skip
    if not not_interrupted(run).complete:
        raise ArithmeticError(f"{own.name} with dt = {dt:g} s {run.status}")
    q0, u0, _ = case.system.check(case.q0, case.u0, case.params)
    first = followed.steps[0][0]
    if np.abs(first.q - q0).max() > 1e-12 or np.abs(first.u - u0).max() > 1e-12:
        raise ValueError("step_sensitivity: the run moves its start onto contacts; give a start that keeps to them.")
    return followed, run


def _along_steps(
    case: Scenario, names: tuple[str, ...], followed: _Followed, run: Trajectory, every: int
) -> StepSensitivity:
    """The derivatives along the steps of a run, every N-th of them kept."""
    system = case.system
    p = system.check(case.q0, case.u0, case.params)[2]
    X, directions = quantities(case, names)
    slopes = Slopes(system)
    kept, times, strikes, doubts = [X], [followed.steps[0][0].t], [], []
    before = np.zeros(system.n_contacts)
    for number, (state, after, said) in enumerate(followed.steps, 1):
        held = _HeldStep.of(slopes, followed.own, state, said, after.t - state.t, p)
        doubts += held.doubts()
        if held.strikes(before):
            strikes.append(after.t)
        before = np.zeros(system.n_contacts)
        before[said.problem.index] = said.Lambda_N
        X = held.carried(X, directions, after)
        if number % every == 0 or number == len(followed.steps):
            kept.append(X)
            times.append(after.t)
    all_X, f = np.array(kept), system.n_dof
    return StepSensitivity(
        names, np.array(times), all_X[:, :f], all_X[:, f:], X, not doubts, "; ".join(dict.fromkeys(doubts)),
        np.array(strikes), run,
    )  # fmt: skip


def _of_scene(
    case: Any, wrt: Any, stepper: Any, dt: float | None, t_end: float | None, every: int, params: Any
) -> StepSensitivity:
    """`step_sensitivity` of a scene."""
    if params:
        raise ValueError("params are for mechanisms; change the scene, or `with_values` of its scenario.")
    names, followed, run = scene_steps(case, wrt, stepper, dt, t_end, every)
    t, q, u = (np.array(part) for part in zip(*followed.kept, strict=True))
    reason = "; ".join(dict.fromkeys(followed.doubts))
    end = np.concatenate([q[-1], u[-1]])
    blows = np.asarray(run.impacts()["time"], float)  # those of joints at the start are at a time that is given
    struck = np.unique(np.concatenate([blows[blows > run.t[0]], followed.strikes]))
    return StepSensitivity(names, t, q, u, end, not reason, reason, struck, run)


def _require_known(system: System, own: Any) -> None:
    """Refuse steppers and systems whose steps have no equations here."""
    if type(own) not in (MoreauMidpoint, MoreauJean, StewartTrinkle):
        known = ", ".join(kind.name for kind in (MoreauMidpoint, MoreauJean, StewartTrinkle))
        raise ValueError(f"stepper must be one of {known} for step_sensitivity, got {getattr(own, 'name', own)!r}.")
    if own.projection > 0.0 or getattr(own, "lasting", False):
        raise ValueError("stepper must have projection=0 and lasting=False for step_sensitivity.")
    for found, word in (
        (len(system.constraints), "constraints"),
        (system.has_friction_laws, "friction that depends on slip"),
        (len(system.branched.kink_contacts), "kinks"),
    ):
        if found:
            raise ValueError(
                f"step_sensitivity knows no derivative of steps with {word}, which system {system.name!r} has: "
                "use ss.sensitivity."
            )


@dataclass(frozen=True, eq=False)
class _HeldStep:
    """One solved step with its active set.

    rows : (contact, part) of the impulses: part 0 normal; 1 tangential that sticks, 2 that slips
    """

    slopes: Slopes
    own: Any
    state: Instant
    said: StepReport
    dt: float
    p: Array
    rows: tuple[tuple[int, int], ...]
    impulses: Array
    side: Array

    @classmethod
    def of(cls, slopes: Slopes, own: Any, state: Instant, said: StepReport, dt: float, p: Array) -> _HeldStep:
        rows, impulses = [], []
        local, bound = said.problem.local, said.problem.local.bound(said.Lambda_N)
        side = np.zeros(slopes.n)
        for i, k in enumerate(said.problem.index):
            if local.normal[i] and said.Lambda_N[i] > 0.0:
                rows.append((int(k), 0))
                impulses.append(said.Lambda_N[i])
            if local.tangential[i] and bound[i] > 0.0:
                slips = abs(said.Lambda_T[i]) >= bound[i] * (1.0 - 1e-12)
                side[k] = np.sign(said.Lambda_T[i]) if slips else 0.0
                rows.append((int(k), 2 if slips else 1))
                impulses.append(said.Lambda_T[i])
        return cls(slopes, own, state, said, dt, p, tuple(rows), np.array(impulses), side)

    def doubts(self) -> list[str]:
        """Reasons where the step is at a corner of its contact laws."""
        problem, Lambda_N, Lambda_T = self.said.problem, self.said.Lambda_N, self.said.Lambda_T
        local, bound = problem.local, problem.local.bound(Lambda_N)
        xi_N = local.c_N + local.G_NN @ Lambda_N + local.G_NT @ Lambda_T
        xi_T = local.c_T + local.G_NT.T @ Lambda_N + local.G_TT @ Lambda_T
        found = []
        for i, k in enumerate(problem.index):
            name, t = self.slopes.system.contact_names[k], self.state.t
            push, size = local.G_NN[i, i] * Lambda_N[i], max(local.size_N[i], 1e-300)
            if local.normal[i] and max(push, abs(xi_N[i])) < _MARGIN * size:
                found.append(f"t = {t:.9g} s: contact {name!r} is just loaded")
            room = local.G_TT[i, i] * (bound[i] - abs(Lambda_T[i]))
            scale = max(local.size_T[i], local.G_TT[i, i] * bound[i], 1e-300)
            if local.tangential[i] and bound[i] > 0.0 and max(room, abs(xi_T[i])) < _MARGIN * scale:
                found.append(f"t = {t:.9g} s: friction of contact {name!r} is at its bound")
        return found

    def strikes(self, before: Array) -> bool:
        """Whether a contact that carried nothing in the step before, and approaches, is pushed."""
        gamma, _ = self.said.problem.gamma_A
        size = self.said.problem.local.size_N
        index = self.said.problem.index
        struck = (self.said.Lambda_N > 0.0) & (before[index] == 0.0) & (gamma < -1e-9 * size)
        return bool(np.any(struck & (np.array(self.slopes.system.contact_kinds, dtype=int)[index] == CONTACT)))

    def carried(self, X: Array, directions: Array, after: Instant) -> Array:
        """X behind the step, (2 f, k)."""
        f, m, size = self.slopes.f, len(self.p), self.slopes.f + len(self.rows)
        z = np.concatenate([self.state.q, self.state.u, [self.state.t], self.p, after.u, self.impulses])
        columns = X.shape[1]
        D = np.zeros((len(z), columns + size))
        D[: 2 * f, :columns] = X
        D[2 * f + 1 : 2 * f + 1 + m, :columns] = directions
        D[2 * f + 1 + m :, columns:] = np.eye(size)
        here = z[:, None].astype(complex) if self.slopes.exact else z[:, None]
        problem, Lambda_T = self.said.problem, np.abs(self.said.Lambda_T)
        terms = np.abs(problem.M) @ (np.abs(after.u) + np.abs(self.state.u))
        terms += np.abs(problem.W_N).T @ self.said.Lambda_N + np.abs(problem.W_T).T @ Lambda_T
        if np.any(np.abs(np.real(self.left(here))[:f, 0]) > _SAME * terms):
            raise ArithmeticError(f"the step at t = {self.state.t:.9g} s does not meet its own equations")
        R = self.slopes.slopes(self.left, z[:, None], D)[:, 0]
        dy = -np.linalg.lstsq(R[:, columns:], R[:, :columns], rcond=1e-13)[0]  # shares of implied contacts do not count
        theta = 1.0 if type(self.own) is StewartTrinkle else getattr(self.own, "theta", 0.5)
        du = dy[:f]
        return np.concatenate([X[:f] + self.dt * ((1.0 - theta) * X[f:] + theta * du), du])

    def left(self, Z: Array) -> Array:
        """Residual of the equations of the step at points Z = (q_A, u_A, t_A, p, u_E, Lambda), (rows, K)."""
        slopes, f, dt, m = self.slopes, self.slopes.f, self.dt, len(self.p)
        q, u, t, p = Z[:f], Z[f : 2 * f], Z[2 * f], Z[2 * f + 1 : 2 * f + 1 + m]
        u_E, load = Z[2 * f + 1 + m : 3 * f + 1 + m], Z[3 * f + 1 + m :]
        stewart = type(self.own) is StewartTrinkle
        share = 0.0 if stewart else 0.5  # of the step: where directions and laws are taken
        parts = slopes.parts(np.concatenate([q + share * dt * u, u, (t + share * dt)[None], p]), approaches=True)
        look = 1.0 if stewart else 0.5  # of the step: where gaps are looked at
        place = np.concatenate([q + look * dt * u, u, (t + look * dt)[None], p])
        g = slopes.gap(place)
        M, force = parts.M, dt * parts.h
        if stewart:
            (M,) = slopes.call("mass", (q + dt * u_E, t + dt, p), ((f, f),))
        elif type(self.own) is MoreauJean:
            theta = self.own.theta
            q_E = q + dt * (theta * u_E + (1.0 - theta) * u)
            (h_E,) = slopes.call("force", (q_E, u_E, t + dt, p), ((f,),))
            (h_A,) = slopes.call("force", (q, u, t, p), ((f,),))
            force = dt * (theta * h_E + (1.0 - theta) * h_A)
        balance = np.einsum("ijk,jk->ik", M, u_E - u) - force
        rounding = roundings(slopes.system, np.real(place[:f, 0]), float(np.real(place[2 * f, 0])), self.p)
        pushes = {k: load[r] for r, (k, part) in enumerate(self.rows) if part == 0}
        below = []
        for r, (k, part) in enumerate(self.rows):
            W = parts.W_T[k] if part else parts.W_N[k]
            balance = balance - W * load[r]
            gamma = np.einsum("jk,jk->k", W, u_E) + parts.w_hat[k, min(part, 1)]
            if part == 0:
                hard = slopes.system.contact_kinds[k] == CONTACT
                closing = self._closing(g[k], rounding[k], parts, k) if hard else 0.0
                below.append(gamma + parts.eps_N[k] * parts.gamma[k, 0] + closing)
            elif part == 2:
                below.append(load[r] - self.side[k] * (parts.mu[k] * pushes.get(k, 0.0) + parts.a[k] * dt))
            elif slopes.system.contact_kinds[k] == SPRING:
                moved = gamma if not stewart else gamma - parts.gamma[k, 1]
                below.append(moved + g[k] / dt)
            else:
                below.append(gamma + parts.eps_T[k] * parts.gamma[k, 1])
        return np.concatenate([balance, np.array(below).reshape(len(self.rows), Z.shape[1])])

    def _closing(self, g: Array, rounding: float, parts: Any, k: int) -> Array:
        """Velocity by which a loaded contact that seems open may close its gap, as in `closing_velocities`."""
        if type(self.own) is StewartTrinkle:
            closing = (g - rounding) / self.dt - parts.gamma[k, 0]
        else:
            theta = self.own.theta if type(self.own) is MoreauJean else 0.5
            closing = (g - rounding) / ((theta + 0.5) * self.dt)
        return np.where((np.real(g) > rounding) & (np.real(closing) > 0.0), closing, 0.0 * closing)
