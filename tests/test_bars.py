"""Progress bars: none in files, Rich on a terminal, HTML in a notebook."""

import sys
import types

import pytest

from stickslip import bars, library
from stickslip.run.progress import progress_bar


@pytest.fixture
def notebook(monkeypatch):
    """A notebook of which we keep what it is shown."""

    class ZMQInteractiveShell:
        pass

    shown = []
    handle = types.SimpleNamespace(update=shown.append)

    def display(html, display_id):
        shown.append(html)
        return handle

    module = types.ModuleType("IPython")
    module.get_ipython = ZMQInteractiveShell
    module.display = types.ModuleType("IPython.display")
    module.display.HTML, module.display.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    monkeypatch.setattr(bars, "_BETWEEN", -1.0)
    return shown


def test_a_notebook_has_a_bar_that_moves_and_goes(notebook):
    bar = bars.new_bar(None)
    task = bar.add_task("woodpecker <toy>", total=200, rate="")
    bar.update(task, completed=10)
    assert notebook == []  # not started
    bar.start()
    bar.update(task, completed=50, rate="3e4 steps/s")
    bar.advance(task, 50)
    bar.stop()
    assert "value='50' max='200'" in notebook[1] and "25 % 3e4 steps/s" in notebook[1]
    assert "woodpecker &lt;toy&gt;" in notebook[0] and "50 %" in notebook[2]
    assert notebook[-1] == ""


def test_a_run_in_a_notebook_shows_its_bar_after_two_seconds(notebook, monkeypatch):
    now = iter(range(0, 1000, 1))
    monkeypatch.setattr("stickslip.run.progress.time.perf_counter", lambda: float(next(now)))
    with progress_bar(None, "ball", 100) as advance:
        for k in range(6):
            advance(10 * k)
    assert any("ball" in html and "50 %" in html for html in notebook) and notebook[-1] == ""


def test_where_nobody_looks_there_is_no_bar(notebook):
    assert bars.new_bar(False) is None
    library.bouncing_ball().simulate(dt=1e-2, t_end=0.1)  # takes less than two seconds
    assert notebook == []


def test_a_terminal_is_asked_only_without_a_notebook(monkeypatch):
    monkeypatch.setattr(bars, "bar_wanted", lambda progress: False)
    assert bars.new_bar(None) is None
    monkeypatch.setattr(bars, "bar_wanted", lambda progress: True)
    assert type(bars.new_bar(None, rate=True)).__name__ == "Progress"
