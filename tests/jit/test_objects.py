"""Machine code on disk: found again, never taken where it is not what this user has built."""

import errno
import io
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from stickslip.jit import cpu, kernel, objects


@kernel
def tripled(x):
    return 3.0 * x


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / objects.FOLDER


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    build = cpu.build
    monkeypatch.setattr(cpu, "build", lambda text: made.append(text) or build(text))
    return made


def test_built_once(folder: Path, builds: list[str]) -> None:
    text = tripled.text(1.0)
    code = objects.built(text)
    assert objects.built(text) == code and len(builds) == 1
    (file,) = folder.iterdir()
    assert file.name == objects.name_of(text) and file.stat().st_mode & 0o077 == 0


@kernel
def products(A, x, power):
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += A[i, j] * x[j] ** 3 * math.sin(x[i]) + power
    return total


def texts() -> list[str]:
    """Texts of kernels that differ from one another, with loops that LLVM has to work on."""
    A, x = np.ones((3, 3)), np.ones(3)
    return [tripled.text(1.0), *(products.text(A, y, k) for y in (x, x[::-1]) for k in (0, True, 1.0))]


def test_threads_side_by_side_build_what_one_builds() -> None:
    """LLVM works without llvmlite's lock, each module in a context of its own; none sees anything of the others."""
    asked = texts()
    alone = [cpu.build(text) for text in asked]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(cpu.build, asked * 2)) == alone * 2
    assert len(set(alone)) == 7


def test_an_llvmlite_without_these_functions_builds_under_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    text = tripled.text(1.0)
    code = cpu.build(text)
    assert cpu._without_lock("LLVMPY_RunNewModulePassManager", 3) is not None
    assert cpu._without_lock("LLVMPY_RunNewModulePassManager", 4) is None  # its arguments have changed
    assert cpu._without_lock("LLVMPY_NoSuchFunction", 3) is None
    monkeypatch.setattr(cpu, "_without_lock", lambda name, count: None)
    assert cpu.build(text) == code


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap"])
def test_damaged_files_are_built_again(folder: Path, builds: list[str], damage: str) -> None:
    text, other = tripled.text(1.0), tripled.text(1)
    code, others = objects.built(text), objects.built(other)
    file, second = folder / objects.name_of(text), folder / objects.name_of(other)
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[100] ^= 1
    elif damage == "cut":
        del content[-1]
    elif damage == "empty":
        content.clear()
    else:
        content = bytearray(second.read_bytes())
    file.write_bytes(content)
    assert objects.built(text) == code != others and len(builds) == 3


def test_writers_side_by_side_leave_one_whole_file(folder: Path) -> None:
    """Whoever reads meanwhile finds the whole file of one of them."""
    name, codes = "0123456789abcdef.o", [bytes([k]) * 100_000 for k in range(4)]
    objects.write(name, codes[0])

    def write_and_read(code: bytes) -> set[bytes | None]:
        found = set()
        for _ in range(25):
            objects.write(name, code)
            found.add(objects.read(name))
        return found

    with ThreadPoolExecutor(4) as threads:
        found = set().union(*threads.map(write_and_read, codes))
    assert found <= set(codes) and [path.name for path in folder.iterdir()] == [name]


class FullDisk(io.FileIO):
    def write(self, content: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_the_next_process_a_build(
    folder: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, before = tripled.text(1.0), tripled.text(1)
    objects.built(before)
    with monkeypatch.context() as full:
        full.setattr(os, "fdopen", FullDisk)
        code = objects.built(text)
    assert [path.name for path in folder.iterdir()] == [objects.name_of(before)]
    assert [objects.built(text) for _ in range(2)] == [code, code] and builds == [before, text, text]


def test_text_is_one_for_all_processes(folder: Path) -> None:
    import subprocess
    import sys

    program = (
        "import numpy as np; from tests.jit.test_calls import total, Pair; from stickslip.jit import objects;"
        "print(total.compiled(Pair(np.ones(5), 3)))"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout == "(3.0, True)\n"
    assert len(list(folder.iterdir())) == 1


def test_what_nobody_used_for_a_month_makes_room(folder: Path) -> None:
    import time

    from stickslip.jit import cache

    used, unused = tripled.text(1.0), tripled.text(1)
    objects.built(used), objects.built(unused)
    for text in (used, unused):
        os.utime(folder / objects.name_of(text), (0.0, time.time() - 40 * 86400.0))
    objects.built(used)
    assert {path.name for path in cache.cache_files()} == {objects.name_of(used), objects.name_of(unused)}
    assert cache.remove_old_versions().files == 1
    assert [path.name for path in folder.iterdir()] == [objects.name_of(used)]
