"""Results seen from Python: figures, films, pages, live pages and notebooks."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import types
import urllib.request
from pathlib import Path

import pytest

import stickslip as ss
from stickslip.figures.animation import Film
from stickslip.io.printable import file_name
from stickslip.page import showing


@pytest.fixture(scope="module")
def run():
    return ss.library.bouncing_ball(restitution=0.5).simulate(dt=5e-3, t_end=1.0, progress=False)


@pytest.fixture(scope="module")
def scene():
    found = ss.Scene(dim=3, name="one box")
    found.add_static(ss.HalfSpace(normal=(0, 0, 1)), friction=0.5)
    found.add_body(ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.2), name="box")
    return found


def in_a_notebook(monkeypatch):
    class ZMQInteractiveShell:
        pass

    module = types.SimpleNamespace(get_ipython=ZMQInteractiveShell)
    monkeypatch.setitem(sys.modules, "IPython", module)


def test_a_run_plots_itself(run, tmp_path):
    figure = run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "Bouncing ball" in figure.texts[0].get_text() or figure._suptitle is not None
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_run_from_a_file_finds_its_library_entry(run, tmp_path):
    run.save(tmp_path / "run.nc")
    loaded = ss.load(tmp_path / "run.nc")
    assert loaded.scenario is None and loaded._shown(None).title == run.scenario.title


def test_a_run_animates_itself(run, tmp_path):
    film = run.animate(tmp_path / "run.gif", span=0.2, fps=5, progress=False)
    assert film.read_bytes().startswith(b"GIF8")


def test_a_scene_that_is_stepped_by_hand_is_drawn_as_well(scene, tmp_path):
    sim = ss.Simulator(scene, dt=2e-3)
    sim.step(50)
    run = sim.trajectory()
    assert run.plot() is not None and run.scenario.drawing is not None
    assert run.animate(tmp_path / "run.gif", fps=2, progress=False).read_bytes().startswith(b"GIF8")


@pytest.mark.parametrize("name", ["compass_gait", "rimless_wheel"])
def test_the_film_of_a_walker_keeps_all_of_it_in_view(name):
    entry = ss.library.get(name)
    run = entry.simulate(dt=1e-2, t_end=2.0, engine="reference")
    film = Film.plan(run, entry.drawing)
    x = film.q[:, run.coordinate_names.index("x")] - film.camera[:, 0]
    y = film.q[:, run.coordinate_names.index("y")] - film.camera[:, 1]
    assert film.box[0] < x.min() and x.max() < film.box[1]
    assert film.box[2] < y.min() and y.max() < film.box[3]


def test_what_has_no_drawing_makes_no_film(tmp_path):
    import sympy as sp

    x, v = sp.symbols("x v")
    system = ss.LagrangianSystem.from_energies([x], velocities=[v], kinetic=v**2 / 2, potential=9.81 * x, contacts=[])
    bare = ss.simulate(system, [1.0], [0.0], dt=1e-2, t_end=0.1, engine="reference")
    assert bare.plot() is not None
    with pytest.raises(ValueError, match="has no drawing"):
        bare.animate(tmp_path / "run.gif")


@pytest.mark.parametrize(
    "stepper", ["moreau-jean", pytest.param("moreau-midpoint", marks=pytest.mark.slow)], ids=["recorded", "simulates"]
)
def test_a_scene_is_drawn_with_its_own_run(scene, tmp_path, stepper):
    """A page that simulates takes seconds to build; by another stepper than the midpoint rule it plays the run back."""
    run = scene.simulate(dt=2e-3, t_end=0.1, progress=False, stepper=stepper)
    assert run.scenario is scene
    assert run.plot(tmp_path / "scene.svg") is not None
    page = run.show(browser=False)
    assert page.suffix == ".html" and b"one box" in page.read_bytes()
    scene_of_another_kind = ss.Scene(dim=3)
    scene_of_another_kind.add_body(ss.Sphere(0.1), mass=1.0)
    with pytest.raises(ValueError, match="must be the one that was run"):
        run.plot(scenario=scene_of_another_kind)


def test_the_browser_opens_a_page(run, monkeypatch, capsys):
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    path = run.show()
    assert opened == [Path(path).as_uri()] and b"Bouncing ball" in Path(path).read_bytes()
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    run.show()
    assert "no browser could be opened" in capsys.readouterr().err


def test_pages_that_were_shown_do_not_pile_up(run, monkeypatch, tmp_path):
    """One folder for a process; folders of ended ones go after a day; nothing else among the temporary files does."""
    monkeypatch.setattr(showing.tempfile, "tempdir", str(tmp_path))
    showing._folder_of.cache_clear()
    old, young, foreign = (
        tmp_path / name for name in ("stickslip-page-old", "stickslip-page-young", "stickslip-other")
    )
    for folder in (old, young, foreign):
        folder.mkdir()
        (folder / "page.html").touch()
    (tmp_path / "stickslip-page-link").symlink_to(foreign)
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    pages = [run.show(browser=False) for _ in range(3)]
    assert len(set(pages)) == 3 and len({page.parent for page in pages}) == 1
    assert not old.exists() and (young / "page.html").exists() and (foreign / "page.html").exists()
    assert pages[0].parent.stat().st_mode & 0o077 == 0
    shutil.rmtree(pages[0].parent)
    assert run.show(browser=False).exists()
    showing._folder_of.cache_clear()


@pytest.mark.parametrize("name", ["../../up", "/root", "a\x1b]0;b", "..", "", "x" * 300])
def test_no_name_leads_out_of_the_folder_of_a_page(name):
    assert re.fullmatch(r"[\w-]{1,60}", file_name(name))


def test_a_notebook_shows_a_page_in_a_frame(run, monkeypatch):
    in_a_notebook(monkeypatch)
    page = run.show()
    html = page._repr_html_()
    assert html.startswith("<iframe srcdoc=") and "&lt;" in html and "<script" not in html
    assert "characters" in repr(page)


def test_results_are_tables_in_a_notebook(run):
    for result, words in (
        (run, ("bouncing_ball", "failed steps", "moreau-midpoint")),
        (run.certificate, ("worst residual", "tolerance")),
        (run.impacts(), ("normal_impulse", "table", "impacts")),
        (run.events(), ("kind", "impact")),
        (run.energy_book(), ("contacts", "unexplained", "J")),
        (run.scenario, ("restitution", "start: y", "dt, t_end")),
    ):
        html = result._repr_html_()
        assert html.startswith("<table>") and all(word in html for word in words), result
    equations = run.scenario.system.equations()
    shown = equations._repr_latex_()
    assert "\\mathbf{M}" in shown and str(equations) == equations.text()
    assert shown.startswith("$$\\begin{aligned}") and shown.endswith("\\end{aligned}$$")
    sim = ss.Simulator(run.scenario, dt=5e-3)
    sim.step(300)
    assert "closed contacts" in sim.contacts()._repr_html_()


def test_text_from_users_is_escaped():
    from stickslip import markup

    html = markup.table([("<script>", 1.0)], caption="a < b")
    assert "<script>" not in html and "&lt;script&gt;" in html and "a &lt; b" in html


def test_prints_are_short(run, scene):
    for result in (run.scenario, ss.library.get("cube_stack"), run, scene):
        assert len(repr(result)) < 400 and "\n" not in repr(result)


def test_what_cannot_be_seen_is_refused():
    with pytest.raises(ValueError, match="a Scenario, a Scene"):
        ss.view(3)


@pytest.mark.slow  # `tests/cli/test_view.py` does it by the command by default
def test_a_live_page_of_a_scene_is_served_until_ctrl_c(tmp_path):
    """A script that calls `view` on its own scene serves the page, on loopback, and ends with Ctrl-C."""
    program = """
        import stickslip as ss
        scene = ss.Scene(dim=3, name="one box")
        scene.add_static(ss.HalfSpace(normal=(0, 0, 1)), friction=0.5)
        scene.add_body(ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.2), name="box")
        ss.view(scene, browser=False, t_end=0.5)
        print("over")
    """
    reset = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", reset + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stderr.readline()
        while "http" not in line and line:
            line = process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+\S*", line)[0]
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.status == 200 and b"<html" in answer.read(2000)
        process.send_signal(2)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert out.strip() == "over" and process.returncode == 0


def test_a_live_page_in_a_notebook_is_served_beside_it(monkeypatch):
    in_a_notebook(monkeypatch)
    page = showing.view(ss.library.bouncing_ball())
    server, folder = page._served_by
    try:
        assert page._repr_html_().startswith('<iframe src="http://127.0.0.1:') and "page at" in repr(page)
        with urllib.request.urlopen(page.address, timeout=30) as answer:
            assert answer.status == 200
    finally:
        server.shutdown()
        server.server_close()
        folder.cleanup()
    assert json.dumps(page.address)
