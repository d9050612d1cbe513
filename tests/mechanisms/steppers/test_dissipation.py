"""[S00] 3.1: for constant M, n, D and linear V the steps of Stewart and Trinkle never gain energy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stickslip as ss
from tests.thinned import examples, thinned


def plane(normal, level):
    """A gap that is linear in the coordinates."""

    def gap(q, t, p):
        return np.dot(normal, q) + level

    return gap


def random_system(seed, contacts, law):
    """f coordinates with a full constant mass matrix, a constant force, planes as contacts; and a start inside them.

    The friction directions have nothing to do with the normals: supercritical friction is among them.
    """
    generator = np.random.default_rng(seed)
    f = int(generator.integers(1, 5))
    A = generator.normal(size=(f, f + 2))
    h = generator.normal(size=f) * 5.0
    rows = []
    for k in range(contacts):
        normal, tangent = generator.normal(size=(2, f))
        level, mu = generator.uniform(0.0, 0.05), generator.uniform(0.0, 2.0)
        friction = float(mu) if law is None else law
        gap = plane(normal, float(level))
        rows.append(ss.Contact(f"plane {k}", gap=gap, normal=normal, tangent=tangent, friction=friction))
    system = ss.LagrangianSystem(
        mass=A @ A.T / f,
        force=lambda q, u, t, p: h,
        contacts=rows,
        potential=lambda q, t, p: -np.dot(h, q),
        name="planes",
    )
    return system, np.zeros(f), generator.normal(size=f)


@thinned
@settings(max_examples=examples(15, 100), deadline=None)
@given(seed=st.integers(0, 10**6), contacts=st.integers(1, 4), law=st.sampled_from(["coulomb", "two", "stribeck"]))
def test_the_discrete_energy_never_grows(seed, contacts, law):
    laws = {"coulomb": None, "two": ss.TwoCoefficient(0.6, 0.3), "stribeck": ss.Stribeck(0.6, 0.3, 0.5)}
    system, q0, u0 = random_system(seed, contacts, laws[law])
    motion = ss.simulate(system, q0, u0, dt=0.02, t_end=0.6, stepper=ss.StewartTrinkle(), engine="reference")
    if law == "coulomb":
        assert motion.complete, motion.status  # the LCP (2.16) is copositive: there is always a solution
    total, kinetic = motion.energy.total, motion.energy.kinetic
    gain = np.diff(total)
    assert (gain <= 1e-10 * (np.abs(total).max() + kinetic.max())).all()
    # the identity behind it: u_E M (u_E - u_A) = T_E - T_A + (u_E - u_A) M (u_E - u_A) / 2
    M, step = system.mass(q0), np.diff(motion.u, axis=0)
    assert (gain <= -0.5 * np.einsum("ij,jk,ik->i", step, M, step) + 1e-9 * (1.0 + kinetic.max())).all()


def test_a_force_that_is_not_constant_can_do_more():
    """The theorem needs a linear V: on a spring the steps gain or lose energy of the order of dt."""
    spring = ss.LagrangianSystem(
        mass=np.eye(1), force=lambda q, u, t, p: -9.0 * q, potential=lambda q, t, p: 4.5 * q[0] ** 2, name="spring"
    )
    motion = ss.simulate(spring, [1.0], [0.0], dt=0.02, t_end=1.0, stepper=ss.StewartTrinkle(), engine="reference")
    assert np.diff(motion.energy.total).max() == pytest.approx(0.0, abs=0.3 * 4.5 * 0.02 * 9.0)
    assert np.diff(motion.energy.total).max() > 1e-3
