"""Where compiled kernels are kept."""

import os
from pathlib import Path

import pytest

import stickslip as ss
from stickslip.jit.cache import cache_files, other_versions, remove_old_versions
from stickslip.jit.compiled import PACKAGE, present_stamps, source_group, sources_hash
from stickslip.jit.vault import cache_folder
from stickslip.mechanisms.generate import compiled_module


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


def test_scenes_are_a_group_of_their_own():
    """Editing scenes leaves the machine code of everything else alone."""
    for folder in ("scenes", "scenes/collision"):
        assert source_group(str(PACKAGE / folder / "any.py")) == "scenes"
    assert source_group(str(PACKAGE / "lcp" / "lemke.py")) == ""
    assert source_group(str(PACKAGE / "sets.py")) == ""
    assert source_group("/somewhere/else/scenes/made.py") == ""
    assert sources_hash("scenes") != sources_hash()


# -- versions --------------------------------------------------------------------------------------------------------


def test_every_source_file_is_kept_under_a_present_stamp():
    groups = {source_group(str(file)) for file in PACKAGE.rglob("*.py")}
    assert groups == {"", "scenes"}
    assert present_stamps() == {sources_hash(group) for group in groups}


def test_what_this_version_keeps_is_not_of_another_one(tmp_path, monkeypatch):
    """The text of a generated module is kept however old it is."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    system = ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: (-1.0,), name="falling alone")
    text = compiled_module(system, "local", "auto").__file__
    assert Path(text) in cache_files()
    os.utime(text, (0.0, 0.0))
    assert list(other_versions()) == [] and remove_old_versions() == (0, 0)
