"""Scenes by the schemes of Stewart and Trinkle, [S00] (2.11)-(2.16), and of Paoli and Schatzman."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss
from stickslip import library
from stickslip.run.records import join_impacts
from tests.elsewhere import EVERYWHERE

MU, EPS, RADIUS, MASS = 0.3, 0.8, 0.1, 1.0
OWN = ("stewart-trinkle", "paoli-schatzman")


def ball(restitution=EPS, friction=MU, height=0.3):
    """A ball thrown obliquely, with spin about two axes."""
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=friction, restitution=restitution, name="floor")
    scene.add_body(
        ss.Sphere(RADIUS), mass=MASS, position=(0, 0, height), velocity=(1, 0.5, 0), angular_velocity=(0, 20, 3),
        friction=friction, restitution=restitution, name="ball",
    )  # fmt: skip
    return scene


def by_hand(stepper, dt, steps, eps=EPS):
    """The same schemes for one sphere on a floor, where a contact problem has a closed form."""
    x, v, w = np.array([0.0, 0.0, 0.3]), np.array([1.0, 0.5, 0.0]), np.array([0.0, 20.0, 3.0])
    inertia, arm = 0.4 * MASS * RADIUS**2, np.array([0.0, 0.0, -RADIUS])
    for _ in range(steps):
        gap, free = x[2] - RADIUS, v + dt * np.array([0.0, 0.0, -9.81])
        if stepper == "stewart-trinkle":
            least = -eps * v[2] if gap + dt * v[2] <= 0.0 else -math.inf  # [S00] (2.13)
        else:
            least = -(gap + eps * (gap - dt * v[2])) / dt  # g_E + eps g_B >= 0
        push = max(0.0, MASS * (least - free[2]))
        slip = (free + np.cross(w, arm)) * [1, 1, 0]
        drag = -slip / (1.0 / MASS + RADIUS**2 / inertia)  # makes it stick
        size = np.linalg.norm(drag)
        if size > MU * push:
            drag *= MU * push / size
        impulse = drag + np.array([0.0, 0.0, push])
        v, w = free + impulse / MASS, w + np.cross(arm, impulse) / inertia
        x = x + dt * v  # [S00] (2.12)
    return np.concatenate([x, v, w])


@pytest.mark.parametrize("stepper", OWN)
def test_a_thrown_ball_takes_the_steps_of_a_program_by_hand(stepper):
    for cone in ("circular", 8) if stepper == "stewart-trinkle" else ("circular",):
        dt = 2e-3 if cone == "circular" else 8e-3
        run = ball().simulate(dt=dt, t_end=0.96, stepper=stepper, cone=cone, progress=False)
        wanted = by_hand(stepper, dt, round(0.96 / dt))
        assert run.complete and run.certificate.max_residual < 1e-10 and run.stepper == stepper
        # a pyramid has the same end: the ball sticks from the first impact on, in spite of eight directions
        assert np.allclose([*run.q[-1, :3], *run.u[-1]], wanted, rtol=0.0, atol=1e-9 if cone == 8 else 1e-11)


@pytest.mark.parametrize("stepper", OWN)
def test_order_one_in_flight_and_across_impacts(stepper):
    """Closed forms: z_0 - g t^2 / 2 before the floor; after it the flight from there with -eps times the velocity."""
    impact = math.sqrt(2.0 * 0.2 / 9.81)
    speed, rest = EPS * 9.81 * impact, 0.37 - impact
    exact = {0.19: 0.3 - 0.5 * 9.81 * 0.19**2, 0.37: RADIUS + speed * rest - 0.5 * 9.81 * rest**2}
    for t, z in exact.items():
        errors = []
        for n in (100, 200, 400, 800, 1600):
            run = ball().simulate(dt=t / n, t_end=t, stepper=stepper, progress=False, every=n)
            errors.append(abs(run.q[-1, 2] - z))
        slope = np.polyfit(np.log([1, 2, 4, 8, 16]), np.log(errors), 1)[0]
        assert -1.35 < slope < -0.65, (t, errors)


NOT_FORESEEING = [
    {"stepper": "stewart-trinkle"},
    {"stepper": "moreau-midpoint", "rule": "gs05"},
    {"stepper": "moreau-jean", "rule": "gs05"},
]


def tall_block(lean=0.4, width=0.2, height=0.8):
    """A block on its right lower corner, that leans by an angle [rad]; its half diagonal [m] and the angle of this."""
    arm, own = 0.5 * math.hypot(width, height), math.atan2(width, height)
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane((0.0, 1.0)), friction=5.0)
    w, h = width / 2, height / 2
    scene.add_body(
        ss.Polygon([(-w, -h), (w, -h), (w, h), (-w, h)]), mass=1.0, orientation=-lean, friction=5.0,
        position=(arm * math.sin(lean - own), arm * math.cos(lean - own)),
    )  # fmt: skip
    return scene, arm, own


@EVERYWHERE
@pytest.mark.parametrize("options", NOT_FORESEEING, ids=str)
def test_a_corner_that_carries_load_keeps_it(options, place):
    """A block topples about its corner by 4 R / 3 phi'' = g sin(phi); the corner opened for a step, every 60 steps."""
    scene, arm, own = tall_block()
    errors = []
    for dt in (1e-3, 5e-4):
        run = place.simulate(scene, dt=dt, t_end=0.3, **options)  # no contact may lose its load for a step
        exact = solve_ivp(
            lambda _, y: [y[1], 0.75 * 9.81 / arm * math.sin(y[0])], (0, 0.3), [0.4 - own, 0], rtol=1e-10, atol=1e-12
        )
        errors.append(abs(-run.q[-1, 2] - own - exact.y[0, -1]))
    assert errors[0] < 7e-4 and 1.8 < errors[0] / errors[1] < 2.2  # of order one, as in mechanisms


@pytest.mark.parametrize("options", [*NOT_FORESEEING, {"stepper": "paoli-schatzman"}], ids=str)
@pytest.mark.parametrize("height", [0.0, 1e-17, 1e-16, 1e-12])
def test_a_brick_rests_whatever_the_rounding_of_its_start(options, height):
    """With rule="gs05" it sank by g dt^2, 1 mm, from 1e-17 m on, and slid."""
    scene = ss.Scene(dim=2, gravity=(9.81 * math.sin(0.3), -9.81 * math.cos(0.3)))
    scene.add_static(ss.HalfPlane((0.0, 1.0)), friction=0.5)
    brick = ss.Polygon([(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)])
    scene.add_body(brick, mass=1.0, position=(0.0, 0.1 + height), friction=0.5)
    run = scene.simulate(dt=1e-2, t_end=0.3, **options)
    assert run.complete and np.abs(run.q - run.q[0]).max() < 1.1e-12 and len(run.impacts()) == 0


@pytest.mark.parametrize("stepper", OWN)
def test_rest_slide_and_stick_are_exact(stepper):
    stack = library.cube_stack(cubes=3).simulate(dt=1e-2, t_end=0.3, stepper=stepper, progress=False)
    assert stack.complete and np.abs(stack.q - stack.q[0]).max() == 0.0
    cube = library.thrown_cube(speed=2.0).simulate(dt=1e-3, t_end=0.6, stepper=stepper, progress=False)
    assert cube.q[-1, 0] == pytest.approx(2.0**2 / (2.0 * 0.5 * 9.81), abs=2e-3) and np.abs(cube.u[-1]).max() < 1e-12
    ramp = library.cube_on_ramp(angle=0.4, friction=0.5).simulate(dt=1e-3, t_end=0.1, stepper=stepper, progress=False)
    assert np.abs(ramp.q[-1] - ramp.q[0]).max() < 1e-12
    chain = library.hanging_chain(links=4).simulate(dt=1e-3, t_end=0.1, stepper=stepper, progress=False)
    assert chain.complete and chain.certificate.max_joint_error < 1e-3


def test_a_torque_free_body_turns_to_order_one_and_keeps_its_momentum():
    """[S00] (2.11) with J(q_E) omega_E = J(q_A) omega_A, compared with fine steps of the midpoint rule."""
    scene = ss.Scene(dim=3, gravity=0.0)
    body = scene.add_body(ss.Box((1, 2, 3)), mass=12.0, angular_velocity=(1, 2, 3), name="box")
    exact = scene.simulate(dt=1e-4, t_end=0.5, progress=False, every=5000).u[-1, 3:]
    errors = []
    for n in (50, 100, 200):
        run = scene.simulate(dt=0.5 / n, t_end=0.5, stepper="stewart-trinkle", progress=False)
        momentum = body.angular_momentum(run)
        assert np.abs(momentum - momentum[0]).max() < 1e-11 * np.linalg.norm(momentum[0])
        errors.append(np.abs(run.u[-1, 3:] - exact).max())
    assert np.allclose(np.array(errors[:-1]) / errors[1:], 2.0, atol=0.1)


def test_impacts_of_two_steps_are_one_row_of_the_list():
    run = ball().simulate(dt=1e-3, t_end=0.9, stepper="paoli-schatzman", progress=False)
    hits = run.impacts()
    assert len(hits) == 3  # at 0.202, 0.525 and 0.783 s
    assert np.allclose(hits["normal_velocity_after"] / hits["normal_velocity_before"], -EPS, rtol=0.02)
    assert np.allclose(hits["normal_impulse"], MASS * 1.8 * -hits["normal_velocity_before"], rtol=0.02)
    assert run.certificate.max_energy_gain < 1e-9 and run.certificate.max_penetration < 2e-3  # eps times a step's way
    cube = ss.Scene(dim=3)
    cube.add_static(ss.HalfSpace((0, 0, 1)), restitution=0.5)
    cube.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.6), restitution=0.5)
    hits = cube.simulate(dt=1e-3, t_end=0.2, stepper="paoli-schatzman", progress=False).impacts()
    assert len(hits) == 4 and np.allclose(
        hits["normal_velocity_after"] / hits["normal_velocity_before"], -0.5, rtol=0.03
    )


def test_rows_of_several_points_join_point_by_point():
    row = [0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0]
    rows = np.array(
        [[t, *row[1:3], after, *row[4:]] for t, after in ((1.0, -0.3), (1.0, -0.2), (2.0, 0.5), (2.0, 0.6))]
    )
    done, waiting = join_impacts(rows, 5.0, 1.0)
    assert not len(waiting) and done[:, 0].tolist() == [1.0, 1.0]
    assert done[:, 3].tolist() == [0.5, 0.6] and done[:, 4].tolist() == [2.0, 2.0]


def test_ensembles_take_the_steppers():
    for stepper in OWN:
        many = ss.ensemble(
            ball(), {"ball.vx": [0.5, 1.0]}, ["final", "impacts"], dt=2e-3, t_end=0.3, stepper=stepper, progress=False
        )
        one = ball().simulate(dt=2e-3, t_end=0.3, stepper=stepper, progress=False)
        assert np.array_equal(many["final_q"].values[1], one.q[-1]) and many["impacts"].values.tolist() == [[1], [1]]
        assert many.dataset.attrs["stepper"] == stepper


@pytest.mark.parametrize(
    ("options", "surface", "message"),
    [
        ({"stepper": "adaptive"}, {"rolling": 0.01}, "must be numbers, without patch and rolling"),
        ({"stepper": ss.StewartTrinkle(projection=1e-6)}, {}, "without projection"),
        ({"stepper": "stewart-trinkle", "rule": "gs05"}, {}, "rule must be left out with stepper 'stewart-trinkle'"),
        ({"stepper": "paoli-schatzman"}, {"restitution_tangential": 0.5}, "has no restitution_tangential"),
        ({"stepper": "paoli-schatzman"}, {"friction_impact": 0.1}, "friction_impact or RestitutionCurve"),
        ({"stepper": "stewart-trinkle", "law": "stronge"}, {}, "a stepper of Moreau"),
        ({"stepper": "stewart-trinkle"}, {"rolling": 0.01}, "a stepper of Moreau"),
    ],
)
def test_what_a_stepper_lacks_is_refused_in_one_line(options, surface, message):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    scene.add_body(ss.Sphere(0.1), mass=1.0, position=(0, 0, 1), friction=0.3, **surface)
    with pytest.raises(ValueError, match=message) as caught:
        scene.simulate(dt=1e-3, t_end=0.1, **options)
    assert "\n" not in str(caught.value)


def test_a_library_scene_names_the_steppers_that_run_it():
    assert "paoli-schatzman" not in ss.library.billiards().steppers  # tangential restitution: in one step alone
    assert ss.library.get("thrown_cube").steppers[-1] == "paoli-schatzman"
    with pytest.raises(ValueError, match="whose impacts take two steps"):
        ss.library.billiards().simulate(stepper="paoli-schatzman", t_end=1e-3)
