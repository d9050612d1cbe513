"""Trajectories made of random and special numbers, how they are streamed, and whether two are equal."""

import dataclasses
import os
import subprocess
import sys
import textwrap

import numpy as np

from stickslip.io.load import load  # noqa: F401  # what the scripts of `run_python` call
from stickslip.io.stream import StreamWriter, save  # noqa: F401
from stickslip.trajectory import IMPACT_COLUMNS, Certificate, Energies, ImpactTable, Trajectory


def trajectory(n=40, coordinates=("x", "phi_S", "phi_M"), contacts=("beak", "sleeve"), impacts=7, seed=0, **changes):
    """A trajectory of random numbers, with everything in it that could get lost."""
    random = np.random.default_rng(seed)
    f, c = len(coordinates), len(contacts)
    columns = {key: random.normal(size=impacts) for key in IMPACT_COLUMNS}
    columns["contact"] = random.integers(0, max(c, 1), impacts)
    run = Trajectory(
        t=np.linspace(0.0, 1.0, n),
        q=random.normal(size=(n, f)),
        u=random.normal(size=(n, f)),
        gap=random.normal(size=(n, c)),
        normal_impulse=random.random((n, c)),
        tangential_impulse=random.normal(size=(n, c)),
        contact_state=random.integers(0, 6, (n, c)).astype(np.int8),
        energy=Energies(random.random(n), random.normal(size=n)),
        certificate=Certificate(1, 1.5e-11, 8.8e-7, 0.1 + 0.2, 6, 12),
        impact_table=ImpactTable(columns, tuple(contacts)),
        system_name="woodpecker",
        coordinate_names=tuple(coordinates),
        velocity_names=tuple(f"u_{name}" for name in coordinates),
        contact_names=tuple(contacts),
        contact_kinds=tuple(i % 4 for i in range(c)),
        parameters={"mass": 0.1 + 0.2, "friction": 0.3, "tiny": 5e-324},
        units={coordinates[0]: "m", f"u_{coordinates[0]}": "m/s", "mass": "kg"},
        dt=1e-4,
        every=3,
        steps=3 * (n - 1),
        stepper="moreau-midpoint",
        solver="auto",
        engine="compiled",
        wall_s=0.123,
        version="0.0.1",
        attributes={"title": "The toy", "source": "GS05"},
    )
    return dataclasses.replace(run, **changes)


def assert_same(a, b):
    """Equal in every bit, every type and every field."""
    for field in dataclasses.fields(Trajectory):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, np.ndarray):
            assert_same_array(x, y)
        elif isinstance(x, Energies):
            assert_same_array(x.kinetic, y.kinetic)
            assert_same_array(x.potential, y.potential)
        elif isinstance(x, ImpactTable):
            assert x.names == y.names and list(x.columns) == list(y.columns)
            for key in x.columns:
                assert_same_array(x[key], y[key])
        else:
            assert type(x) is type(y) and repr(x) == repr(y), field.name


def assert_same_array(x, y):
    assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


def records(run, part=slice(None)):
    return {
        "t": run.t[part],
        "q": run.q[part],
        "u": run.u[part],
        "normal_impulse": run.normal_impulse[part],
        "tangential_impulse": run.tangential_impulse[part],
        "contact_state": run.contact_state[part],
        "gap": run.gap[part],
        "kinetic": run.energy.kinetic[part],
        "potential": run.energy.potential[part],
    }


def stream(run, writer, block):
    for begin in range(0, len(run), block):
        writer.append(**records(run, slice(begin, begin + block)))
    for row in range(len(run.impact_table)):
        writer.append_impacts({key: values[row : row + 1] for key, values in run.impact_table.columns.items()})


def finish(run, writer):
    return writer.close(run.certificate, run.status, run.complete, run.steps, run.wall_s)


def one_line(error):
    return "\n" not in str(error.value)


SPECIAL = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308])
CASES = {
    "plain": {},
    "no contacts": {"contacts": (), "impacts": 0},
    "no impacts": {"impacts": 0},
    "one record": {"n": 1},
    "one of each": {"n": 1, "coordinates": ("x",), "contacts": ("floor",), "impacts": 1},
    "several chunks": {"n": 2500, "impacts": 200},
    "unknown potential": {"n": 3, "energy": Energies(np.ones(3), np.full(3, np.nan))},
    "special numbers": {"n": 8, "t": SPECIAL, "energy": Energies(SPECIAL, SPECIAL[::-1].copy())},
    "unicode": {
        "coordinates": ("φ", "", "a/b c"),
        "contacts": ("Käfer 🪲", "x" * 300),
        "system_name": "Спехт",
        "attributes": {"title": "δ < 0\n", "note": "\ud800 \0"},
        "parameters": {"µ": 0.3},
    },
    "failed": {"status": "failed at t = 0.132 s\nwith 3 closed contacts", "complete": False},
    "nothing but names": {"attributes": {}, "parameters": {}, "units": {}, "version": "", "stepper": ""},
    "strange certificate": {"certificate": Certificate(0, float("nan"), float("inf"), -0.0, 0, 2**40)},
    "wide": {"n": 5, "coordinates": tuple(f"q{i}" for i in range(40000)), "contacts": (), "impacts": 0},
    "long texts": {"parameters": {f"parameter {i}": i / 7 for i in range(9000)}, "status": "x" * 100_000},
}


def run_python(code, *arguments, timeout=300):
    """Run a script beside this module in a process of its own, which may crash or hang without us."""
    header = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import trajectories as this\n"
    command = [sys.executable, "-c", header + textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr[-2000:])
    return done.stdout
