"""A day of woodpecker motion in one run that is killed once: rate, memory, certificate, and a bit-identical end."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest

from stickslip.io.load import load

DAY = 86_400.0  # [s], 8.64e8 steps of 1e-4 s


def command(out, t_end):
    run = [sys.executable, "-m", "stickslip", "run", "woodpecker", "--dt", "1e-4", "--t-end", str(t_end)]
    return [*run, "--every", "86400", "--out", str(out), "--resume", "--json"]


def resident(pid):
    """Memory of a process [MB]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(pid):
    """Time that a process has computed [s]: on a busy machine the clock says little."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def steps_of(part):
    """Steps that the last checkpoint holds; 0 while there is none or it is just being written."""
    try:
        with h5py.File(part, "r") as file:
            return int(np.asarray(file.attrs["steps"]).item())
    except (OSError, RuntimeError, KeyError):
        return 0


def watch(process, part, after=0, stop_at=None):
    """(processor seconds, steps, MB) at checkpoints past `after` steps; kills the process that has passed `stop_at`."""
    seen = []
    while process.poll() is None:
        time.sleep(0.5)
        steps = steps_of(part)
        if steps > (seen[-1][1] if seen else after):
            seen.append((processor_seconds(process.pid), steps, resident(process.pid)))
            if stop_at is not None and steps > stop_at:
                process.send_signal(signal.SIGKILL)
                process.wait()
    return seen


def child_seconds():
    """Time that processes have computed that this one has waited for [s]."""
    import resource  # of systems with /proc, as this test

    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def run_and_kill(folder, t_end):
    """The report of a run to t_end that was killed in the middle and resumed, and what was seen of both halves."""
    out, part = folder / "day.nc", folder / "day.nc.part"
    first = subprocess.Popen(command(out, t_end), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    half = watch(first, part, stop_at=0.4 * t_end / 1e-4)
    assert first.returncode == -signal.SIGKILL and not out.exists()
    kept = load(part)
    assert not kept.complete and kept.status.startswith("running: safe up to")
    before = child_seconds()
    second = subprocess.Popen(command(out, t_end), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rest = watch(second, part, after=kept.steps)
    text, errors = second.communicate()
    assert second.returncode == 0, errors
    assert not part.exists() and out.exists()
    report = json.loads(text)
    rest.append((child_seconds() - before, report["steps"], rest[-1][2]))  # few checkpoints on a quick machine
    return report, half, rest


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_day_of_the_woodpecker(tmp_path):
    report, half, rest = run_and_kill(tmp_path, DAY)
    assert report["steps"] == 864_000_000 and report["complete"]
    certificate = report["certificate"]
    assert certificate["failed_steps"] == 0 and certificate["max_residual"] < 1e-9
    assert certificate["max_penetration"] < 1e-4
    rates = []
    for part in (half, rest):
        apart = [(a, b) for a, b in pairwise(part) if b[0] - a[0] > 2.0]  # the end takes some tenths of a second
        rates += [(b[1] - a[1]) / (b[0] - a[0]) for a, b in apart]
        print("MB", [round(mb) for _, _, mb in part])
    print("steps per processor second", [f"{rate:.3g}" for rate in rates])
    assert len(rates) >= 2 and max(rates) < 2.0 * min(rates)
    memory = [mb for _, _, mb in rest]
    assert max(memory) - min(memory) < 80.0  # impacts fill their million rows; nothing else grows
    print(json.dumps({key: report[key] for key in ("steps", "wall_s", "steps_per_s", "certificate")}))
