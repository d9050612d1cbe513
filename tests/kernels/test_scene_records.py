"""Tables of scenes as machine code takes them."""

import numpy as np

from stickslip import library
from stickslip.jit import Kernel
from stickslip.kernels.scene import layout


def test_tables_of_one_kind_share_one_type() -> None:
    """Machine code tells types by their addresses: others are looked at in Python, ten times as slowly."""
    for dtype in (layout.BODY, layout.CONTACT, layout.ROW):
        one, two = layout.records(dtype, 3), layout.records(dtype, 2, 2)
        assert one.dtype is two.dtype is one.copy().dtype and one.dtype == dtype
        assert isinstance(one, np.recarray)


def test_steps_that_need_a_solver_do_not_look_at_types_in_python(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    scenario = library.get("cube_stack")
    scenario.simulate(t_end=20 * scenario.dt)
    looked_at: list[str] = []
    version = Kernel.version
    monkeypatch.setattr(Kernel, "version", lambda self, *args: looked_at.append(self.__name__) or version(self, *args))
    scenario.simulate(t_end=20 * scenario.dt)
    assert not looked_at
