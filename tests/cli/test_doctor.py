"""`stickslip doctor` tells the truth about the machine, in text and as JSON."""

import importlib.metadata
import json
import os
import sys
import time

import pytest

from stickslip import cli
from stickslip.bench import peers
from stickslip.cli import doctor


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    monkeypatch.setenv("STICKSLIP_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_other_programs(monkeypatch):
    """Doctor's answers must not depend on what else the machine has; one test asks for real."""
    monkeypatch.setattr(peers, "ask", lambda *command: None)
    monkeypatch.setattr(doctor, "ask", lambda *command: None)


def test_json_is_one_object_and_nothing_else(capsys, cache):
    code = cli.main(["doctor", "--json"])
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert (code, captured.err) == (0, "")
    assert report["ok"] and report["self_check"]["ok"]
    assert report["python"]["executable"] == sys.executable
    assert report["packages"]["NumPy"] == {"version": importlib.metadata.version("numpy"), "error": None}
    assert report["cpu"]["usable_cores"] >= 1
    assert report["cache"]["path"] == str(cache)


def test_text_names_every_part(capsys, cache):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for part in [*doctor._REQUIRED, *doctor._CLUSTER, *doctor._PEERS, "siconos", "GPU", str(cache), "passed"]:
        assert part in out


def test_broken_package_is_told_and_exit_code_1(capsys, cache, monkeypatch):
    monkeypatch.setitem(doctor._REQUIRED, "NumPy", ("numpy_that_is_missing", "numpy"))
    assert cli.main(["doctor"]) == 1
    assert "does not import: ModuleNotFoundError" in capsys.readouterr().out


def test_wrong_answer_fails_the_self_check(cache, monkeypatch):
    import stickslip

    answer = stickslip.solve_lcp([[1.0]], [-1.0])
    monkeypatch.setattr("stickslip.lcp.solve.solve_lcp", lambda A, b: answer)
    report = doctor.examine()
    assert not report["self_check"]["ok"] and not report["ok"]


def test_cache_folder_that_does_not_exist_yet(cache):
    assert doctor._examine_cache() | {"path": None} == {
        "path": None,
        "exists": False,
        "mode": None,
        "files": 0,
        "bytes": 0,
        "writable": True,
        "left_alone": None,
    }
    assert not cache.exists()


def test_cache_folder_is_measured(cache):
    (cache / "a").mkdir(parents=True)
    (cache / "a" / "kernel.py").write_bytes(b"12345")
    cache.chmod(0o700)
    report = doctor._examine_cache()
    assert (report["mode"], report["files"], report["bytes"]) == ("0700", 2, 5 + 32)  # and the key


def test_cache_folder_open_to_others_is_told(capsys, cache):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="is left alone"):
        report = doctor._examine_cache()
    assert report["path"] == f"{cache}-private" and report["mode"] == "0700"
    assert report["left_alone"] == {"path": str(cache), "reason": f"others can write {cache} (mode 0777)"}
    cli.main(["doctor"])
    assert f"{cache}: others can write {cache} (mode 0777); delete it" in capsys.readouterr().out


def test_gpu_without_its_bindings_says_what_to_install(monkeypatch):
    monkeypatch.setattr(doctor, "version_of", lambda distribution: None)
    monkeypatch.setattr(doctor, "ask", lambda *command: "Some GPU\nSome GPU")
    report = doctor._examine_gpu()
    assert report["devices"] == ["Some GPU", "Some GPU"] and not report["usable"]
    assert "pip install 'stickslip[gpu]'" in report["message"]


def test_siconos_of_the_system_python_is_found(monkeypatch):
    monkeypatch.setattr(peers, "_SYSTEM_PYTHON", sys.executable)
    monkeypatch.setattr(peers, "ask", lambda *command: "4.5.0" if command[0] == sys.executable else None)
    found = {"installed": False, "version": None}
    monkeypatch.setattr(peers, "find_package", lambda *where: found)
    assert doctor.find_siconos() == {"installed": True, "version": "4.5.0", "python": sys.executable}


@pytest.fixture
def versions(cache, monkeypatch):
    """A cache with machine code of this version and of another, and a file that is not ours."""
    from stickslip.jit import tiers
    from stickslip.jit.sources import sources_hash

    tiers._stop_all()  # what threads of earlier tests still optimise would be written here, and be counted

    def write(path, age_days=0.0, text="x"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - 86400 * age_days,) * 2)
        return path

    modules, objects = cache / "modules", cache / "objects"
    return {
        "mine": write(objects / "a.o", 29),
        "unused": write(objects / "b.o", 31),
        "my module": write(modules / "stickslip_generated_a.py", 99, f"# made by sources {sources_hash()}\n"),
        "old module": write(modules / "stickslip_generated_b.py", 31, f"# made by sources {'0' * 16}\n"),
        "new module": write(modules / "stickslip_generated_c.py", 29, f"# made by sources {'0' * 16}\n"),
        "foreign": write(cache / "notes.txt", 99),
    }


def left(versions):
    return {name for name, path in versions.items() if path.exists()}


def test_what_nobody_uses_leaves_after_a_month(versions):
    from stickslip.jit.cache import remove_old_versions

    assert remove_old_versions().files == 2
    assert left(versions) == {"mine", "my module", "new module", "foreign"}
    assert remove_old_versions() == (0, 0)


def test_clean_cache_removes_what_is_ours_and_nothing_else(versions, capsys):
    assert cli.main(["doctor"]) == 0
    assert "texts of other versions 2 files" in capsys.readouterr().out and len(left(versions)) == 6
    assert cli.main(["doctor", "--clean-cache", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["cache"]["removed"]["files"] == 5
    assert left(versions) == {"foreign"}
