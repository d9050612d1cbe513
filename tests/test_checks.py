"""Arrays that are none of real numbers: one line, wherever they come in; odd ones that are, are taken as they are."""

import fractions
import inspect
import pickle

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.checks import real_number, unknown_name, whole_number
from stickslip.ensembles.plan import axis_values

BALL = library.bouncing_ball()
TAKERS = {
    "q0": ([1.0], lambda a: ss.simulate(BALL.system, a, [0.0], dt=1e-2, t_end=1e-2, engine="reference").q),
    "u0": ([0.0], lambda a: ss.simulate(BALL.system, [1.0], a, dt=1e-2, t_end=1e-2, engine="reference").q),
    "mass": ([[1.0]], lambda a: ss.LagrangianSystem(mass=a, force=lambda q, u, t, p: (-1.0,), name="m").mass([0.0])),
    "Box": ([1.0, 2.0, 3.0], lambda a: ss.Box(a).pieces(3)[0].size),
    "Polygon": ([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], lambda a: ss.Polygon(a).vertices),
    "ConvexHull": ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], lambda a: ss.ConvexHull(a).points),
    "HeightField": ([[0.0, 1.0], [2.0, 3.0]], lambda a: ss.HeightField(a).heights),
    "gravity": ([0.0, 0.0, -9.81], lambda a: ss.Scene(gravity=a).gravity),
    "vary": ([0.1, 0.2], lambda a: axis_values("x", a)),
    "law": ([0.5], lambda a: np.array(ss.Newton(a).restitution_normal)),
    "centre": ([0.5, 0.5], lambda a: ss.sweeping_process(ss.MovingBall(a, 1.0), [0.5, 0.5], dt=0.1, t_end=0.1).x),
    "solve_lcp": ([-1.0, -2.0], lambda a: ss.solve_lcp(np.eye(2), a).x),
}


def wrong(numbers):
    """Arrays of the shape of these numbers that are none of real numbers."""
    a = np.array(numbers)
    mask = np.zeros(a.shape, bool)
    mask.flat[0] = True
    yield "masked", np.ma.masked_array(a, mask)
    yield "complex", a + 1j
    for kind in ("U", "S"):
        yield "texts", a.astype(kind)
    yield "dates", a.astype("i8").astype("M8[s]")
    yield "spans", a.astype("i8").astype("m8[s]")
    yield "records", np.zeros(a.shape, [("x", float)])
    for entry in ("1.5x", None, [1, 2], 1j, 10**400):
        mixed = a.astype(object)
        mixed.flat[0] = entry
        yield f"with {str(entry)[:5]}", mixed
    for entry in (np.nan, np.inf, np.longdouble("1e4000")):
        odd = a.astype(np.longdouble)
        odd.flat[0] = entry
        yield f"with {entry}", odd
    yield "a mapping", {"a": 1.0}


def right(numbers):
    """Equal numbers in other layouts and types, which a call must accept."""
    a = np.array(numbers)
    locked = a.copy()
    locked.setflags(write=False)
    yield from (a.astype(">f8"), locked, np.asfortranarray(a), np.repeat(a, 2, axis=-1)[..., ::2], a.tolist())
    yield a.astype(np.longdouble)
    yield a[..., ::-1].copy()[..., ::-1]
    yield np.vectorize(fractions.Fraction, otypes=[object])(a) if a.size else a


@pytest.mark.filterwarnings("error")  # the line stands alone
@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_array_of_real_numbers_is_refused_in_one_line(name):
    numbers, take = TAKERS[name]
    for kind, array in wrong(numbers):
        with pytest.raises(ValueError) as problem:
            take(array)
        assert "\n" not in str(problem.value), kind


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", TAKERS)
def test_layouts_and_types_change_nothing(name):
    numbers, take = TAKERS[name]
    expected = np.asarray(take(np.array(numbers)))
    for array in right(numbers):
        if name == "solve_lcp" and np.asarray(array).dtype == object:
            continue  # refused there, with what helps
        assert np.array_equal(np.asarray(take(array), dtype=float), expected)


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), "1", None, True, np.array(1.0)])
def test_numbers_that_are_none(value):
    with pytest.raises(ValueError, match="dt must be a finite number, got"):
        real_number(value, "dt")
    with pytest.raises(ValueError, match="radius of Sphere must be"):
        ss.Sphere(value)


@pytest.mark.parametrize("value", [True, 1.0, "3", None, 1, np.int64(1)])
def test_a_whole_number_below_the_least_or_none_at_all_is_refused(value):
    with pytest.raises(ValueError, match=r"^count must be a whole number >= 2, got .*\.$"):
        whole_number(value, "count", 2)


HUGE = 10**400
LARGER = {
    "every": lambda: BALL.simulate(dt=1e-3, t_end=0.01, every=2**64),
    "max_iterations": lambda: ss.solve_lcp([[1.0]], [1.0], max_iterations=HUGE),
    "tol": lambda: ss.solve_lcp([[1.0]], [1.0], tol=HUGE),
    "gap_tol": lambda: ss.impact(BALL.system, BALL.q0, BALL.u0, gap_tol=HUGE),
    "projection": lambda: ss.MoreauMidpoint(projection=HUGE),
    "largest_step": lambda: ss.Adaptive(largest_step=HUGE),
    "atol": lambda: ss.EventDriven(atol=HUGE),
    "stiffness_ratio": lambda: ss.Stronge(stiffness_ratio=HUGE),
    "effort of motor": lambda: ss.Motor(effort=HUGE),
    "appears": lambda: ss.Scene().add_body(ss.Sphere(1.0), mass=1.0, appears=HUGE),
    "limits": lambda: two_bodies().add_revolute(0, 1, at=(0, 0, 0), axis=(0, 0, 1), limits=(0, HUGE)),
}


def two_bodies():
    scene = ss.Scene()
    for x in (0.0, 3.0):
        scene.add_body(ss.Sphere(1.0), mass=1.0, position=(x, 0, 0))
    return scene


@pytest.mark.parametrize("name", LARGER)
def test_whole_numbers_beyond_all_floats_are_refused_in_one_line(name):
    """`x < inf` holds for a whole number of 400 digits, which no float can be."""
    with pytest.raises(ValueError, match=f"^{name} ") as refusal:
        LARGER[name]()
    assert "\n" not in str(refusal.value)


ODD = {
    "params": lambda odd: BALL.simulate(dt=1e-3, t_end=0.01, params=odd),
    "params ": lambda odd: ss.ensemble(BALL, {"restitution": [0.5]}, params=odd),
    "params  ": lambda odd: ss.Simulator(BALL, params=odd),
    "effort of motor": lambda odd: ss.Motor(effort=odd),
    "parts of Compound": lambda odd: ss.Compound(odd),
    "contacts": lambda odd: ss.erdmann(BALL.system, BALL.q0, contacts=odd),
    "gravity": lambda odd: ss.Scene(gravity=odd),
    "friction of": lambda odd: ss.Scene().add_body(ss.Sphere(1.0), mass=1.0, friction=odd),
    "tol": lambda odd: ss.solve_lcp([[1.0]], [1.0], tol=odd),
    "time_limit": lambda odd: BALL.simulate(dt=1e-3, t_end=0.01, time_limit=odd),
    "every": lambda odd: BALL.simulate(dt=1e-3, t_end=0.01, every=odd),
    "device": lambda odd: ss.ensemble(BALL, {"restitution": [0.5]}, device=odd),
    "n": lambda odd: ss.Simulator(BALL).step(odd),
    "seed": lambda odd: ss.outcomes(BALL, {"y": 0.01}, 2, seed=odd),
    "seed ": lambda odd: library.granular_column(grains=3, seed=odd),
    "wrt": lambda odd: ss.sensitivity(BALL, [odd]),
    "vary": lambda odd: ss.basins(library.impact_oscillator(), odd),
    "settle_returns": lambda odd: ss.limit_cycle(library.impact_oscillator(), settle_returns=odd),
}


@pytest.mark.parametrize(
    "odd", [object(), b"x", [[1], [1, 2]], np.zeros((2, 2, 2)), "\x1b[31m"], ids=lambda x: repr(x)[:12]
)
@pytest.mark.parametrize("name", ODD)
def test_odd_things_are_refused_in_one_line(name, odd):
    with pytest.raises(ValueError, match=f"^{name.strip()}") as refusal:
        ODD[name](odd)
    assert "\n" not in str(refusal.value) and "\x1b" not in str(refusal.value)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_numbers_of_runs_that_no_machine_can_do():
    """A matrix as a seed ended the process: NumPy unpacks it without end."""
    with pytest.raises(ValueError, match=r"^seed must be a whole number"):
        ss.outcomes(BALL, {"y": 0.01}, 2, seed=np.matrix([[1.0, 2.0]]))
    with pytest.raises(ValueError, match=r"^n must be 1000000 at most"):
        ss.outcomes(BALL, {"y": 0.01}, 2**62)
    with pytest.raises(ValueError, match=r"^settle_returns must be .* at most"):
        ss.limit_cycle(library.impact_oscillator(), settle_returns=2**62)


@pytest.mark.parametrize("mass", [5e-324, 1e-322])
def test_a_mass_whose_inertia_vanishes(mass):
    scene = two_bodies()
    with pytest.raises(ValueError, match=r"^sphere1\.mass must leave an inertia"):
        ss.ensemble(scene, {f"{scene.bodies[1].name}.mass": [mass]}, dt=1e-2, t_end=0.05)


def test_a_record_of_so_many_steps_that_none_is_made():
    assert len(BALL.simulate(dt=1e-3, t_end=0.01, every=np.int64(2**62)).t) == 2
    assert BALL.simulate(dt=1e-3, t_end=0.01, time_limit=HUGE).complete


def test_whole_numbers_of_numpy_are_taken():
    found = whole_number(np.int32(7), "count")
    assert found == 7
    assert type(found) is int


WRONG_WORDS = [
    (
        lambda: ss.library.woodpecker(frction=0.3),
        TypeError,
        "woodpecker: unknown keyword 'frction'; did you mean 'friction'",
    ),
    (lambda: ss.library.cube_stack(cube=3), TypeError, "cube_stack: unknown keyword 'cube'; did you mean 'cubes'"),
    (lambda: ss.Scene(dim=3).add_body(ss.Sphere(1.0), mas=1.0), TypeError, "'mas'; did you mean 'mass'"),
    (lambda: ss.library.bouncing_ball().simulate(stepper="moreau-jena"), ValueError, "did you mean 'moreau-jean'"),
    (lambda: ss.library.bouncing_ball().simulate(solver="lemk"), ValueError, "got 'lemk'; did you mean 'lemke'"),
    (lambda: ss.library.bouncing_ball().simulate(law="poison"), ValueError, "got 'poison'; did you mean 'poisson'"),
    (lambda: ss.solve_lcp([[1.0]], [1.0], method="lemk"), ValueError, "got 'lemk'; did you mean 'lemke'"),
    (
        lambda: ss.Scene(dim=3).add_body(ss.Sphere(1.0), mass=1.0, inertia=(1, 1, 5), name="egg"),
        ValueError,
        "inertia of 'egg'",
    ),
]


@pytest.mark.parametrize("case", range(len(WRONG_WORDS)))
def test_a_wrong_word_is_answered_with_the_nearest(case):
    call, kind, message = WRONG_WORDS[case]
    with pytest.raises(kind, match=message):
        call()


def test_entries_of_the_library_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(ss.library.woodpecker)) is ss.library.woodpecker
    assert "friction" in inspect.signature(ss.library.woodpecker).parameters


def test_very_long_names_are_not_compared():
    assert "did you mean" not in unknown_name("word", "a" * 10**6, ["a" * 100])
