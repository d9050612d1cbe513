"""Where compiled kernels are kept."""

import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types
from numba.core.compiler import Flags
from numba.core.targetconfig import ConfigStack

import stickslip as ss
from stickslip.jit.cache import cache_files, other_versions, remove_old_versions
from stickslip.jit.compiled import (
    COMPILED_SOURCES,
    PACKAGE,
    PackageLocator,
    _HashedFiles,
    _remembering,
    compiled,
    present_stamps,
    source_group,
    sources_hash,
)
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


class Builtin:
    """A function as Numba knows it, by one variant that is never or always copied into its callers."""

    def __init__(self, is_never_inline):
        option = type("Inline", (), {"is_never_inline": is_never_inline})
        self.templates = (type("Template", (), {"_inline": option}), type("Plain", (), {}))


def test_a_call_is_typed_once_per_context_arguments_and_flags():
    asked = []
    typed = _remembering(lambda *question: asked.append(question) or f"signature {len(asked)}")
    function, other = Builtin(True), Builtin(True)
    assert [typed(function, "cpu", ("f8", "f8"), {}) for _ in range(3)] == ["signature 1"] * 3
    assert typed(function, "cpu", ["f8", "f8"], {}) == "signature 1"  # as parallel loops ask
    assert typed(function, "cuda", ("f8", "f8"), {}) == "signature 2"
    assert typed(function, "cpu", ("f8", "i8"), {}) == "signature 3"
    assert typed(other, "cpu", ("f8", "f8"), {}) == "signature 4"
    flags = Flags()
    flags.error_model = "numpy"
    for _ in range(2):
        with ConfigStack().enter(flags.copy()):
            assert typed(function, "cpu", ("f8", "f8"), {}) == "signature 5"
    assert typed(function, "cpu", ("f8", "f8"), {}) == "signature 1"
    assert len(asked) == 5


def test_a_call_with_keywords_or_of_code_that_is_copied_is_typed_each_time():
    asked = []
    typed = _remembering(lambda *question: asked.append(question))
    for function, keywords in ((Builtin(True), {"axis": "i8"}), (Builtin(False), {})):
        before = len(asked)
        for _ in range(2):
            typed(function, "cpu", ("f8",), keywords)
        assert len(asked) == before + 2


def test_compiling_leaves_the_garbage_collector_as_it_was():
    before = gc.get_threshold()

    @compiled
    def square(x):
        return x * x

    assert square(3.0) == 9.0
    assert gc.get_threshold() == before


MODULE = """
from stickslip.jit.compiled import compiled

@compiled(inside=True, apart=True)
def below(x, times):
    total = 0.0
    for k in range(times):
        total += x
    return total

@compiled(inside=True)
def between(x):
    return below(x, 3) + 1.0

@compiled
def above(x):
    return between(x) + below(x, 2)
"""


def test_functions_that_stand_apart_are_found_again_in_the_cache(tmp_path):
    """By machine code that was compiled with them, loaded with them, or loaded after they were compiled anew."""
    (tmp_path / "standing_apart.py").write_text(MODULE)
    cache = tmp_path / "cache"
    call = "import standing_apart as m; print(m.above(2.0), sum(m.above.stats.cache_hits.values()), m.below(1.0, 4))"
    environment = {**os.environ, "STICKSLIP_CACHE": str(cache)}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])

    def answer():
        done = subprocess.run([sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert answer() == ["11.0", "0", "4.0"]
    assert answer() == ["11.0", "1", "4.0"]
    for file in cache.rglob("*below*"):
        file.unlink()
    assert answer()[::2] == ["11.0", "4.0"]
    assert answer() == ["11.0", "1", "4.0"]


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


def test_a_full_disk_costs_no_run(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path))

    @compiled
    def twice(x):
        return x + x

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    assert twice(2.0) == 4.0


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


def test_kernels_of_all_groups_are_of_this_version(tmp_path, monkeypatch):
    """A small function of each group is compiled into an empty cache: none is of another version, however old."""
    from stickslip.contact.cones import squares
    from stickslip.mechanisms.templates.mass import factor_mass
    from stickslip.scenes.rotation import determinant
    from stickslip.sets import project_interval

    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    x, A = types.float64[::1], types.float64[:, ::1]
    whole, number = types.int64, types.float64
    calls = {squares: (x, whole, whole), determinant: (A,), factor_mass: (A,), project_interval: (number,) * 3}
    for function, arguments in calls.items():
        compiled(function.py_func).compile(arguments)
    system = ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: (-1.0,), name="falling alone")
    text = compiled_module(system, "local", "auto").__file__
    assert {path.parts[-3] for path in cache_files() if path.suffix == ".nbi"} == present_stamps()
    for path in cache_files():
        os.utime(path, (0.0, 0.0))
    assert list(other_versions()) == [] and remove_old_versions() == (0, 0)
    assert len([path for path in cache_files() if path.suffix == ".nbc"]) == 4 and Path(text) in cache_files()
