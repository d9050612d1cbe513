"""The demonstration shows the numbers of the paper and fits on a screen."""

from stickslip.cli import main


def test_woodpecker_is_run_explained_and_drawn(capsys, tmp_path):
    picture = tmp_path / "toy.png"
    assert main(["demo", "--out", str(picture)]) == 0
    text = capsys.readouterr().out
    assert "every 146 ms it pecks once and drops 19." in text
    assert "0 failed steps" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(text.splitlines()) < 20


def test_demo_replaces_no_foreign_file(tmp_path):
    foreign = tmp_path / "mine.png"
    foreign.write_bytes(b"precious")
    assert main(["demo", "--out", str(foreign)]) == 2
    assert foreign.read_bytes() == b"precious"
