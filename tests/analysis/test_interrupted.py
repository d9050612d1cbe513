"""Ctrl-C in an analysis ends it: a run that was interrupted is neither a whole one nor a motion that fails."""

import ast
from pathlib import Path

import pytest

import stickslip as ss
from stickslip.run import driver

BALL = ss.library.bouncing_ball()
STEPS = {"dt": 1e-2, "engine": "reference"}
QUICK = {**STEPS, "t_end": 0.1}


def _built(g):
    """A model that is simulated in steps: a fit of it takes a run that does not end for a motion that fails."""
    return ss.library.bouncing_ball(g=g)


CALLS = {
    "sensitivity": lambda: ss.sensitivity(BALL, "g", t_end=0.1),
    "outcomes": lambda: ss.outcomes(BALL, {"y": 1e-3}, n=2, **QUICK),
    "branches": lambda: ss.outcomes(BALL, branch=True, **{"dt": 1e-2, "t_end": 0.1}),
    "poincare": lambda: ss.poincare(BALL, ss.LevelSection("v", 0.0), dt=1e-2, t_end=0.1),
    "step_sensitivity": lambda: ss.step_sensitivity(BALL, "g", dt=1e-2, t_end=0.1),
    "fit": lambda: ss.fit(_built, {"t": [0.0, 0.1], "y": [1.0, 0.9]}, {"g": (9.0, 10.0)}, noise=1e-3, options=STEPS),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_an_analysis(name, monkeypatch):
    """Ctrl-C comes in the march of the first run, which returns what it has."""

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "march_in_pieces", pressed)
    assert BALL.simulate(**QUICK).status.startswith("interrupted")
    with pytest.raises(KeyboardInterrupt):
        CALLS[name]()


PACKAGE = Path(ss.__file__).parent
GIVE_RUNS_BACK = ("run", "page", "scenes", "circuits", "bench")  # to whoever asked, who can tell; benchmarks
ONE_BY_ONE = ("scenario.py", "cli/run.py", "cli/circuit.py")
"""Modules whose runs are the answer itself, interrupted or not."""


def runs_of(path):
    """Functions of a module that simulate, with whether they look at how the run ended."""
    text = path.read_text(encoding="utf-8")
    for function in ast.walk(ast.parse(text)) if "simulate(" in text else ():
        if isinstance(function, ast.FunctionDef):
            calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
            names = [call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls]
            if "simulate" in names:
                yield function.name, "not_interrupted" in names


def test_whoever_needs_a_whole_run_asks_for_one():
    """Part of a run is taken for the whole nowhere: not by an analysis, a fit, a figure or a demonstration."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.split("/")[0] not in GIVE_RUNS_BACK and name not in ONE_BY_ONE:
            found |= {f"{name}: {function}": asks for function, asks in runs_of(path)}
    assert len(found) >= 15 and [place for place, asks in found.items() if not asks] == []
