"""Kernels as WebAssembly modules: run by Node, they have the bits of the CPU."""

import copy
import math
import shutil
import subprocess

import numpy as np
import pytest

from stickslip import library
from stickslip.jit import Entry, KernelError, call_address, kernel, mathematics, prange, web

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
SCRIPT = """
const fs = require("fs");
const [code, image, out, room, times] = process.argv.slice(1);
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(code)));
const bytes = fs.readFileSync(image), start = Number(room), { memory, run } = exports;
const missing = start + bytes.length - memory.buffer.byteLength;
if (missing > 0) memory.grow(Math.ceil(missing / 65536));
let seconds = 0;
for (let k = 0; k < Number(times); k++) {
  new Uint8Array(memory.buffer).set(bytes, start);
  const begin = performance.now();
  run(start, start + bytes.length);
  seconds = (performance.now() - begin) / 1000;
}
fs.writeFileSync(out, new Uint8Array(memory.buffer, start, bytes.length));
console.log(seconds);
"""


def in_node(made, args, folder, times=1):
    """Run a module with these arguments; returns its result, the arrays after the run, and the seconds it took."""
    places = [folder / name for name in ("kernel.wasm", "image", "out")]
    places[0].write_bytes(made.code)
    places[1].write_bytes(made.image(*args))
    command = ["node", "-e", SCRIPT, *map(str, places), str(made.room), str(times)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return (*made.found(places[2].read_bytes(), *args), float(told.stdout))


def arrays_in(value):
    if isinstance(value, tuple):
        return [array for item in value for array in arrays_in(item)]
    return [value] if isinstance(value, np.ndarray) else []


class Recorder:
    """Takes down the arguments and the result of that call of a kernel of some name that changes most bytes."""

    def __init__(self, monkeypatch, name):
        self.found, most = None, 0
        run = Entry.__call__

        def call(one, *args):
            nonlocal most
            if one.python.__name__ != name:
                return run(one, *args)
            before = copy.deepcopy(args)
            result = run(one, *args)
            changes = sum(
                int(np.sum(bytes_of(a) != bytes_of(b))) for a, b in zip(arrays_in(before), arrays_in(args), strict=True)
            )
            if changes > most:
                self.found, most = (one, before, result, copy.deepcopy(args)), changes
            return result

        monkeypatch.setattr(Entry, "__call__", call)


def march_of(name, monkeypatch, steps):
    """The kernel that a run calls, its arguments and what it makes of them."""
    recorder = Recorder(monkeypatch, "march")
    scenario = library.get(name)
    scenario.simulate(t_end=steps * scenario.dt)
    return recorder.found


def bytes_of(array):
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def same_bits(a, b):
    return np.array_equal(bytes_of(a), bytes_of(b))


@needs_node
@pytest.mark.parametrize("name", ["woodpecker", "pendulum_against_stop"])
def test_steps_of_a_mechanism_in_node_have_the_bits_of_the_cpu(name, monkeypatch, tmp_path):
    march, args, result, after = march_of(name, monkeypatch, 2000)
    made = web.module(march, args)
    found, arrays, _ = in_node(made, args, tmp_path)
    assert found == result and max(result) >= 1000  # steps
    assert len(arrays) == len(arrays_in(after)) > 5
    assert all(map(same_bits, arrays, arrays_in(after)))
    assert len(made.code) < 200_000


@kernel
def every_function(x, y, found):
    for i in range(x.shape[0]):
        a, b = x[i], y[i]
        found[i, 0], found[i, 1], found[i, 2] = mathematics.sin(a), mathematics.cos(a), mathematics.tan(a)
        found[i, 3], found[i, 4] = mathematics.exp(b), mathematics.expm1(b)
        found[i, 5], found[i, 6], found[i, 7] = mathematics.sinh(b), mathematics.cosh(b), mathematics.tanh(b)
        found[i, 8], found[i, 9] = mathematics.log(a), mathematics.log1p(a)
        found[i, 10], found[i, 11] = mathematics.log2(a), mathematics.log10(a)
        found[i, 12], found[i, 13] = mathematics.pow(abs(a), b), mathematics.hypot(a, b)
        found[i, 14], found[i, 15] = mathematics.asin(b), mathematics.acos(b)
        found[i, 16], found[i, 17] = mathematics.atan(a), mathematics.atan2(a, b)
        found[i, 18], found[i, 19], found[i, 20] = mathematics.asinh(a), mathematics.acosh(a), mathematics.atanh(b)
        found[i, 21], found[i, 22], found[i, 23] = mathematics.erf(b), mathematics.erfc(b), mathematics.fmod(a, b)
        m, e = mathematics.frexp(a)
        found[i, 24], found[i, 25], found[i, 26] = m, float(e), mathematics.ldexp(m, 2 * e)
    return math.floor(x[0]), round(x[1]), x[0] > 0.0


@needs_node
def test_functions_in_node_have_the_bits_of_the_cpu(tmp_path):
    random = np.random.default_rng(4)
    x = random.choice([-1.0, 1.0], 400) * 10.0 ** random.uniform(-320.0, 308.0, 400)
    y = random.uniform(-2.0, 2.0, 400)
    y[200:300] *= 300.0
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 27.0]
    x[-len(special) :], y[-len(special) :] = special, special[::-1]
    args = (x, y, np.empty((400, 27)))
    found, arrays, _ = in_node(web.module(every_function, args), args, tmp_path)
    assert found == every_function.compiled(*args)
    nan = np.isnan(args[2])
    assert np.array_equal(np.isnan(arrays[2]), nan)
    assert same_bits(np.where(nan, 0.0, arrays[2]), np.where(nan, 0.0, args[2]))


@kernel
def own_and_python(x, pair, flag, none):
    total = 0.0
    for i in range(len(x)):
        total += math.sin(x[i]) ** 1.5 + x[i] % 0.7 + math.erf(x[i]) + math.log(2 + i)
    x[0] = pair[0] if flag else pair[1][1]
    return total, pair[1][0] // 2


@needs_node
def test_arguments_of_every_kind(tmp_path):
    args = (np.linspace(0.1, 1.4, 5), (0.25, (7, 0.75)), False, None)
    made = web.module(own_and_python, args)
    (total, half), (x,), _ = in_node(made, args, tmp_path)
    assert half == 3 and x[0] == 0.75
    assert total == own_and_python.compiled(*copy.deepcopy(args))[0]
    assert total == pytest.approx(own_and_python(*copy.deepcopy(args))[0], rel=1e-15)
    assert made.results == ("float", "int") and made.arguments == 2 + 3 + 1
    with pytest.raises(KernelError, match="other types"):
        made.image(1.0)


@kernel
def needs_the_heap(n, found):
    total = 0.0
    for k in range(n):
        x = np.zeros(k % 9)  # of no length, too
        y = np.empty(k)
        z = np.zeros((k, 7))
        for i in range(k):
            y[i] = i * k
            z[i, k % 7] = y[i] + 1.0
        total += (z[k // 2, k % 7] if k > 0 else 0.5) + float(len(x))
        found[k] = total - (y[k - 1] if k > 0 else 0.0)
    return total


@needs_node
def test_arrays_that_a_kernel_makes_as_it_runs(tmp_path):
    args = (700, np.zeros(700))
    made = web.module(needs_the_heap, args)
    total, (found,), _ = in_node(made, args, tmp_path, times=3)
    mine = copy.deepcopy(args)
    assert total == needs_the_heap.compiled(*mine) and same_bits(found, mine[1]) and len(made.code) < 6000


@kernel
def half(x, i):
    return 0.5 * x[i]


@kernel
def square(x, i):
    return x[i] ** 2


@kernel
def alone(x):
    return x


@kernel
def calls_by_number(x, numbers, found):
    for i in range(x.shape[0]):
        found[i] = call_address(numbers[i], 0.0, x, i)
    return x.shape[0]


@needs_node
def test_kernels_that_are_called_by_numbers(tmp_path):
    x, numbers = np.linspace(-1.0, 2.0, 6), np.array([3, 7, 7, 3, 3, 7])
    args = (x, numbers, np.zeros(6))
    made = web.module(calls_by_number, args, {3: half, 7: square, 8: alone})
    count, (_, _, found), _ = in_node(made, args, tmp_path)
    assert count == 6 and np.array_equal(found, np.where(numbers == 3, 0.5 * x, x**2))
    with pytest.raises(subprocess.CalledProcessError):  # a number that no kernel has ends the run
        in_node(made, (x, numbers + 1, np.zeros(6)), tmp_path)
    places = made.places(*args)
    assert places["0"][1] == places["1"][1] == 48 and places["1"][0] == places["0"][0] + 48


@kernel
def shares(x):
    for i in prange(x.shape[0]):
        x[i] = 1.0


@kernel
def first(x):
    return x[0]


@pytest.mark.parametrize(
    "function, args, words",
    [
        (shares, (np.zeros(3),), "needs what there is on the CPU alone"),
        (first, (np.zeros((4, 2))[:, 0],), "arrays without gaps"),
    ],
)
def test_what_a_browser_has_not(function, args, words):
    with pytest.raises(KernelError, match=words):
        web.module(function, args)


def test_a_module_is_made_without_imports():
    made = web.module(first, (np.zeros(2),))
    kinds = [kind for kind, _ in web._sections(made.code)]
    assert web.IMPORT not in kinds and kinds[-1] == web.CUSTOM
    assert made.room == int.from_bytes(made.code[-4:], "little") and made.room % 16 == 0
    assert len(made.code) < 500


def test_objects_that_llvm_would_lay_out_in_another_way_are_told():
    for call, words in (
        (lambda: list(web._sections(b"ELF")), "no WebAssembly"),
        (lambda: web._require_known_imports(b"\1\3env\4sine\0\0"), "a browser has no sine"),
        (lambda: web._end_of_data(b"\1\1\x00"), "laid out in another way"),
        (lambda: web._function_index(b"\7linking\2", "entry"), "has no function 'entry'"),
    ):
        with pytest.raises(KernelError, match=words):
            call()


@pytest.mark.parametrize("number", [0, 63, 64, 127, 128, 1 << 20, 5_000_000])
def test_numbers_in_seven_bits(number):
    assert web._read(web.leb(number), 0) == (number, len(web.leb(number)))
    text = web.signed_leb(number)
    value = sum((byte & 127) << 7 * k for k, byte in enumerate(text))
    assert value == number and not text[-1] & 64
