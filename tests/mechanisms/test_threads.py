"""Threads that begin with one system at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import stickslip as ss
from stickslip.mechanisms.generate import import_generated, module_source


def test_threads_that_import_one_generated_module_get_it_whole():
    """A thread must not see the module while another one executes its text."""
    system, begin = ss.library.bouncing_ball(restitution=0.123).system, Barrier(4)
    text = module_source(system, "stepper", "auto") + "\n# of this test alone\nlast_of_all = 1\n"

    def imported(_: int) -> int:
        begin.wait()
        return import_generated(system, text, "threads").last_of_all

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(imported, range(4))) == [1] * 4
