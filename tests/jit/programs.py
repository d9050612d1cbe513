"""Random programs of the kernel language, which plain Python and machine code have to agree on.

A program has float names a..d, whole names i..l, arrays x (5,) and A (3, 4) of floats and k (4,) of whole numbers.
Whole numbers are kept small, since those of Python do not wrap around; divisors of floats come from arrays, since
Python raises where NumPy gives an infinite value.  Nothing reads the sign of what is not a number, nor
that of a zero chosen among zeros of both signs (0.0 is added): no rule gives them.
"""

import linecache
import random

import numpy as np

FLOATS, WHOLE, COUNTERS = "abcd", "ijlm", "pqrs"
FUNCTIONS = (
    "sin", "cos", "tan", "exp", "expm1", "tanh", "sinh", "cosh", "asinh", "atan", "erf", "erfc", "fabs",
)  # fmt: skip
"""Functions of all numbers; others, of which Python raises outside their range, are in `test_mathematics`."""
HEAD = """import math
import numpy as np
from stickslip.jit import kernel

@kernel(inline={inline})
def helper(u, v, row):
    if u > v:
        return u - v, row[0]
    total = 0.0
    for n in range(row.shape[0]):
        total += row[n] * u
    return total, v

"""


def draw_row(draw: random.Random) -> str:
    """Four numbers of an array."""
    return draw.choice(["A[0]", "A[1]", "A[2]", "x[1:]", "x[:4]", "A[1, :]"])


class Program:
    """Writes one random kernel; `source` is its text."""

    def __init__(self, seed: int, name: str) -> None:
        self.draw = random.Random(seed)
        self.counters: list[str] = []
        self.lines = [f"@kernel\ndef {name}(x, A, k, n):"]
        for name in FLOATS:
            self.line(1, f"{name} = x[{self.draw.randrange(5)}]")
        for name in WHOLE:
            self.line(1, f"{name} = k[{self.draw.randrange(4)}]")
        self.block(1, 5, False)
        self.line(1, f"return {', '.join([*FLOATS, *WHOLE])}")

    @property
    def source(self) -> str:
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, most: int, in_loop: bool) -> None:
        for _ in range(self.draw.randint(1, most)):
            self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        draw = self.draw
        kinds = ["float", "float", "whole", "element", "row", "arrays", "if", "for", "while", "call", "augment", "swap"]
        kind = draw.choice([*kinds, "over"] if depth < 4 else kinds[:4])
        if in_loop and draw.random() < 0.06:
            self.line(depth, f"if {self.condition(1)}:")
            self.line(depth + 1, draw.choice(["break", "continue"]))
        elif kind == "float":
            self.line(depth, f"{draw.choice(FLOATS)} = {self.number(3)}")
        elif kind == "whole":
            self.line(depth, f"{draw.choice(WHOLE)} = ({self.whole(3)}) % 1009 - 300")
        elif kind == "element":
            self.line(depth, f"{self.element()} = {self.number(2)}")
        elif kind == "row":
            self.line(depth, f"A[{draw.randrange(3)}, 1:] = {draw.choice([self.number(1), 'x[:3]', 'A[2, :3]'])}")
        elif kind == "arrays":
            self.arrays(depth)
        elif kind == "over":
            values = draw.choice(["x", "A[1]", f"({self.number(1)}, {self.number(1)}, 1.5)", "A[:, 3]"])
            self.line(depth, f"for {draw.choice(FLOATS)} in {values}:")
            self.block(depth + 1, 2, True)
        elif kind == "augment":
            target = draw.choice([*FLOATS, self.element()])
            self.line(depth, f"{target} {draw.choice(['+=', '-=', '*='])} {self.number(2)}")
        elif kind == "swap":
            u, v = draw.sample(FLOATS, 2)
            self.line(depth, f"{u}, {v} = {v}, {self.number(2)}")
        elif kind == "call":
            u, v = draw.sample(FLOATS, 2)
            row = draw.choice(["x", "A[1]", "x[1:4]", "A[:, 2]"])
            self.line(depth, f"{u}, {v} = helper({self.number(1)}, {self.number(1)}, {row})")
        elif kind == "if":
            self.line(depth, f"if {self.condition(2)}:")
            self.block(depth + 1, 3, in_loop)
            if draw.random() < 0.6:
                self.line(depth, "else:")
                self.block(depth + 1, 3, in_loop)
        elif kind == "for" and len(self.counters) < len(COUNTERS):
            counter = COUNTERS[len(self.counters)]
            ranges = ["n", "1, 4", "4, 0, -1", f"{self.whole(1)} % 4"]
            self.line(depth, f"for {counter} in range({draw.choice(ranges)}):")
            self.counters.append(counter)
            self.block(depth + 1, 3, True)
            self.counters.pop()
        else:
            counter = f"w{len(self.lines)}"
            self.line(depth, f"{counter} = 0")
            self.line(depth, f"while {counter} < 3 and {self.condition(1)}:")
            self.line(depth + 1, f"{counter} += 1")
            self.block(depth + 1, 2, True)

    def arrays(self, depth: int) -> None:
        """New arrays, choices of arrays, operators on whole arrays, tuples, other shapes."""
        draw, name, row = self.draw, f"y{len(self.lines)}", draw_row(self.draw)
        u, v = draw.sample(FLOATS, 2)
        texts = [
            [
                f"{name} = np.zeros(3)",
                f"{name}[1:] = x[:2]",
                f"{name}[0] = {self.number(2)}",
                f"{u} = {name}.max() + 0.0",
            ],
            [f"{name} = {row} {draw.choice(['+', '-', '*'])} {draw_row(draw)}", f"{u} = {name}[{draw.randrange(4)}]"],
            [f"{name} = {row} if {self.condition(1)} else {draw_row(draw)}", f"{u} = {name}[2] - ({name}.min() + 0.0)"],
            [f"{name} = np.array([{u}, {self.number(1)}, {v}])", f"{v} = {name}[0] * {name}[1]"],
            [f"{name} = A.reshape({draw.choice(['2, 6', '-1', '4, -1', '6, 2'])}).copy()", f"{u} = {name}.max() + 0.0"],
            [
                f"{name} = ({u}, ({self.number(1)}, {v}))",
                f"{u}, {v} = {name}[1]",
                f"x[{draw.randrange(5)}] = {name}[0]",
            ],
            [f"A[{draw.randrange(3)}] {draw.choice(['+=', '*='])} {draw.choice(['x[1:]', 'A[2]', '0.5', u])}"],
            [
                f"{name} = np.full((2, 3), {self.number(1)})",
                f"{name}[1] = A[:, 1]",
                f"{v} = {name}[1, 2] + {name}[0, 0]",
            ],
        ]
        for text in draw.choice(texts):
            self.line(depth, text)

    def element(self) -> str:
        draw = self.draw
        index = draw.choice([*self.counters, "0", "1", "2"]) if self.counters else draw.choice("012")
        index = f"{index} % 3" if index in self.counters else index
        return draw.choice([f"x[{index}]", f"A[{index}, {draw.randrange(4)}]", f"A[{draw.randrange(3)}, {index}]"])

    def number(self, depth: int) -> str:
        draw = self.draw
        if depth == 0 or draw.random() < 0.2:
            return draw.choice([*FLOATS, *FLOATS, self.element(), "1.5", "-0.25", "1e-3"])
        left, right = self.number(depth - 1), self.number(depth - 1)
        sign = draw.choice(FLOATS)
        return draw.choice(
            [
                f"({left} + {right})",
                f"({left} - {right})",
                f"{left} * {right}",
                f"{left} / {self.element()}",
                f"({left} % {self.element()})",
                f"({left} // {self.element()})",
                f"math.{draw.choice(FUNCTIONS)}({left})",
                f"math.atan2({left}, {right})",
                f"math.pow(abs({left}), {draw.choice(['0.5', '1.5', right])})",
                f"(np.{draw.choice(['maximum', 'minimum'])}({left}, {right}) + 0.0)",
                f"np.sign({left})",
                f"-{left}" if not left.startswith("-") else left,
                f"abs({left})",
                f"max({left}, {right})",
                f"min({left}, {right})",
                f"math.sqrt(abs({left}))",
                f"math.atan({left})",
                f"math.copysign({left}, {sign} if {sign} == {sign} else 1.0)",
                f"({left} if {self.condition(depth - 1)} else {right})",
                f"({self.whole(depth - 1)}) * {left}",
                f"float({self.whole(depth - 1)})",
            ]
        )

    def whole(self, depth: int) -> str:
        draw = self.draw
        if depth == 0 or draw.random() < 0.2:
            return draw.choice([*WHOLE, *self.counters, "n", "3", "-7", f"k[{draw.randrange(4)}]"])
        left, right = self.whole(depth - 1), self.whole(depth - 1)
        constant = draw.choice(["3", "-4", "7"])
        x = draw.choice(FLOATS)
        return draw.choice(
            [
                f"({left} + {right})",
                f"({left} - {right})",
                f"({left} % 97) * ({right} % 89)",
                f"({left} // {constant})",
                f"({left} % {constant})",
                f"({left} & {right})",
                f"({left} ^ {right})",
                f"({left} | {right})",
                f"({left} >> 2)",
                f"abs({left})",
                f"max({left}, {right})",
                f"(int({x}) if abs({x}) < 1e6 else 5)",
                f"(math.floor({x}) if abs({x}) < 1e6 else -5)",
                f"(round({x}) if abs({x}) < 1e6 else 4)",
                f"({left} << 1)",
                f"divmod({left}, {constant})[{draw.randrange(2)}]",
                f"({left} if {self.condition(depth - 1)} else {right})",
            ]
        )

    def condition(self, depth: int) -> str:
        draw = self.draw
        if depth > 0 and draw.random() < 0.4:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return draw.choice([f"({left} and {right})", f"({left} or {right})", f"(not {left})"])
        op = draw.choice(["<", "<=", ">", ">=", "==", "!="])
        inner = 1 if depth > 0 else 0
        if draw.random() < 0.5:
            return f"{self.number(inner)} {op} {self.number(inner)}"
        if draw.random() < 0.2:
            return f"{self.whole(inner)} < {self.whole(inner)} {op} {self.whole(inner)}"
        if draw.random() < 0.1:
            return f"{self.whole(inner)} {draw.choice(['in', 'not in'])} (0, 3, {self.whole(0)})"
        return f"{self.whole(inner)} {op} {self.whole(inner)}"


def programs(seed: int, count: int):  # type: ignore[no-untyped-def]
    """`count` random kernels of one module, as (kernel, source) each, and the kernel `chosen` that runs one of them.

    `chosen` (x, A, k, n, which, floats, whole) writes the results of program `which` into two arrays.  LLVM builds one
    module for all programs then, in which they share sines and the like: less than half the time of a module for each.
    """
    names = [f"program_{seed + number}" for number in range(count)]
    sources = [Program(seed + number, name).source for number, name in enumerate(names)]
    results = ", ".join([f"floats[{k}]" for k in range(len(FLOATS))] + [f"whole[{k}]" for k in range(len(WHOLE))])
    chosen = ["@kernel", "def chosen(x, A, k, n, which, floats, whole):"]
    for number, name in enumerate(names):
        chosen += [f"    if which == {number}:", f"        {results} = {name}(x, A, k, n)"]
    text = HEAD.format(inline=random.Random(seed).random() < 0.5) + "\n\n".join([*sources, "\n".join(chosen) + "\n"])
    file = f"<random programs {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module: dict[str, object] = {}
    exec(compile(text, file, "exec"), module)
    return [(module[name], source) for name, source in zip(names, sources, strict=True)], module["chosen"]


def arguments(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Arguments for a program: ordinary numbers, and now and then special ones."""
    rng = np.random.default_rng(seed)
    x, A = rng.normal(size=5), rng.normal(size=(3, 4))
    if seed % 4 == 0:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 5e-324])
        x[rng.integers(5)], A[rng.integers(3), rng.integers(4)] = rng.choice(special, 2)
    return x, A, rng.integers(-50, 50, 4), int(rng.integers(0, 5))
