"""Impact laws in compiled kernels: time steps, ensembles and limit cycles against the laws in plain NumPy."""

import math
import time
import warnings

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.analysis.saltation import FollowedMotion
from stickslip.laws import ImpactLaw, Newton
from stickslip.laws.compiled import has_kernel, kernel_numbers
from tests.analysis.test_saltation import followed

x, y, phi, vx, vy, omega = sp.symbols("x y phi vx vy omega")
mass, inertia, mu, e_1, e_2, e_T = sp.symbols("mass inertia mu e_1 e_2 e_T")
G = 9.81


def block():
    """A block with two feet, 1 m apart, whose coefficients differ: two contacts that act on one another."""
    feet = [
        ss.Contact(
            f"foot {i + 1}",
            gap=y + side * sp.sin(phi) / 2 - sp.cos(phi) / 5 + sp.Rational(1, 5),
            slip=x + sp.sin(phi) / 5 + side * sp.cos(phi) / 2,
            friction=mu,
            restitution_normal=e,
            restitution_tangential=e_T,
        )
        for i, (side, e) in enumerate(((-1, e_1), (1, e_2)))
    ]
    return ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[vx, vy, omega],
        kinetic=mass * (vx**2 + vy**2) / 2 + inertia * omega**2 / 2,
        potential=mass * G * y,
        parameters={mass: 1.0, inertia: 0.05, mu: 0.4, e_1: 0.9, e_2: 0.2, e_T: 0.1},
        contacts=feet,
        name="two_feet",
    )


@pytest.fixture(scope="module")
def two_feet():
    return block()


def both(system, q, u, law, dt=2e-3, t_end=0.8, **options):
    """A run on both engines."""
    runs = [
        ss.simulate(system, q, u, dt=dt, t_end=t_end, law=law, engine=engine, on_energy_gain="ignore", **options)
        for engine in ("compiled", "reference")
    ]
    assert [run.engine for run in runs] == ["compiled", "reference"]
    return runs


def assert_equal(runs, tol=1e-12):
    """Runs of two engines: matrices are multiplied in another order, and nothing else differs."""
    assert runs[0].complete and runs[1].complete
    assert len(runs[0].impacts()) == len(runs[1].impacts()) > 0
    assert runs[0].q == pytest.approx(runs[1].q, abs=tol, rel=tol)
    assert runs[0].u == pytest.approx(runs[1].u, abs=tol, rel=tol)


def test_poissons_law_with_several_contacts(two_feet):
    """Blocks on two feet, friction, tangential restitution, coefficients scaled down where energy would be gained."""
    runs = both(two_feet, [0, 0.3, 0.25], [1.0, 0.0, -1.0], ss.Poisson())
    assert_equal(runs, 1e-11)
    assert runs[0].impacts()["tangential_impulse"].any()


def test_scaled_coefficients_are_those_of_the_reference():
    """An impact at two contacts that would gain energy: the kernel's bisection finds the share that NumPy's finds."""
    q, u = sp.symbols("q:3"), sp.symbols("u:3")
    W = [[-1.4, -0.8, 2.5], [2.3, -1.6, 0.8], [1.3, -0.3, 0.7], [-1.1, -0.4, 1.1]]
    moved = [sum(w * each for w, each in zip(row, q, strict=True)) for row in W]
    pair = ss.LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=sum(v**2 for v in u) / 2,
        contacts=[
            ss.Contact("first", gap=moved[0], slip=moved[1], friction=1, restitution_normal=1),
            ss.Contact("second", gap=moved[2], slip=moved[3], friction=1),
        ],
        name="pair",
    )
    start = [0, 0, 0], [-0.1, -0.2, -0.3]
    hit, free = (ss.impact(pair, *start, ss.Poisson(dissipative=scaled)) for scaled in (True, False))
    assert hit.scale == pytest.approx(0.4853168938, abs=1e-9)
    assert abs(hit.energy_change) < 1e-12 and free.energy_change > 1e-3
    runs = both(pair, *start, ss.Poisson(), dt=1e-6, t_end=2e-6)
    assert runs[0].u == pytest.approx(runs[1].u, abs=1e-13)
    assert runs[0].u[1] == pytest.approx(hit.u, abs=1e-10)


BAR = ("stronge", "poisson", "poisson-integrated", "stronge-lumped", Newton(0.4))


@pytest.mark.parametrize("law", [BAR[0], pytest.param(BAR[4], id="newton-0.4")])
def test_laws_of_one_contact(law):
    bar = ss.library.impacting_bar()
    assert_equal(both(bar.system, bar.q0, bar.u0, law, dt=1e-3, t_end=0.2))


@pytest.mark.slow
@pytest.mark.parametrize("law", [*BAR[1:4], Newton(0.4, 0.2)])
def test_more_laws_of_one_contact(law):
    bar = ss.library.impacting_bar()
    assert_equal(both(bar.system, bar.q0, bar.u0, law, dt=1e-3, t_end=0.2))


def test_waltons_operator_is_newtons_law_for_a_sphere():
    """A disc with spin bounces on a floor: [PG05] (54)-(57) by hand for its first impact."""
    r = sp.Rational(1, 10)
    disc = ss.LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[vx, vy, omega],
        kinetic=(vx**2 + vy**2 + r**2 * omega**2 / 2) / 2,
        potential=G * y,
        contacts=[
            ss.Contact(
                "floor", gap=y - r, slip=x + r * phi, friction=0.3, restitution_normal=0.8, restitution_tangential=0.4
            )
        ],
        name="disc",
    )
    runs = both(disc, [0, 0.3, 0], [0.2, 0, 4.0], "walton", dt=1e-3, t_end=0.4)
    assert_equal(runs, 1e-13)
    table = runs[0].impacts()
    before, after = table["normal_velocity_before"][0], table["normal_velocity_after"][0]
    assert after == pytest.approx(-0.8 * before, abs=2e-2)  # up to what gravity does in the step
    slip = table["tangential_velocity_before"][0]
    assert table["tangential_velocity_after"][0] == pytest.approx(-0.4 * slip, abs=1e-12)  # it sticks


def ensemble_and_runs(start, vary, law):
    """An ensemble over one parameter, and the single runs of its members."""
    ((name, values),) = vary.items()
    members = ss.ensemble(start, vary, law=law)
    assert members.dataset.attrs["law"].startswith("Poisson(")
    for i, value in enumerate(values):
        run = start.simulate(params={name: value}, law=law, on_energy_gain="ignore")
        assert run.engine == "compiled" and len(run.impacts())
        assert members["final_q"][i].values.tolist() == run.q[-1].tolist()
        assert members["final_u"][i].values.tolist() == run.u[-1].tolist()


def test_ensembles_have_the_bits_of_single_runs():
    ball = ss.library.bouncing_ball()
    start = ss.Scenario(ball.system, ball.q0, ball.u0, dt=1e-3, t_end=1.5, title="", source="")
    ensemble_and_runs(start, {"g": [9.81, 1.62]}, ss.Poisson(0.6))


@pytest.mark.slow
def test_ensembles_of_several_contacts(two_feet):
    q, u = np.array([0, 0.3, 0.25]), np.array([1.0, 0, -1.0])
    start = ss.Scenario(two_feet, q, u, dt=2e-3, t_end=0.5, title="", source="")
    ensemble_and_runs(start, {"mu": [0.2, 0.4]}, ss.Poisson(0.6, 0.0))


def test_laws_that_do_not_fit_are_refused_before_a_run(two_feet):
    with pytest.raises(ValueError, match="Poisson's law needs restitution_tangential <= restitution_normal"):
        ss.simulate(two_feet, [0, 0.1, 0.0], [0, 0, 0], dt=2e-3, t_end=0.4, law="poisson", params={"e_T": 0.5})
    start = ss.Scenario(two_feet, np.array([0, 0.1, 0.0]), np.zeros(3), dt=2e-3, t_end=0.1, title="", source="")
    with pytest.raises(ValueError, match="runs with stepper 'moreau-midpoint' only"):
        ss.ensemble(start, {"mu": [0.2]}, law="poisson", stepper="moreau-jean")
    with pytest.raises(ValueError, match="Poisson's law needs restitution_tangential <= restitution_normal"):
        ss.ensemble(start, {"e_T": [0.0, 0.5]}, law="poisson")


class Plastic(ImpactLaw):
    """A user's own law: no restitution at all."""

    name = "plastic"

    def coefficients(self, eps_N, eps_T, kinds, names):
        return np.zeros_like(eps_N), np.zeros_like(eps_T)

    def _impact(self, problem, eps_N, eps_T, solver):
        return Newton()._impact(problem, eps_N, eps_T, solver)


def test_a_law_of_ones_own_runs_on_the_reference_engine_and_says_so():
    ball = ss.library.bouncing_ball()
    assert not has_kernel(Plastic()) and len(kernel_numbers(None, 3)) == 0
    with pytest.warns(RuntimeWarning, match="law Plastic is of a class without a kernel: the run is on the reference"):
        run = ball.simulate(law=Plastic(), dt=1e-2, t_end=1.0)
    assert run.engine == "reference" and run.u[-1, 0] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="law 'plastic' has no compiled kernel"):
        ball.simulate(law=Plastic(), dt=1e-2, t_end=1.0, engine="compiled")
    with pytest.raises(ValueError, match="law Plastic is of a class without a kernel, and ensembles need one"):
        ss.ensemble(ball, {"mass": [1.0, 2.0]}, law=Plastic())


def test_the_derivative_of_an_impact_under_poissons_law(two_feet):
    """dx(t)/dx(0) over an impact at one foot with tangential restitution, against differences of the motion."""
    q, u, t_end = np.array([0, 0.2, 0.3]), np.array([0.5, 0.0, 0.0]), 0.15
    p = two_feet.parameter_vector()

    def end(state, tangent=False):
        motion = FollowedMotion.of(two_feet, state, p, 0.0, t_end, 1e-12, tangent=tangent, law=ss.Poisson())
        return motion, *motion.run()

    start = np.concatenate([q, u])
    motion, _, Phi = end(start, True)
    assert [switch.kind for switch in motion.switches] == ["impact"] and not motion.switches[0].one_sided
    step = 1e-6
    columns = [(end(start + step * e)[1] - end(start - step * e)[1]) / (2 * step) for e in np.eye(6)]
    assert Phi == pytest.approx(np.stack(columns, axis=-1), abs=1e-5)
    _, _, by_newton = followed(two_feet, q, u, t_end)
    assert np.abs(by_newton - Phi).max() > 1e-2  # another law, another derivative


@pytest.mark.slow
def test_the_woodpecker_under_poissons_law():
    """Its impacts slip one way throughout and eps_T = 0: Poisson's law is Newton's, and so is the limit cycle."""
    woodpecker = ss.library.woodpecker()
    newton, poisson = (ss.limit_cycle(woodpecker, law=law) for law in (None, "poisson"))
    assert poisson.period == pytest.approx(newton.period, rel=1e-10)
    assert np.abs(poisson.multipliers) == pytest.approx(np.abs(newton.multipliers), abs=1e-7)
    assert poisson.certificate.jacobian_error < 1e-4
    branch = ss.continue_cycle(woodpecker, "friction", 0.3, 0.303, law="poisson", largest_step=0.05, max_cycles=4)
    assert len(branch.cycles) >= 2


@pytest.mark.slow
def test_rates_are_at_least_a_quarter_of_newtons():
    """Both in turn, by processor time.

    The bar slides most of the time.  Its contact approaches in every step, since its direction turns: Poisson's law
    poses three problems then, Newton's law one, in a loop of its own.
    """
    bar = ss.library.impacting_bar()
    best = {None: math.inf, "poisson": math.inf}
    for _ in range(6):
        for law in best:
            begin = time.process_time()
            bar.simulate(law=law, dt=1e-5, t_end=4.0, every=1000, on_energy_gain="ignore")
            best[law] = min(best[law], time.process_time() - begin)
    assert best["poisson"] < 4.0 * best[None]


def test_what_has_no_kernel_says_so():
    """No silent change to a slow engine: solvers without a kernel, and events with two tangents."""
    ball = ss.library.bouncing_ball()
    with pytest.warns(RuntimeWarning, match="solver 'alternating' has no kernel: the run is on the reference engine"):
        assert ball.simulate(solver="alternating", t_end=0.01).engine == "reference"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ball.simulate(solver="alternating", t_end=0.01, engine="reference")
        sliding = ss.library.sliding_ball()
        assert sliding.simulate(stepper="event-driven", t_end=0.01).engine == "reference"
    with pytest.raises(ValueError, match="no kernel for contacts with two tangents"):
        sliding.simulate(stepper="event-driven", t_end=0.01, engine="compiled")
