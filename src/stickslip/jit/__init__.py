"""The kernel language: small Python functions that run as plain Python and as machine code, with the same bits.

`kernel` marks a function.  `Kernel.compiled` is its machine code, translated to LLVM IR for the types of the arguments
it is called with.  docs/kernels.md describes the language: what is in it, what is refused, and why.

One module per pass: `syntax` reads the source, `translate` walks it, `arithmetic`, `memory` and `functions` know the
operations, `writer` writes the text.  One module per target: `cpu`, `gpu`, `web`.  `mathematics` has sines and so on.
"""

from stickslip.jit import mathematics  # puts its functions in place of those of `math`
from stickslip.jit.addresses import call_address
from stickslip.jit.errors import KernelError
from stickslip.jit.kernel import Entry, Kernel, entry, kernel
from stickslip.jit.parallel import prange

__all__ = ["Entry", "Kernel", "KernelError", "call_address", "entry", "kernel", "mathematics", "prange"]
