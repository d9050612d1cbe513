"""Sines, exponentials, powers and the like in the kernel language itself.

The operations are those of IEEE 754, in one order on every target: the processor, a card and a browser give equal
bits, and so does plain Python.  Errors are below one unit of the last digit over the whole range
(`tests/jit/test_mathematics.py`); what is not a number, infinite, a signed zero or subnormal comes out as IEEE 754 and
C have it, and nothing raises.  `tools/derive_mathematics.py` derives the numbers in `coefficients`.
"""

from __future__ import annotations

import math

from stickslip.jit.functions import OF_NUMPY, OWN, OWN_OF_EXACT, SHARED
from stickslip.jit.kernel import Kernel
from stickslip.jit.mathematics.arcs import acos, asin, atan, atan2, hypot
from stickslip.jit.mathematics.errors import erf, erfc
from stickslip.jit.mathematics.exponentials import cosh, exp, expm1, sinh, tanh
from stickslip.jit.mathematics.logarithms import acosh, asinh, atanh, log, log1p, log2, log10, pow
from stickslip.jit.mathematics.remainders import fmod, frexp, ldexp
from stickslip.jit.mathematics.sines import cos, reduced_exactly, sin, sincos, tan

__all__ = ["KERNELS", "RARE", "sincos"]

KERNELS: tuple[Kernel, ...] = (
    sin, cos, tan, asin, acos, atan, atan2, hypot, exp, expm1, sinh, cosh, tanh, log, log1p, log2, log10, pow,
    asinh, acosh, atanh, erf, erfc, fmod, frexp, ldexp,
)  # fmt: skip
"""Kernels with the names of those functions of `math` whose place they take."""
RARE = (reduced_exactly.python.__name__,)
"""Kernels that are seldom called: they must not crowd the code around their calls."""
EXACT = (fmod, frexp, ldexp)
for kernel in KERNELS:
    table = OWN_OF_EXACT if kernel in EXACT else OWN
    own = getattr(math, kernel.python.__name__)
    table |= {function: kernel for function in (own, *(key for key, other in OF_NUMPY.items() if other is own))}
SHARED |= {kernel.python.__name__ for kernel in (sin, cos, sincos)}
