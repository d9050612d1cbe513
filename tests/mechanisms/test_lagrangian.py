"""Systems from energies and from functions: equal meaning, helpful refusals."""

import math
import pickle
import warnings

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

from stickslip import Contact, DryFriction, LagrangianSystem, PrestressedSpring, SpragClutch, Stop
from stickslip.jit import Entry, Kernel
from stickslip.mechanisms.system import CLUTCH, CONTACT, FRICTION, SPRING
from tests.mechanisms.text import run_as_file

phi, omega, m, r, g, mu = sp.symbols("phi omega m r g mu")
VALUES = {m: 2.0, r: 0.5, g: 9.81, mu: 0.3}


def pendulum(**changes):
    """A pendulum over a table at depth 0.4: gap 0.4 - r cos(phi), slip r sin(phi)."""
    options = {
        "velocities": [omega],
        "kinetic": m * (r * omega) ** 2 / 2,
        "potential": -m * g * r * sp.cos(phi),
        "contacts": [Contact("table", gap=0.4 - r * sp.cos(phi), slip=r * sp.sin(phi), friction=mu)],
        "parameters": VALUES,
        "name": "pendulum",
        **changes,
    }
    return LagrangianSystem.from_energies([phi], **options)


# -- from energies ---------------------------------------------------------------------------------------------------


def test_data_sheet():
    system = pendulum(units={"phi": "rad", "m": "kg"})
    assert (system.name, system.n_dof, system.n_contacts) == ("pendulum", 1, 1)
    assert system.coordinate_names == ("phi",)
    assert system.velocity_names == ("omega",)
    assert system.contact_names == ("table",)
    assert system.contact_kinds == (CONTACT,)
    assert system.parameter_names == ("m", "r", "g", "mu")
    np.testing.assert_array_equal(system.parameter_values, [2.0, 0.5, 9.81, 0.3])
    assert system.units == {"phi": "rad", "m": "kg"}
    assert system.mass_constant and not system.directions_constant and not system.force_depends_on_u
    assert system.inject == {}


def test_values():
    system = pendulum()
    q, u = [0.3], [-1.2]
    np.testing.assert_allclose(system.mass(q), [[0.5]])
    np.testing.assert_allclose(system.force(q, u), [-2.0 * 9.81 * 0.5 * math.sin(0.3)])
    np.testing.assert_allclose(system.gap(q), [0.4 - 0.5 * math.cos(0.3)])
    W_N, W_T, w_hat = system.geometry(q)
    np.testing.assert_allclose(W_N, [[0.5 * math.sin(0.3)]])
    np.testing.assert_allclose(W_T, [[0.5 * math.cos(0.3)]])
    np.testing.assert_allclose(w_hat, [[0.0, 0.0]])
    np.testing.assert_allclose(np.ravel(system.laws()), [0.3, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(system.energy(q, u), [0.5 * 0.5 * 1.44, -2.0 * 9.81 * 0.5 * math.cos(0.3)])


def test_dynamicsymbols():
    """Velocities as x.diff(), through SymPy's own frames and points."""
    from sympy.physics.mechanics import Particle, Point, ReferenceFrame

    angle = dynamicsymbols("phi")
    N = ReferenceFrame("N")
    origin = Point("O")
    origin.set_vel(N, 0)
    bob = origin.locatenew("B", r * sp.sin(angle) * N.x - r * sp.cos(angle) * N.y)
    bob.set_vel(N, bob.pos_from(origin).dt(N))
    system = LagrangianSystem.from_energies(
        [angle],
        kinetic=Particle("bob", bob, m).kinetic_energy(N),
        potential=-m * g * r * sp.cos(angle),
        forces={angle: -mu * angle.diff()},
        contacts=[Contact("table", gap=0.4 - r * sp.cos(angle))],
        parameters=VALUES,
    )
    assert system.coordinate_names == ("phi",)
    assert system.velocity_names == ("phi_dot",)
    assert system.mass_constant and system.force_depends_on_u
    plain = pendulum(forces=[-mu * omega])
    for q, u in (([0.3], [-1.2]), ([2.0], [5.0])):
        np.testing.assert_allclose(system.mass(q), plain.mass(q), rtol=1e-14)
        np.testing.assert_allclose(system.force(q, u), plain.force(q, u), rtol=1e-14)
        np.testing.assert_allclose(system.geometry(q)[0], plain.geometry(q)[0], rtol=1e-14)
    assert r"\dot{\phi}" in system.equations().latex()


def test_dynamicsymbols_as_velocities():
    angle, speed = dynamicsymbols("phi omega")
    system = LagrangianSystem.from_energies(
        [angle], velocities=[speed], kinetic=m * r**2 * (speed**2 / 4 + angle.diff() ** 2 / 4), parameters=VALUES
    )
    np.testing.assert_allclose(system.mass([0.0]), [[0.5]])
    assert system.velocity_names == ("omega",)


def test_plain_symbols_are_differentiated_as_real_ones():
    """Abs of a symbol without assumptions has a complex derivative in SymPy; gaps are real."""
    x, v, k = sp.symbols("x v k")
    system = LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=k * sp.Abs(x), parameters={k: 3.0},
        contacts=[Contact("wall", gap=1 - sp.Abs(x))],
    )  # fmt: skip
    np.testing.assert_allclose(system.force([-2.0], [0.0]), [3.0])
    np.testing.assert_allclose(system.geometry([-2.0])[0], [[1.0]])
    assert system.equations().q == (x,)  # in the user's own symbols


def test_time_by_its_name_or_given():
    x, v = sp.symbols("x v")
    for t in (sp.Symbol("t"), sp.Symbol("t", real=True), sp.Symbol("tau")):
        system = LagrangianSystem.from_energies(
            [x], velocities=[v], kinetic=v**2 / 2, contacts=[Contact("wall", gap=x - sp.sin(t))],
            time=t if t.name == "tau" else None,
        )  # fmt: skip
        assert not system.directions_constant
        np.testing.assert_allclose(system.gap([0.0], 0.5), [-math.sin(0.5)])
        np.testing.assert_allclose(system.geometry([0.0], 0.5)[2], [[-math.cos(0.5), 0.0]])


def test_normal_and_tangent_can_be_given():
    x, v = sp.symbols("x v")
    contact = Contact("wall", gap=x, normal=[2], normal_drift=0.1, tangent=[3 * x], tangent_drift=-0.2, friction=0.5)
    system = LagrangianSystem.from_energies([x], velocities=[v], kinetic=v**2 / 2, contacts=[contact])
    W_N, W_T, w_hat = system.geometry([2.0])
    np.testing.assert_allclose(np.ravel([W_N[0, 0], W_T[0, 0], *w_hat[0]]), [2.0, 6.0, 0.1, -0.2])


def test_laws_are_expressions_in_the_parameters():
    a, b = sp.symbols("a b")
    contact = Contact("table", gap=r * phi, slip=phi, friction=a * b, restitution_normal="a", threshold=2 * b)
    system = pendulum(contacts=[contact], parameters={**VALUES, a: 0.5, "b": 0.2})
    np.testing.assert_allclose(np.ravel(system.laws()), [0.1, 0.5, 0.0, 0.4])
    p = system.parameter_vector({"a": 1.0, b: 0.3})
    np.testing.assert_allclose(np.ravel(system.laws(p)), [0.3, 1.0, 0.0, 0.6])


def test_a_parameter_given_by_name_is_the_symbol_of_that_name():
    mass = sp.Symbol("mass", positive=True)
    x, v = sp.symbols("x v")
    system = LagrangianSystem.from_energies([x], velocities=[v], kinetic=mass * v**2 / 2, parameters={"mass": 4.0})
    np.testing.assert_allclose(system.mass([0.0]), [[4.0]])


def test_a_system_without_contacts():
    system = pendulum(contacts=[])
    assert system.gap([0.1]).shape == (0,)
    assert system.geometry([0.1])[0].shape == (0, 1)
    system.check([0.1], [0.0])


def test_outside_the_domain_of_a_function_is_nan_not_an_exception():
    x, v = sp.symbols("x v")
    system = LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=sp.log(x) + sp.exp(x**2),
        contacts=[Contact("wall", gap=sp.sqrt(x))],
    )  # fmt: skip
    assert math.isnan(system.gap([-1.0])[0])
    assert system.force([0.0], [0.0])[0] == -math.inf
    assert system.energy([40.0], [0.0])[1] == math.inf
    with pytest.raises(ValueError, match=r"gap of contact 'wall' must be finite, got nan at q = \(-1\), t = 0"):
        system.check([-1.0], [0.0])


def test_a_system_can_be_pickled():
    system = pendulum()
    system.mass([0.0])
    copy = pickle.loads(pickle.dumps(system))
    assert copy.source() == system.source()
    np.testing.assert_array_equal(copy.mass([0.3]), system.mass([0.3]))
    assert copy.equations().M == system.equations().M


def test_equations_as_text_and_latex():
    equations = pendulum().equations()
    text = equations.text()
    assert "M = [m*r**2]" in text
    assert "g_N       = -r*cos(phi) + 0.4" in text
    assert "mu        = mu" in text
    latex = equations.latex()
    assert r"\mathbf{M} &= \begin{pmatrix}m r^{2}\end{pmatrix}" in latex
    assert latex.count(r"\begin{pmatrix}") == latex.count(r"\end{pmatrix}")


# -- from functions --------------------------------------------------------------------------------------------------


def _mass(q, t, p):
    return np.array([[p[0] * p[1] ** 2]])


def _force(q, u, t, p):
    return np.array([-p[0] * p[2] * p[1] * math.sin(q[0])])


def _gap(q, t, p):
    return 0.4 - p[1] * math.cos(q[0])


def _normal(q, t, p):
    return np.array([p[1] * math.sin(q[0])])


def _tangent(q, t, p):
    return np.array([p[1] * math.cos(q[0])])


def _potential(q, t, p):
    return -p[0] * p[2] * p[1] * math.cos(q[0])


def pendulum_of_functions(**changes):
    options = {
        "mass": _mass,
        "force": _force,
        "potential": _potential,
        "contacts": [Contact("table", gap=_gap, normal=_normal, tangent=_tangent, friction="mu")],
        "coordinates": ["phi"],
        "velocities": ["omega"],
        "parameters": {"m": 2.0, "r": 0.5, "g": 9.81, "mu": 0.3},
        "name": "pendulum",
        **changes,
    }
    return LagrangianSystem(**options)


def test_functions_and_energies_describe_the_same_system():
    one, two = pendulum(), pendulum_of_functions()
    assert one.parameter_names == two.parameter_names
    assert one.coordinate_names == two.coordinate_names
    p = one.parameter_vector({"r": 0.7, "mu": 0.1})
    for q, u in (([0.3], [-1.2]), ([2.5], [7.0])):
        np.testing.assert_allclose(two.mass(q, 0.0, p), one.mass(q, 0.0, p))
        np.testing.assert_allclose(two.force(q, u, 0.0, p), one.force(q, u, 0.0, p))
        np.testing.assert_allclose(two.gap(q, 0.0, p), one.gap(q, 0.0, p))
        np.testing.assert_allclose(two.energy(q, u, 0.0, p), one.energy(q, u, 0.0, p))
        for a, b in zip(one.geometry(q, 0.0, p), two.geometry(q, 0.0, p), strict=True):
            np.testing.assert_allclose(a, b)
        np.testing.assert_array_equal(one.laws(p), two.laws(p))
        two.check(q, u)


def assert_compiled_agrees(system, q, u, t=0.0):
    """All model functions as machine code, evaluated once."""
    names = {"math": math, "dev": Entry, "sincos": Kernel(lambda x: (math.sin(x), math.cos(x)), inline=True)}
    functions = {key: Kernel(value, inline=True) for key, value in system.inject.items()}
    namespace = run_as_file({**names, **functions}, system.source())
    f, n, p = system.n_dof, system.n_contacts, system.parameter_vector()
    q, u = np.array(q), np.array(u)
    M, h, g = np.full((f, f), np.nan), np.full(f, np.nan), np.full(n, np.nan)
    W_N, W_T, w_hat, E = np.empty((n, f)), np.empty((n, f)), np.empty((n, 2)), np.empty(2)
    namespace["mass"](q, t, p, M)
    namespace["dynamics"](q, u, t, p, M, h, g)
    namespace["geometry"](q, t, p, W_N, W_T, w_hat)
    namespace["energy"](q, u, t, p, E)
    np.testing.assert_allclose(M, system.mass(q, t), rtol=1e-14)
    np.testing.assert_allclose(h, system.force(q, u, t), rtol=1e-14)
    np.testing.assert_allclose(g, system.gap(q, t), rtol=1e-14)
    for a, b in zip((W_N, W_T, w_hat), system.geometry(q, t), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    np.testing.assert_allclose(E, system.energy(q, u, t), rtol=1e-14)


@pytest.mark.parametrize("build", [pendulum, pendulum_of_functions])
def test_both_are_kernels(build):
    assert_compiled_agrees(build(), [0.3], [-1.2])


def test_constant_mass_and_directions():
    system = LagrangianSystem(
        mass=[[1.0, 0.0], [0.0, 2.0]],
        force=lambda q, u, t, p: np.array([0.0, -2.0 * p[0]]),
        contacts=[
            Contact("floor", gap=lambda q, t, p: q[1], normal=[0, 1], tangent=[1, 0], friction=sp.Symbol("mu") / 2),
            Contact("rod", kind=FRICTION, tangent=[1, 1], threshold=2.0),
            Contact("spring", kind=SPRING, gap=lambda q, t, p: q[0], tangent=[1, 0], threshold="g"),
            Contact("clutch", kind=CLUTCH, normal=[1, 0]),
        ],
        parameters={"g": 10.0, "mu": 0.6},
    )
    assert system.coordinate_names == ("q1", "q2")
    assert system.mass_constant and system.directions_constant
    assert "mass(q, t, p, M)" not in system.source().split("def dynamics")[1].split("@dev")[0]
    np.testing.assert_allclose(system.gap([3.0, 4.0]), [4.0, 0.0, 3.0, 0.0])
    mu_, _, _, threshold = system.laws()
    np.testing.assert_allclose(mu_, [0.3, 0, 0, 0])
    np.testing.assert_allclose(threshold, [0, 2, 10, 0])
    assert math.isnan(system.energy([0.0, 0.0], [1.0, 1.0])[1])
    system.check([0.0, 1.0], [0.0, 0.0])


def test_functions_are_part_of_the_fingerprint():
    def heavier(q, t, p):
        return np.array([[2.0 * p[0] * p[1] ** 2]])

    assert pendulum_of_functions().fingerprint == pendulum_of_functions().fingerprint
    assert pendulum_of_functions().fingerprint != pendulum_of_functions(mass=heavier).fingerprint


def test_functions_have_no_symbolic_equations():
    with pytest.raises(ValueError, match="has no symbolic equations"):
        pendulum_of_functions().equations()


def test_wrong_normals_are_noticed():
    contact = Contact("table", gap=_gap, normal=lambda q, t, p: -_normal(q, t, p))
    with pytest.warns(UserWarning, match=r"contact 'table': normal\[0\] = .* differences of its gap"):
        pendulum_of_functions(contacts=[contact]).check([0.3], [0.0])
    moving = Contact("table", gap=lambda q, t, p: _gap(q, t, p) - math.sin(t), normal=_normal)
    with pytest.warns(UserWarning, match="normal_drift = 0, but differences of its gap give -1"):
        pendulum_of_functions(contacts=[moving]).check([0.3], [0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pendulum_of_functions().check([0.3], [0.0])


# -- refusals --------------------------------------------------------------------------------------------------------

other_m = sp.Symbol("m", positive=True)
q_t = dynamicsymbols("q_t")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"velocities": None}, "plain symbols need velocities="),
        ({"velocities": [omega, phi]}, "velocities must have 1 entries, one per coordinate, got 2"),
        ({"velocities": ["omega"]}, "a velocity must be a SymPy symbol"),
        ({"kinetic": m * phi.diff() ** 2}, r"x\.diff\(\) is 1 in SymPy"),
        ({"kinetic": "m*omega**2"}, "kinetic: unknown symbol"),
        ({"kinetic": other_m * omega**2}, "second symbol called 'm' with other assumptions"),
        (
            {"potential": sp.Symbol("k") * phi},
            "potential contains 'k', which is neither .* add it as parameters={k: value}",
        ),
        ({"potential": q_t}, "potential contains q_t"),
        ({"potential": [phi]}, "potential must be one SymPy expression|must be a number or a SymPy expression"),
        ({"forces": [1, 2]}, "forces must have 1 entries, one per coordinate, got 2"),
        ({"forces": {"phy": 1}}, "unknown coordinate 'phy'; did you mean 'phi'"),
        ({"parameters": {**VALUES, "m": 1.0}}, "parameter names must be unique"),
        ({"parameters": {**VALUES, m: math.nan}}, "parameter 'm' must be finite, got nan"),
        ({"parameters": {**VALUES, m: "heavy"}}, "parameter 'm' must be a number, got 'heavy'"),
        ({"parameters": {**VALUES, "phi": 1.0}}, "names must be unique, got 'phi' twice"),
        ({"parameters": {**VALUES, mu: -0.1}}, "friction of contact 'table' must be finite and not negative, got -0.1"),
        ({"units": {"psi": "rad"}}, "unknown quantity 'psi'"),
    ],
)
def test_refusals_of_energies(changes, message):
    with pytest.raises(ValueError, match=message) as error:
        pendulum(**changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("contact", "message"),
    [
        (lambda: Contact("a"), "contact 'a' needs gap="),
        (lambda: Contact("", gap=phi), "needs a name"),
        (lambda: Contact("a", gap=phi, slip=phi, tangent=[1]), "both slip and tangent"),
        (lambda: Contact("a", gap=phi, friction=mu), "has friction = mu but no tangential direction"),
        (lambda: Contact("a", gap=phi, threshold=1.0), "has threshold = 1.0 but no tangential direction"),
        (lambda: Contact("a", gap=phi, tangent_drift=1), "tangent_drift belongs to tangent"),
        (lambda: Contact("a", gap=phi, kind=7), "kind must be one of"),
        (lambda: Contact("a", gap=omega), "gap of contact 'a' may depend on coordinates, time, parameters only"),
        (lambda: Contact("a", gap=r), "gap of contact 'a' does not depend on any coordinate"),
        (lambda: Contact("a", gap=phi, slip=r), "slip of contact 'a' does not depend on any coordinate"),
        (lambda: Contact("a", gap=phi, tangent=[1, 2]), "tangent of contact 'a' must have 1 entries"),
        (
            lambda: Contact("a", gap=phi, restitution_normal=1.5),
            r"restitution_normal of contact 'a' must lie in \[0, 1\]",
        ),
        (lambda: Contact("a", gap=phi, restitution_normal="e"), "unknown symbol 'e'"),
        (lambda: Stop("a", phi), "needs lower=, upper= or both"),
        (lambda: Stop("a", "phi", lower=0), "must be SymPy expressions"),
    ],
)
def test_refusals_of_contacts(contact, message):
    with pytest.raises(ValueError, match=message):
        pendulum(contacts=[contact()])


def test_contact_names_are_unique():
    with pytest.raises(ValueError, match="contact names must be unique, got 'a' twice"):
        pendulum(contacts=[Contact("a", gap=phi), SpragClutch("a", phi)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coordinates": None}, "coordinates= must name the coordinates"),
        ({"force": _mass}, r"force must be a function of \(q, u, t, p\), got one of \(q, t, p\)"),
        ({"mass": [[1.0, 0.0]]}, r"mass must have shape \(1, 1\)"),
        ({"contacts": [Contact("a", gap=_gap)]}, "contact 'a' needs normal=, a function .* returning dg/dq"),
        ({"contacts": [Contact("a", gap=_gap, normal=_normal, slip=_gap)]}, "contact 'a' needs tangent="),
        ({"contacts": [Contact("a", gap=phi, normal=[1])]}, "gap of contact 'a' must be a function"),
        ({"contacts": [Contact("a", gap=_gap, normal=[1, 2])]}, r"normal of contact 'a' must have shape \(1,\)"),
        ({"contacts": [Stop("a", phi, lower=0)]}, "must be Contact objects, got Stop"),
        (
            {"contacts": [Contact("a", gap=_gap, normal=[1], restitution_normal="eps")]},
            "restitution_normal of contact 'a': unknown parameter 'eps'",
        ),
    ],
)
def test_refusals_of_functions(changes, message):
    with pytest.raises(ValueError, match=message):
        pendulum_of_functions(**changes)


def test_functions_that_return_the_wrong_shape():
    system = pendulum_of_functions(force=lambda q, u, t, p: np.zeros(2))
    with pytest.raises(ValueError, match=r"force must return shape \(1,\), got \(2,\)"):
        system.check([0.0], [0.0])
    contact = Contact("a", gap=_gap, normal=lambda q, t, p: np.zeros(3))
    with pytest.raises(ValueError, match=r"normal of contact 'a' must return shape \(1,\), got \(3,\)"):
        pendulum_of_functions(contacts=[contact]).check([0.0], [0.0])


def test_elements_hold_in_a_system_together():
    x, y_, v, w = sp.symbols("x y v w")
    system = LagrangianSystem.from_energies(
        [x, y_],
        velocities=[v, w],
        kinetic=(v**2 + w**2) / 2,
        contacts=[
            Stop("stop", x, -1, 1),
            SpragClutch("clutch", y_),
            PrestressedSpring("spring", x, 2),
            DryFriction("rub", y_, 3),
        ],
    )
    assert system.contact_kinds == (CONTACT, CONTACT, CLUTCH, SPRING, FRICTION)
    system.check([0.0, 0.0], [0.0, 0.0])
    assert_compiled_agrees(system, [0.3, 0.4], [1.0, 2.0])
