"""Calls in kernels: of kernels, named tuples, functions that have a form in LLVM, and those that make arrays."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from stickslip.jit import functions, memory, syntax
from stickslip.jit.arithmetic import convert
from stickslip.jit.errors import KernelError
from stickslip.jit.expressions import Expressions
from stickslip.jit.scope import Callee, as_callee
from stickslip.jit.values import Bundle, Constant, Scalar, Value, View, in_words, items_of, kind_of


class Calls(Expressions):
    """Writes calls; what a call's arguments are is written by `Expressions`."""

    def of_Call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            holder = self.expression(node.func.value)
            if isinstance(holder, View) and node.func.attr == "reshape":
                return self.reshaped(holder, tuple(self.expression(argument) for argument in node.args))
            if isinstance(holder, View) and node.func.attr == "copy":
                copied = self.allocate(Bundle(tuple(memory.size_value(size) for size in holder.dims)), holder.dtype)
                memory.fill(self.writer, copied, holder)
                return copied
            if isinstance(holder, View) and node.func.attr in ("max", "min") and not (node.args or node.keywords):
                return memory.extreme(self.writer, holder, node.func.attr == "max")
            if isinstance(holder, View) and node.func.attr not in (holder.dtype.names or ()):
                raise KernelError(f".{node.func.attr}() of an array is not in the language: write a loop.")
        function = self.expression(node.func)
        if not isinstance(function, Constant):
            raise KernelError("this cannot be called.")
        arguments = [self.expression(argument) for argument in node.args if not isinstance(argument, ast.Starred)]
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            unpacked = self.of_Tuple(ast.Tuple(node.args, ast.Load()))
            arguments = list(items_of(unpacked) or ())
        named = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords}
        return self.of_function(function.value, tuple(arguments), named)

    def of_function(self, function: Any, arguments: tuple[Value, ...], named: dict[str | None, Value]) -> Value:
        own = self.program.instead_of(function)
        callee = as_callee(own)
        if own is not function and callee is not None:
            return self.of_mathematics(function, callee, self.ordered(callee, arguments, named))
        if callee is not None:
            return self.call(callee, self.ordered(callee, arguments, named))
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            fields: tuple[str, ...] = function._fields
            given = (*arguments, *(named[name] for name in fields[len(arguments) :] if name in named))
            if len(given) != len(fields):
                raise KernelError(f"{function.__name__} takes {', '.join(fields)}.")
            return Bundle(given, fields)
        allocates = function in (np.empty, np.zeros, np.ones, np.full, np.empty_like, np.zeros_like)
        if allocates:
            return self.new(function, arguments, named)
        if function in (np.array, np.asarray):
            if function is np.asarray and isinstance(arguments[0], View) and len(arguments) == 1 and not named:
                return arguments[0]
            return self.array_of(arguments, named)
        builtin = functions.find(function)
        if builtin is None:
            raise KernelError(functions.outside(function))
        if named:
            raise KernelError("arguments by name are for kernels only: leave out the name.")
        return builtin(self.writer, arguments)

    def of_mathematics(self, function: Any, callee: Callee, arguments: tuple[Value, ...]) -> Value:
        """Call a kernel that takes the place of a function of `math` or NumPy: its arguments are floats."""
        exponents = function in (math.ldexp, np.ldexp)  # the second argument is a whole number
        given: list[Value] = []
        for k, argument in enumerate(arguments):
            if exponents and k == 1:
                if kind_of(argument) not in ("int", "bool"):
                    raise KernelError(f"the exponent of ldexp is a whole number, got {in_words(argument)}.")
                given.append(argument)
            elif isinstance(argument, Constant) and kind_of(argument) is not None:
                given.append(Constant(float(argument.value)))
            else:
                given.append(Scalar("float", convert(self.writer, argument, "float")))
        if all(isinstance(argument, Constant) for argument in given):
            return Constant(callee.python(*(argument.value for argument in given)))  # type: ignore[union-attr]
        return self.call(callee, tuple(given))

    def ordered(
        self, callee: Callee, arguments: tuple[Value, ...], named: dict[str | None, Value]
    ) -> tuple[Value, ...]:
        """Arguments in the order of the parameters, with defaults."""
        source = syntax.read(callee.python)
        defaults = callee.python.__defaults__ or ()
        values = dict(zip(source.parameters, arguments, strict=False))
        for name, value in named.items():
            if name not in source.parameters or name in values:
                raise KernelError(f"{callee.python.__name__} has no parameter {name!r} left.")
            values[name] = value
        for name, default in zip(source.parameters[len(source.parameters) - len(defaults) :], defaults, strict=True):
            values.setdefault(name, self.known(default))
        missing = [name for name in source.parameters if name not in values]
        if missing or len(arguments) > len(source.parameters):
            takes = ", ".join(source.parameters)
            raise KernelError(f"{callee.python.__name__} takes ({takes}), got {len(arguments) + len(named)} arguments.")
        return tuple(values[name] for name in source.parameters)

    def new(self, function: Any, arguments: tuple[Value, ...], named: dict[str | None, Value]) -> View:
        """`np.empty`, `np.zeros`, `np.ones`, `np.full` and those like another array."""
        count = 2 if function is np.full else 1
        dtype = named.pop("dtype", arguments[count] if len(arguments) > count else None)
        if named or len(arguments) < count:
            raise KernelError(f"np.{function.__name__} takes a shape{', a value' if count == 2 else ''} and a dtype.")
        shape = arguments[0]
        kind: np.dtype[Any] = np.dtype(np.float64)
        if function in (np.empty_like, np.zeros_like):
            if not isinstance(shape, View):
                raise KernelError(f"np.{function.__name__} takes an array.")
            kind = shape.dtype
            shape = Bundle(tuple(memory.size_value(size) for size in shape.dims))
        elif function is np.full and kind_of(arguments[1]) != "float" and dtype is None:
            kind = np.dtype(np.int64 if kind_of(arguments[1]) == "int" else np.bool_)
        if dtype is not None:
            if not isinstance(dtype, Constant):
                raise KernelError("a dtype is a type that the translator knows.")
            kind = np.dtype(dtype.value)
        view = self.allocate(shape, kind)
        filling: Value | None = {np.zeros: Constant(0), np.zeros_like: Constant(0), np.ones: Constant(1)}.get(function)
        filling = arguments[1] if function is np.full else filling
        if filling is not None:
            if kind.kind == "b" and isinstance(filling, Constant):
                filling = Constant(bool(filling.value))
            memory.fill(self.writer, view, filling)
        return view

    def array_of(self, arguments: tuple[Value, ...], named: dict[str | None, Value]) -> View:
        """`np.array` of numbers in brackets, nested or not; of another array it is a copy."""
        given = dict(named)
        dtype = given.pop("dtype", arguments[1] if len(arguments) == 2 else Constant(None))
        if given or not 1 <= len(arguments) <= 2 or not isinstance(dtype, Constant):
            raise KernelError("np.array takes numbers in brackets and a dtype.")
        content = arguments[0]
        if isinstance(content, View):
            shape: Value = Bundle(tuple(memory.size_value(size) for size in content.dims))
            view = self.allocate(shape, content.dtype if dtype.value is None else np.dtype(dtype.value))
            memory.fill(self.writer, view, content)
            return view
        lengths, numbers = _nested(content)
        kinds = {kind_of(number) for number in numbers}
        kind: Any = float if "float" in kinds or not kinds else np.bool_ if kinds == {"bool"} else np.int64
        view = self.allocate(Constant(lengths), np.dtype(kind if dtype.value is None else dtype.value))
        for index, number in zip(np.ndindex(*lengths), numbers, strict=True):
            place = memory.part(self.writer, view, tuple(Constant(i) for i in index))
            assert isinstance(place, str)
            memory.store(self.writer, view.dtype, place, number)
        return view

    def reshaped(self, view: View, arguments: tuple[Value, ...]) -> View:
        """Another shape for an array without gaps; one length may be -1, which is what the others leave.

        Lengths that do not fit are refused where the translator knows them; else the result has no elements.
        """
        items = items_of(arguments[0]) if len(arguments) == 1 and items_of(arguments[0]) is not None else arguments
        assert items is not None
        without_gaps = memory.packed_strides(self.writer, view.dims, view.dtype.itemsize)
        if not view.packed and view.strides != without_gaps:
            raise KernelError("only an array that surely has no gaps can be reshaped: take a copy() of it.")
        if not items:
            raise KernelError("reshape takes lengths.")
        lengths = [memory.size_of(self.writer, item, "a length") for item in items]
        before = memory.count_of(self.writer, view.dims)
        if -1 in lengths:
            axis = lengths.index(-1)
            rest = memory.count_of(self.writer, tuple(lengths[:axis] + lengths[axis + 1 :]))
            lengths[axis] = memory.share(self.writer, before, rest)
        dims = tuple(lengths)
        after = memory.count_of(self.writer, dims)
        known = isinstance(before, int) and isinstance(after, int)
        if (known and before != after) or any(isinstance(size, int) and size < 0 for size in dims):
            raise KernelError(f"{in_words(view)} cannot take the lengths {', '.join(map(str, dims))}.")
        if not known and after != before:
            dims = (memory.first_if_fits(self.writer, dims, before), *dims[1:])
        strides = memory.packed_strides(self.writer, dims, view.dtype.itemsize)
        return View(view.dtype, view.pointer, dims, strides, view.read_only, packed=True, home=view.home)


def _nested(value: Value) -> tuple[tuple[int, ...], list[Value]]:
    """Lengths of nested tuples, and their numbers one after the other."""
    items = items_of(value)
    if items is None:
        if kind_of(value) is None:
            raise KernelError(f"np.array takes numbers in brackets, got {in_words(value)}.")
        return (), [value]
    rows = [_nested(item) for item in items]
    if any(lengths != rows[0][0] for lengths, _ in rows):
        raise KernelError("all rows of an array are equally long.")
    return (len(rows), *(rows[0][0] if rows else ())), [number for _, numbers in rows for number in numbers]
