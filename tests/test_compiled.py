"""Where compiled kernels are kept."""

import gc
from pathlib import Path

import pytest
from numba.core.compiler import Flags

from stickslip.compiled import PACKAGE, cache_folder, compiled, source_group, sources_hash


def test_environment_variable_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    assert not (tmp_path / "mine").exists()


def test_relative_and_home_folders_become_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STICKSLIP_CACHE", "here")
    assert cache_folder() == Path.cwd() / "here"
    monkeypatch.setenv("STICKSLIP_CACHE", "~/there")
    assert cache_folder() == Path.home() / "there"


@pytest.mark.parametrize(("xdg", "expected"), [("/caches", "/caches/stickslip"), ("", None), ("relative/caches", None)])
def test_linux_follows_xdg(monkeypatch, xdg, expected):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("STICKSLIP_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_folder() == (Path(expected) if expected else Path.home() / ".cache" / "stickslip")


def test_a_folder_inside_compiled_sources_is_a_group_of_its_own():
    """Editing friction solvers leaves the machine code of everything else alone."""
    friction = PACKAGE / "complementarity" / "friction" / "newton.py"
    assert source_group(str(friction)) == "complementarity/friction"
    assert source_group(str(PACKAGE / "complementarity" / "lemke.py")) == ""
    assert source_group(str(PACKAGE / "sets.py")) == ""
    assert source_group("/somewhere/else/kernels/made.py") == ""
    assert sources_hash("complementarity/friction") != sources_hash()


def test_compiler_flags_compare_as_numba_compares_them():
    """The quick comparison reads the options that are set; a default written out is no difference."""
    plain, written_out, other = Flags(), Flags(), Flags()
    written_out.boundscheck = False
    written_out.forceinline = Flags.options["forceinline"].default
    other.forceinline = True
    pairs = [(plain, written_out), (plain, other), (written_out, other), (other, other.copy())]
    for left, right in pairs:
        assert (left == right) == (left.values() == right.values())
        assert (left == right) <= (hash(left) == hash(right))
    assert plain == written_out
    assert plain != other
    assert plain != "flags"


def test_compiling_leaves_the_garbage_collector_as_it_was():
    before = gc.get_threshold()

    @compiled
    def square(x):
        return x * x

    assert square(3.0) == 9.0
    assert gc.get_threshold() == before
