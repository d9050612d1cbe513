"""Kernels for NVIDIA cards: LLVM IR of the translator as PTX, which the card's driver turns into machine code.

A launched kernel is one function that many threads run: `thread` and `threads` tell one from another.  All that it
calls is in its module.  Products are not fused with sums, roots and quotients are rounded as IEEE 754 has it, and
sines and the like are kernels of this package (`mathematics`): the operations are those of the CPU, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.jit import functions, mathematics, memory, objects
from stickslip.jit.cpu import Target, described, optimised
from stickslip.jit.errors import KernelError
from stickslip.jit.kernel import Kernel
from stickslip.jit.translate import Body, Program
from stickslip.jit.units import ENTRY
from stickslip.jit.values import Constant, Scalar, Value, View
from stickslip.jit.writer import Writer

OPTIMISATION = 3
LONGEST_UNROLLED = 12
"""Loops of known length up to this one are written out: their arrays can then live in registers."""
KNOWN = (50, 60, 70, 75, 80, 86, 89, 90)
"""Kinds of cards that PTX is written for; a later card runs the PTX of the last."""
TABLE = "floats"
"""Name of the floats in constant memory."""
TAKES_FLOATS = re.compile(r"(mul|add|sub|fma)\.rn\.f64|setp\.\w+\.f64")
LONG_FLOAT = re.compile(r"\b0d([0-9A-F]{16})(?<!00000000)")
REGISTERS_OF_THREAD = {"tid": 0, "ctaid": 0, "ntid": 1, "nctaid": 1}
"""Special registers that number the threads, with their values where there is one thread."""


def target(capability: int) -> Target:
    """The kind of card, 90 for capability 9.0, as LLVM names it."""
    known = [number for number in KNOWN if number <= capability]
    if not known:
        raise KernelError(f"cards of capability {KNOWN[0] / 10} and later are supported, got {capability / 10}.")
    return Target("nvptx64-nvidia-cuda", f"sm_{known[-1]}", "+ptx80")


def thread() -> int:
    """Number of this thread among all of a launch; in plain Python and on the CPU there is one, 0."""
    return 0


def threads() -> int:
    """Number of threads of a launch."""
    return 1


def _special(name: str) -> Callable[[Writer], str]:
    def read(writer: Writer) -> str:
        narrow = writer.call("i32", f"llvm.nvvm.read.ptx.sreg.{name}.x", [], {})
        return writer.value(f"zext i32 {narrow} to i64")

    return read


_tid, _ctaid, _ntid, _nctaid = map(_special, REGISTERS_OF_THREAD)


def thread_number(writer: Writer) -> Scalar:
    """Number of this thread in the text for a card."""
    before = writer.value(f"mul nsw i64 {_ctaid(writer)}, {_ntid(writer)}")
    return Scalar("int", writer.value(f"add nsw i64 {before}, {_tid(writer)}"))


def _thread(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    return thread_number(writer) if writer.module.on_card else Constant(0)


def _threads(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    if not writer.module.on_card:
        return Constant(1)
    return Scalar("int", writer.value(f"mul nsw i64 {_nctaid(writer)}, {_ntid(writer)}"))


functions.add(thread, _thread)
functions.add(threads, _threads)


@dataclass(frozen=True)
class Launched:
    """PTX of a kernel for arguments of some types; `kinds` are those of its parameters, one letter each.

    "a" is an array of as many lengths as follow it ("l"), "f" a float, "i" a whole number.
    """

    ptx: str
    kinds: str


def text(kernel: Kernel, samples: Sequence[Any], out_of_line: Sequence[str] = ()) -> tuple[str, str]:
    """LLVM IR of a launched kernel, and the kinds of its parameters; arrays have no gaps and do not overlap.

    `out_of_line` names kernels that are seldom called, in this program.
    """
    program = Program(short_loops=True, whole=True, out_of_line=out_of_line)
    program.module.on_card, program.module.longest_unrolled = True, LONGEST_UNROLLED
    writer = Writer(program.module)
    parameters: list[str] = []
    kinds = ""

    def new(type_: str) -> str:
        parameters.append(f"{type_} %p{len(parameters)}")
        return parameters[-1].split()[-1]

    values: list[Value] = []
    for sample in samples:
        if isinstance(sample, np.ndarray):
            pointer, dims = new("ptr noalias"), tuple(new("i64") for _ in sample.shape)
            strides = memory.packed_strides(writer, dims, sample.itemsize)
            values.append(View(sample.dtype, pointer, dims, strides, packed=True))
            kinds += "a" + "l" * sample.ndim
        elif isinstance(sample, float):
            values.append(Scalar("float", new("double")))
            kinds += "f"
        elif isinstance(sample, int) and not isinstance(sample, bool):
            values.append(Scalar("int", new("i64")))
            kinds += "i"
        else:
            raise KernelError(f"a launched kernel takes arrays, floats and whole numbers, got {type(sample).__name__}.")
    Body(program, writer).inline(kernel, tuple(values))
    writer.do("ret void")
    writer.define(f"ptx_kernel void @{ENTRY}({', '.join(parameters)})")
    program.require_alone(kernel.python.__name__)
    return _with_hints(program.module.text(), (*mathematics.RARE, *program.out_of_line)), kinds


def _with_hints(written: str, rare: Sequence[str]) -> str:
    """The text with words for LLVM on what to write in place of its calls.

    All that the launched kernel calls is, and what that calls: its arrays can then live in registers.  What is rare is
    not.  Sines are not: a step needs them for its forces, its directions and the sizes of its gaps, and one call serves
    all three.
    """
    texts = {
        found[1]: found[0]
        for found in re.finditer(r"^define [^\n]*?@([\w.]+)\(.*?^}", written, re.DOTALL | re.MULTILINE)
    }
    called: set[str] = set()
    waiting = [ENTRY]
    while waiting:
        for name in re.findall(r"call [^@\n]*@([\w.]+)\(", texts[waiting.pop()]):
            if name in texts and name not in called and name.split(".")[0] not in rare:
                called.add(name)
                waiting.append(name)

    def hint(head: re.Match[str]) -> str:
        name = head[2]
        base = name.split(".")[0]
        word = "noinline" if base in rare or base in functions.SHARED else "alwaysinline" if name in called else ""
        return f"{head[1]} {word} {{" if word else head[0]

    return re.sub(r"^(define internal [^\n@]*@([\w.]+)\([^\n]*\) nounwind) \{", hint, written, flags=re.MULTILINE)


def build(written: str, card: Target, optimisation: int = OPTIMISATION) -> str:
    """PTX of a module."""
    machine = described(card).create_target_machine(cpu=card.cpu, features=card.features, opt=optimisation)
    return with_table(str(machine.emit_assembly(optimised(written, machine, optimisation, vectors=False))))


def with_table(ptx: str) -> str:
    """PTX whose floats lie in constant memory, from where an instruction reads one as an operand.

    Written into an instruction, a float takes two more instructions that put it into a register, unless its lower half
    is zero.
    """
    places: dict[str, int] = {}  # of floats, by their bits
    lines: list[str] = []
    for line in ptx.split("\n"):
        if line == "{":
            begin, count = len(lines) + 1, 0
        operation = line.split(maxsplit=1)[0] if line.strip() else ""
        if TAKES_FLOATS.fullmatch(operation):
            for bits in LONG_FLOAT.findall(line):
                count += 1
                place = 8 * places.setdefault(bits, len(places))
                lines.append(f"\tld.const.b64 \t%constant{count}, [{TABLE}+{place}];")
                line = line.replace(f"0d{bits}", f"%constant{count}", 1)
        lines.append(line)
        if line == "}" and count:
            lines.insert(begin, f"\t.reg .b64 \t%constant<{count + 1}>;")
    if not places:
        return ptx
    cells = ", ".join(f"0x{bits}" for bits in places)
    head = lines.index(".address_size 64") + 1
    return "\n".join([*lines[:head], f".const .align 8 .b64 {TABLE}[{len(places)}] = {{{cells}}};", *lines[head:]])


def launched(kernel: Kernel, samples: Sequence[Any], capability: int, out_of_line: Sequence[str] = ()) -> Launched:
    """PTX of a kernel for arguments of the types of `samples`, from disk where it is there."""
    card = target(capability)
    written, kinds = text(kernel, samples, out_of_line)
    name = objects.name_of(written, card, f"ptx {OPTIMISATION}, floats in a table")
    return Launched(objects.kept(name, lambda: build(written, card).encode()).decode(), kinds)
