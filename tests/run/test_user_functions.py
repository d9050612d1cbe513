"""Functions that users write for a model: compiled where they are in the kernel language, else run with a notice."""

import functools
import warnings

import numpy as np
import pytest

import stickslip as ss
from stickslip.jit import kernel

TABLE = {"k": 4.0}
STIFFNESS = np.array([4.0])


class Spring:
    """A spring as an object."""

    def __call__(self, q, u, t, p):
        return np.array([-4.0 * q[0]])


def doubled(x):
    return 2.0 * x


@kernel
def taken(x):
    return 2.0 * x


def by_lists(q, u, t, p):
    return [-4.0 * q[0]]


def with_where(q, u, t, p):
    return np.array([np.where(q[0] > 0, -4.0 * q[0], -q[0])])


def with_a_dictionary(q, u, t, p):
    return np.array([-TABLE["k"] * q[0]])


def with_an_object(q, u, t, p):
    return np.array([Spring()(q, u, t, p)[0]])


def with_try(q, u, t, p):
    try:
        return np.array([-4.0 * q[0]])
    except ZeroDivisionError:
        return np.zeros(1)


def with_print(q, u, t, p):
    print(end="")
    return np.array([-4.0 * q[0]])


def with_a_keyword(q, u, t, p, *, k=4.0):
    return np.array([-k * q[0]])


def with_a_comprehension(q, u, t, p):
    return np.array([-4.0 * x for x in q])


def with_an_unmarked_function(q, u, t, p):
    return np.array([-2.0 * doubled(q[0])])


def with_a_marked_function(q, u, t, p):
    return np.array([-2.0 * taken(q[0])])


def with_a_sum(q, u, t, p):
    return np.array([-4.0 * sum(q)])


def with_a_norm(q, u, t, p):
    return -4.0 * q / np.linalg.norm(q) * abs(q[0])


def of_whole_arrays(q, u, t, p):
    return -4.0 * np.sqrt(q * q)


def with_and(q, u, t, p):
    return np.array([-4.0 * q[0] * ((q[0] > 9.0 and 2.0) or 1.0)])


def with_names_around(k):
    return lambda q, u, t, p: np.array([-k * q[0]])


def run(force, **options):
    """The last place of an oscillator, and the words of all notices."""
    system = ss.LagrangianSystem(mass=[[1.0]], force=force, coordinates=["x"], parameters={"k": 4.0})
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        found = ss.simulate(system, [1.0], [0.0], dt=0.01, t_end=0.05, **options)
    return found.engine, float(found.q[-1, 0]), [str(notice.message) for notice in notices]


@pytest.mark.parametrize("force", [by_lists, with_a_marked_function, with_names_around(4.0)])
def test_functions_in_the_language_are_compiled(force):
    engine, x, notices = run(force)
    assert engine == "compiled" and not notices
    assert x == run(force, engine="reference")[1]


@pytest.mark.parametrize(
    ("force", "helps"),
    [
        (with_where, "write `a if condition else b`"),
        (with_a_dictionary, "an object of type dict has no elements here: give its numbers names"),
        (with_an_object, "Spring is not in the language"),
        (with_try, "nothing in a kernel raises, ask by `if`"),
        (with_print, "return what you want to see"),
        (with_a_keyword, "a kernel has plain parameters"),
        (with_a_comprehension, "write a loop"),
        (with_an_unmarked_function, "doubled is not in the language: mark it with @kernel"),
        (with_a_sum, "write a loop: the order of a sum decides its last digit"),
        (with_a_norm, "norm is not in the language: write it out with numbers and loops"),
        (of_whole_arrays, "write a loop over the elements"),
        (with_and, "join conditions, got a number of kind float: write a comparison"),
        (Spring(), "write it with def or lambda, and its numbers in parameters="),
        (functools.partial(by_lists), "write it with def or lambda"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_other_functions_run_on_the_reference_engine_with_a_notice_that_helps(force, helps):
    engine, x, notices = run(force)
    assert engine == "reference" and x == pytest.approx(run(by_lists)[1], rel=1e-12)
    assert len(notices) == 1 and helps in notices[0] and "docs/kernels.md" in notices[0]
    if hasattr(force, "__code__"):
        assert f"test_user_functions.py:{force.__code__.co_firstlineno}"[:-1] in notices[0]  # the line, or one below
    with pytest.raises(ValueError, match="of system 'system' is"):
        run(force, engine="compiled")
