"""Where compiled kernels are kept."""

import os
import pickle
from pathlib import Path

import pytest

import stickslip as ss
from stickslip.jit.cache import cache_files, other_versions, remove_old_versions
from stickslip.jit.card_cache import PackageLocator, _HashedFiles
from stickslip.jit.compiled import COMPILED_SOURCES, PACKAGE, present_stamps, source_group, sources_hash
from stickslip.jit.vault import cache_folder, vault
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


def test_a_folder_inside_compiled_sources_is_a_group_of_its_own():
    """Editing friction solvers leaves the machine code of everything else alone."""
    friction = PACKAGE / "complementarity" / "friction" / "newton.py"
    assert source_group(str(friction)) == "complementarity/friction"
    assert source_group(str(PACKAGE / "complementarity" / "lemke.py")) == ""
    assert source_group(str(PACKAGE / "sets.py")) == ""
    assert source_group("/somewhere/else/kernels/made.py") == ""
    assert sources_hash("complementarity/friction") != sources_hash()


# -- what lies in the cache ------------------------------------------------------------------------------------------


def in_files(folder, stamp="stamp"):
    return _HashedFiles(folder, (), "module.function-1.py311", stamp)


@pytest.fixture
def files(tmp_path):
    """Index and data files as the cache writes them."""
    return in_files(tmp_path)


def test_cache_files_are_named_by_their_content(files, tmp_path):
    files.save("key", ("some", "machine code"))
    files.save("other", b"more")
    assert files.load("key") == ("some", "machine code") and files.load("other") == b"more"
    assert files.load("unknown") is None
    data = sorted(tmp_path.glob("*.nbc"))
    assert len(data) == 2 and {path.name for path in tmp_path.iterdir()} == {
        *(path.name for path in data), "module.function-1.py311.nbi", "key"
    }  # fmt: skip
    for path in data:
        assert path.name.split(".")[-2] == vault(tmp_path).seal("module.function-1.py311", path.read_bytes())


@pytest.mark.parametrize("suffix", ["nbc", "nbi"])
@pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda b: b"", lambda b: b[:5] + b"X" + b[6:], lambda b: EVIL])
def test_a_file_that_is_not_what_its_hash_says_is_not_read(files, tmp_path, suffix, damage):
    files.save("key", "machine code")
    (path,) = tmp_path.glob(f"*.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    assert files.load("key") is None  # and nothing of it is unpickled
    files.save("key", "machine code")
    assert files.load("key") == "machine code"


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("a foreign file was unpickled",))


EVIL = pickle.dumps(Evil())


def test_a_cache_of_another_version_is_not_read(files, tmp_path):
    files.save("key", "machine code")
    assert in_files(tmp_path, "another stamp").load("key") is None
    files._version = "0.0"
    assert files.load("key") is None


def test_two_processes_at_once_never_exchange_their_code(tmp_path):
    """Both found the same index and add to it: one entry may be lost, none is wrong."""
    one, two = in_files(tmp_path), in_files(tmp_path)
    before = one._load_index()
    one.save("first", "code 1")
    two._load_index = lambda: before
    two.save("second", "code 2")
    for key, code in (("first", "code 1"), ("second", "code 2")):
        assert one.load(key) in (code, None)


def test_what_cannot_be_cached_is_a_warning_and_no_crash():
    """Numba names the file of such a function by `_py_file` of the locator."""
    locator = PackageLocator.from_function(vault, str(PACKAGE / "compiled.py"))
    assert locator._py_file == vault.__code__.co_filename


def test_kernels_of_a_card_are_kept_in_the_same_files():
    """numba-cuda's own cache would read what lies beside the generated module, unchecked."""
    pytest.importorskip("numba.cuda.dispatcher", exc_type=ImportError)
    from stickslip.jit import cuda

    if cuda.SIMULATED:
        pytest.skip("the simulator compiles nothing")
    cache = cuda._card_cache()(test_kernels_of_a_card_are_kept_in_the_same_files)
    assert isinstance(cache._cache_file, _HashedFiles)
    assert cache.cache_path.startswith(str(vault().path))


# -- versions --------------------------------------------------------------------------------------------------------


def test_every_source_file_is_kept_under_a_present_stamp():
    files = [file for name in COMPILED_SOURCES for file in (PACKAGE / name).rglob("*.py")]
    groups = {source_group(str(file)) for file in files}
    assert {"", "complementarity/friction", "kernels/scene", "kernels/templates"} <= groups
    assert present_stamps() == {sources_hash(group) for group in groups}


def test_what_this_version_keeps_is_not_of_another_one(tmp_path, monkeypatch):
    """The text of a generated module is kept however old it is."""
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    system = ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: (-1.0,), name="falling alone")
    text = compiled_module(system, "local", "auto").__file__
    assert Path(text) in cache_files()
    os.utime(text, (0.0, 0.0))
    assert list(other_versions()) == [] and remove_old_versions() == (0, 0)
