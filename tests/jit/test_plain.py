"""Models in plain Python, as the reference engine evaluates them, have the bits of machine code."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip import library
from stickslip.mechanisms.generate import compiled_module


def pull(q, u, t, p):
    return np.array([-p[0] * math.sin(q[0]) + np.exp(-u[0] * u[0]) * math.tanh(t), math.atan2(q[1], u[1])])


def of_functions():
    return ss.LagrangianSystem(
        mass=lambda q, t, p: ((2.0 + math.cos(q[0]), 0.0), (0.0, 1.0 + np.hypot(q[0], q[1]))),
        force=pull, coordinates=["x", "y"], parameters={"stiffness": 4.0}, name="bits of functions",
    )  # fmt: skip


def systems():
    return {"slider_crank": library.get("slider_crank").system, "functions": of_functions()}


@pytest.mark.parametrize("name", ["slider_crank", "functions"])
def test_forces_and_masses(name):
    system = systems()[name]
    module = compiled_module(system, "stepper", "auto", {})
    n, p, random = system.n_dof, system.parameter_values, np.random.default_rng(8)
    for _ in range(50):
        q, u, t = random.normal(size=n) * 3.0, random.normal(size=n), float(random.uniform())
        h, M = np.empty(n), np.empty((n, n))
        module.force.compiled(q, u, t, p, h)
        module.mass.compiled(q, t, p, M)
        assert np.array_equal(system.force(q, u, t, p), h) and np.array_equal(system.mass(q, t, p), M)


def test_what_python_would_refuse_is_what_machine_code_makes_of_it():
    """Python's numbers raise at a quotient by zero, and its roots below 0."""
    x, v = sp.symbols("x v", real=True)
    force = 1 / sp.sin(x) + sp.sqrt(x) + sp.log(x + 1)
    system = ss.LagrangianSystem.from_energies([x], kinetic=v**2 / 2, forces=[force], velocities=[v], name="no numbers")
    module = compiled_module(system, "stepper", "auto", {})
    for q in (0.0, -0.0, -1.0, -2.0, 0.5, np.inf, np.nan):
        h = np.empty(1)
        module.force.compiled(np.array([q]), np.zeros(1), 0.0, system.parameter_values, h)
        assert np.array_equal(system.force([q], [0.0]), h, equal_nan=True), q
