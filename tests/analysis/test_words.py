"""One vocabulary: a keyword has one meaning in all analyses; old keywords still work, with a warning."""

import inspect

import pytest

import stickslip as ss
from stickslip.analysis.convergence import converge
from stickslip.analysis.progress import reported
from stickslip.ensembles.run import Options

TOY = ss.library.woodpecker()
ANALYSES = [
    ss.basins, ss.bifurcation, ss.continue_cycle, converge, ss.ensemble, ss.limit_cycle, ss.lyapunov, ss.outcomes,
    ss.poincare,
]  # fmt: skip
OLD = {"duration", "keep", "transient", "advance", "tell", "most"}


def keywords(function):
    found = dict.fromkeys(inspect.signature(function).parameters)
    return set(found) | (set(Options.__annotations__) if function is ss.ensemble else set())


@pytest.mark.parametrize("function", ANALYSES, ids=lambda function: function.__name__)
def test_words_are_shared(function):
    words = keywords(function)
    assert not words & OLD
    assert "progress" in words
    assert len(inspect.signature(function).parameters) <= 16


@pytest.mark.parametrize(
    ("call", "new", "message"),
    [
        (lambda: ss.bifurcation(TOY, "friction", [0.3], keep=0), "points", "points must be a whole number >= 1"),
        (lambda: ss.bifurcation(TOY, "friction", [0.3], duration=-1.0), "t_end", "t_end must be positive"),
        (lambda: ss.basins(TOY, {"v": [0.0]}, duration=-1.0), "t_end", "t_end must be positive"),
        (lambda: ss.lyapunov(TOY, t_end=1.0, transient=2.0), "skip", "skip must lie between 0 and t_end = 1 s"),
        (lambda: ss.continue_cycle(TOY, "friction", 0.3, 0.3, most=3), "max_cycles", "must differ"),
        (lambda: ss.limit_cycle(TOY, tol=1.0, advance=print), "progress", "tol must lie between"),
        (lambda: converge(TOY, halvings=0, advance=print), "progress", "halvings must lie between"),
    ],
)
def test_old_words_work_with_a_warning(call, new, message):
    with pytest.warns(DeprecationWarning, match=f"is called {new} now"), pytest.raises(ValueError, match=message):
        call()


def test_an_old_word_beside_the_new_one_is_refused():
    with pytest.raises(ValueError, match="lyapunov: transient is the old name of skip: give skip alone"):
        ss.lyapunov(TOY, transient=0.1, skip=0.1)


def test_a_keyword_that_an_ensemble_does_not_have_is_named():
    with pytest.raises(TypeError, match="unknown keyword 'point'; did you mean 'points'"):
        ss.ensemble(TOY, {"friction": [0.3]}, point=3)


def test_progress_goes_to_a_function_of_ones_own(capsys):
    told = []
    with reported(told.append, "runs", 2) as report:
        report(1)
        report("a stage")
    with reported(False, "runs", 2) as report:
        report(1)
    assert told == [1, "a stage"] and capsys.readouterr() == ("", "")
