"""`stickslip reproduce`: files, command and certificate; nothing of others is replaced."""

import json
from functools import lru_cache

import pytest
from PIL import Image

from stickslip import library, papers
from stickslip.figures import style
from stickslip.papers import flg10, gs05

FRICTION = {"gs05": 0.3, "flg10": 0.01}


@lru_cache
def slider_crank(restitution):
    scenario = library.slider_crank(restitution_normal=restitution)
    return scenario.simulate(dt=5e-4, t_end=0.16, engine="reference", progress=False)


@lru_cache
def woodpecker():
    return library.woodpecker().simulate(dt=1e-3, t_end=0.7, engine="reference", progress=False)


@pytest.fixture(autouse=True)
def coarse_motions(monkeypatch):
    """Motions that take no time."""
    monkeypatch.setattr(gs05, "_run", woodpecker)
    monkeypatch.setattr(flg10, "_run", slider_crank)


def test_one_figure(run, tmp_path):
    folder = tmp_path / "new" / "pictures"
    code, out, err = run("reproduce", "gs05-fig4", "--out", folder)
    assert (code, err) == (0, "")
    files = [folder / "gs05-fig4.png", folder / "gs05-fig4.svg"]
    assert sorted(folder.iterdir()) == files
    for file in files:
        assert str(file) in out and style.is_ours(file)
    assert "[GS05] Figure 4" in out and "stickslip reproduce gs05-fig4" in out and "0 failed steps" in out
    with Image.open(files[0]) as picture:
        assert picture.text["Title"].startswith("[GS05] Figure 4. Time history of the woodpecker's")


LONG = (
    "s00",
    "s00_friction",
    "s00_rod",
    "s00_impacts",
    "maps",
    "models",
    "flowcharts",
)  # modules whose figures need kernels of their own
PLACES = {key: place.split(".")[0] for key, place in papers._KEYS.items()}
FIRST = {place: key for key, place in reversed(PLACES.items()) if place not in LONG}  # one figure of each module


@pytest.mark.parametrize(
    "chosen", [tuple(reversed(FIRST.values())), pytest.param(tuple(PLACES), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_all_figures_as_json(run, tmp_path, monkeypatch, chosen):
    monkeypatch.setattr(papers, "_KEYS", {key: papers._KEYS[key] for key in chosen})
    code, out, err = run("reproduce", "all", "--out", tmp_path, "--format", "svg", "--json")
    assert (code, err) == (0, "")
    drawn = json.loads(out)["figures"]
    assert tuple(row["key"] for row in drawn) == papers.keys()
    for row in drawn:
        assert row["files"] == [str(tmp_path / f"{row['key']}.svg")]
        if row["certificate"] is None:
            assert row["check"]
            continue
        assert row["certificate"]["failed_steps"] == 0
        if row["key"].split("-")[0] in FRICTION and row["key"] != "flg10-fig3":  # a law, not the paper's mechanism
            assert row["parameters"]["friction"] == FRICTION[row["key"].split("-")[0]]
        assert row["command"] == f"stickslip reproduce {row['key']}"
    assert len(list(tmp_path.iterdir())) == len(papers.keys()) + 1
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert json.loads(out)["index"] == str(tmp_path / "index.html")
    for row in drawn:  # figure, paper, command, certificate
        for part in (f'src="{row["key"]}.svg"', f"[{row['key'].split('-')[0].upper()}]", row["command"]):
            assert part in index
    drawings = sum(row["certificate"] is None for row in drawn)
    assert index.count("a drawing; checked: ") == drawings
    assert index.count("0 failed steps") + index.count("0 unsolved impacts") == len(drawn) - drawings
    assert "friction&nbsp;=&nbsp;0.3" in index and "http" not in index


def test_without_a_key_the_figures_are_listed(run):
    code, out, err = run("reproduce")
    assert (code, err) == (0, "") and all(key in out for key in papers._KEYS)
    code, out, _ = run("reproduce", "--json")
    assert code == 0 and tuple(json.loads(out)["figures"]) == papers.keys()


def test_a_figure_for_a_column_of_a_journal(run, tmp_path):
    arguments = ("reproduce", "gs05-fig4", "--out", tmp_path, "--format", "svg", "--width", "85mm")
    assert run(*arguments)[0] == 0
    text = (tmp_path / "gs05-fig4.svg").read_text(encoding="utf-8")
    assert 'width="240.94' in text  # 85 mm in points
    assert run(*arguments, "--bare")[0] == 0
    assert (tmp_path / "gs05-fig4.svg").stat().st_size < len(text)


def test_figures_are_drawn_again_without_asking(run, tmp_path):
    for kinds in ("pdf, png", "png"):
        assert run("reproduce", "gs05-fig6", "--out", tmp_path, "--format", kinds)[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gs05-fig6.pdf", "gs05-fig6.png"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gs05-fig7"], "unknown figure 'gs05-fig7'; did you mean '"),
        (["picasso"], "known: gs05-fig1, gs05-fig2, gs05-fig3, "),
        (["gs05-fig4", "--format", "bmp"], "--format must be any of png, svg, pdf with commas between, got 'bmp'"),
        (["gs05-fig4", "--width", "85"], "width must be a number with mm, cm or in behind it, such as 85mm, got '85'"),
        (["gs05-fig4", "--width", "9mm"], "width must lie between 38 and 508 mm, got '9mm'"),
    ],
)
def test_wrong_requests(run, arguments, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("reproduce", *arguments)
    assert (code, out) == (2, "")
    assert expected in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_files_of_others_stay(run, tmp_path):
    (tmp_path / "gs05-fig5.svg").write_text("precious")
    code, out, err = run("reproduce", "all", "--out", tmp_path)
    assert (code, out) == (2, "")
    assert "was not drawn by stickslip: it is never replaced" in err
    assert [path.name for path in tmp_path.iterdir()] == ["gs05-fig5.svg"]
    (tmp_path / "file").write_text("")
    code, _, err = run("reproduce", "gs05-fig4", "--out", tmp_path / "file")
    assert code == 2 and "cannot be made a folder" in err


def test_figures_of_impacts_speak_of_impacts():
    from stickslip.cli.reproduce import _of_impacts
    from stickslip.trajectory import Certificate

    assert (
        _of_impacts(Certificate(max_residual=1e-16)) == "0 unsolved impacts, worst residual 1.0e-16, no energy gained"
    )
    assert "as unequal coefficients may under Newton's law" in _of_impacts(Certificate(max_energy_gain=0.11))


def test_a_figure_that_fails_is_told_and_the_others_are_drawn(run, tmp_path, monkeypatch):
    def fails():
        raise ArithmeticError("no <picture> today")

    monkeypatch.setattr(gs05, "fig5", fails)
    monkeypatch.setattr(papers, "_KEYS", {key: papers._KEYS[key] for key in ("gs05-fig4", "gs05-fig5")})
    code, out, _ = run("reproduce", "all", "--out", tmp_path, "--format", "png")
    assert code == 1 and "gs05-fig5: ArithmeticError: no <picture> today" in out
    assert (tmp_path / "gs05-fig4.png").exists()
    assert "no &lt;picture&gt; today" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_an_index_of_others_is_never_replaced(run, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    code, _, err = run("reproduce", "all", "--out", tmp_path)
    assert code == 2 and "index.html exists and was not drawn by stickslip" in err
