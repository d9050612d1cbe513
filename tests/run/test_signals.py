"""Ctrl-C and other signals, at any moment: nothing is lost, nothing is mixed, and a run goes on as if undisturbed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.analysis.progress import not_interrupted
from stickslip.engine import Block
from stickslip.ensembles import parts as sweep_parts
from stickslip.events import event_driven, in_space, space_arcs
from stickslip.interrupts import opened, poll, uninterrupted
from stickslip.io import disk, file_under_way, stream
from stickslip.mechanisms import engines
from stickslip.mechanisms.steppers import adaptive
from stickslip.request import Checks, Records
from stickslip.run import driver, records, simulate
from stickslip.scenes.touching import ContactLog
from tests.run.signalled import CASES, differences, shaken_puck

SCRIPT = Path(__file__).with_name("signalled.py")


@pytest.fixture
def restored():
    """Handlers of SIGINT and SIGALRM are as they were after the test, and Ctrl-C raises."""
    kinds = (signal.SIGINT, signal.SIGALRM)
    before = [signal.getsignal(kind) for kind in kinds]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for kind, handler in zip(kinds, before, strict=True):
        signal.signal(kind, handler)


# -- real signals to real processes ------------------------------------------------------------------------------------


def bombarded(case: str, kind: str, count: int, folder: Path) -> dict:
    """What the trials of `signalled.py` came to."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "2"}
    seed = os.environ.get("STICKSLIP_SEED", "1")
    command = [sys.executable, str(SCRIPT), case, kind, str(count), seed, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300 + 60 * count)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == [], f"{found}\n{done.stderr[-3000:]}"
    assert sum(found["outcomes"].values()) == count
    return found


def test_some_signals_at_random_moments(tmp_path):
    bombarded("compiled", "SIGINT,SIGTERM,SIGKILL", 3, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
@pytest.mark.parametrize("case", CASES)
def test_many_signals_at_random_moments(case, kind, tmp_path):
    """Every engine, every=1 and every=1000, with a file and, for Ctrl-C, without one."""
    found = bombarded(case, kind, int(os.environ.get("STICKSLIP_SIGNALS", "200")), tmp_path)
    print(case, kind, found)
    ended = found["outcomes"].get(f"ended by signal {int(getattr(signal, kind))}", 0)
    assert (
        found["outcomes"].get("returned", 0) + found["outcomes"].get("raised", 0) if kind == "SIGINT" else ended
    ) > 0


# -- signals at every line ---------------------------------------------------------------------------------------------

FILES = {module.__file__ for module in (disk, stream, file_under_way, sweep_parts, event_driven, adaptive)}
FILES |= {str(path) for path in Path(driver.__file__).parent.glob("*.py")}  # a file that is added is not left out
FILES.add(uninterrupted.__wrapped__.__code__.co_filename)
IN_SPACE = {module.__file__ for module in (event_driven, in_space, space_arcs)}


class Lines:
    """Counts the lines run in some files, and sends signals at some of them."""

    def __init__(self, at: dict[int, signal.Signals] | None = None, files: set[str] = FILES) -> None:
        self.at, self.count, self.places, self.files = at or {}, 0, {}, files

    def __call__(self, frame, event, argument):
        return self.line if frame.f_code.co_filename in self.files else None

    def line(self, frame, event, argument):
        if event == "line":
            self.count += 1
            place = (frame.f_code.co_filename, frame.f_lineno)
            first, _ = self.places.get(place, (self.count, 0))
            self.places[place] = (first, self.count)
            if self.count in self.at:
                if self.count == max(self.at):
                    sys.settrace(None)  # nothing else is to be sent: the rest runs at its own speed
                signal.raise_signal(self.at[self.count])
        return self.line

    def watch(self, run):
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return run()
        finally:
            sys.settrace(before)


@pytest.fixture
def ball(tmp_path, monkeypatch):
    """A short run with pieces of twelve steps, a checkpoint after each, and impacts; to a file that is new each time.

    Nothing in it goes by the clock: on a busy machine it runs the lines that it runs on an idle one.
    """
    monkeypatch.setattr(records, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(records, "CHECKPOINT_SHARE", 0.0)
    monkeypatch.setattr(driver, "_MOST_PIECE_SECONDS", 1e9)
    monkeypatch.setattr(driver, "_PIECE_SECONDS", 1e9)
    monkeypatch.setattr(driver, "_MOST_STEPS", 12)
    monkeypatch.setattr(engines.MechanismEngine, "first_piece", 12)
    ball, puck = ss.library.bouncing_ball(), shaken_puck()
    file = tmp_path / "run.nc"

    def run(resume=False, out=file, in_space=False, **options):
        chosen = {"engine": "reference", "dt": 2e-2, "t_end": 0.7, "every": 3, **options}
        return (puck if in_space else ball).simulate(out=out, resume=resume, **chosen)

    run.file = file
    return run


def hit(ball, at, **options):
    """One run with signals at some lines, then gone on with in the same process; its file, loaded."""
    for path in ball.file.parent.iterdir():
        path.unlink()
    outcome, lines = "returned", Lines(at, IN_SPACE if options.get("in_space") else FILES)
    try:
        part = lines.watch(lambda: ball(**options))
        assert part.complete or part.status == f"interrupted at t = {part.t[-1]:.9g} s"
        assert lines.count >= min(at)  # the signal came
    except (KeyboardInterrupt, TimeoutError) as problem:
        outcome = type(problem).__name__
    assert [path.name for path in ball.file.parent.iterdir() if path.name.startswith(".stickslip")] == []
    ball(resume=True, **options)
    return outcome, ss.load(ball.file)


def chosen_lines(ball, share, **options):
    """The first and the last time that each line of FILES, or of IN_SPACE, is run, some of them."""
    lines = Lines(files=IN_SPACE if options.get("in_space") else FILES)
    lines.watch(lambda: ball(**options))
    moments = sorted({moment for pair in lines.places.values() for moment in pair})
    return moments if share is None else moments[:: max(1, len(moments) // share)]


def too_late(number, frame):
    raise TimeoutError


STEPPERS = [
    "moreau-midpoint",
    pytest.param("adaptive", marks=pytest.mark.slow),
    pytest.param("event-driven", marks=pytest.mark.slow),
    pytest.param("event-driven in space", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("share", [2, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGALRM])
def test_signals_at_the_lines_that_keep_a_run(ball, restored, kind, share, stepper):
    """Ctrl-C, and a handler of the user that raises, at lines of the code that opens, marches, writes and closes."""
    signal.signal(signal.SIGALRM, too_late)
    options = {"stepper": stepper, "engine": "reference"}
    if "event-driven" in stepper:
        options |= {"stepper": "event-driven", "engine": "auto"}
    if "space" in stepper:
        options |= {"in_space": True, "dt": 5e-3, "t_end": 0.2}
    moments = chosen_lines(ball, share, **options)
    expected = ss.load(ball.file)
    outcomes = set()
    for moment in moments:
        outcome, found = hit(ball, {moment: kind}, **options)
        assert differences(found, expected) == [] and found.complete, moment
        assert signal.getsignal(signal.SIGALRM) is too_late
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        outcomes.add(outcome)
    wanted = {"returned", "KeyboardInterrupt"} if kind == signal.SIGINT else {"TimeoutError"}
    assert (
        outcomes == wanted if share is None else outcomes <= wanted
    )  # a few lines may all lie in one part of the code


def pressed(owner, name, patch, after):
    """Ctrl-C, and a second one, before or after the last call of a function, which the caller makes."""
    whole = getattr(owner, name)

    def signalled(*arguments, **named):
        if not after:
            signal.raise_signal(signal.SIGINT)
        result = whole(*arguments, **named)
        signal.raise_signal(signal.SIGINT)
        return result

    patch.setattr(owner, name, signalled)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(records.Store, "finish"), (stream.StreamWriter, "close"), (disk.Disk, "commit"), (driver, "settle")],
)
def test_ctrl_c_after_the_last_step_ends_nothing(ball, restored, monkeypatch, owner, name, after):
    """Every record is there: the run is complete, its file is whole, and nothing is raised; an analysis ends."""
    expected = ball()
    ball.file.unlink()
    last = []

    def advance(step):
        if step == expected.steps:
            last.append(step)
            pressed(owner, name, monkeypatch, after)
            if name == "finish":
                signal.raise_signal(signal.SIGINT)  # in an opened part: raises at once

    found = ball(progress=advance)
    assert last and found.complete and found.status == "finished"
    assert differences(found, expected) == [] and differences(ss.load(ball.file), expected) == []
    with pytest.raises(KeyboardInterrupt):
        not_interrupted(found)
    assert not_interrupted(found) is found  # once
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_user_is_called_after_the_last_step(ball, restored, monkeypatch):
    """And what it raises arrives, with the file whole; a KeyboardInterrupt of its own is Ctrl-C."""
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    pressed(records.Store, "finish", monkeypatch, True)
    assert ball().complete and seen == [signal.SIGINT]
    monkeypatch.undo()
    ball.file.unlink()
    signal.signal(signal.SIGALRM, too_late)
    whole = records.Store.finish
    monkeypatch.setattr(records.Store, "finish", lambda *a: (whole(*a), signal.raise_signal(signal.SIGALRM))[0])
    with pytest.raises(TimeoutError):
        ball()
    assert ss.load(ball.file).complete


@pytest.mark.parametrize("share", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_a_second_signal_while_the_first_is_handled(ball, restored, share):
    signal.signal(signal.SIGALRM, too_late)
    moments = chosen_lines(ball, share)
    expected = ss.load(ball.file)
    for k, moment in enumerate(moments):
        for wait in ((1, 30, 5, 200, 1000)[k % 5],) if share == 2 else (1, 2, 3, 5, 10, 30, 100, 200, 500, 1000):
            second = signal.SIGINT if (k + wait) % 3 else signal.SIGALRM
            _, found = hit(ball, {moment: signal.SIGINT, moment + wait: second})
            assert differences(found, expected) == [], (moment, wait)
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert signal.getsignal(signal.SIGALRM) is too_late


def test_without_a_file_the_last_record_belongs_to_its_time(ball, restored):
    lines = Lines()
    lines.watch(lambda: ball(out=None))
    seen = set()
    for moment in range(1, lines.count, lines.count // 12):
        try:
            part = Lines({moment: signal.SIGINT}).watch(lambda: ball(out=None))
        except KeyboardInterrupt:
            continue
        if part.steps:
            assert differences(part, ball(out=None, t_end=part.steps * 2e-2)) == []
            seen.add(part.steps % 3 > 0)
    assert True in seen


def test_contact_points_of_a_piece_that_was_dropped_are_dropped(restored, monkeypatch):
    """Ctrl-C in the middle of a march: the tables of contacts and reactions end with the records."""
    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane(normal=(0.0, 1.0)))
    body = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.0, 0.1))
    scene.add_revolute(None, body, at=(0.0, 0.1))
    take, taken = ContactLog.take, []

    def hit(self, engine, state):
        take(self, engine, state)
        taken.append(state.t)
        if len(taken) == 30:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ContactLog, "take", hit)
    monkeypatch.setattr(driver, "_MOST_STEPS", 12)
    part = scene.simulate(dt=1e-3, t_end=0.1, contacts=True)
    assert part.status.startswith("interrupted") and 0.0 < part.t[-1] < taken[-1]
    whole = scene.simulate(dt=1e-3, t_end=float(part.t[-1]), contacts=True)
    for table in ("contacts", "reactions"):
        found, expected = getattr(part, table)(), getattr(whole, table)()
        for name in expected.columns:
            assert np.array_equal(found[name], expected[name]), (table, name)


@pytest.mark.parametrize("stepper", ["event-driven", "adaptive"])
def test_the_state_that_a_piece_returns_to_is_a_copy(stepper):
    """Flags of impacts since the last record, armed indicators, modes: nothing in it changes while the run goes on."""
    toy = ss.library.woodpecker()
    engine = "auto" if stepper == "event-driven" else "reference"
    chosen = (1e-3, 0.4, stepper, "auto", None, None, 0.0, engine, Records(every=7), Checks())
    run = simulate.prepare(toy.system, toy.q0, toy.u0, *chosen)
    for steps in (20, 21, 22):
        state = run.engine.arrays(run.state)
        before = {name: value.tobytes() for name, value in state.items()}
        block = Block.room(steps, 100, run.state.sizes, 7)
        assert run.engine.march(run.state, steps, block) == engines.DONE
        assert {name: value.tobytes() for name, value in state.items()} == before
    again = Block.room(steps, 100, run.state.sizes, 7)
    run.engine.take(run.state, state)
    assert run.engine.march(run.state, steps, again) == engines.DONE
    m = again.records
    assert m == block.records > 0 and again.n_events == block.n_events
    for name in ("q", "u", "impulse"):
        assert np.array_equal(getattr(again, name)[:m], getattr(block, name)[:m])


# -- what holds signals back -------------------------------------------------------------------------------------------


def test_signals_wait_for_the_end_of_a_block(restored):
    reached = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        reached.append(signal.getsignal(signal.SIGINT) is not signal.default_int_handler)
    assert reached == [True] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signals_take_effect_in_opened_parts_and_at_polls(restored):
    reached = []
    with uninterrupted():
        for moment in (poll, lambda: opened().__enter__()):
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                moment()
            reached.append(moment)
        with pytest.raises(KeyboardInterrupt), opened():
            with uninterrupted():
                signal.raise_signal(signal.SIGINT)
                reached.append("inside")
            reached.append("never")
        with pytest.raises(KeyboardInterrupt), opened():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # the second waits, and asks for nothing new
    assert len(reached) == 3


def test_a_handler_that_does_not_raise_is_called_and_the_run_goes_on(restored, ball):
    seen = []
    signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    run = Lines({400: signal.SIGALRM, 800: signal.SIGALRM}).watch(lambda: ball(out=None))
    assert run.complete and 1 <= len(seen) <= 2


def test_a_child_process_hears_its_signals_at_once(restored):
    with uninterrupted():
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                code = 7
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_a_run_in_a_thread_is_none_of_the_signals_business(restored, ball):
    found = []
    thread = threading.Thread(target=lambda: found.append(ball(out=None)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.3)
    thread.join()
    assert found[0].complete and np.array_equal(found[0].q, ball(out=None).q)


def test_an_error_in_a_march_leaves_state_and_records_of_one_time(restored, ball, monkeypatch):
    """What a user's function raises, in the middle of a step."""
    expected = ball()
    step, calls = engines.Reference._keep_books, []

    def failing(self, *arguments):
        calls.append(arguments)
        if len(calls) == 20:
            raise RuntimeError("no value here")
        return step(self, *arguments)

    ball.file.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(engines.Reference, "_keep_books", failing)
        with pytest.raises(RuntimeError, match="no value here"):
            ball()
    part = ss.load(ball.file)
    assert part.status == f"ended by an error at t = {part.steps * 2e-2:.9g} s" and part.steps == 12
    assert differences(ball(resume=True), expected) == []
