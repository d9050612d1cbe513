"""Parameters, checks and fingerprints that all systems share."""

import math
import subprocess
import sys
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.checks import unknown_name
from stickslip.jit.fingerprint import function_fingerprint, uses_objects
from stickslip.mechanisms.system import System

SOURCE = """
@dev
def mass(q, t, p, M):
    M[0, 0] = p[0]
    M[0, 1] = p[1]
    M[1, 0] = p[2]
    M[1, 1] = 1.0

@dev
def force(q, u, t, p, h):
    h[0] = u[0]
    h[1] = u[1] / q[0]

@dev
def gap(q, t, p, g):
    g[0] = q[1]

@dev
def geometry(q, t, p, W_N, W_T, w_hat):
    W_N[0, 0] = 0.0
    W_N[0, 1] = 1.0
    W_T[0, 0] = 1.0
    W_T[0, 1] = 0.0
    w_hat[0, 0] = 0.0
    w_hat[0, 1] = 0.0

@dev
def laws(p, mu, eps_N, eps_T, threshold):
    mu[0] = p[3]
    eps_N[0] = 0.0
    eps_T[0] = 0.0
    threshold[0] = 0.0
"""


def system(**changes):
    options = {
        "name": "hand-written",
        "coordinate_names": ["x", "y"],
        "velocity_names": ["v", "w"],
        "contact_names": ["floor"],
        "contact_kinds": [0],
        "parameters": {"a": 1.0, "b": 0.1, "c": 0.1, "friction": 0.5},
        "source": SOURCE,
        **changes,
    }
    return System(**options)


def test_parameter_vector():
    s = system()
    np.testing.assert_array_equal(s.parameter_vector(), [1.0, 0.1, 0.1, 0.5])
    np.testing.assert_array_equal(s.parameter_vector({"friction": 0.2, "a": 3}), [3.0, 0.1, 0.1, 0.2])
    s.parameter_vector()[0] = 7.0
    assert s.parameter_values[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        s.parameter_values[0] = 2.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"fricton": 0.2}, "system 'hand-written': unknown parameter 'fricton'; did you mean 'friction'"),
        ({"friction": -1.0}, "friction of contact 'floor' must be finite and not negative, got -1"),
        ({"friction": float("nan")}, "parameter 'friction' must be finite, got nan"),
        ({"a": None}, "parameter 'a' must be a number, got None"),
    ],
)
def test_parameter_refusals(params, message):
    with pytest.raises(ValueError, match=message) as error:
        system().parameter_vector(params)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("q0", "u0", "params", "message"),
    [
        ([1.0], [0.0, 0.0], {}, r"q0 must have shape \(2,\), one per coordinate \(x, y\), got \(1,\)"),
        ([1.0, 0.0], [[0.0, 0.0]], {}, r"u0 must have shape \(2,\), one per velocity \(v, w\), got \(1, 2\)"),
        ([1.0, np.inf], [0.0, 0.0], {}, "q0 of 'y' must be finite, got inf"),
        ("abc", [0.0, 0.0], {}, r"q0 must be 2 numbers, one per coordinate \(x, y\), got 'abc'"),
        ([1.0, 0.0], [[0.0], 1.0], {}, r"u0 must be 2 numbers, one per velocity \(v, w\), got \[\[0.0\], 1.0\]"),
        ([1.0, 0.0], [0.0, 0.0], [1.0], r"params must map parameter names to numbers, .* got \[1.0\]"),
        ([1.0, 0.0], [0.0, 0.0], {"a": -1.0}, "mass matrix must be positive definite, its smallest eigenvalue is -1"),
        ([1.0, 0.0], [0.0, 0.0], {"b": 0.2}, r"mass matrix must be symmetric, got \[0, 1\] = 0.2 and 0.1"),
        ([0.0, 0.0], [0.0, 1.0], {}, "force on 'y' must be finite, got inf"),
    ],
)
def test_checks_at_a_state(q0, u0, params, message):
    with pytest.raises(ValueError, match=message) as error:
        system().check(q0, u0, params)
    assert "\n" not in str(error.value)


def test_check_returns_fresh_arrays():
    q0 = np.array([1.0, 2.0])
    q, u, p = system().check(q0, (3, 4), {"friction": 0.1})
    assert q is not q0 and q.dtype == u.dtype == float
    np.testing.assert_array_equal(p, [1.0, 0.1, 0.1, 0.1])


def test_names_are_checked():
    with pytest.raises(ValueError, match="must be unique, got 'x' twice"):
        system(coordinate_names=["x", "x"])
    with pytest.raises(ValueError, match="velocities must be 2, one per coordinate, got 1"):
        system(velocity_names=["v"])
    with pytest.raises(ValueError, match="at least one coordinate"):
        system(coordinate_names=[], velocity_names=[])


def test_unknown_name():
    assert (
        unknown_name("thing", "bark", ["beak", "sleeve"])
        == "unknown thing 'bark'; did you mean 'beak'? known: beak, sleeve."
    )
    assert unknown_name("thing", "zzz", []) == "unknown thing 'zzz'; known: none."


def test_of_very_many_names_the_nearest_are_listed():
    names = [f"cube{k}.{part}" for k in range(1, 11) for part in ("x", "y", "z", "vx", "vy", "vz")]
    line = unknown_name("coordinate", "cube11.z", names)
    assert "did you mean 'cube10.z'? known: cube10.z, cube1.z, " in line
    assert line.count(",") == 11 and line.endswith(" and 48 more.")
    assert unknown_name("thing", "n", ["first", *names]) == (
        f"unknown thing 'n'; known: first, {', '.join(names[:11])} and 49 more."
    )


def test_fingerprint_follows_helpers_and_constants():
    def make(factor, array):
        def helper(x):
            return factor * x + array[0]

        def function(x):
            return helper(x) + np.sin(x) + len([x])

        return function

    one = function_fingerprint(make(2.0, np.zeros(2)))
    assert one == function_fingerprint(make(2.0, np.zeros(2)))
    assert one != function_fingerprint(make(3.0, np.zeros(2)))
    assert one != function_fingerprint(make(2.0, np.ones(2)))


class Thing:
    __slots__ = ("hidden", "number")

    def __init__(self, number):
        self.number = number

    def __call__(self, x):
        return self.number * x


def test_fingerprint_of_objects_is_that_of_their_contents():
    def make(thing):
        return lambda x: thing

    for one, same, other in (
        (Thing(1), Thing(1), Thing(2)),
        ({"a": 1, "b": {2}}, {"b": {2}, "a": 1}, {"a": 1, "b": {3}}),
        (partial(max, 1, key=abs), partial(max, 1, key=abs), partial(max, 2, key=abs)),
        (Thing(1).__call__, Thing(1).__call__, Thing(2).__call__),
        (Fraction(1, 2), Fraction(1, 2), Fraction(1, 3)),
    ):
        assert function_fingerprint(make(one)) == function_fingerprint(make(same))
        assert function_fingerprint(make(one)) != function_fingerprint(make(other))
        assert uses_objects(make(one))
    around: list[object] = []
    around.append(Thing(around))  # holds itself
    assert function_fingerprint(make(around)) and function_fingerprint(make(object()))
    assert not uses_objects(make((1.0, np.zeros(2), math.sin, "text")))


def test_the_contract_module_needs_no_sympy():
    program = "import sys, stickslip.mechanisms.system; print('sympy' in sys.modules)"
    environment = {"PYTHONPATH": ":".join(p for p in sys.path if p)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_representation():
    assert repr(library.bouncing_ball().system) == (
        "<LagrangianSystem 'bouncing_ball': 1 coordinate, 1 contact, 3 parameters>"
    )


# -- what functions may not do -------------------------------------------------------------------------------------


def _writes_later(q, u, t, p):
    if t > 0.05:
        q[0] = 5.0
    return np.array([-q[0]])


def _writes_to_a_view(q, u, t, p):
    tail = u[0:]
    tail[0] = 1.0
    return np.array([-q[0]])


def _adds_in_place(q, u, t, p):
    p += 1.0
    return np.array([-p[0] * q[0]])


def _works_on_a_copy(q, u, t, p):
    x = q.copy()
    x[0] *= 2.0
    return np.array([-p[0] * x[0]])


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("force", [_writes_later, _writes_to_a_view, _adds_in_place])
def test_a_function_that_writes_to_the_state_is_refused(force, engine):
    system = ss.LagrangianSystem(
        mass=[[1.0]], force=force, contacts=[], coordinates=["x"], parameters={"k": 1.0}, name="meddler"
    )
    with pytest.raises(ValueError, match="force of system 'meddler' must not write to its arguments") as refused:
        ss.simulate(system, [1.0], [0.0], dt=0.01, t_end=0.1, engine=engine)
    assert "\n" not in str(refused.value)


def test_a_function_may_work_on_a_copy():
    system = ss.LagrangianSystem(
        mass=[[1.0]], force=_works_on_a_copy, contacts=[], coordinates=["x"], parameters={"k": 1.0}, name="fair"
    )
    options = {"dt": 0.01, "t_end": 0.2}
    runs = [ss.simulate(system, [1.0], [0.0], engine=engine, **options) for engine in ("reference", "compiled")]
    for run in runs:
        np.testing.assert_allclose(run.q[:, 0], np.cos(np.sqrt(2.0) * run.t), atol=1e-4)
    implicit = ss.simulate(  # differences of the force change q and u on their way
        system, [1.0], [0.0], engine="reference", stepper=ss.MoreauJean(theta=0.5), **options
    )
    np.testing.assert_allclose(implicit.q, runs[0].q, atol=1e-4)


_STIFFNESS = 1.0


def _uses_a_global(q, u, t, p):
    return np.array([-_STIFFNESS * q[0]])


def test_a_global_that_has_changed_is_refused(monkeypatch):
    system = ss.LagrangianSystem(mass=[[1.0]], force=_uses_a_global, contacts=[], coordinates=["x"], name="shifty")
    options = {"dt": 0.01, "t_end": 0.02}
    ss.simulate(system, [1.0], [0.0], engine="reference", **options)
    monkeypatch.setattr(f"{__name__}._STIFFNESS", 2.0)
    for engine in ("reference", "compiled"):
        with pytest.raises(ValueError, match="force of system 'shifty' uses a global, an array or a function that has"):
            ss.simulate(system, [1.0], [0.0], engine=engine, **options)
