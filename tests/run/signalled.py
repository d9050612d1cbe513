"""Runs that are hit by real signals at random moments, and what they leave: started by `test_signals`.

`python signalled.py CASE SIGNAL,... COUNT SEED FOLDER`: a process forks a child for every trial, sends it the signal
after a random time, goes on with what it left, and compares the end with an undisturbed run, bit for bit: JSON.
"""

from __future__ import annotations

import collections
import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import stickslip as ss
from stickslip.run import driver, records

RETURNED, RAISED, FINISHED, WRONG, BROKEN = 10, 11, 12, 13, 14
NAMES = {RETURNED: "returned", RAISED: "raised", FINISHED: "finished", WRONG: "wrong", BROKEN: "broken"}
CASES = {
    "compiled": ({"dt": 1e-4, "t_end": 4.0, "every": 1}, {"dt": 1e-4, "t_end": 300.05, "every": 1000}),
    "reference": (
        {"dt": 1e-4, "t_end": 0.03, "every": 1, "engine": "reference"},
        {"dt": 1e-5, "t_end": 0.0105, "every": 1000, "engine": "reference"},
    ),
    "adaptive": (
        {"dt": 1e-3, "t_end": 0.06, "every": 1, "stepper": "adaptive", "engine": "reference"},
        {"dt": 1e-4, "t_end": 0.15, "every": 1000, "stepper": "adaptive", "engine": "reference"},
    ),
    "event-driven": (
        {"dt": 1e-2, "t_end": 0.4, "every": 1, "stepper": "event-driven"},
        {"dt": 1e-4, "t_end": 0.35, "every": 1000, "stepper": "event-driven"},
    ),
    "scene": ({"dt": 1e-3, "t_end": 1.0, "every": 1}, {"dt": 1e-4, "t_end": 0.5005, "every": 1000}),
    "ensemble": ({"dt": 1e-4, "t_end": 2.0},),
}
ARRAYS = ("t", "q", "u", "gap", "normal_impulse", "tangential_impulse", "contact_state")


def differences(found, expected, impacts=True) -> list[str]:
    """Names of what is not the same bit for bit."""
    wrong = [name for name in ARRAYS if not np.array_equal(getattr(found, name), getattr(expected, name))]
    wrong += [
        name
        for name in ("kinetic", "potential")
        if not same(getattr(found.energy, name), getattr(expected.energy, name))
    ]
    if impacts:
        table = expected.impact_table.columns
        wrong += [f"impact {name}" for name in table if not np.array_equal(found.impact_table[name], table[name])]
    if found.certificate != expected.certificate:
        wrong.append("certificate")
    return wrong


def same(a, b) -> bool:
    return np.array_equal(a, b, equal_nan=True)


class Case:
    """A run that can be done, gone on with, and compared with the undisturbed one."""

    def __init__(self, name: str, options: dict, folder: Path) -> None:
        self.name, self.options, self.folder = name, options, folder
        self.scenario = ss.library.scenes.cube_stack(3) if name == "scene" else ss.library.woodpecker()
        self.out = folder / "run.nc"
        self.do(None)  # compiled, and the reference of ensembles
        self.expected = self.load(self.do(folder / "expected.nc", overwrite=True))
        begin = time.perf_counter()
        self.do(folder / "timed.nc", overwrite=True)
        self.seconds = time.perf_counter() - begin

    def do(self, out, **more):
        if self.name == "ensemble":
            vary = {"phi_S": "-0.11:-0.09:8"}
            return ss.ensemble(
                self.scenario, vary, observe="final,impacts,energy", chunk=2, threads=2, out=out, **self.options, **more
            )
        return self.scenario.simulate(out=out, **self.options, **more)

    def load(self, result):
        return result if self.name == "ensemble" else ss.load(self.folder / "expected.nc")

    def resumed(self) -> list[str]:
        """Go on with the file, and what is wrong with it then."""
        result = self.do(self.out, resume=True)
        if self.name == "ensemble":
            return self.wrong_members(result)
        found = ss.load(self.out)
        return differences(found, self.expected) + ([] if found.complete else [found.status])

    def wrong_members(self, result) -> list[str]:
        variables = self.expected.dataset.variables
        return [name for name in variables if not np.array_equal(result.dataset[name].values, variables[name].values)]

    def wrong_part(self, part) -> list[str]:
        """What is wrong with a run that was interrupted, against one that ends where it did."""
        if self.name == "ensemble":
            return self.wrong_members(part)
        if part.complete:
            return differences(part, self.expected)
        if part.steps == 0:
            return [] if len(part) == 1 else ["records"]
        options = {**self.options, "t_end": part.steps * self.options["dt"]}
        if self.name in ("adaptive", "event-driven"):  # t_end decides on their steps
            n = len(part) - (self.name == "event-driven" and part.steps % self.options["every"] > 0)
            wrong = [
                name for name in ARRAYS if not np.array_equal(getattr(part, name)[:n], getattr(self.expected, name)[:n])
            ]
            if n < len(part):
                every_step = self.scenario.simulate(**{**self.options, "every": 1})
                wrong += [
                    x for x in "qu" if not np.array_equal(getattr(part, x)[-1], getattr(every_step, x)[part.steps])
                ]
            return wrong
        return differences(part, self.scenario.simulate(**options))

    def clean(self) -> int:
        """Remove what a trial left; returns the number of drafts among it."""
        drafts = 0
        for path in self.folder.iterdir():
            if path.name.startswith(("run.nc", ".stickslip")):
                drafts += path.name.startswith(".stickslip")
                if path.is_dir():
                    for part in path.iterdir():
                        part.unlink()
                    path.rmdir()
                else:
                    path.unlink()
        return drafts


def child(case: Case, with_file: bool, goes_on: bool) -> int:
    """What the child of a trial does; its exit code."""
    try:
        part = case.do(case.out if with_file else None)
        code = FINISHED if case.name == "ensemble" or part.complete else RETURNED
        ours = quiet()
    except KeyboardInterrupt:
        part, code, ours = None, RAISED, quiet()
    if not ours:
        print(case.name, "the handler of SIGINT was not put back", file=sys.stderr)
        return BROKEN
    wrong = [] if part is None else case.wrong_part(part)
    if goes_on and with_file:  # in the same process: no lock was left
        wrong += case.resumed()
    if wrong:
        print(case.name, case.options, "part" if part is not None else "file", wrong, file=sys.stderr)
    return WRONG if wrong else code


def quiet() -> bool:
    """Let no signal come any more; whether the handler was what it is before a run."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return before is signal.default_int_handler


def trial(case: Case, number: int, delay: float, with_file: bool, goes_on: bool) -> int:
    """Fork, signal, wait; the exit code of the child, or minus the signal that ended it."""
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = BROKEN
        try:
            code = child(case, with_file, goes_on)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    begin = time.perf_counter()
    while time.perf_counter() - begin < delay:
        time.sleep(min(1e-3, delay))
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            case.seconds = 0.5 * (case.seconds + time.perf_counter() - begin)  # others may use the machine as well
            return os.waitstatus_to_exitcode(status)
    os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(name: str, kind: str, count: int, seed: int, folder: Path) -> dict:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it, `nohup` SIGHUP
    for ends in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ends, signal.SIG_DFL)
    records.CHECKPOINT_SECONDS = 0.02
    driver._PIECE_SECONDS = 0.01
    random.seed(seed)
    kinds = kind.split(",")
    cases = [Case(name, options, folder) for options in CASES[name]]
    outcomes: collections.Counter[str] = collections.Counter()
    wrong, drafts = [], 0
    for k in range(count):
        case, kind = cases[k % len(cases)], kinds[k % len(kinds)]
        with_file = kind != "SIGINT" or k % 3 != 2
        share = random.choice([(0.0, 0.2), (0.2, 1.0), (0.2, 1.0), (0.2, 1.0), (0.85, 1.1)])
        code = trial(case, getattr(signal, kind), random.uniform(*share) * case.seconds, with_file, k % 2 == 0)
        outcomes[NAMES.get(code, f"ended by signal {-code}")] += 1
        if code in (WRONG, BROKEN):
            wrong.append(f"trial {k}: {NAMES[code]}")
        if with_file and (case.out.exists() or kind != "SIGINT" or list(folder.glob("run.nc*"))):
            wrong += [f"trial {k}: {item}" for item in case.resumed()]
        left = case.clean()
        drafts += left
        if left and kind == "SIGINT":
            wrong.append(f"trial {k}: a draft was left behind")
    return {
        "outcomes": dict(outcomes),
        "wrong": wrong,
        "drafts": drafts,
        "seconds": [round(case.seconds, 2) for case in cases],
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))))
