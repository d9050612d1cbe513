"""Derivatives of impulses against closed forms and differences of event-driven runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from tests.analysis.test_sensitivity import disc
from tests.mechanisms.steppers.systems import every_element
from tests.thinned import examples, thinned

G = 9.81


def complex_slopes(function, values):
    """Derivatives (m, k) of a function (m,) of numbers, by complex steps."""
    columns = []
    for k in range(len(values)):
        z = [value + 1e-30j * (j == k) for j, value in enumerate(values)]
        columns.append(np.imag(function(*z)) / 1e-30)
    return np.stack(columns, axis=-1)


def agree_with_the_run(found):
    """Rows, times and impulses are those of the run."""
    table = found.trajectory.impacts()
    assert [found.trajectory.contact_names[k] for k in table["contact"]] == list(found.impulses.contacts)
    for mine, theirs in (("t", "time"), ("normal", "normal_impulse"), ("tangential", "tangential_impulse")):
        assert getattr(found.impulses, mine) == pytest.approx(table[theirs], rel=1e-9, abs=1e-12)


SLOW = {"marks": pytest.mark.slow}


@pytest.mark.parametrize("law", [None, "poisson", *(pytest.param(law, **SLOW) for law in ("stronge", "walton"))])
def test_bouncing_ball(law):
    """Lambda_k = m (1 + e) e^k v_0 with v_0^2 = v^2 + 2 g h, for every k."""
    ball = ss.library.bouncing_ball(restitution=0.8).starting({"v": -0.5})
    found = ss.sensitivity(ball, ["mass", "restitution", "y", "v", "g"], t_end=3.9, samples=2, law=law)
    bounces = len(found.impulses)

    def impulses(m, e, h, v, g):
        return m * (1.0 + e) * e ** np.arange(bounces) * (v * v + 2.0 * g * h) ** 0.5

    exact = complex_slopes(impulses, [float(ball.parameters["mass"]), 0.8, float(ball.q0[0]), -0.5, G])
    assert found.reliable and bounces >= 10
    assert found.impulses.dnormal == pytest.approx(exact, rel=1e-10, abs=1e-12)
    assert np.all(found.impulses.dtangential == 0.0)
    assert found.impulses.dt == pytest.approx(found.event_times.dt, rel=1e-12, abs=1e-300)
    agree_with_the_run(found)


@pytest.mark.parametrize("law", [None, "poisson"])
@pytest.mark.parametrize("speed", [3.0, 1.0])
def test_disc_that_slides_or_sticks(law, speed):
    """Slides: Lambda_T = -mu Lambda_N.  Sticks: the slip v_x has the inertia m / 3: Lambda_T = -(1 + e_T) v_x / 3."""
    start = ss.Scenario(disc(), [0, 1, 0], [speed, 0, 0], 0.01, 0.8, "", "")
    found = ss.sensitivity(start, ["mu", "e", "y", "v_x"], samples=2, law=law)
    v, sticks = math.sqrt(2.0 * G), speed < 2.0
    normal = [0.0, v, 1.8 * G / v, 0.0]
    tangential = [0.0, 0.0, 0.0, -1.0 / 3.0] if sticks else [-1.8 * v, -0.1 * v, -0.18 * G / v, 0.0]
    assert found.reliable and found.impulses.contacts == ("floor",)
    assert found.impulses.dnormal[0] == pytest.approx(normal, rel=1e-10, abs=1e-10)
    assert found.impulses.dtangential[0] == pytest.approx(tangential, rel=1e-10, abs=1e-10)
    agree_with_the_run(found)


def struck_pendulum(names, rods=1):
    """A bob on a rod, which is a constraint, that strikes a wall at x = d."""
    x, y, v, w, m, L, d, e = sp.symbols("x y v w m L d e")
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=m * (v**2 + w**2) / 2, potential=G * m * y,
        contacts=[ss.Contact("wall", gap=d - x, restitution_normal=e)],
        constraints=[ss.Constraint(f"rod {k}", equation=(x**2 + y**2 - L**2) / (2 * L)) for k in range(rods)],
        parameters={m: 1.3, L: 1.0, d: 0.6, e: 0.7}, name="struck pendulum",
    )  # fmt: skip
    return ss.sensitivity(ss.Scenario(system, [-0.8, -0.6], [0, 0], 0.01, 1.0, "", ""), names, samples=2)


def test_a_constraint_answers_an_impact():
    """Lambda_N = m (1 + e) L omega / cos(phi) with sin(phi) = d / L; the rod answers by Lambda_N sin(phi)."""
    found = struck_pendulum(["m", "d", "e"])

    def impulses(m, d, e):
        cosine = (1.0 - d * d) ** 0.5
        push = m * (1.0 + e) * (2.0 * G * (cosine - 0.6)) ** 0.5 / cosine
        return np.array([push, push * d])

    exact, wall, rod = complex_slopes(impulses, [1.3, 0.6, 0.7]), found.impulses.of("wall"), found.impulses.of("rod 0")
    assert found.reliable and len(wall) == len(rod) == 1
    assert wall.dnormal[0] == pytest.approx(exact[0], rel=1e-10)
    assert np.abs(rod.dtangential[0]) == pytest.approx(np.abs(exact[1]), rel=1e-10)
    assert np.abs(rod.tangential) == pytest.approx(np.abs(impulses(1.3, 0.6, 0.7)[1:]), rel=1e-9)
    agree_with_the_run(found)


def test_shares_that_are_open_have_no_derivative():
    """Two rods that say one thing: the wall's impulse is known, those of the rods are a choice."""
    found = struck_pendulum(["m", "e"], rods=2)
    assert found.reliable and np.all(np.isfinite(found.impulses.of("wall").dnormal))
    assert np.all(np.isnan(found.impulses.of("rod 0").dtangential))


def test_impact_at_the_start():
    ball = ss.library.bouncing_ball(restitution=0.8).starting({"y": 0.0, "v": -2.0})
    found = ss.sensitivity(ball, ["v", "restitution", "mass"], t_end=0.5, samples=2)
    m = float(ball.parameters["mass"])
    assert found.impulses.t[0] == 0.0 and found.impulses.dt[0].tolist() == [0.0, 0.0, 0.0]
    assert found.impulses.dnormal[:2] == pytest.approx(
        np.array([[-1.8 * m, 2.0 * m, 3.6], [-1.44 * m, 2.0 * m * 2.6, 2.88]]), rel=1e-10
    )


def differences_of_impulses(scenario, name, t_end, step, law=None):
    """d(time, normal, tangential)/d name of the rows of `impacts()`, (m, 3): differences of order 4."""
    value = float(scenario.parameters[name])

    def rows(x):
        there = replace(scenario, params={**(scenario.params or {}), name: x})
        run = there.simulate(dt=t_end, t_end=t_end, stepper=ss.EventDriven(rtol=1e-13, zeno=1e-9), law=law)
        table = run.impacts()
        return np.stack([table[key] for key in ("time", "normal_impulse", "tangential_impulse")], axis=-1)

    one, two = ((rows(value + h) - rows(value - h)) / (2.0 * h) for h in (step, 2.0 * step))
    return (4.0 * one - two) / 3.0


@pytest.mark.parametrize(
    ("scenario", "name", "t_end", "law"),
    [
        (ss.library.woodpecker(), "friction", 0.2, None),  # two sleeves and a beak that stick and slip
        (ss.library.rimless_wheel(), "slope", 1.0, None),  # two contacts at once
        pytest.param(ss.library.rimless_wheel(), "inertia", 1.0, "poisson", **SLOW),
        pytest.param(every_element(), "lift", 0.25, None, **SLOW),  # moving floors, stops
    ],
    ids=["woodpecker", "wheel", "wheel by Poisson", "every element"],
)
def test_differences_of_runs(scenario, name, t_end, law):
    found = ss.sensitivity(scenario, [name], t_end=t_end, samples=2, law=law)
    slopes = differences_of_impulses(scenario, name, t_end, 2e-5 * float(scenario.parameters[name]), law)
    mine = np.stack([found.impulses.dt, found.impulses.dnormal, found.impulses.dtangential], axis=1)[..., 0]
    assert len(mine) == len(slopes) > 1
    counts = found.impulses.normal > 1e-3 * found.impulses.normal.max()  # of the least blows runs tell nothing
    assert np.all(np.abs(mine - slopes)[counts] <= 1e-6 * np.abs(slopes).max(axis=0) + 1e-9)
    agree_with_the_run(found)


@pytest.mark.slow
def test_a_law_is_differentiated_within_one_branch_of_it():
    """Tiny blows of a hinge with clearance under Poisson's law: steps that suit 1 m/s leave their branch."""
    bar = ss.library.four_bar()
    found = ss.sensitivity(bar, ["m_2"], t_end=0.0045, samples=2, law="poisson")
    slopes = differences_of_impulses(bar, "m_2", 0.0045, 1e-5 * float(bar.parameters["m_2"]), "poisson")
    assert found.reliable and len(found.impulses) > 1
    assert found.impulses.dnormal[:, 0] == pytest.approx(slopes[:, 1], rel=1e-6)


def test_an_impact_without_collision_at_the_start():
    """A bar that jams at once sticks: friction plays no part, and the impulse is that of the mass matrix."""
    bar, phi = ss.library.impacting_bar(mass=1.0, half_length=1.0, friction=5 / 3), math.pi / 3
    jams = ss.Scenario(bar.system, [0, math.sin(phi), phi], [2, 0, 0], 1e-3, 5e-3, "", "", params=bar.parameters)
    found = ss.sensitivity(jams, ["mass", "inertia", "friction"], samples=2)
    for k, name in enumerate(found.names):
        slopes = differences_of_impulses(jams, name, 5e-3, 1e-4)
        assert found.impulses.dnormal[:, k] == pytest.approx(slopes[:, 1], abs=1e-8)
        assert found.impulses.dtangential[:, k] == pytest.approx(slopes[:, 2], abs=1e-8)


def test_contacts_that_hold_more_than_there_is_have_open_shares():
    """A rod that falls flat on two ends which stick: four impulses, three equations."""
    found = ss.sensitivity(ss.library.painleve_rod(), ["g", "mass"], samples=2)
    assert np.isfinite(found.impulses.dtangential[0]).all() and np.isnan(found.impulses.dtangential[-1]).all()
    assert np.isfinite(found.impulses.dnormal).all()
    agree_with_the_run(found)


def test_two_tangents():
    """A ball thrown askew onto a floor slips on both tangents: Lambda_N = m (1 + e) v_0."""
    x, y, z, u, v, w, e, mu = sp.symbols("x y z u v w e mu")
    floor = ss.Contact("floor", gap=z, slip=[x, y], friction=mu, restitution_normal=e)
    system = ss.LagrangianSystem.from_energies(
        [x, y, z], velocities=[u, v, w], kinetic=(u**2 + v**2 + w**2) / 2, potential=G * z, contacts=[floor],
        parameters={e: 0.5, mu: 0.1}, name="askew",
    )  # fmt: skip
    found = ss.sensitivity(ss.Scenario(system, [0, 0, 0.5], [3, 4, 0], 0.01, 0.5, "", ""), ["e", "mu"], samples=3)
    speed = math.sqrt(G)
    assert found.reliable and not found.exact and len(found.impulses) == 2
    assert found.impulses.dnormal[0] == pytest.approx([speed, 0.0], abs=1e-8)
    push = 1.5 * speed
    assert found.impulses.dtangential == pytest.approx(-np.outer([0.6, 0.8], [0.1 * speed, push]), abs=1e-8)


def test_a_blow_that_turns_the_slip():
    """With e_T = 0.6 a slip of 0.3 m/s is turned by friction, which is that of |v| behind: there was no derivative."""
    x, y, v, w, s, base, rise, e = sp.symbols("x y v w s base rise e")
    floor = ss.Contact(
        "floor", gap=y, slip=x, friction=ss.FrictionCurve(base + rise * s, s), restitution_normal=e,
        restitution_tangential=0.6,
    )  # fmt: skip
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=10 * y, contacts=[floor],
        parameters={base: 0.1, rise: 0.05, e: 0.6}, name="point",
    )  # fmt: skip
    at = (0.1, 0.05, 0.6, 0.3, 0.3)
    found = ss.sensitivity(
        ss.Scenario(system, [0, 0.3], [0.3, 0], 0.01, 0.5), ["base", "rise", "e", "y", "v"], samples=2
    )

    def turned(base, rise, *others):
        return slowed_by_a_blow(base, -rise, *others)  # v < 0 behind the blow

    exact = np.transpose([turned(*(z + 1e-30j * (i == j) for i, z in enumerate(at))).imag / 1e-30 for j in range(5)])
    assert found.trajectory.u[-1, 0] == pytest.approx(turned(*at)[1], rel=1e-9) and found.trajectory.u[-1, 0] < -0.1
    assert found.reliable and found.end[[0, 2]] == pytest.approx(exact[:2], rel=1e-9, abs=1e-9)
    assert found.impulses.dtangential[0] == pytest.approx(exact[2], rel=1e-9, abs=1e-9)


def test_print_dataset_file_and_bad_names(tmp_path):
    ball = ss.library.bouncing_ball()
    found = ss.sensitivity(ball, ["g", "restitution"], t_end=1.0, samples=3)
    text = str(found.impulses)
    assert "P_N [N s]" in text and "dP_N/drestitution" in text and "P_T" not in text
    assert str(ss.sensitivity(ball, ["g"], t_end=0.1, samples=2).impulses) == "no impacts"
    data = found.to_xarray()
    assert data["normal_impulse"].attrs["units"] == "N s" and data.sizes["impact"] == len(found.impulses)
    assert data["dnormal_impulse"].sel(quantity="g").values.tolist() == found.impulses.dnormal[:, 0].tolist()
    kept = np.load(found.save(tmp_path / "derivatives"))
    assert kept["impulse_dnormal"].tolist() == found.impulses.dnormal.tolist()
    assert kept["impulse_contacts"].tolist() == ["table"] * len(found.impulses)
    with pytest.raises(ValueError, match="contact with impacts"):
        found.impulses.of("tabel")


def slowed_by_a_blow(base, rise, e, h, speed, t=0.5, g=10.0):
    """(x, v, Lambda_T) of a point that drops on a floor with mu = base + rise v, v of the slip behind the blow."""
    fall, push = (2.0 * h / g) ** 0.5, (1.0 + e) * (2.0 * g * h) ** 0.5
    after = (speed - base * push) / (1.0 + rise * push)
    return np.array([speed * fall + after * (t - fall), after, after - speed])


@pytest.mark.parametrize("kind", ["expression", pytest.param("function", **SLOW)])
def test_a_blow_with_friction_that_depends_on_the_slip_behind_it(kind):
    """Friction and slip behind the blow hang on one another; there was no derivative behind such a blow."""
    x, y, v, w, s, base, rise, e = sp.symbols("x y v w s base rise e")
    curve = (
        ss.FrictionCurve(base + rise * s, s) if kind == "expression" else ss.FrictionCurve(lambda v, p: p[0] + p[1] * v)
    )
    floor = ss.Contact("floor", gap=y, slip=x, friction=curve, restitution_normal=e)
    system = ss.LagrangianSystem.from_energies(
        [x, y], velocities=[v, w], kinetic=(v**2 + w**2) / 2, potential=10 * y, contacts=[floor],
        parameters={base: 0.1, rise: 0.05, e: 0.6}, name="point",
    )  # fmt: skip
    at = (0.1, 0.05, 0.6, 0.3, 2.0)
    names = ["base", "rise", "e", "y", "v"]
    found = ss.sensitivity(ss.Scenario(system, [0, at[3]], [at[4], 0], 0.01, 0.5), names, samples=2)
    exact = np.transpose(
        [slowed_by_a_blow(*(z + 1e-30j * (i == j) for i, z in enumerate(at))).imag / 1e-30 for j in range(5)]
    )
    assert found.reliable and found.event_times.kinds == ("impact",)
    assert found.end[[0, 2]] == pytest.approx(exact[:2], rel=1e-9, abs=1e-9)
    assert found.impulses.dtangential[0] == pytest.approx(exact[2], rel=1e-9, abs=1e-9)
    _, slope = ss.gradient(lambda q, u: q[0] + u[0], ss.Scenario(system, [0, 0.3], [2.0, 0], 0.01, 0.5), names)
    assert slope == pytest.approx(exact[:2].sum(axis=0), rel=1e-9, abs=1e-9)


def test_gradient_of_impulses_of_a_ball():
    """J = sum_k w_k Lambda_k + t_3^2 with Lambda_k = m (1 + e) e^k v and t_3 = (v_0 + v (1 + 2 e + 2 e^2)) / g."""
    ball = ss.library.bouncing_ball(restitution=0.8).starting({"v": -0.5})
    names, w = ["mass", "restitution", "y", "v", "g"], np.array([1.0, -2.0, 3.0])

    def objective(t, normal, tangential):
        return float(w @ normal[:3] + t[2] ** 2 + tangential.sum())

    def exact(m, e, h, v, g):
        hits = (v * v + 2.0 * g * h) ** 0.5
        t = (v + hits * (1.0 + 2.0 * e + 2.0 * e**2)) / g
        return np.array([(w * m * (1.0 + e) * e ** np.arange(3) * hits).sum() + t * t])

    values = [float(ball.parameters["mass"]), 0.8, float(ball.q0[0]), -0.5, G]
    for method in ("adjoint", "forward"):
        value, slope = ss.gradient(objective, ball, names, impulses=True, contact="table", t_end=2.0, method=method)
        assert value == pytest.approx(exact(*values)[0], rel=1e-10)
        assert slope == pytest.approx(complex_slopes(exact, values)[0], rel=1e-9)


@thinned
def test_gradients_of_impulses_sum_up_what_sensitivity_has(monkeypatch):
    """At the start, with friction, by an adjoint that computes its segments again."""
    toy = ss.library.woodpecker()
    start = ss.library.bouncing_ball(restitution=0.8).starting({"y": 0.0, "v": -1.0})
    cases = [(toy, ["friction", "omega_S", "m_S"], 0.1), (start, ["v", "restitution", "mass", "g"], 0.5)]
    for case, names, t_end in cases:
        found = ss.sensitivity(case, names, t_end=t_end, samples=2).impulses

        def slope(t, normal, tangential):
            return 0.1 * t, np.arange(1.0, 1.0 + len(t)), 3.0 * tangential

        def objective(t, normal, tangential):
            return 0.05 * t @ t + np.arange(1.0, 1.0 + len(t)) @ normal + 1.5 * tangential @ tangential

        rows = (found.t, found.normal, found.tangential)
        pairs = zip(slope(*rows), (found.dt, found.dnormal, found.dtangential), strict=True)
        exact = sum(weights @ columns for weights, columns in pairs)
        for segment in (7, 4096)[: examples(1, 2)]:
            monkeypatch.setattr("stickslip.analysis.adjoint.SEGMENT", segment)
            value, mine = ss.gradient(objective, case, names, impulses=True, slope=slope, t_end=t_end)
            assert value == pytest.approx(objective(*rows), rel=1e-12)
            assert mine == pytest.approx(exact, rel=1e-9)


def test_gradients_of_impulses_that_are_refused():
    ball = ss.library.bouncing_ball(restitution=0.8)
    for given, words in (
        ({"impulses": True, "events": "impact"}, "got two"),
        ({"impulses": "table"}, "True or False"),
        ({"impulses": True, "t_end": 0.1}, "no impact"),
        ({"impulses": True, "contact": "floor"}, "unknown contact 'floor'; known: table"),
    ):
        with pytest.raises(ValueError, match=words):
            ss.gradient(lambda t, normal, tangential: 0.0, ball, ["g"], **given)


def test_hessian_of_an_impulse():
    """Lambda_2 = m (1 + e) e sqrt(2 g h)."""
    ball = ss.library.bouncing_ball(restitution=0.8)
    found = ss.hessian(lambda t, normal, _: normal[1], ball, ["restitution", "y"], impulses=True, t_end=1.5)
    h = float(ball.q0[0])
    v = math.sqrt(2.0 * G * h) * float(ball.parameters["mass"])
    exact = [[2.0 * v, 2.6 * v / (2.0 * h)], [2.6 * v / (2.0 * h), -1.44 * v / (4.0 * h * h)]]
    assert found.matrix == pytest.approx(np.array(exact), rel=1e-6)
