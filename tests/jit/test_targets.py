"""One text for every target: what LLVM makes of it for processors and cards that are not here."""

import math
import re
import struct
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

from stickslip import library
from stickslip.jit import Kernel, KernelError, cpu, gpu, kernel
from stickslip.jit.cpu import Target
from stickslip.jit.marks import tight
from stickslip.mechanisms.generate import compiled_module
from tests.jit.test_web import every_function

ARM = {
    "Linux": Target("aarch64-unknown-linux-gnu", "generic", ""),
    "macOS": Target("arm64-apple-macosx13.0.0", "apple-m1", ""),
}
FUSED = re.compile(r"\bf(n?m(add|sub)|mla|mls)\b")
"""Instructions of aarch64 that multiply and add with one rounding: other bits."""
x, y, found = np.zeros(4), np.zeros(4), np.zeros((4, 27))


def assembly(text, target):
    machine = cpu.machine(target)
    return machine.emit_assembly(cpu.optimised(text, machine))


def texts():
    """Text of the functions of `mathematics`, and of the parts of a mechanism that its steps are made of."""
    scenario = library.get("slider_crank")
    module = compiled_module(scenario.system, "stepper", "auto", {})
    n, c = scenario.system.n_dof, scenario.system.n_contacts
    q, p, M, h, g = np.zeros(n), scenario.system.parameter_values, np.zeros((n, n)), np.zeros(n), np.zeros(c)
    assert isinstance(module.dynamics, Kernel)
    return [every_function.text(x, y, found), module.dynamics.text(q, q, 0.0, p, M, h, g)]


@pytest.mark.parametrize("system", ["Linux", pytest.param("macOS", marks=pytest.mark.slow)])
def test_objects_for_aarch64(system):
    for text in texts():
        code = cpu.build(text, ARM[system])
        if system == "Linux":
            assert code[:4] == b"\x7fELF" and struct.unpack_from("<H", code, 18) == (183,)
        else:
            assert struct.unpack_from("<II", code, 0) == (0xFEEDFACF, 0x0100000C)
        written = assembly(text, ARM[system])
        assert "fmul" in written and not FUSED.search(written)


def test_functions_on_a_card_are_kernels_of_the_package():
    written, kinds = gpu.text(every_function, (x, y, found))
    assert kinds == "alalall"
    ptx = gpu.build(written, gpu.target(90), optimisation=1)
    assert ".visible .entry entry" in ptx and "fma.rn.f64" not in ptx
    assert set(re.findall(r"\.extern \.func[^;]*?(\w+)\s*\(", ptx)) == set()


def test_floats_of_a_card_lie_in_constant_memory():
    """Operands are places of a table, which has each float once; floats whose lower half is zero stay as they are."""
    ptx = """.address_size 64
.visible .entry entry(
)
{
\t.reg .b64 \t%rd<5>;
\tmul.rn.f64 \t%rd1, %rd2, 0d3FB999999999999A;
\tadd.rn.f64 \t%rd3, %rd1, 0d3FE0000000000000;
\tsetp.gt.f64 \t%p1, %rd3, 0d3FB999999999999A;
\tmov.b64 \t%rd4, 0d3FB999999999999A;
}
"""
    found = gpu.with_table(ptx)
    assert ".const .align 8 .b64 floats[1] = {0x3FB999999999999A};" in found
    assert "\t.reg .b64 \t%constant<3>;" in found
    assert found.count("ld.const.b64") == 2 and "%rd1, 0d3FE0000000000000;" in found
    assert "mul.rn.f64 \t%rd1, %rd2, %constant1;" in found and "mov.b64 \t%rd4, 0d3FB999999999999A;" in found
    assert gpu.with_table(ptx.replace("0d3FB999999999999A", "%rd1")).count("const") == 0


def card_missing():
    """Why there is no card here; None where there is one."""
    try:
        from stickslip.jit.card import card

        card()
    except (ImportError, RuntimeError) as problem:
        return str(problem)
    return None


@pytest.mark.skipif(card_missing() is not None, reason="no GPU")
def test_functions_on_a_card_have_the_bits_of_the_cpu():
    from stickslip.jit.card import card

    random = np.random.default_rng(4)
    a = random.choice([-1.0, 1.0], 400) * 10.0 ** random.uniform(-320.0, 308.0, 400)
    b = random.uniform(-2.0, 2.0, 400)
    b[200:] *= 300.0
    here, there = np.empty((400, 27)), np.empty((400, 27))
    every_function.compiled(a, b, here)
    arrays = [card().array(array) for array in (a, b, there)]
    card().kernel(every_function, (a, b, there)).launch(1, 1, *arrays)
    card().wait()
    arrays[2].copy_to(there)
    nan = np.isnan(here)
    assert np.array_equal(np.isnan(there), nan)
    assert np.array_equal(here[~nan].view(np.int64), there[~nan].view(np.int64))


@kernel
def powers_and_remainders(a, b):
    a[0] = a[1] ** b + a[1] % b + a[1] // b


def test_powers_and_remainders_on_a_card():
    written, _ = gpu.text(powers_and_remainders, (x, 0.3))
    assert "@pow." in written and "@fmod." in written and "frem" not in written and "llvm.pow" not in written


@kernel(inline=True)
def force_of(x):
    return x[0] * math.sin(x[1])


@kernel
def force_and_direction(x, a):
    x[0] = force_of(x)
    if x[0] > 0.5:
        x[2] = a * math.sin(x[1])


@tight
def in_place(x):
    x[0] = force_of(x)


def test_a_card_calls_a_sine_once_for_all_that_need_it():
    """Forces, directions and sizes of a step take the sine of one angle; a loop marked `tight` has its own in place."""
    written = gpu.text(force_and_direction, (np.zeros(3), 2.0))[0]
    assert len(re.findall(r"call .*@sin\.", written)) == 2
    ptx = gpu.build(written, gpu.target(90))
    assert len(re.findall(r"\bcall[^;]*\bsin_", ptx)) == 1  # in one line, or in several by older LLVM
    assert "@sin." not in gpu.text(in_place, (np.zeros(3),))[0]


def test_cards_and_arguments_that_are_refused():
    with pytest.raises(KernelError, match=r"capability 5\.0 and later"):
        gpu.target(30)
    with pytest.raises(KernelError, match="takes arrays, floats and whole numbers, got tuple"):
        gpu.text(powers_and_remainders, (x, (1.0,)))


def test_what_this_llvmlite_cannot_write_for():
    with pytest.raises(KernelError, match="was built without"):
        cpu.described(Target("nowhere-unknown-unknown", "", ""))


@pytest.mark.parametrize("version", ["0.45.0", "0.46.1", "0.50.0", "0.50.1rc1"])
def test_versions_of_llvmlite_that_were_tested(version):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cpu.require_tested(version)


def test_other_versions_of_llvmlite_get_one_line():
    with pytest.raises(ValueError, match=r"0\.45 to 0\.50, got 0\.44\.0, .*pip install 'llvmlite>=0\.45,<0\.51'"):
        cpu.require_tested("0.44.0")
    with pytest.warns(UserWarning, match=r"got 0\.51\.0; if anything is odd"):
        cpu.require_tested("0.51.0")


def test_the_package_asks_for_the_versions_that_were_tested():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (first, last), wanted = cpu.TESTED, [line for line in project["dependencies"] if line.startswith("llvmlite")]
    assert wanted == [f"llvmlite>={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"]
