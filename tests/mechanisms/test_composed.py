"""Elements in series and in parallel against closed forms, and dry friction as a quadratic program."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss

G = 9.81
x, v, t = sp.symbols("x v t")


def masing():
    """Two Prandtl elements in parallel under a displacement that goes 0, X, -X, X with constant speed 1."""
    nodes, speeds = sp.symbols("s1:3"), sp.symbols("w1:3")
    X = sp.Integer(1)
    path = sp.Piecewise((t, t < X), (2 * X - t, t < 3 * X), (t - 4 * X, True))
    friction = ss.Masing("slider", path, nodes, [(100, 20), (50, 25)])
    system = ss.LagrangianSystem.from_energies(
        nodes,
        velocities=speeds,
        kinetic=sum(w**2 for w in speeds) * sp.Rational(1, 10**4),
        contacts=[friction],
        time=t,
        name="masing",
    )
    return system, friction


@pytest.fixture(scope="module")
def loop():
    """Times, displacement and force of one loop, nodes by an implicit scheme."""
    system, friction = masing()
    run = ss.simulate(system, [0, 0], [0, 0], dt=1e-3, t_end=5.0, stepper=ss.MoreauJean(theta=1.0))
    assert run.complete
    time = run.t
    place = np.where(time < 1, time, np.where(time < 3, 2 - time, time - 4))
    force = sum(float(k) * (place - run.q[:, i]) for i, (k, _) in enumerate(friction.elements))
    return time, place, force, friction


def test_the_virgin_curve_and_masings_rule(loop):
    """f(x) = sum min(k_i x, F_i); back from X it is f(X) - 2 f((X - x)/2), the virgin curve at twice the scale."""
    time, place, force, friction = loop

    def virgin(z):
        return sum(np.minimum(float(k) * z, float(F)) for k, F in friction.elements)

    first, back = time <= 1.0, (time >= 1.0) & (time <= 3.0)
    assert force[first] == pytest.approx(virgin(place[first]), abs=0.2)
    assert force[back] == pytest.approx(virgin(1.0) - 2 * virgin((1.0 - place[back]) / 2), abs=0.2)
    assert float(friction.virgin(sp.Rational(1, 4))) == virgin(0.25)


def test_the_loop_has_the_area_of_its_elements(loop):
    """4 F (X - F/k) of each Prandtl element that slides."""
    time, place, force, friction = loop
    once = (time >= 1.0) & (time <= 5.0 + 1e-9)
    work = float(np.sum(0.5 * (force[once][1:] + force[once][:-1]) * np.diff(place[once])))
    area = sum(4 * float(F) * (1 - float(F) / float(k)) for k, F in friction.elements)
    assert work == pytest.approx(area, rel=2e-3)


def test_a_prandtl_element_stores_its_energy():
    s, w = sp.symbols("s w")
    element = ss.Prandtl("bolt", x, s, 100, 20)
    system = ss.LagrangianSystem.from_energies(
        [x, s], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=x, contacts=[element]
    )
    assert system.energy([0.3, 0.1], [0, 0])[1] == pytest.approx(0.3 + 50 * 0.04)
    assert system.force([0.3, 0.1], [0, 0]) == pytest.approx([-1 - 20, 20])
    assert system.contact_names == ("bolt",) and system.laws()[3] == pytest.approx([20.0])
    start = ss.Scenario(system, np.zeros(2), np.zeros(2), dt=1e-3, t_end=1.0, title="Bolt", source="test")
    again = ss.model_from_text(ss.model_text(start), "bolt.toml").scenario  # a file has spring and slider
    assert again.system.source() == system.source()
    with pytest.raises(ValueError, match="belong to from_energies"):
        ss.LagrangianSystem.from_equations([x, s], velocities=[v, w], mass=sp.eye(2), force=[0, 0], contacts=[element])
    with pytest.raises(ValueError, match="stiffness must be positive, got 0"):
        ss.Prandtl("bolt", x, s, 0, 20)
    with pytest.raises(ValueError, match="needs a node for each of its elements, got 1 nodes and 2 pairs"):
        ss.Masing("slider", x, [s], [(1, 1), (2, 2)])


def test_a_ratchet_advances_by_a_stroke_and_what_it_coasts():
    """Driven by A sin(w t), braked by F: it follows from -A to A sin(phi), then coasts with v^2 / (2 F).

    It leaves the drive where that slows down faster than friction does: sin(phi) = F / (A w^2).
    """
    A, w, F = 0.1, 10.0, 4.0
    mass = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=v**2 / 2,
        contacts=[ss.Ratchet("ratchet", x - A * sp.sin(w * t)), ss.DryFriction("brake", x, F)],
        time=t,
        name="ratchet",
    )
    sine = F / (A * w**2)
    leaves = A * w * math.sqrt(1 - sine**2)
    stroke = A * (1 + sine) + leaves**2 / (2 * F)
    T = 2 * math.pi / w
    run = ss.simulate(mass, [0.0], [0.0], dt=T / 200, t_end=1.75 * T, t0=-0.25 * T, engine="reference")
    each = run.q[[200, 400], 0] - run.q[[0, 200], 0]
    assert each == pytest.approx([stroke] * 2, rel=3e-2)
    assert run.u.min() >= 0.0


def test_a_rope_that_goes_taut_shares_the_momentum():
    """A mass falls by the slack h of a rope over a pulley and lifts another one: v = m_1 sqrt(2 g h) / (m_1 + m_2)."""
    y, w = sp.symbols("y w")
    heavy, light, slack = 3.0, 1.0, 0.2
    atwood = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=(heavy * v**2 + light * w**2) / 2,
        potential=-heavy * G * x + light * G * y,
        contacts=[ss.Rope("rope", x - y, slack), ss.Stop("floor", y, lower=0)],
        name="atwood",
    )
    run = ss.simulate(atwood, [0, 0], [0, 0], dt=1e-3, t_end=0.4, engine="reference")
    taut = math.sqrt(2 * slack / G)
    common = heavy * math.sqrt(2 * G * slack) / (heavy + light)
    hits = run.impacts()
    assert hits["time"][0] == pytest.approx(taut, abs=2e-3)
    assert hits["normal_impulse"][0] == pytest.approx(light * common, rel=2e-2)  # and what gravity adds in the step
    later = 0.4 - taut
    assert run.u[-1] == pytest.approx([common + (heavy - light) / (heavy + light) * G * later] * 2, rel=5e-3)
    up = ss.simulate(atwood, [slack, 0], [-1.0, 0.0], dt=1e-3, t_end=0.05, engine="reference")
    assert not up.u[:, 1].any()  # slack: the other mass stays on the floor


def chain(n, thresholds):
    """Masses in a row with dry friction between neighbours, a stop at the last, and springs."""
    q, u = sp.symbols(f"q:{n}"), sp.symbols(f"u:{n}")
    ends = [q[0], *(q[i] - q[i - 1] for i in range(1, n))]
    return ss.LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=sum((i + 1) * w**2 for i, w in enumerate(u)) / 2,
        potential=5 * sum(e**2 for e in ends),
        contacts=[
            *(ss.DryFriction(f"joint {i + 1}", e, F) for i, (e, F) in enumerate(zip(ends, thresholds, strict=True))),
            ss.Stop("wall", q[-1], upper=0),
        ],
        name="chain",
    )


def test_dry_friction_is_a_quadratic_program():
    """[GS05] end of 6: a bisymmetric matrix, and the impulses of a step minimise Lambda G Lambda / 2 + c Lambda."""
    system = chain(4, (3.0, 2.0, 1.0, 0.5))
    generator = np.random.default_rng(5)
    for _ in range(20):
        q, u = generator.normal(size=(2, 4))
        q[-1] = 0.0
        problem = ss.contact_problem(system, q, u, 0.05)
        first = np.array([not name.startswith("xi_L") for name in problem.unknowns])
        S, B, C, D = (problem.A[np.ix_(i, j)] for i in (first, ~first) for j in (first, ~first))
        assert S == pytest.approx(S.T, abs=1e-14) and np.linalg.eigvalsh(S)[0] > -1e-12
        assert B == pytest.approx(-C.T, abs=1e-14) and not D.any()  # bisymmetric
        program = ss.quadratic_program(problem)
        answer = problem.solve()
        taut = "wall" in problem.contacts
        found = np.concatenate([answer.normal_impulse[4:], answer.tangential_impulse[:4]])
        assert program.names[0] == ("Lambda_N[wall]" if taut else "Lambda_T[joint 1]")
        assert program.defect(found) < 1e-10
        best = program.value(found)
        for _ in range(50):
            other = np.clip(found + generator.normal(size=len(found)) * 0.1, program.lower, program.upper)
            assert program.value(other) >= best - 1e-14
    rough = ss.contact_problem(ss.library.brick_on_ramp().system, [0, 0], [0, 0], 0.01)
    with pytest.raises(ValueError, match=r"has Coulomb friction, mu = .*: its bound depends on the load"):
        ss.quadratic_program(rough)


def test_a_ratchet_that_is_overtaken_at_the_start_engages_at_once():
    # x at rest, drive 0.1 sin(10 t): pushed to 1 m/s, followed while -10 sin(10 t) >= -4, braked with 4 m/s^2 to rest,
    # and pushed again from 10 t = 3 pi / 2 on.
    x, v, t = sp.symbols("x v t")
    contacts = [ss.Ratchet("ratchet", x - 0.1 * sp.sin(10 * t)), ss.DryFriction("brake", x, 4.0)]
    system = ss.LagrangianSystem.from_energies([x], velocities=[v], kinetic=v**2 / 2, contacts=contacts, time=t)
    leave = math.asin(0.4) / 10
    exact = 0.1 * 0.4 + math.cos(10 * leave) ** 2 / 8 + 0.1 * (math.sin(5.0) + 1.0)
    for start in (0.0, -1.0):
        run = ss.simulate(system, [0.0], [start], dt=0.1, t_end=0.5, stepper="event-driven")
        assert run.complete
        assert run.q[-1, 0] == pytest.approx(exact, abs=1e-8)
    hit = ss.impact(system, [0.0], [0.25])
    assert hit.u == pytest.approx([1.0])
    assert hit.normal_impulse == pytest.approx([0.75, 0.0])
    assert ss.impact(system, [[0.0]], [[0.25]]).u == pytest.approx(np.array([[1.0]]))
    with pytest.raises(ValueError, match="nothing can collide"):
        ss.impact(system, [0.0], [1.5])
