"""LLVM IR of kernels on disk: what its name depends on, and what is read again."""

import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from stickslip.contact import tree_blocks
from stickslip.jit import entry, kernel, objects, translate, translations, units, vault
from stickslip.lcp.linear import all_finite, lu_factor
from stickslip.scenes import steering, step
from tests.jit.test_vault import STRANGER, VICTIM, as_user, needs_root, planted, sealed
from tests.jit.test_vault import forget as forget_vaults

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


@entry
def foreign(a):
    return 666.0 + 0.0 * a[0]


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
    for one in (total, doubled, foreign):
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


def test_the_name_follows_what_is_called_through_a_module(tmp_path, monkeypatch) -> None:
    """`middle.half` is a name of a module; its file stays, and what it calls changes."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in {
        "fp_below": "def factor(x):\n    return {0} * x\n",
        "fp_middle": "from fp_below import factor\n\ndef half(x):\n    return 0.5 * factor(x)\n",
        "fp_above": "import fp_package.inner\nfrom fp_package import inner\nimport fp_middle\n\n"
        "def whole(x):\n    return fp_middle.half(x)\n\ndef far(x):\n    return fp_package.inner.fp_middle.half(x)\n",
        "fp_package/__init__": "",
        "fp_package/inner": "import fp_middle\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text.format("2.0"))
    fp_above, fp_below = importlib.import_module("fp_above"), importlib.import_module("fp_below")

    def names() -> list[str]:
        return [translations.file_of(function, "", (A,)) for function in (fp_above.whole, fp_above.far)]

    before = names()
    assert names() == before
    monkeypatch.setattr(fp_below.factor, "__code__", (lambda x: 3.0 * x).__code__)
    assert not set(names()) & set(before)


def test_a_control_law_of_a_scene_is_compiled_with_the_steps_of_today(monkeypatch) -> None:
    """It calls `step.march`: after a change below that file it went on with the machine code of before."""

    def names() -> list[str]:
        return [translations.file_of(one.python, "", ()) for one in (steering.controlled, step.march)]

    before = names()
    monkeypatch.setattr(tree_blocks, "eliminate", tree_blocks.factor_six)
    assert not set(names()) & set(before)


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


def plain(folder: Path, name: str) -> bytes:
    """A file without its seal."""
    return (folder / name).read_bytes()[: -vault.SEAL_LENGTH]


def test_a_text_without_the_users_key_never_runs(empty_cache, monkeypatch) -> None:
    """A text of LLVM IR becomes machine code: it carries a seal as that does."""
    foreign(A)
    (other,) = kept(empty_cache)
    content, name = other.read_bytes(), translations.file_of(total.python, "False", (A,))
    code = content[: -vault.SEAL_LENGTH]
    for planted_text in (content, code, code + b"0" * vault.SEAL_LENGTH, code + sealed(name, code, bytes(32))):
        (empty_cache / name).write_bytes(planted_text)
        (empty_cache / name).chmod(0o600)
        forget(monkeypatch)
        forget_vaults()
        assert total(A) == 14.0


@needs_root
@pytest.mark.parametrize("victim", [0, VICTIM], ids=["root", "user"])
@pytest.mark.parametrize("writer", ["stranger", "stranger, closed again", "victim"])
def test_a_text_that_another_user_planted_never_runs(empty_cache, shared, monkeypatch, victim, writer) -> None:
    """It answers 666, under the right name and with a right seal: it runs where the victim himself has written it."""
    assert total(A) == 14.0 and foreign(A) == 666.0
    name, evil = (translations.file_of(one.python, "False", (A,)) for one in (total, foreign))
    code = plain(empty_cache, evil)
    assert (empty_cache / name).exists()
    for path in (shared / "cache", shared / "home"):
        path.mkdir()
        os.chown(path, victim, victim)
    monkeypatch.setenv("STICKSLIP_CACHE", str(shared / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "home"))
    (shared / "cache").chmod(0o700 if writer == "victim" else 0o777)
    assert as_user(victim if writer == "victim" else STRANGER, lambda: planted(shared / "cache", name, code))
    if writer == "stranger, closed again":
        (shared / "cache").chmod(0o700)

    def use() -> None:
        forget(monkeypatch)
        forget_vaults()
        warnings.simplefilter("ignore")  # the folder is left alone
        assert total(A) == (666.0 if writer == "victim" else 14.0)

    assert as_user(victim, use)


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
