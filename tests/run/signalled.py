"""Runs that are hit by real signals at random moments, and what they leave: started by `test_signals`.

`python signalled.py CASE SIGNAL,... COUNT SEED FOLDER`: a process that has all kernels loaded forks a child for every
trial, sends it the signal after a random time, goes on with what it left, and compares the end with an undisturbed run,
bit for bit: JSON.  Every `FRESH`-th trial starts a whole new interpreter instead (`python signalled.py --fresh ...`).
A child tells what it is doing through a byte of memory that it shares: so we know which moments were hit.
"""

from __future__ import annotations

import collections
import functools
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import sympy as sp

import stickslip as ss
from stickslip.ensembles import cpu
from stickslip.ensembles import files as sweeps
from stickslip.ensembles import parts as sweep_parts
from stickslip.ensembles import run as ensemble_run
from stickslip.events import event_driven
from stickslip.io import disk, stream
from stickslip.mechanisms import engines
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.steppers import adaptive
from stickslip.run import driver, records
from stickslip.scenario import Scenario
from stickslip.scenes import engine as scene_engine

RETURNED, RAISED, FINISHED, WRONG, BROKEN = 10, 11, 12, 13, 14
NAMES = {RETURNED: "returned", RAISED: "raised", FINISHED: "finished", WRONG: "wrong", BROKEN: "broken"}
BALL = {"system": "bouncing_ball"}  # quick to compute in Python; the others are woodpeckers
CASES: dict[str, tuple[dict, ...]] = {
    "compiled": ({"dt": 1e-4, "t_end": 1.0, "every": 1}, {"dt": 1e-4, "t_end": 60.05, "every": 1000}),
    "reference": (
        {"dt": 2e-3, "t_end": 0.06, "every": 1, "engine": "reference"},
        {"dt": 1e-3, "t_end": 1.05, "every": 1000, "engine": "reference", **BALL},
    ),
    "adaptive": (
        {"dt": 1e-3, "t_end": 0.005, "every": 1, "stepper": "adaptive", "engine": "reference"},
        {"dt": 5e-4, "t_end": 0.6005, "every": 1000, "stepper": "adaptive", "engine": "reference", **BALL},
    ),
    "event-driven": (
        {"dt": 1e-2, "t_end": 0.1, "every": 1, "stepper": "event-driven"},
        {"dt": 1e-3, "t_end": 2.05, "every": 1000, "stepper": "event-driven", **BALL},
    ),
    "event-driven in space": (
        {"dt": 5e-3, "t_end": 0.6, "every": 1, "stepper": "event-driven"},
        {"dt": 1e-3, "t_end": 1.05, "every": 1000, "stepper": "event-driven"},
    ),
    "scene": ({"dt": 1e-3, "t_end": 1.0, "every": 1}, {"dt": 1e-4, "t_end": 0.5005, "every": 1000}),
    "scene with gears and ropes": (
        {"dt": 1e-3, "t_end": 0.6, "every": 1},
        {"dt": 2e-4, "t_end": 0.4005, "every": 1000},
    ),
    "ensemble": ({"dt": 1e-4, "t_end": 4.0},),
    "ensemble of scenes": ({"dt": 1e-3, "t_end": 0.6},),
}
FRESH = 25  # one trial of so many starts a new interpreter
MOMENTS: dict[str, list[tuple[object, str]]] = {
    "in the march": [
        (engines.Compiled, "march"),
        (engines.Reference, "march"),
        (adaptive.AdaptiveEngine, "march"),
        (event_driven.EventEngine, "march"),
        (scene_engine.SceneEngine, "march"),
        (cpu.Cores, "advance"),
    ],
    "while a block is taken": [(records.Store, "take")],
    "while a file is opened": [
        (stream.StreamWriter, "_begin"),
        (stream.StreamWriter, "_resumed"),
        (sweep_parts.InFolder, "begin"),
    ],
    "while a file is written": [(stream.StreamWriter, "_append"), (sweep_parts.InFolder, "put")],
    "in a checkpoint": [(stream.StreamWriter, "checkpoint")],
    "in a commit": [(disk.Disk, "commit")],
    "while a file is closed": [(stream.StreamWriter, "_finish"), (sweeps, "write_ensemble")],
}
"""What a child does, by the functions that do it; anything else is "between"."""
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
    if expected.event_table is not None:
        wrong += [
            f"event {name}"
            for name in ("time", "kind", "contact")
            if not np.array_equal(getattr(found.event_table, name), getattr(expected.event_table, name))
        ]
    if found.certificate != expected.certificate:
        wrong.append("certificate")
    return wrong


def shaken_puck() -> Scenario:
    """A puck with two tangents that falls on a table and is pushed to and fro: it strikes, sticks, slips and stops."""
    x, y, z, vx, vy, vz, t = sp.symbols("x y z v_x v_y v_z t")
    push = 7 * sp.sin(19 * t)
    system = ss.LagrangianSystem.from_energies(
        [x, y, z],
        velocities=[vx, vy, vz],
        kinetic=(vx**2 + vy**2 + vz**2) / 2,
        potential=10 * z,
        forces=[push * sp.cos(3 * t), push * sp.sin(3 * t), 0],
        contacts=[Contact("table", gap=z, slip=[x, y], friction=0.5)],
        time=t,
        name="shaken puck",
    )
    return Scenario(system, np.array([0.0, 0.0, 0.01]), np.array([0.2, 0.1, 0.0]), 5e-3, 0.6, title="puck", source="")


class Described:
    """A scene with the call of a scenario."""

    def __init__(self, scene: ss.Scene) -> None:
        self.simulate = scene.simulate


def geared() -> Described:
    """Two wheels in mesh, one wound up by a weight on a rope that comes taut, a weight over a pulley, and a floor."""
    scene = ss.Scene(dim=2, name="gears and ropes")
    scene.add_static(ss.HalfPlane(normal=(0.0, 1.0)), friction=0.3)
    big = scene.add_body(ss.Circle(0.2), mass=2.0, position=(0.0, 2.0), angular_velocity=2.0, name="big")
    small = scene.add_body(ss.Circle(0.1), mass=0.5, position=(0.3, 2.0), name="small")
    scene.add_revolute(None, big, at=(0.0, 2.0), friction=0.01)
    scene.add_revolute(None, small, at=(0.3, 2.0))
    scene.add_gear(big, small, (0.0, 2.0), (0.3, 2.0), ratio=0.5)
    left = scene.add_body(ss.Circle(0.1), mass=1.0, position=(-1.0, 0.4), velocity=(0.3, 1.0), name="left")
    right = scene.add_body(ss.Circle(0.1), mass=1.5, position=(1.0, 0.5), name="right")
    scene.add_pulley(left, right, (-1.0, 0.4), (1.0, 0.5), (-1.0, 3.0), (1.0, 3.0))
    swung = scene.add_body(ss.Circle(0.1), mass=0.3, position=(0.1, 1.2), velocity=(1.0, 0.0), name="swung")
    scene.add_rope(big, swung, (0.1, 1.9), (0.1, 1.2), length=0.8)
    return Described(scene)


def same(a, b) -> bool:
    return np.array_equal(a, b, equal_nan=True)


NEVER = dict.fromkeys(("ensemble", "ensemble of scenes"), ("while a block is taken", "in a checkpoint", "in a commit"))
VARIED = {"ensemble": {"phi_S": "-0.11:-0.09:16"}, "ensemble of scenes": {"cube.vx": "1:2:16"}}


class Watch:
    """What a child does at the moment, in memory that its parent reads."""

    def __init__(self) -> None:
        self.shared = mmap.mmap(-1, 1)
        self.names = ["between", *MOMENTS]

    def moment(self) -> str:
        return self.names[self.shared[0]]

    def begin(self) -> None:
        """Let this process tell what it does."""
        for number, places in enumerate(MOMENTS.values(), start=1):
            for owner, name in places:
                whole = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
                kind = type(whole) if isinstance(whole, classmethod) else None
                wrapped = self._telling(whole.__func__ if kind else whole, number)
                setattr(owner, name, kind(wrapped) if kind else wrapped)

    def _telling(self, function, number: int):
        @functools.wraps(function)
        def tell(*arguments, **named):
            before, self.shared[0] = self.shared[0], number
            try:
                return function(*arguments, **named)
            finally:
                self.shared[0] = before

        return tell


class Case:
    """A run that can be done, gone on with, and compared with the undisturbed one."""

    def __init__(self, name: str, options: dict, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.options = {key: value for key, value in options.items() if key != "system"}
        self.number = CASES[name].index(options)
        system = options.get("system", "woodpecker")
        others = {
            "scene": lambda: ss.library.scenes.cube_stack(3),
            "event-driven in space": shaken_puck,
            "scene with gears and ropes": geared,
            "ensemble of scenes": ss.library.thrown_cube,
        }
        self.scenario = others.get(name, lambda: ss.library.get(system))()
        self.vary = VARIED.get(name)
        self.out = folder / "run.nc"
        self.fresh_seconds = 1.0

    def prepare(self) -> None:
        """What an undisturbed run gives, and how long it takes."""
        folder = self.folder
        self.do(None)  # compiled, and the reference of ensembles
        self.expected = self.load(self.do(folder / "expected.nc", overwrite=True))
        begin = time.perf_counter()
        self.do(folder / "timed.nc", overwrite=True)
        self.seconds = time.perf_counter() - begin

    def do(self, out, **more):
        if self.vary:
            asked = {"observe": "final,impacts,energy", "chunk": 2, "threads": 2, **self.options, **more}
            return ss.ensemble(self.scenario, self.vary, out=out, **asked)
        return self.scenario.simulate(out=out, **self.options, **more)

    def load(self, result):
        return result if self.vary else ss.load(self.folder / "expected.nc")

    def resumed(self) -> list[str]:
        """Go on with the file, and what is wrong with it then."""
        result = self.do(self.out, resume=True)
        if self.vary:
            return self.wrong_members(result)
        found = ss.load(self.out)
        return differences(found, self.expected) + ([] if found.complete else [found.status])

    def wrong_members(self, result) -> list[str]:
        variables = self.expected.dataset.variables
        return [name for name in variables if not np.array_equal(result.dataset[name].values, variables[name].values)]

    def wrong_part(self, part) -> list[str]:
        """What is wrong with a run that was interrupted, against one that ends where it did."""
        if self.vary:
            return self.wrong_members(part)
        if part.complete:
            return differences(part, self.expected)
        if part.steps == 0:
            return [] if len(part) == 1 else ["records"]
        options = {**self.options, "t_end": part.steps * self.options["dt"]}
        if self.name == "adaptive" or "event-driven" in self.name:  # t_end decides on their steps
            n = len(part) - ("event-driven" in self.name and part.steps % self.options["every"] > 0)
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

    def drafts(self) -> int:
        """Files that are there and not finished, but for the run itself."""
        return len([*self.folder.glob(".stickslip*"), *self.folder.glob("*/.stickslip*")])

    def clean(self) -> None:
        """Remove what a trial left."""
        for path in (*self.folder.glob("run.nc*"), *self.folder.glob(".stickslip*")):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def child(case: Case, with_file: bool, goes_on: bool) -> int:
    """What the child of a trial does; its exit code."""
    try:
        part = case.do(case.out if with_file else None)
        code = FINISHED if case.vary or part.complete else RETURNED
        ours = quiet()
    except KeyboardInterrupt as problem:
        part, code, ours = None, RAISED, quiet()
        calls = {frame.f_code for frame, _ in traceback.walk_tb(problem.__traceback__)}
        inside = calls & {driver.drive.__code__, ensemble_run._kept.__code__}
        if inside and case.out.exists() and (case.vary or ss.load(case.out).complete):
            print(case.name, case.options, "the file is whole, and the run raised", file=sys.stderr)
            return WRONG
    if not ours:
        print(case.name, "the handler of a signal was not put back", file=sys.stderr)
        return BROKEN
    wrong = [] if part is None else case.wrong_part(part)
    if goes_on and with_file:  # in the same process: no lock was left
        wrong += case.resumed()
    if wrong:
        print(case.name, case.options, "part" if part is not None else "file", wrong, file=sys.stderr)
    return WRONG if wrong else code


def quiet() -> bool:
    """Let no signal come any more; whether handlers are what they are before a run."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ending = {signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    return before is signal.default_int_handler and ending == {signal.SIG_DFL}


def trial(
    case: Case, watch: Watch, number: int, delay: float, aim: str | None, with_file: bool, goes_on: bool
) -> tuple[int, str]:
    """Fork, signal, wait; the exit code of the child, or minus the signal that ended it, and the moment of the hit.

    The signal comes after `delay` seconds, at the first moment of the kind `aim` where one is given.
    """
    sys.stderr.flush()
    watch.shared[0] = 0
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
    while (elapsed := time.perf_counter() - begin) < delay or (aim not in (None, watch.moment()) and elapsed < 60.0):
        time.sleep(min(1e-3, delay) if elapsed < delay else 2e-5)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            case.seconds = 0.5 * (case.seconds + time.perf_counter() - begin)  # others may use the machine as well
            return os.waitstatus_to_exitcode(status), "after the end"
    moment = watch.moment()
    os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), moment


def fresh_trial(case: Case, number: int, share: float) -> tuple[int, str]:
    """As `trial`, with a new interpreter, which is hit after it has imported everything; it never goes on."""
    command = [sys.executable, __file__, "--fresh", case.name, str(case.number), str(case.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        begin, delay = time.perf_counter(), share * case.fresh_seconds
        try:
            process.wait(delay)
            case.fresh_seconds = time.perf_counter() - begin
            return process.returncode, "after the end"
        except subprocess.TimeoutExpired:
            case.fresh_seconds = max(case.fresh_seconds, delay * 1.2)
        os.kill(process.pid, number)
        return process.wait(), "in a new interpreter"


def fresh(name: str, which: int, folder: Path) -> int:
    """What a new interpreter does."""
    settle()
    case = Case(name, CASES[name][which], folder)
    print("ready", flush=True)
    try:
        part = case.do(case.out)
    except KeyboardInterrupt:
        return RAISED
    return FINISHED if case.vary or part.complete else RETURNED


def settle() -> None:
    """Signals as a terminal leaves them, many checkpoints, short pieces."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it, `nohup` SIGHUP
    for ends in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ends, signal.SIG_DFL)
    records.CHECKPOINT_SECONDS = 0.05
    driver._PIECE_SECONDS = 0.02


def main(name: str, kind: str, count: int, seed: int, folder: Path) -> dict:
    settle()
    random.seed(seed)
    kinds = kind.split(",")
    cases = [Case(name, options, folder) for options in CASES[name]]
    for case in cases:
        case.prepare()
    watch = Watch()
    watch.begin()
    outcomes: collections.Counter[str] = collections.Counter()
    moments: collections.Counter[str] = collections.Counter()
    wrong, drafts = [], 0
    aims = {True: [moment for moment in MOMENTS if moment not in NEVER.get(name, ())], False: ["in the march"]}
    for k in range(count):
        case, kind = cases[k % len(cases)], kinds[k % len(kinds)]
        number = getattr(signal, kind)
        new = k % FRESH == FRESH - 1
        with_file = new or kind != "SIGINT" or k % 3 != 2
        share = random.uniform(*random.choice([(0.0, 0.2), (0.2, 1.0), (0.2, 1.0), (0.2, 1.0), (0.85, 1.1)]))
        if new:
            code, moment = fresh_trial(case, number, share)
        else:
            aim = random.choice(aims[with_file]) if k % 2 else None
            if aim is not None:
                share = 0.0 if aim == "while a file is opened" else random.uniform(0.0, 0.6)
            code, moment = trial(case, watch, number, share * case.seconds, aim, with_file, k % 4 == 0)
        outcomes[NAMES.get(code, f"ended by signal {-code}")] += 1
        moments[moment] += 1
        if (code not in NAMES and code != -number) or code in (WRONG, BROKEN):
            wrong.append(f"trial {k}: {NAMES.get(code, code)}")
        left = case.drafts()
        drafts += left
        if left and kind != "SIGKILL":
            wrong.append(f"trial {k}: a draft was left behind")
        if with_file and (case.out.exists() or kind != "SIGINT" or list(folder.glob("run.nc*"))):
            wrong += [f"trial {k}: {item}" for item in case.resumed()]
        if case.drafts():
            wrong.append(f"trial {k}: a draft was left by the run that went on")
        case.clean()
    return {
        "outcomes": dict(outcomes),
        "moments": dict(moments),
        "wrong": wrong,
        "drafts": drafts,
        "seconds": [round(case.seconds, 2) for case in cases],
    }


if __name__ == "__main__":
    if sys.argv[1] == "--fresh":
        sys.exit(fresh(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])))
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))))
