"""Every target on its seeds, on what once went wrong, and on some changed inputs; `-m slow` takes many thousands."""

from pathlib import Path

import pytest

from tests.fuzz.__main__ import CORPUS, corpus, fuzz
from tests.fuzz.targets import TARGETS
from tests.thinned import FULL, examples, thinned

KEPT = [(path.parent.name, path.name) for path in sorted(CORPUS.glob("*/*"))]


def test_the_corpus_belongs_to_the_targets():
    assert KEPT and {name for name, _ in KEPT} <= set(TARGETS)
    assert sum(len(corpus(name)) for name in TARGETS) == len(KEPT)


@pytest.mark.parametrize(("target", "name"), KEPT)
def test_what_once_went_wrong(target, name):
    TARGETS[target].run((CORPUS / target / name).read_bytes())


@thinned
@pytest.mark.parametrize("name", TARGETS)
def test_some_changed_inputs(name, tmp_path, monkeypatch):
    count = examples(1, 20) if name == "hostile" else 20
    if (
        name == "hostile" and not FULL
    ):  # a file takes a tenth of a second: each kind once, and not in each of three models
        kinds = [bytes([kind, 40, kind]) for kind in range(18)]
        monkeypatch.setitem(TARGETS, name, TARGETS[name]._replace(seeds=lambda: kinds))
    done, failed, _ = fuzz(name, count, 60.0, 5, tmp_path)
    assert done == count and failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_changed_inputs(name, tmp_path):
    """Half a minute each; `make fuzz` takes a million of each.  Hostile files are large, a tenth of a second each."""
    done, failed, _ = fuzz(name, 1e9, 30.0, 6, tmp_path)
    assert done > (100 if name == "hostile" else 1000) and failed == 0


def test_a_failure_is_found_and_kept(tmp_path, monkeypatch):
    """A reader that raises anything but a ValueError of one line, now and then."""
    target = TARGETS["expressions"]

    def careless(data: bytes) -> None:
        if b"(" not in data:
            raise KeyError("oops")

    monkeypatch.setitem(TARGETS, "expressions", target._replace(run=careless, seeds=lambda: [b"sin(x)"]))
    monkeypatch.setattr("tests.fuzz.__main__.corpus", lambda name: [])
    done, failed, _ = fuzz("expressions", 200, 60.0, 1, tmp_path)
    assert done == 200 and 0 < failed < 200
    kept = [path.read_bytes() for path in Path(tmp_path, "expressions").iterdir()]
    assert kept and all(b"(" not in data for data in kept)
