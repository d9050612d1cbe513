"""Indices that are watched: for functions of users, which may be wrong, while kernels of the package check none."""

from __future__ import annotations

from stickslip.jit import functions
from stickslip.jit.errors import KernelError
from stickslip.jit.values import Constant, Scalar, Value
from stickslip.jit.writer import Writer


def watch() -> int:
    """From here on note each index that is outside an axis of known length, and take 0 in its place.

    It holds for the kernel that calls it, and for those that are written in place there.
    """
    return 0


def strayed() -> bool:
    """Whether an index was outside its axis since `watch`; plain Python raises IndexError instead."""
    return False


def _watch(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    writer.watched = writer.slot("i64")
    writer.do(f"store i64 0, ptr {writer.watched}, align 8")
    return Constant(0)


def _strayed(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    if writer.watched is None:
        raise KernelError("strayed() needs watch() before it.")
    noted = writer.value(f"load i64, ptr {writer.watched}, align 8")
    return Scalar("bool", writer.value(f"icmp ne i64 {noted}, 0"))


functions.add(watch, _watch)
functions.add(strayed, _strayed)
