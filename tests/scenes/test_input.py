"""Wrong input of a scene is refused in one line that names the field."""

import math

import numpy as np
import pytest

import stickslip as ss


def scene(dim=3):
    made = ss.Scene(dim=dim)
    made.add_static(ss.HalfSpace((0, 0, 1)) if dim == 3 else ss.HalfPlane((0, 1)), name="floor")
    return made


def hinged(**options):
    made = scene(2)
    return made.add_revolute(None, made.add_body(ss.Circle(0.1), mass=1.0), at=(0, 0), **options)


def paired(**laws):
    made = scene()
    made.set_pair(made.bodies[1], made.add_body(ss.Sphere(0.1), mass=1.0), **laws)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ss.Scene(dim=4), "dim must be 2"),
        (lambda: scene().add_body(ss.Sphere(0.1), mass=0.0), "mass of 'sphere2' must be positive, got 0"),
        (lambda: scene().add_body(ss.Sphere(0.1), mass=-1.0), "mass of 'sphere2' must be positive, got -1"),
        (lambda: scene().add_body(ss.Sphere(0.1)), "mass or density"),
        (
            lambda: scene().add_body(ss.Sphere(0.1), mass=1.0, velocity=(math.nan, 0, 0)),
            "velocity of .* must be finite",
        ),
        (
            lambda: scene().add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0)),
            r"position of .* shape \(3,\), got \(2,\)",
        ),
        (lambda: scene().add_body(ss.Circle(0.1), mass=1.0), "Circle is a shape of the plane"),
        (lambda: scene(2).add_body(ss.Box((1, 1, 1)), mass=1.0), "Box is a shape of space"),
        (lambda: scene().add_body(ss.HalfSpace((0, 0, 1)), mass=1.0), "HalfSpace has no end"),
        (lambda: ss.ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]), "must span a volume"),
        (lambda: ss.Polygon([(0, 0), (1, 0), (2, 0)]), "must span an area"),
        (lambda: ss.Polygon([(0, 0), (2, 0), (0.5, 0.5), (0, 2)]), "convex"),
        (lambda: ss.Sphere(-1.0), "radius of Sphere must be positive"),
        (lambda: ss.Box((1, 0, 1)), "size of Box must be positive"),
        (lambda: ss.Sphere(1e120), "radius of Sphere must lie between 1e-50 and 1e\\+50 m, got 1e\\+120"),
        (lambda: ss.Box((1, 1e-60, 1)), "size of Box must lie between"),
        (lambda: ss.ConvexHull(1e80 * np.eye(4, 3)), "largest coordinate of points of ConvexHull must lie between"),
        (lambda: scene().add_body(ss.Sphere(1), mass=1.0, orientation=(1, 1, 0, 0)), "unit quaternion"),
        (
            lambda: scene().add_body(ss.Sphere(1), mass=1.0, restitution=1.5),
            "restitution of 'sphere2' must be between 0",
        ),
        (lambda: scene().add_body(ss.Sphere(1), mass=1.0, friction=-1, name="b"), "friction of 'b' must be at least 0"),
        (
            lambda: scene().add_static(ss.Sphere(1), restitution_tangential=2),
            "restitution_tangential of 'sphere2' must",
        ),
        (lambda: paired(friction=-1.0), "friction of 'floor' and 'sphere2' must be at least 0, got -1"),
        (lambda: scene().add_body(ss.Sphere(1), mass=1.0, inertia=(1, 1, 3)), "I_1 \\+ I_2 >= I_3"),
        (lambda: scene().add_body(ss.Sphere(1), mass=1.0, inertia=(1, 1, 1e-13)), "positive definite beyond rounding"),
        (lambda: scene().simulate(dt=1e-3, t_end=1.0), "must have a body that moves"),
        (lambda: ss.Compound([]), "parts of Compound must not be empty"),
        (lambda: hinged(limits=5), "limits must be two numbers, got 5"),
        (lambda: hinged(limits=(1, 2)), "limits must be"),
        (lambda: hinged(motor=3), "motor must be two numbers, got 3"),
        (lambda: hinged(motor=(1, -2)), "effort of motor must be at least 0"),
        (lambda: hinged(collide="no"), "collide must be True or False, got 'no'"),
        (lambda: scene().add_fixed(None, None), "'world' twice"),
    ],
)
def test_bad_input_gets_one_line(call, words):
    with pytest.raises(ValueError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


def driven(motion):
    made = scene(2)
    made.add_body(ss.Circle(0.1), mass=1.0, position=(0, 5))
    made.add_driven(ss.Circle(0.1), position=(0, 9), motion=motion, name="shaker")
    return made.simulate(dt=1e-3, t_end=0.01)


def pushed(**functions):
    made = scene(2)
    ball = made.add_body(ss.Circle(0.1), mass=1.0, position=(0, 5), name="ball")
    made.add_force(ball, **functions)
    return made.simulate(dt=1e-3, t_end=0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: driven(lambda t: None), "motion of 'shaker' at t = 0 s must be a pair .*, got None"),
        (lambda: driven(lambda t: (1, 0, 0)), r"must be a pair \(velocity, angular velocity\), got \(1, 0, 0\)"),
        (lambda: driven(lambda t: ((1.0,), 0.0)), r"velocity in motion of 'shaker' .* shape \(2,\), got \(1,\)"),
        (lambda: driven(lambda t: ("a", "b")), "velocity in motion of 'shaker' .* must be 2 numbers, got 'a'"),
        (lambda: driven(lambda t: ((0, math.nan), 0)), "velocity in motion of 'shaker' .* must be finite"),
        (lambda: driven(lambda t: ((0, 0), None)), "angular velocity in motion of 'shaker' .* a number, got None"),
        (lambda: driven(lambda t: 1 / 0), "motion of 'shaker' at t = 0 s failed with ZeroDivisionError"),
        (lambda: driven(lambda: None), r"motion must be a function of \(t\), got one of \(\)"),
        (lambda: pushed(force=lambda t, x, v: (1, 0, 0)), r"force on 'ball' at t = 0 s .* shape \(2,\), got \(3,\)"),
        (lambda: pushed(force=lambda t, x, v: None), "force on 'ball' at t = 0 s must be 2 numbers, got None"),
        (lambda: pushed(force=lambda t: (1, 0)), r"function of \(t, position, velocity\), got one of \(t\)"),
        (lambda: pushed(torque=lambda t, x, v: "a"), "torque on 'ball' at t = 0 s must be a number, got 'a'"),
        (lambda: pushed(torque=lambda t, x, v: math.inf), "torque on 'ball' at t = 0 s must be finite"),
        (
            lambda: scene().add_driven(ss.Sphere(1.0), velocity=lambda t: (t, 0, 0)),
            "constant, got a function; .*motion=",
        ),
    ],
)
def test_functions_of_the_user_are_named_with_the_body_and_the_time(call, words):
    with pytest.raises(ValueError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


def test_joints_need_two_bodies_of_the_scene():
    made, other = scene(), scene()
    ball, stranger = made.add_body(ss.Sphere(0.1), mass=1.0, name="ball"), other.add_body(ss.Sphere(0.1), mass=1.0)
    with pytest.raises(ValueError, match="'ball' twice"):
        made.add_spherical(ball, ball, at=(0, 0, 0))
    with pytest.raises(ValueError, match=r"of this scene, got 'sphere\d' of another scene\.$"):
        made.add_spherical(None, stranger, at=(0, 0, 0))
    with pytest.raises(ValueError, match="a body that moves"):
        made.add_spherical(None, made.bodies[1], at=(0, 0, 0))
    with pytest.raises(ValueError, match="'ball' twice"):
        made.add_body(ss.Sphere(0.1), mass=1.0, name="ball")


def test_overlap_is_reported_with_pair_and_depth_or_resolved():
    made = scene()
    made.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.1), name="low")
    high = made.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.25), name="high")
    with pytest.raises(ValueError, match=r"'low' and 'high' overlap by 0\.05 m"):
        made.simulate(dt=1e-3, t_end=0.01)
    trajectory = made.simulate(dt=1e-3, t_end=0.01, overlap="resolve")
    assert trajectory.certificate.max_penetration < 2e-6
    assert high.path(trajectory)[0, 2] == pytest.approx(0.3, abs=1e-5)


def test_a_run_is_saved_and_loaded(tmp_path):
    made = scene()
    made.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 0.3), restitution=0.5, name="ball")
    streamed = made.simulate(dt=1e-3, t_end=0.5, out=tmp_path / "run.nc")
    back = ss.load(tmp_path / "run.nc")
    assert np.array_equal(back.q, streamed.q) and np.array_equal(back.u, streamed.u)
    assert back.certificate == streamed.certificate
    assert back["ball.z"][-1] == streamed.q[-1, 2]
    assert len(back.impacts()) == len(streamed.impacts()) > 0
    assert streamed.to_xarray()["q"].shape == (501, 7)


def test_mass_properties_of_shapes():
    box = ss.Box((1, 2, 3)).mass_properties(3)
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-1, 1) for z in (-1.5, 1.5)]
    hull = ss.ConvexHull(np.add(corners, (3, 1, 2))).mass_properties(3)
    assert hull.volume == pytest.approx(box.volume, rel=1e-12)
    assert hull.centre == pytest.approx([3, 1, 2], rel=1e-12)
    assert np.allclose(hull.inertia, box.inertia, rtol=0, atol=1e-10)
    # two half boxes make the box
    halves = ss.Compound([(ss.Box((1, 2, 1.5)), (0, 0, 0.75)), (ss.Box((1, 2, 1.5)), (0, 0, -0.75))]).mass_properties(3)
    assert np.allclose(halves.inertia, box.inertia, rtol=1e-12)
    square = ss.Polygon([(0, 0), (2, 0), (2, 2), (0, 2)]).mass_properties(2)
    assert square.centre == pytest.approx([1, 1, 0])
    assert square.inertia[2, 2] == pytest.approx(4 * 8 / 12)
    # a capsule by Monte Carlo-free quadrature: slices along its axis
    z = np.linspace(-0.8, 0.8, 200_001)
    r2 = np.where(np.abs(z) <= 0.5, 0.09, np.maximum(0.0, 0.09 - (np.abs(z) - 0.5) ** 2))
    capsule = ss.Capsule(0.3, 1.0).mass_properties(3)
    area = np.pi * r2
    assert capsule.volume == pytest.approx(np.trapezoid(area, z), rel=1e-6)
    assert capsule.inertia[2, 2] == pytest.approx(np.trapezoid(area * r2 / 2, z), rel=1e-6)
    assert capsule.inertia[0, 0] == pytest.approx(np.trapezoid(area * (r2 / 4 + z**2), z), rel=1e-6)


def test_joints_that_contradict_one_another_are_named():
    made = ss.Scene(dim=2, gravity=0.0)
    bar = made.add_body(ss.Circle(0.1), mass=1.0, position=(1, 0), name="bar")
    belt = made.add_driven(ss.Circle(0.1), position=(3, 0), velocity=(1, 0), name="belt")
    made.add_fixed(None, bar)
    made.add_fixed(belt, bar)
    trajectory = made.simulate(dt=1e-3, t_end=0.01)
    assert not trajectory.complete
    assert "joints 'world' - 'bar' (fixed)" in trajectory.status and "contradict one another" in trajectory.status
    assert "take one of them away" in trajectory.status


@pytest.mark.parametrize("effort", [5.0, 1e9])
def test_motors_on_a_fixed_body_stall(effort):
    made = ss.Scene(dim=2, gravity=0.0)
    bar = made.add_body(ss.Circle(0.1), mass=1.0, position=(1, 0))
    made.add_fixed(None, bar)
    made.add_revolute(None, bar, at=(0, 0), motor=(1.0, effort))
    made.add_revolute(None, bar, at=(1, 0), motor=(-1.0, effort))
    trajectory = made.simulate(dt=1e-3, t_end=0.01)
    assert trajectory.complete and trajectory.certificate.failed_steps == 0  # both at their bound: no contradiction
    assert np.abs(trajectory.q - trajectory.q[0]).max() < 1e-12


def test_elliptic_friction_names_the_axis_that_is_wrong():
    with pytest.raises(ValueError, match=r"friction\[0\] of 'sphere1' \(elliptic\) must be positive, got 0"):
        ss.Scene(dim=3).add_body(ss.Sphere(0.1), mass=1.0, friction=(0.0, 0.4))


@pytest.mark.parametrize("far", [0.0, 1e3, 1e5, 1e7])
def test_mass_properties_do_not_depend_on_where_a_shape_lies(far):
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1.0)])
    tetrahedron = ss.ConvexHull(np.add(corners, (far, -far, far))).mass_properties(3)
    # int x^2 = 1/60, int x y = 1/120 about the corner; volume 1/6, centroid 1/4: 1/160 and -1/480 about the centroid
    exact = (2 / 160 * np.eye(3)) + (np.ones((3, 3)) - np.eye(3)) / 480
    assert tetrahedron.volume == pytest.approx(1 / 6, rel=1e-9)
    assert tetrahedron.inertia == pytest.approx(exact, rel=1e-8, abs=1e-10)
    assert tetrahedron.centre - [far, -far, far] == pytest.approx([0.25] * 3, abs=1e-15 * far + 1e-14)
    triangle = ss.Polygon(np.add(corners[:3, :2], (far, -far))).mass_properties(2)
    assert triangle.inertia[2, 2] == pytest.approx(2 * (1 / 12 - 1 / 18), rel=1e-9)  # bh^3 / 36, twice


def test_an_inertia_that_rounding_makes_none_is_refused():
    with pytest.raises(ValueError, match=r"shape Box of 'box\d' is too thin.*positive definite.*give inertia=.$"):
        scene().add_body(ss.Box((1e-45, 1e-45, 1.0)), mass=1e-250)
