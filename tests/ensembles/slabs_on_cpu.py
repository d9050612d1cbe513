"""Slabs of scenes marched by the text that a card gets, as machine code of this processor."""

import ctypes
import functools
import re

import llvmlite.binding as llvm
import numpy as np

from stickslip.ensembles.scene_card import slabs_of
from stickslip.jit import cpu, gpu
from stickslip.jit.slabs import text
from stickslip.jit.units import ENTRY

NUMBER = """
@stickslip.number = internal global i32 0
define void @choose(i32 %number) {
  store i32 %number, ptr @stickslip.number
  ret void
}
define internal i32 @ctaid() {
  %number = load i32, ptr @stickslip.number
  ret i32 %number
}
define internal i32 @tid() { ret i32 0 }
define internal i32 @ntid() { ret i32 1 }
define internal void @ended() { unreachable }
"""


def text_of(program):
    return text(program.kernel, program.layout, program.rows, program.numbers, program.called, program.arena)


def for_processor(written):
    """The text for a card as one of this processor: blocks of one thread, whose number is chosen before a call."""
    written = written.replace("define ptx_kernel void", "define void").replace(" addrspace(3)", "")
    written = re.sub(r"declare i32 @llvm\.nvvm\.read\.ptx\.sreg\.\w+\.x\(\)\n", "", written)
    for name in gpu.REGISTERS_OF_THREAD:
        written = written.replace(f"@llvm.nvvm.read.ptx.sreg.{name}.x(", f"@{name}(")
    written = written.replace("declare void @llvm.nvvm.exit()\n", "").replace("@llvm.nvvm.exit(", "@ended(")
    return written + NUMBER


class Processor:
    """A device of one core: a card without a card."""

    kind = "gpu"

    def __init__(self):
        self.handed, self._known = 0, {}

    def slabs_of(self, request):
        if request not in self._known:
            self._known[request] = slabs_of(request)
        return self._known[request]

    def launches(self, program, slabs, rows):
        return OnProcessor(program, slabs, rows)


class OnProcessor:
    def __init__(self, program, slabs, rows):
        written, kinds = text_of(program)
        assert kinds == "all" + "".join("a" + "l" * row.ndim for row in rows) + "fi"
        self._entry, self._choose = load(for_processor(written))
        self._arrays = [slabs.view(np.int64), *rows]
        self._n = len(slabs)

    def march(self, t0, target):
        given = []
        for array in self._arrays:
            given += [ctypes.c_void_p(array.ctypes.data), *map(ctypes.c_int64, array.shape)]
        for k in range(self._n):
            self._choose(k)
            self._entry(*given, ctypes.c_double(t0), ctypes.c_int64(target))

    def fetch(self, k):
        return self._arrays[k + 1]

    def slabs(self):
        return self._arrays[0].view(np.uint8)

    def free(self):
        pass


@functools.cache
def load(written):
    cpu.make_known()
    module = llvm.create_mcjit_compiler(llvm.parse_assembly(""), cpu.machine(cpu.host()))
    module.add_object_file(llvm.ObjectFileRef.from_data(cpu.build_quickly(written)))
    module.finalize_object()
    cpu._loaded.append(module)
    entry, choose = module.get_function_address(ENTRY), module.get_function_address("choose")
    return ctypes.CFUNCTYPE(None)(entry), ctypes.CFUNCTYPE(None, ctypes.c_int32)(choose)
