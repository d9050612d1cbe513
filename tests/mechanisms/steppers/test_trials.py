"""Mechanisms of other kinds against integrations of their own: each mode by hand, event by event, with SciPy."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stickslip as ss

G = 9.81
FINE = {"rtol": 1e-12, "atol": 1e-14, "method": "DOP853"}
STEPPERS = ["moreau-midpoint", "moreau-jean", "stewart-trinkle", "paoli-schatzman"]


@dataclass(frozen=True)
class Trial:
    """A system, its start, an end time [s], the coordinates at the end, and the largest error of a stepper per dt."""

    system: ss.LagrangianSystem
    q0: list[float]
    u0: list[float]
    t_end: float
    exact: np.ndarray
    slack: float
    events: dict[str, list[float]]  # times by kind, of those that are compared


def until(rates: Callable, span: tuple[float, float], state, *events: Callable):
    """Integrate until the first event that falls through zero: time, state, number of the event or None."""
    for event in events:
        event.terminal, event.direction = True, -1.0
    motion = solve_ivp(rates, span, state, events=list(events), max_step=0.02, **FINE)
    which = [k for k, times in enumerate(motion.t_events) if len(times)] if motion.status == 1 else [None]
    return float(motion.t[-1]), motion.y[:, -1].copy(), which[0]


def chimney() -> Trial:
    """A rod of 2 m falls from 0.2 rad, its base on a rough floor: pinned until |T| = mu N, then it slides back."""
    mu, start, t_end = 0.35, 0.2, 0.76
    x, y, phi, v, w, spin = sp.symbols("x y phi v w spin")
    system = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v, w, spin],
        kinetic=(v**2 + w**2) / 2 + spin**2 / 6,
        potential=G * y,
        contacts=[ss.Contact("base", gap=y - sp.cos(phi), slip=x - sp.sin(phi), friction=mu)],
        name="falling chimney",
    )

    def pinned(_, z):
        return [z[1], 0.75 * G * math.sin(z[0])]

    def room(_, z):  # mu N - T, forces from the acceleration of the centre
        a = 0.75 * G * math.sin(z[0])
        T = a * math.cos(z[0]) - z[1] ** 2 * math.sin(z[0])
        return mu * (G - a * math.sin(z[0]) - z[1] ** 2 * math.cos(z[0])) - abs(T)

    slips, (angle, rate), _ = until(pinned, (0.0, 1.0), [start, 0.0], room)

    def sliding(_, z):  # backwards: T = mu N; phi'' / 3 = N sin(phi) - T cos(phi)
        c, s = math.cos(z[0]), math.sin(z[0])
        k = s - mu * c
        N = (G - z[1] ** 2 * c) / (1 + 3 * k * s)
        return [z[1], 3 * k * N, z[3], mu * N]

    _, z, _ = until(sliding, (slips, t_end), [angle, rate, math.sin(angle), rate * math.cos(angle)])
    q0 = [math.sin(start), math.cos(start), start]
    exact = np.array([z[2], math.cos(z[0]), z[0]])
    return Trial(system, q0, [0.0] * 3, t_end, exact, 3.0, {"slips": [slips]})


def rod_in_a_v() -> Trial:
    """A rod of 2 m between rough walls that rise at 40 and 60 degrees slides down; both ends slip."""
    right, left, mu, t_end = math.radians(40), math.radians(60), (0.1, 0.2), 0.2
    x, y, phi = q = sp.symbols("x y phi")
    u = sp.symbols("v w spin")
    ends = [(x + sp.cos(phi), y + sp.sin(phi)), (x - sp.cos(phi), y - sp.sin(phi))]
    walls = [(-math.sin(right), math.cos(right)), (math.sin(left), math.cos(left))]
    gaps = [n[0] * end[0] + n[1] * end[1] for n, end in zip(walls, ends, strict=True)]
    slips = [n[1] * end[0] - n[0] * end[1] for n, end in zip(walls, ends, strict=True)]
    system = ss.LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=(u[0] ** 2 + u[1] ** 2) / 2 + u[2] ** 2 / 6,
        potential=G * y,
        contacts=[ss.Contact(f"wall {k}", gap=gaps[k], slip=slips[k], friction=mu[k]) for k in (0, 1)],
        name="rod in a V",
    )
    angle = 0.9
    place = [float(value) for value in sp.nsolve([gap.subs(phi, angle) for gap in gaps], [x, y], [0, 1])]

    def rates(_, z):  # rows of the walls at a rod of angle phi; both slip with gamma_T < 0 or > 0 as `sense` says
        c, s, spin = math.cos(z[2]), math.sin(z[2]), z[5]
        A, b = np.zeros((5, 5)), np.array([0.0, -G, 0.0, 0.0, 0.0])
        A[:3, :3] = np.diag([1.0, 1.0, 1.0 / 3.0])
        for k, side in ((0, 1.0), (1, -1.0)):
            n, t = np.array(walls[k]), np.array([walls[k][1], -walls[k][0]])
            arm, bend = side * np.array([-s, c]), -side * np.array([c, s])
            normal, tangent = np.append(n, n @ arm), np.append(t, t @ arm)
            A[:3, 3 + k] = -(normal - mu[k] * sense[k] * tangent)
            A[3 + k, :3], b[3 + k] = normal, -(n @ bend) * spin**2
        return np.concatenate([z[3:], np.linalg.solve(A, b)[:3]])

    sense = (1.0, 1.0)
    slide = rates(0.0, np.array([*place, angle, 0.0, 0.0, 0.0]))[3:]
    sense = tuple(
        float(np.sign(np.array([n[1], -n[0], (n[1] * -math.sin(angle) - n[0] * math.cos(angle)) * side]) @ slide))
        for n, side in zip(walls, (1.0, -1.0), strict=True)
    )
    _, z, _ = until(rates, (0.0, t_end), [*place, angle, 0.0, 0.0, 0.0])
    return Trial(system, [*place, angle], [0.0] * 3, t_end, z[:3], 1.0, {})


def block_in_a_bowl() -> Trial:
    """A block slides in a round bowl of 1 m and stops: theta'' = -g sin(theta) - s mu (g cos(theta) + theta'^2)."""
    mu, angle, t_end = 0.3, -1.2, 2.4
    x, y, v, w = sp.symbols("x y v w")
    away = sp.sqrt(x**2 + y**2)
    system = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=G * y,
        contacts=[ss.Contact("bowl", gap=1 - away, slip=[(-y / away, x), (x / away, y)], friction=mu)],
        name="block in a bowl",
    )
    z, t, turns = np.array([angle, 0.0]), 0.0, []
    while True:
        s = -math.copysign(1.0, z[0])

        def rates(_, z, s=s):
            return [z[1], -G * math.sin(z[0]) - s * mu * (G * math.cos(z[0]) + z[1] ** 2)]

        t, z, stopped = until(rates, (t, t_end), [z[0], s * 1e-13], lambda _, z, s=s: s * z[1])
        if stopped is None or abs(math.tan(z[0])) <= mu:
            break
        turns.append(t)
    q0, exact = ([math.sin(a), -math.cos(a)] for a in (angle, z[0]))
    return Trial(system, q0, [0.0, 0.0], t_end, np.array(exact), 1.5, {"slip reverses": turns, "sticks": [t]})


def ball_in_a_wedge() -> Trial:
    """A ball bounces (e = 0.9) between two smooth walls that rise at 35 degrees: parabolas."""
    rise, t_end = math.radians(35), 3.0
    walls = [np.array([-math.sin(rise), math.cos(rise)]), np.array([math.sin(rise), math.cos(rise)])]
    x, y, v, w = sp.symbols("x y v w")
    system = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=G * y,
        contacts=[
            ss.Contact(name, gap=n[0] * x + n[1] * y, restitution_normal=0.9)
            for name, n in zip(("right", "left"), walls, strict=True)
        ],
        name="ball in a wedge",
    )
    q, u, t, hits = np.array([0.3, 1.0]), np.array([0.2, 0.0]), 0.0, []
    while True:
        flights = [(max(np.roots([-G * n[1] / 2, n @ u, n @ q]).real), k) for k, n in enumerate(walls)]
        flight, k = min(flights)
        h = min(flight, t_end - t)
        q, u, t = q + h * u - [0.0, G * h * h / 2], u - [0.0, G * h], t + h
        if h < flight:
            break
        hits.append(t)
        u = u - 1.9 * (walls[k] @ u) * walls[k]
    return Trial(system, [0.3, 1.0], [0.2, 0.0], t_end, q, 60.0, {"impact": hits})


def masses_on_a_belt() -> Trial:
    """Two masses on springs ride a belt and let go, first one, then the other, with 2 N and 1 N of friction."""
    belt, hold, t_end = 0.2, np.array([2.0, 1.0]), 6.0
    x, y, v, w, t = sp.symbols("x y v w t")
    system = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        potential=5 * x**2 + 5 * (y - x) ** 2,
        contacts=[ss.DryFriction("first", x - belt * t, 2), ss.DryFriction("second", y - belt * t, 1)],
        name="two masses on a belt",
    )

    def pull(z):
        return np.array([-10 * z[0] + 10 * (z[1] - z[0]), -10 * (z[1] - z[0])])

    z, time, s, found = np.array([0.0, 0.0, belt, belt]), 0.0, np.zeros(2), {"slips": [], "sticks": []}
    while True:

        def rates(_, z, s=tuple(s)):
            s = np.array(s)
            return np.concatenate([np.where(s == 0, belt, z[2:]), np.where(s == 0, 0.0, pull(z) - s * hold)])

        guards = [
            (lambda _, z, i=i: hold[i] - abs(pull(z)[i])) if s[i] == 0 else (lambda _, z, i=i: -(z[2 + i] - belt))
            for i in range(2)
        ]  # they slip backwards only
        time, z, i = until(rates, (time, t_end), z, *guards)
        if i is None:
            break
        found["slips" if s[i] == 0 else "sticks"].append(time)
        s[i] = -1.0 if s[i] == 0 else 0.0
        z[2 + i] = belt + 1e-14 * s[i]
    return Trial(system, [0.0, 0.0], [belt, belt], t_end, z[:2], 0.1, found)


def pendulum_with_stops() -> Trial:
    """A double pendulum of point masses whose knee bends by 0.3 rad at most, e = 0.5."""
    a, b, v, w = sp.symbols("a b v w")
    system = ss.LagrangianSystem.from_energies(
        [a, b],
        velocities=[v, w],
        kinetic=v**2 + w**2 / 2 + v * w * sp.cos(a - b),
        potential=-G * (2 * sp.cos(a) + sp.cos(b)),
        contacts=[
            ss.Contact(name, gap=sp.Float(0.3) - side * (b - a), restitution_normal=0.5)
            for name, side in (("front", 1), ("back", -1))
        ],
        name="double pendulum with stops",
    )

    def mass(z):
        c = math.cos(z[0] - z[1])
        return np.array([[2.0, c], [c, 1.0]])

    def rates(_, z):
        s = math.sin(z[0] - z[1])
        forces = [-(z[3] ** 2) * s - 2 * G * math.sin(z[0]), z[2] ** 2 * s - G * math.sin(z[1])]
        return np.concatenate([z[2:], np.linalg.solve(mass(z), forces)])

    z, t, t_end, hits = np.array([0.9, 0.9, 0.0, 0.0]), 0.0, 1.5, []
    while True:
        stops = [lambda _, z, side=side: 0.3 - side * (z[1] - z[0]) for side in (1, -1)]
        t, z, k = until(rates, (t, t_end), z, *stops)
        if k is None:
            break
        hits.append(t)
        n = np.array([1.0, -1.0]) * (1 if k == 0 else -1)
        V = np.linalg.solve(mass(z), n)
        z[2:] -= 1.5 * (n @ z[2:]) / (n @ V) * V
    return Trial(system, [0.9, 0.9], [0.0, 0.0], t_end, z[:2], 40.0, {"impact": hits})


def block_rocking_on_a_slope() -> Trial:
    """Housner's block on a slope of 0.03 rad: each blow leaves 1 - 1.5 sin^2(alpha) of its rate."""
    b, h, slope, start, t_end = 0.1, 0.5, 0.03, 0.06, 1.5
    x, y, phi, v, w, spin = sp.symbols("x y phi v w spin")
    inertia = (b * b + h * h) / 3
    feet = [
        ss.Contact(
            name,
            gap=y + side * b * sp.sin(phi) - h * sp.cos(phi),
            slip=x + side * b * sp.cos(phi) + h * sp.sin(phi),
            friction=5.0,
        )
        for name, side in (("upper", -1), ("lower", 1))
    ]
    system = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v, w, spin],
        kinetic=(v**2 + w**2 + inertia * spin**2) / 2,
        potential=G * (y * math.cos(slope) - x * math.sin(slope)),
        contacts=feet,
        name="block that rocks on a slope",
    )
    left = 1 - 1.5 * b * b / (b * b + h * h)
    z, t, foot, hits = np.array([start, 0.0]), 0.0, -1, []
    while True:

        def rates(_, z, foot=foot):  # about a foot, from which the centre is (-foot b, h) turned by phi
            c, s = math.cos(z[0]), math.sin(z[0])
            moment = (foot * b * c + h * s) * G * math.cos(slope) - (h * c - foot * b * s) * G * math.sin(slope)
            return [z[1], moment / (inertia + b * b + h * h)]

        t, z, k = until(rates, (t, t_end), z, lambda _, z, foot=foot: -foot * z[0])
        if k is None:
            break
        hits.append(t)
        foot, z = -foot, np.array([foot * 1e-16, left * z[1]])
    c, s = math.cos(start), math.sin(start)
    q0 = [-b + b * c - h * s, b * s + h * c, start]
    corner = np.array([foot * b, 0.0])
    c, s = math.cos(z[0]), math.sin(z[0])
    centre = corner + np.array([-foot * b * c - h * s, h * c - foot * b * s])
    return Trial(system, q0, [0.0] * 3, t_end, np.append(centre, z[0]), 20.0, {"impact": hits})


QUICK = [chimney, rod_in_a_v]
TRIALS = [
    *QUICK, block_in_a_bowl, ball_in_a_wedge, masses_on_a_belt, pendulum_with_stops, block_rocking_on_a_slope,
]  # fmt: skip


def check_steps(trial: Trial, stepper, dt: float) -> None:
    run = ss.simulate(trial.system, trial.q0, trial.u0, dt=dt, t_end=trial.t_end, stepper=stepper, engine="reference")
    assert run.complete and run.certificate.failed_steps == 0
    assert np.abs(run.q[-1] - trial.exact).max() < trial.slack * dt


@pytest.mark.parametrize("build", QUICK)
def test_steps_follow_the_motion(build):
    check_steps(build(), "moreau-midpoint", 4e-3)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("build", TRIALS)
def test_every_stepper_follows_the_motion(build, stepper):
    check_steps(build(), stepper, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("build", TRIALS)
def test_event_by_event_the_motion_is_met(build):
    trial = build()
    run = ss.simulate(
        trial.system, trial.q0, trial.u0, dt=trial.t_end / 50, t_end=trial.t_end, stepper=ss.EventDriven(rtol=1e-12)
    )
    assert run.complete, run.status
    assert run.q[-1] == pytest.approx(trial.exact, abs=1e-8)
    for kind, times in trial.events.items():
        assert run.events().of_kind(kind).time == pytest.approx(times, abs=1e-8)
