"""Calls of kernels by their addresses: the caller is built without the callee, which a table names at run time.

`Kernel.address` makes the machine code for arguments of some types.  The arguments of `call_address` have to be of
those types; their arrays have no gaps.

On a card the table has numbers of kernels, from 1 on, in place of addresses (`Program.by_number`).
"""

from __future__ import annotations

from typing import Any

from stickslip.jit import functions, passing
from stickslip.jit.errors import KernelError
from stickslip.jit.values import REGISTER, Scalar, Value, kind_of
from stickslip.jit.writer import Writer

known: dict[int, Any] = {}
"""Kernels by the addresses of their machine code."""


def call_address(address: int, result: Any, *arguments: Any) -> Any:
    """Call the kernel whose machine code lies at an address; `result` is a number of the kind that it returns."""
    return type(result)(known[int(address)](*arguments))


def _call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    if len(arguments) < 2 or kind_of(arguments[0]) != "int" or kind_of(arguments[1]) is None:
        raise KernelError("call_address takes an address, a number of the kind of the result, and arguments.")
    kind = kind_of(arguments[1])
    assert kind is not None
    if writer.module.numbered is not None:
        found: Value = writer.module.numbered(writer, arguments[0], kind, arguments[2:])
        return found
    address, _, *rest = (passing.by_address(argument) for argument in arguments)
    assert isinstance(address, Scalar)
    pointer = writer.value(f"inttoptr i64 {address.text} to ptr")
    given = ", ".join(f"{type_} {text}" for argument in rest for type_, text in passing.given(argument))
    return passing.taken(writer, f"{{ {REGISTER[kind]} }}", f"{pointer}({given})", Scalar(kind, ""), [])


functions.add(call_address, _call)
