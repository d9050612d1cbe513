"""LLVM IR of kernels on disk: what its name depends on, and what is read again."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stickslip.jit import entry, kernel, objects, translate, translations, units
from stickslip.lcp.linear import all_finite, lu_factor

FACTOR = 2.0


@kernel(apart=True)
def scaled(a, k):
    return FACTOR * a[k]


@entry
def total(a):
    found = 0.0
    for k in range(a.shape[0]):
        found += scaled(a, k)
    return found


@entry
def doubled(a):
    return 2.0 * a[0], np.ones(3)


A = np.array([1.0, 2.0, 4.0])


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing translated in this process; functions of this file are kept."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(translations, "KEPT", ("tests.",))
    forget(monkeypatch)
    return tmp_path / "cache" / objects.FOLDER


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(units, "known", {})
    monkeypatch.setattr(units, "_by_name", {})
    for one in (total, doubled):
        monkeypatch.setattr(one, "_versions", {})
        monkeypatch.setattr(one, "_last", lambda *args: NotImplemented)


def kept(folder: Path) -> list[Path]:
    return list(folder.glob(f"*{translations.ENDING}"))


def test_a_translation_is_read_by_the_next_process(empty_cache, monkeypatch) -> None:
    assert total(A) == 14.0
    assert len(kept(empty_cache)) == 1
    forget(monkeypatch)
    monkeypatch.setattr(translate.Body, "inline", None)  # nothing is translated now
    assert total(A) == 14.0
    total.expect_long_work()
    assert total(A) == 14.0 and len(kept(empty_cache)) == 1
    monkeypatch.setattr(total, "long_work", False)


def test_units_of_a_translation_on_disk_serve_those_that_are_translated(monkeypatch) -> None:
    total(A)
    forget(monkeypatch)
    total(A)
    (read,) = units._by_name.values()
    assert read.type == ""
    assert scaled.address(A, 0) == read.address() and read.type == "{ double }"


def test_a_changed_constant_or_callee_is_translated_anew(empty_cache, monkeypatch) -> None:
    assert total(A) == 14.0
    forget(monkeypatch)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert total(A) == 21.0
    assert len(kept(empty_cache)) == 2


def test_the_name_follows_types_and_marks(monkeypatch) -> None:
    def name(*args, marks=""):
        return translations.file_of(total.python, marks, args)

    names = {name(A), name(A[::2]), name(A.astype(int)), name(A, 1), name(A, 1.0), name((A,)), name(A, marks="True")}
    assert len(names) == 7 and name(A) == name(2.0 * A)
    before = name(A)
    monkeypatch.setattr(scaled, "apart", False)
    assert name(A) != before


def test_damage_on_disk_is_translated_anew(empty_cache, monkeypatch) -> None:
    total(A)
    (path,) = kept(empty_cache)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    forget(monkeypatch)
    assert total(A) == 14.0


def test_arrays_as_results_and_functions_of_users_are_not_kept(empty_cache, monkeypatch) -> None:
    assert doubled(A)[0] == 2.0 and not kept(empty_cache)
    assert not translations.is_kept(lambda a: a)
    monkeypatch.setattr(translations, "KEPT", ("stickslip.", "stickslip_generated_"))
    assert total(A) == 14.0 and not kept(empty_cache)
    assert translations.is_kept(all_finite.python) and not translations.is_kept(total.python)


def test_names_are_equal_in_every_process() -> None:
    program = (
        "import numpy as np\n"
        "from stickslip.jit import translations\n"
        "from stickslip.lcp.linear import lu_factor\n"
        "from stickslip.scenes import step\n"
        "print(translations.file_of(lu_factor.python, '', (np.eye(2),)))\n"
        "print(translations.file_of(step.march.python, '', (1, 2.0)))\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            timeout=60.0,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert found[0][0] == translations.file_of(lu_factor.python, "", (np.eye(2),))
