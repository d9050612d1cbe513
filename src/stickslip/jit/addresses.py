"""Calls of kernels by their addresses: the caller is built without the callee, which a table names at run time.

`Kernel.address` makes the machine code for arguments of some types.  The arguments of `call_address` have to be of
those types; their arrays have no gaps.

Browsers have no addresses of functions.  A module for them has its callees inside, by numbers (`Module.numbered`).
"""

from __future__ import annotations

from typing import Any

from stickslip.jit import functions, passing
from stickslip.jit.errors import KernelError
from stickslip.jit.values import REGISTER, Kind, Scalar, Value, kind_of
from stickslip.jit.writer import Writer

known: dict[int, Any] = {}
"""Kernels by the addresses of their machine code."""


def call_address(address: int, result: Any, *arguments: Any) -> Any:
    """Call the kernel whose machine code lies at an address; `result` is a number of the kind that it returns."""
    return type(result)(known[int(address)](*arguments))


def _call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    if len(arguments) < 2 or kind_of(arguments[0]) != "int" or kind_of(arguments[1]) is None:
        raise KernelError("call_address takes an address, a number of the kind of the result, and arguments.")
    address, result, *rest = (passing.by_address(argument) for argument in arguments)
    kind = kind_of(result)
    assert isinstance(address, Scalar) and kind is not None
    if writer.module.numbered is not None:
        return _call_numbered(writer, address.text, kind, tuple(rest))
    pointer = writer.value(f"inttoptr i64 {address.text} to ptr")
    given = ", ".join(f"{type_} {text}" for argument in rest for type_, text in passing.given(argument))
    return passing.taken(writer, f"{{ {REGISTER[kind]} }}", f"{pointer}({given})", Scalar(kind, ""), [])


def _call_numbered(writer: Writer, number: str, kind: Kind, arguments: tuple[Value, ...]) -> Value:
    """Call the kernel of a number; a number that no kernel has ends the run."""
    assert writer.module.numbered is not None
    result, end = writer.slot(REGISTER[kind]), writer.label()
    for known_number, (count, call) in writer.module.numbered.items():
        if count != len(arguments):
            continue
        here, on = writer.label(), writer.label()
        writer.branch(writer.value(f"icmp eq i64 {number}, {known_number}"), here, on)
        writer.begin(here)
        writer.do(f"store {REGISTER[kind]} {call(writer, arguments)}, ptr {result}, align 8")
        writer.jump(end)
        writer.begin(on)
    writer.do(f"call void @{writer.module.declare('llvm.trap', 'void', [])}()")
    writer.do("unreachable")
    writer.ended = True
    writer.begin(end)
    return Scalar(kind, writer.value(f"load {REGISTER[kind]}, ptr {result}, align 8"))


functions.add(call_address, _call)
