"""`simulate` as a user meets it: what it refuses, what it keeps when something goes wrong, what it records."""

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip import library
from stickslip.mechanisms.engines import Compiled, Reference
from stickslip.mechanisms.generate import compiled_module
from stickslip.run import driver, progress, records
from stickslip.run.gain import EnergyGain
from tests.mechanisms.steppers import systems

BALL = {"q0": [1.0], "u0": [0.0], "dt": 1e-3, "t_end": 0.1}


def drop(**options):
    """A ball, dropped."""
    options = {**BALL, **options}
    system = options.pop("system", library.bouncing_ball().system)
    return ss.simulate(system, options.pop("q0"), options.pop("u0"), **options)


# -- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"dt": 0.0}, r"dt must be positive \[s\], got 0"),
        ({"dt": -1e-3}, r"dt must be positive \[s\], got -0.001"),
        ({"dt": float("nan")}, "dt must be a finite number, got nan"),
        ({"dt": "1e-3"}, "dt must be a finite number, got '1e-3'"),
        ({"dt": None}, "dt must be a finite number, got None"),
        ({"dt": True}, "dt must be a finite number, got True"),
        ({"dt": 1e-300}, "more than can be counted; enlarge dt"),
        ({"t_end": 1e-4}, "t_end must be at least one step after t0 = 0 s, got t_end = 0.0001 with dt = 0.001"),
        ({"t_end": -1.0}, "t_end must be at least one step after t0"),
        ({"t_end": float("inf")}, "t_end must be a finite number, got inf"),
        ({"t0": 5.0}, "t_end must be at least one step after t0 = 5 s"),
        ({"t0": float("nan")}, "t0 must be a finite number, got nan"),
        ({"q0": [1.0, 2.0]}, r"q0 must have shape \(1,\), one per coordinate \(y\), got \(2,\)"),
        ({"q0": 1.0}, r"q0 must have shape \(1,\).*got \(\)"),
        ({"u0": []}, r"u0 must have shape \(1,\), one per velocity \(v\), got \(0,\)"),
        ({"q0": [float("nan")]}, "q0 of 'y' must be finite, got nan"),
        ({"u0": [float("inf")]}, "u0 of 'v' must be finite, got inf"),
        ({"params": {"restitutin": 0.1}}, "unknown parameter 'restitutin'; did you mean 'restitution'"),
        ({"params": {"restitution": 2.0}}, r"restitution_normal of contact 'table' must lie in \[0, 1\], got 2"),
        ({"params": {"g": float("nan")}}, "parameter 'g' must be finite, got nan"),
        ({"params": {"mass": -1.0}}, "mass matrix must be positive definite, its smallest eigenvalue is -1"),
        ({"solver": "lemk"}, "solver must be one of auto, lemke, .*, got 'lemk'"),
        ({"solver": ss.Lemke}, "solver must be one of .* or a solver object, got <class"),
        ({"solver": ["lemke"]}, r"solver must be one of .*, got \['lemke'\]"),
        ({"stepper": "moreau"}, "stepper must be one of moreau-midpoint, .* or a stepper object, got 'moreau'"),
        ({"stepper": None}, "or a stepper object, got None"),
        ({"engine": "gpu"}, "engine must be one of auto, compiled, reference, got 'gpu'"),
        ({"engine": "compiled", "solver": "augmented-lagrangian"}, "'augmented-lagrangian' has no compiled kernel"),
        ({"every": 0}, "every must be a whole number >= 1, got 0"),
        ({"every": 1.0}, "every must be a whole number >= 1, got 1.0"),
        ({"every": True}, "every must be a whole number >= 1, got True"),
        ({"on_failure": "go"}, "on_failure must be one of stop, continue, got 'go'"),
        ({"penetration_tol": -1.0}, r"penetration_tol must not be negative \[m\], got -1"),
        ({"q0": [-0.001]}, "contact 'table' starts with a penetration of 0.001 m, more than penetration_tol = 1e-05 m"),
        ({"system": library.bouncing_ball()}, "got Scenario; give its .system"),
        ({"q0": [1j]}, r"q0 must be 1 numbers, one per coordinate \(y\), got \[1j\]"),
        ({"law": "hertz"}, "law must be one of newton, poisson, .*, got 'hertz'"),
        ({"out": 5}, "path must be the name of a file, got 5"),
        ({"dt": 1e-9, "t_end": 1e4}, r"1e\+13 records .* not fit into memory; give every=\d+ or more, or out="),
        ({"out": "/no/such/folder/run.nc"}, "/no/such/folder/run.nc must lie in a folder that exists"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(options, message, monkeypatch):
    monkeypatch.setattr(Compiled, "march", lambda *_: pytest.fail("computed something"))
    with pytest.raises(ValueError, match=message) as caught:
        drop(**options)
    assert "\n" not in str(caught.value)


def test_missing_arguments_are_named():
    with pytest.raises(TypeError, match="dt"):
        ss.simulate(library.bouncing_ball().system, [1.0], [0.0], t_end=1.0)


def test_bad_solver_options():
    with pytest.raises(ValueError, match="tol of Lemke must be a number between 0 and 1, got 2"):
        ss.Lemke(tol=2)
    with pytest.raises(ValueError, match="max_iterations of GaussSeidel must be a whole number"):
        ss.GaussSeidel(max_iterations=0)


def test_table_i_may_start_inside():
    scenario = library.woodpecker()
    depth = -scenario.system.gap(scenario.q0).min()
    assert depth == pytest.approx(8.8e-7, rel=1e-6)  # [GS05] Table I, rounded to four digits
    assert scenario.simulate(t_end=0.01).complete
    with pytest.raises(ValueError, match=r"contact 'sleeve lower' starts with a penetration of 8\.8e-07 m"):
        scenario.simulate(t_end=0.01, penetration_tol=1e-7)
    assert drop(q0=[-0.001], penetration_tol=0.01).complete


# -- runs that go wrong ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize(
    "parameter, words, when",
    [
        ("hollow", "the mass matrix is not positive definite at q = [1.", 0.79),  # x reaches 1, a bit early
        ("deep", "of the step; check roots, logarithms and quotients in the gap", 1.0),  # sqrt of 1 - t
        ("wild", "the motion grows beyond all bounds", None),
    ],
)
def test_what_was_computed_is_kept(engine, every, parameter, words, when):
    trajectory = ss.simulate(
        systems.ill_fated(), [0.0], [1.0], dt=1e-2, t_end=20.0, engine=engine, every=every, params={parameter: 1.0}
    )
    assert not trajectory.complete
    assert trajectory.status.startswith("failed at t = ") and words in trajectory.status
    stated = float(re.search(r"t = ([\d.e+-]+) s", trajectory.status).group(1))
    assert stated == pytest.approx(trajectory.t[-1], abs=1e-9)
    assert trajectory.t[-1] == pytest.approx(trajectory.steps * 1e-2)
    if when is not None:
        assert stated == pytest.approx(when, abs=1e-9)
    assert len(trajectory.q) == len(trajectory.gap) == len(trajectory.energy.total) == len(trajectory) > 10
    for field in (trajectory.q, trajectory.u, trajectory.gap, trajectory.energy.total):
        assert np.isfinite(field).all() or parameter == "deep"


@pytest.mark.parametrize("dt", [0.02, 0.05, 0.2])
def test_an_unstable_step_is_no_finished_run(dt):
    """The woodpecker's spring needs steps below 0.01 s; ten of 0.2 s are enough to leave every mechanism behind."""
    trajectory = library.woodpecker().simulate(dt=dt)
    assert not trajectory.complete and "grows beyond all bounds" in trajectory.status
    assert np.abs(trajectory.u).max() < 1e20


def test_one_closed_contact_is_told_in_the_singular():
    # one pivot is too few on every processor; a tolerance that rounding alone breaks is not
    run = library.painleve_rod().simulate(t_end=0.01, solver=ss.Lemke(max_iterations=1), engine="reference")
    assert re.match(r"failed at t = [\d.]+ s with 1 closed contact: stopped after 3 pivots", run.status), run.status


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_step_that_is_not_solved_stops_the_run(engine):
    """One sweep of Gauss-Seidel is too few where two contacts are closed, at the latest in the jam at 0.08 s."""
    trajectory = library.woodpecker().simulate(
        dt=1e-3, t_end=0.3, solver=ss.GaussSeidel(max_iterations=1), engine=engine
    )
    assert not trajectory.complete
    found = re.fullmatch(
        r"failed at t = ([\d.]+) s with 2 closed contacts: (.*); try solver='auto' or a smaller dt", trajectory.status
    )
    assert found, trajectory.status
    assert "Gauss-Seidel did not settle in 1 sweeps" in found.group(2) and "method=" not in found.group(2)
    assert 0.05 < float(found.group(1)) < 0.3
    assert trajectory.t[-1] == pytest.approx(float(found.group(1)))
    assert trajectory.certificate.failed_steps == 1  # the one at which it stopped


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_or_goes_on_and_is_counted(engine):
    trajectory = library.woodpecker().simulate(
        dt=1e-3, t_end=0.3, solver=ss.GaussSeidel(max_iterations=1), engine=engine, on_failure="continue"
    )
    assert trajectory.complete and trajectory.steps == 300
    assert trajectory.certificate.failed_steps >= 1
    assert trajectory.certificate.max_residual > 1e-10  # the certificate shows it
    good = library.woodpecker().simulate(dt=1e-3, t_end=0.3)
    assert good.certificate.failed_steps == 0


@pytest.mark.parametrize("to_file", [False, True])
def test_ctrl_c_keeps_what_was_computed(monkeypatch, tmp_path, to_file):
    calls, march = [], Compiled.march

    def interrupted(self, *arguments):
        calls.append(arguments)
        if len(calls) == 4:  # the first call does nothing: it has the kernel compiled
            raise KeyboardInterrupt
        return march(self, *arguments)

    monkeypatch.setattr(Compiled, "march", interrupted)
    path = tmp_path / "run.nc"
    trajectory = drop(t_end=1000.0, every=10, out=path if to_file else None)
    assert len(calls) == 4
    assert not trajectory.complete
    assert trajectory.status == f"interrupted at t = {trajectory.t[-1]:.9g} s"
    assert 5_000 < trajectory.steps < 1_000_000
    assert trajectory.t[-1] == pytest.approx(trajectory.steps * 1e-3)
    assert len(trajectory) == trajectory.steps // 10 + 1 + (trajectory.steps % 10 > 0)
    monkeypatch.undo()
    whole = drop(t_end=trajectory.t[-1], every=10)
    np.testing.assert_array_equal(trajectory.q, whole.q)
    if to_file:
        kept = ss.load(path)
        assert not kept.complete and kept.status == trajectory.status
        np.testing.assert_array_equal(kept.q, trajectory.q)


@pytest.fixture
def broken_march(monkeypatch):
    """Let the fourth call of the kernel raise the given error."""

    def broken_march(error):
        calls, march = [], Compiled.march

        def broken(self, *arguments):
            calls.append(arguments)
            if len(calls) == 4:
                raise error
            return march(self, *arguments)

        monkeypatch.setattr(Compiled, "march", broken)

    return broken_march


def test_an_error_in_the_middle_leaves_a_readable_file(broken_march, tmp_path):
    broken_march(RuntimeError("no more"))
    path = tmp_path / "run.nc"
    with pytest.raises(RuntimeError, match="no more"):
        drop(t_end=1000.0, every=10, out=path)
    kept = ss.load(path)
    assert not kept.complete and len(kept) > 500
    assert kept.status.startswith("ended by an error at t = ")


def test_a_full_memory_ends_a_run_with_what_there_is(broken_march, tmp_path):
    broken_march(MemoryError())
    part = drop(t_end=1000.0, every=10, out=tmp_path / "run.nc")
    assert not part.complete and "the memory is full; record less often" in part.status and len(part) > 500
    assert ss.load(tmp_path / "run.nc").status == part.status


# -- records ---------------------------------------------------------------------------------------------------


def test_every_and_the_last_record():
    whole = drop(t_end=1.0)
    assert len(whole) == 1001 and whole.t[0] == 0.0
    np.testing.assert_allclose(whole.t, np.arange(1001) * 1e-3, rtol=1e-15)
    for every in (2, 7, 1000, 5000):
        thin = drop(t_end=1.0, every=every)
        index = list(range(0, 1001, every))
        index += [1000] if index[-1] != 1000 else []
        np.testing.assert_array_equal(thin.t, whole.t[index])
        np.testing.assert_array_equal(thin.q, whole.q[index])
        np.testing.assert_array_equal(thin.u, whole.u[index])
        # Impulses are sums since the record before, impacts are all there.
        sums = np.add.reduceat(whole.normal_impulse[1:, 0], [i for i in index[:-1]])
        np.testing.assert_allclose(thin.normal_impulse[1:, 0], sums, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(thin.impacts()["time"], whole.impacts()["time"])
        assert thin.steps == 1000 and thin.every == every
        np.testing.assert_array_equal(thin.contact_state[1:], whole.contact_state[index[1:]])
        in_play = thin.certificate.energy_in_play  # the largest of the records
        assert 0.9 * whole.certificate.energy_in_play < in_play <= whole.certificate.energy_in_play
        assert replace(thin.certificate, energy_in_play=whole.certificate.energy_in_play) == whole.certificate


@pytest.mark.parametrize("dt, t_end, steps", [(0.3, 1.0, 3), (0.3, 1.1, 4), (1e-3, 1e-3, 1), (0.1, 0.7, 7)])
def test_number_of_steps_is_rounded(dt, t_end, steps):
    trajectory = drop(dt=dt, t_end=t_end, engine="reference", on_energy_gain="ignore")
    assert trajectory.steps == steps
    assert trajectory.t[-1] == pytest.approx(steps * dt)


def test_time_may_start_anywhere():
    scenario = library.bouncing_ball_on_table()
    now, later = (scenario.simulate(dt=1e-3, t0=t0, t_end=t0 + 0.5) for t0 in (0.0, 10 / 30.0))
    assert later.t[0] == 10 / 30.0
    # Ten periods of the table later: the same motion, but for the rounding of the sine's argument.
    np.testing.assert_allclose(later.q, now.q, rtol=0, atol=1e-12)


def test_numbers_of_other_types_are_welcome():
    expected = drop()
    other = drop(q0=np.float32(1.0)[None], u0=(0,), dt=np.float64(1e-3), t_end=np.float64(0.1), every=np.int64(1))
    np.testing.assert_array_equal(other.q, expected.q)


def test_inputs_are_left_alone():
    q0, u0, params = np.array([1.0]), np.array([0.0]), {"g": 5.0}
    trajectory = drop(q0=q0, u0=u0, params=params)
    assert q0 == 1.0 and u0 == 0.0 and params == {"g": 5.0}
    assert trajectory.parameters["g"] == 5.0
    assert library.bouncing_ball().system.parameter_values[1] == 9.81
    again = drop(q0=q0, u0=u0)
    assert again.parameters["g"] == 9.81


def test_runs_are_repeatable():
    first, second = (library.woodpecker().simulate(dt=1e-4, t_end=0.5) for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.normal_impulse, second.normal_impulse)


# -- initial velocities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_initialise_makes_velocities_consistent(engine):
    trajectory = drop(q0=[0.0], u0=[-1.0], initialise=True, engine=engine)
    assert trajectory["v"][0] == pytest.approx(0.5, abs=1e-15)  # restitution 0.5
    plain = drop(q0=[0.0], u0=[-1.0], engine=engine)
    assert plain["v"][0] == -1.0
    away = drop(q0=[0.0], u0=[1.0], initialise=True, engine=engine)
    assert away["v"][0] == 1.0  # it is leaving: nothing to do
    high = drop(q0=[1.0], u0=[-1.0], initialise=True, engine=engine)
    assert high["v"][0] == -1.0  # not in contact


def test_initialise_knows_friction():
    options = {"dt": 1e-3, "t_end": 0.01, "initialise": True, "engine": "reference"}
    for mu, after in ((0.0, 3.0), (0.5, 2.0), (2.0, 0.0)):
        # Lambda_N = 2 stops the fall, friction takes up to mu Lambda_N.
        trajectory = ss.simulate(systems.point_mass(), [0.0, 0.0], [3.0, -2.0], params={"mu": mu}, **options)
        np.testing.assert_allclose(trajectory.u[0], [after, 0.0], atol=1e-15)


def test_initialise_leaves_load_independent_friction_out():
    """A threshold [N] makes no impulse in no time; a clutch does."""
    trajectory = ss.simulate(
        systems.separate_elements(), np.zeros(4), [1.0, 0.0, -1.0, 1.0], dt=1e-3, t_end=0.01, initialise=True
    )
    np.testing.assert_allclose(trajectory.u[0], [1.0, 0.0, 0.0, 1.0], atol=1e-15)


# -- energy ----------------------------------------------------------------------------------------------------


def bar(**options):
    """A bar strikes obliquely and sticks: with unequal restitutions Newton's law gains energy, [PG05] 5."""
    scenario = library.impacting_bar(
        restitution_normal=1.0, restitution_tangential=0.0, friction=5.0, velocity=(-0.3, -1.0, 0.0), gap=0.0
    )
    return scenario.simulate(dt=1e-4, t_end=2e-3, engine="reference", **options)


def test_energy_that_contacts_put_in_is_reported():
    # Lambda . (gamma_A + gamma_E) / 2 = -1/2 gamma (I + E) G^-1 (I - E) gamma with E = diag(eps_N, eps_T).
    system, q = library.impacting_bar().system, [0.0, 0.5 * np.sin(1.0), 1.0]
    W_N, W_T, _ = system.geometry(q)
    W = np.concatenate([W_N, W_T])
    G = W @ np.linalg.solve(system.mass(q), W.T)
    gamma = W @ [-0.3, -1.0, 0.0]
    expected = -0.5 * ([2.0, 1.0] * gamma) @ np.linalg.solve(G, [0.0, 1.0] * gamma)
    assert expected > 0.05
    with pytest.warns(RuntimeWarning, match="the contacts of 'impacting_bar' put 0.08.* J in during the step"):
        trajectory = bar()
    # One step of gravity more or less: g dt against 1 m/s.
    assert trajectory.certificate.max_energy_gain == pytest.approx(expected, rel=5e-3)
    with pytest.raises(EnergyGain, match=r"put 0\.08") as caught:
        bar(on_energy_gain="raise")
    np.testing.assert_array_equal(caught.value.trajectory.q, trajectory.q)
    assert bar(on_energy_gain="ignore").certificate == trajectory.certificate


# -- progress --------------------------------------------------------------------------------------------------


def test_progress_goes_to_stderr(capsys, monkeypatch):
    march = Compiled.march
    monkeypatch.setenv("FORCE_COLOR", "1")  # else Rich draws no bar where there is no terminal

    def slowly(self, *arguments):
        time.sleep(0.02)
        return march(self, *arguments)

    monkeypatch.setattr(Compiled, "march", slowly)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: 25.0 * time.perf_counter()))
    monkeypatch.setattr(driver, "_PIECE_SECONDS", 10.0)
    drop(t_end=110.0, every=1000, progress=True)  # five pieces of 5,000, 20,000, ... steps
    output = capsys.readouterr()
    assert output.out == ""
    assert "bouncing_ball" in output.err  # shown after two seconds


@pytest.mark.parametrize(("engine", "steps"), [(Compiled, 7000), (Reference, 400)])
def test_slow_steps_are_done_one_by_one(engine, steps, monkeypatch):
    """Pieces are cut to a tenth of a second, but never to nothing."""
    sizes, march = [], engine.march

    def slowly(self, state, piece, block):
        sizes.append(piece)
        assert piece > 0 or len(sizes) == 1
        clock[0] += 1.0 * piece
        return march(self, state, piece, block)

    clock = [0.0]
    monkeypatch.setattr(driver.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(engine, "march", slowly)
    assert drop(t_end=1e-3 * steps, engine=engine.name).complete
    assert sizes[-1] == 1 and sum(sizes) == steps


@pytest.mark.parametrize("progress", [None, True, False])
def test_a_short_run_prints_nothing(capsys, progress):
    drop(progress=progress)
    assert capsys.readouterr() == ("", "")


# -- files -----------------------------------------------------------------------------------------------------


def test_streaming_gives_the_file_that_save_gives(tmp_path):
    scenario = library.woodpecker()
    streamed = scenario.simulate(dt=1e-4, t_end=0.5, every=3, out=tmp_path / "streamed.nc")
    scenario.simulate(dt=1e-4, t_end=0.5, every=3).save(tmp_path / "saved.nc")
    first, second = ss.load(tmp_path / "streamed.nc"), ss.load(tmp_path / "saved.nc")
    for trajectory in (first, streamed):
        for name in ("t", "q", "u", "gap", "normal_impulse", "tangential_impulse", "contact_state"):
            np.testing.assert_array_equal(getattr(trajectory, name), getattr(second, name), err_msg=name)
        np.testing.assert_array_equal(trajectory.energy.total, second.energy.total)
        assert trajectory.certificate == second.certificate
        for column in second.impacts().columns:
            np.testing.assert_array_equal(trajectory.impacts()[column], second.impacts()[column], err_msg=column)
    for name in (
        "parameters",
        "units",
        "dt",
        "every",
        "steps",
        "solver",
        "stepper",
        "status",
        "complete",
        "system_name",
    ):
        assert getattr(first, name) == getattr(second, name), name
    one, other = first.to_xarray(), second.to_xarray()
    one.attrs.pop("wall_s"), other.attrs.pop("wall_s")
    assert one.identical(other)


@pytest.mark.parametrize("piece", [1000, 1037])
def test_streaming_keeps_a_thinned_copy_in_memory(tmp_path, monkeypatch, piece):
    """Pieces of the run end on records that are kept, or between them."""
    monkeypatch.setattr(records, "available_memory", lambda: 4 * 64 * 2000)
    monkeypatch.setattr(driver, "_PIECE_BYTES", piece * 8 * (1 + 1 + 4))
    path = tmp_path / "run.nc"
    trajectory = drop(t_end=20.0, out=path)
    on_disk = ss.load(path)
    assert len(on_disk) == 20_001 and on_disk.status == "finished"
    assert 500 < len(trajectory) <= 2001
    every = int(re.search(r"thinned to every (\d+) steps in memory, all records are in", trajectory.status).group(1))
    index = np.rint(trajectory.t / 1e-3).astype(int)
    assert (index == [*range(0, 20_000, every), 20_000]).all()
    np.testing.assert_array_equal(trajectory.q, on_disk.q[index])
    assert trajectory.t[-1] == on_disk.t[-1]
    # Impulses of records that were dropped are in the next one.
    sums = np.add.reduceat(on_disk.normal_impulse[1:, 0], index[:-1])
    np.testing.assert_allclose(trajectory.normal_impulse[1:, 0], sums, rtol=1e-12)
    assert trajectory.certificate == on_disk.certificate
    with pytest.raises(ValueError, match="would not fit into memory; give every="):
        drop(t_end=20.0)


def test_a_file_that_is_not_ours_is_refused_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(Compiled, "march", lambda *_: pytest.fail("computed something"))
    path = tmp_path / "thesis.nc"
    path.write_text("all my work")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        drop(out=path, overwrite=True)
    assert path.read_text() == "all my work"


# -- systems of all sizes --------------------------------------------------------------------------------------


def test_no_contacts_at_all():
    errors = []
    for dt in (0.02, 0.01):
        trajectory = ss.simulate(systems.oscillator(), [1.0], [0.0], dt=dt, t_end=10.0)
        assert trajectory.gap.shape == trajectory.normal_impulse.shape == (len(trajectory), 0)
        assert len(trajectory.impacts()) == 0
        assert (
            trajectory.certificate.to_dict()
            == ss.simulate(
                systems.oscillator(), [1.0], [0.0], dt=dt, t_end=10.0, engine="reference"
            ).certificate.to_dict()
            | {"integration_energy": trajectory.certificate.integration_energy}  # the same to rounding only
        )
        errors.append(np.abs(trajectory["x"] - np.cos(2 * trajectory.t)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)  # declared order in smooth motion


def test_names_may_have_spaces_and_be_asked_for():
    trajectory = ss.simulate(
        systems.two_feet(), [0.0, 0.1, 0.0], [0.0, 0.0, 0.0], dt=1e-3, t_end=0.1, engine="reference"
    )
    assert trajectory.system_name == "block with two feet"
    np.testing.assert_array_equal(trajectory["left foot"], trajectory.gap[:, 0])
    assert len(trajectory.impacts().of("right foot")) == 0
    with pytest.raises(KeyError, match="unknown coordinate, velocity or contact 'middle foot'"):
        trajectory["middle foot"]


def test_thirteen_contacts():
    """More than a kernel keeps on the stack: a particle thrown about in a polygon comes to rest on the floor."""
    run = ss.simulate(systems.particle_in_a_polygon(), [0.0, 0.0], [5.0, 3.0], dt=1e-3, t_end=6.0)
    assert run.complete and run.certificate.failed_steps == 0
    assert {name for name in run.contact_names if len(run.impacts().of(name)) > 0} == {"wall 4", "wall 0"}
    assert np.abs(run.u[-1]).max() < 1e-9
    np.testing.assert_allclose(run.q[-1, 1], -1.0, atol=1e-2)  # dt times the speed of the last impact
    np.testing.assert_allclose(run.normal_impulse[-1], [9.81e-3] + [0.0] * 12, rtol=1e-9)
    assert run.states()[-1].tolist() == ["stick"] + ["open"] * 12


@pytest.mark.slow
def test_fourteen_contacts():
    """Six blocks pushed by a belt into a row against the wall."""
    n = 7
    q0 = np.concatenate([1.05 * np.arange(n) - 0.5, np.full(n, -1e-6)])
    trajectory = ss.simulate(systems.row_of_blocks(n), q0, np.zeros(2 * n), dt=4e-3, t_end=8.0)
    assert trajectory.complete and trajectory.certificate.failed_steps == 0
    assert trajectory.gap.shape[1] == 14
    # All have come to rest against the wall, while the belt goes on below them: block i is pushed by i + 1 of them.
    assert np.abs(trajectory.u[-1]).max() < 1e-9
    np.testing.assert_allclose(trajectory["wall"][-1], 0.0, atol=1e-2)
    mass = 1.0 + np.arange(n) % 3
    push = 0.3 * 9.81 * np.cumsum(mass) * 4e-3
    np.testing.assert_allclose(trajectory.normal_impulse[-1, n:], push, rtol=1e-9)
    assert set(trajectory.states()[-1, :n]) == {"slip-"}  # the blocks are slower than the belt


# -- the cache -------------------------------------------------------------------------------------------------


def test_a_system_is_generated_once():
    systems.two_feet.cache_clear()
    first = compiled_module(systems.two_feet(), "stepper", "auto")
    systems.two_feet.cache_clear()
    assert compiled_module(systems.two_feet(), "stepper", "auto") is first
    assert compiled_module(library.bouncing_ball().system, "stepper", "auto") is not first
    # Parameter values are no part of the code; a sweep compiles once.
    one, other = (compiled_module(library.brick_on_ramp(friction=mu).system, "stepper", "auto") for mu in (0.1, 0.2))
    assert one is other


SCRIPT = """
from stickslip import library
from stickslip.jit import objects
if {again}:
    objects.write = None  # what is built is written
trajectory = library.bouncing_ball().simulate(t_end=1.0)
assert trajectory.engine == "compiled"
print(trajectory.q[-1, 0])
"""


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    environment = {**os.environ, "STICKSLIP_CACHE": str(tmp_path)}

    def files():
        return {path: (path.stat().st_ino, path.read_bytes()) for path in Path(tmp_path).rglob("*") if path.is_file()}

    def run(again):
        script = SCRIPT.format(again=again)
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first_output, after_first = run(False), files()
    assert any(path.suffix == ".o" for path in after_first)
    assert run(True) == first_output
    assert files() == after_first


# -- functions that fail, and what the start does --------------------------------------------------------------------


def by_function(force):
    return ss.LagrangianSystem(mass=[[1.0]], force=force, coordinates=["x"])


def test_functions_that_fail_are_told():
    zero = by_function(lambda q, u, t, p: [1.0 / float(q[0])])
    with pytest.raises(ValueError, match=r"force cannot be evaluated at q = \[0.0\], t = 0: ZeroDivisionError"):
        ss.simulate(zero, [0.0], [1.0], dt=0.1, t_end=1.0)
    late = by_function(lambda q, u, t, p: [1.0 / (float(q[0]) - 0.05)])
    trajectory = ss.simulate(late, [0.0], [1.0], dt=0.1, t_end=1.0, engine="reference")
    assert not trajectory.complete and "cannot be evaluated: ZeroDivisionError" in trajectory.status


def spelled(q, u, t, p):
    return [-float(str(q[0]))]


def test_functions_outside_the_kernel_language_run_on_the_reference_engine_with_a_notice():
    system, rule = by_function(spelled), r"force of system 'system' is not in the kernel language: "
    place = r".*test_simulate\.py:\d+: `return \[-float\(str\(q\[0\]\)\)\]`: str is not in the language.* "
    with pytest.warns(RuntimeWarning, match=f"{rule}{place}engine='reference' runs it, .*docs/kernels.md") as told:
        run = ss.simulate(system, [1.0], [0.0], dt=0.1, t_end=1.0)
    assert len(told) == 1 and told[0].filename == __file__
    expected = ss.simulate(by_function(lambda q, u, t, p: [-q[0]]), [1.0], [0.0], dt=0.1, t_end=1.0, engine="reference")
    np.testing.assert_array_equal(run.q, expected.q)
    for stepper, helps in (("moreau-midpoint", "use engine='reference'"), ("event-driven", "engine='auto' runs it")):
        with pytest.raises(ValueError, match=f"{rule}{place}.*docs/kernels.md.*{helps}"):
            ss.simulate(system, [1.0], [0.0], dt=0.1, t_end=1.0, engine="compiled", stepper=stepper)


class Spring:
    """A force that is an object, and a method; it counts its calls."""

    def __init__(self, stiffness):
        self.stiffness, self.calls = stiffness, 0

    def __call__(self, q, u, t, p):
        self.calls += 1
        return [-self.stiffness * q[0]]

    def pull(self, q, u, t, p):
        return self(q, u, t, p)


def pulled(stiffness, q, u, t, p, *, factor=1.0):
    return [-factor * stiffness * q[0]]


def from_table(table):
    return lambda q, u, t, p: [-table["stiffness"] * q[0]]


OBJECTS = {
    "Spring": Spring(1.0),
    "method": Spring(1.0).pull,
    "partial": partial(pulled, 0.5, factor=2.0),
    "dict": from_table({"stiffness": 1.0}),  # a function, but of a table
}


@pytest.mark.parametrize("stepper", ["moreau-midpoint", "event-driven"])
@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_that_are_called_run_without_kernels_with_a_notice(kind, stepper):
    system = by_function(OBJECTS[kind])
    options = {"dt": 0.1, "t_end": 0.5, "stepper": stepper}
    word = "is not in the kernel language" if kind == "dict" else f"is an object of type {kind}, not a function"
    with pytest.warns(RuntimeWarning, match=f"force of system 'system' {word}.*docs/kernels.md") as told:
        run = ss.simulate(system, [1.0], [0.0], **options)
    assert len(told) == 1 and told[0].filename == __file__ and run.engine == "reference"
    expected = ss.simulate(by_function(lambda q, u, t, p: [-q[0]]), [1.0], [0.0], **options)
    np.testing.assert_allclose(run.q, expected.q, rtol=1e-12, atol=1e-14)


def test_objects_that_are_called_have_impacts_and_no_ensembles():
    def floor(force):
        contact = ss.Contact("floor", gap=lambda q, t, p: q[0], normal=lambda q, t, p: [1.0], restitution_normal=0.5)
        return ss.LagrangianSystem(
            mass=[[1.0]], force=force, coordinates=["y"], contacts=[contact], parameters={"a": 1.0}
        )

    system, states = floor(Spring(1.0)), ([[0.0], [0.0]], [[-1.0], [-2.0]])
    with pytest.warns(RuntimeWarning, match="is an object of type Spring, .*It runs as plain Python"):
        hit = ss.impact(system, *states)
    np.testing.assert_array_equal(hit.u, [[0.5], [1.0]])
    scenario = ss.Scenario(system, [1.0], [0.0], dt=0.1, t_end=0.5, title="spring", source="own")
    with pytest.raises(ValueError, match=r"is an object of type Spring, .*an ensemble runs kernels alone"):
        ss.ensemble(scenario, {"a": [1.0, 2.0]})


def test_two_objects_of_one_class_are_two_models():
    """A checkpoint of one is not taken up by the other; calls that count themselves change no model."""
    one, same, other = (by_function(Spring(stiffness)) for stiffness in (1.0, 1.0, 2.0))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="engine='reference' runs it"):
            assert ss.simulate(one, [1.0], [0.0], dt=0.1, t_end=0.2).complete


def test_functions_of_users_run_as_machine_code():
    """Branches, arrays, lists, operators on arrays and NumPy's functions: the kernel against the reference engine."""
    stiffness = np.array([3.0, 5.0])

    def force(q, u, t, p):
        pull = np.array([0.1, 0.0])
        if t > 0.05:
            pull = np.array([0.0, -0.2 * np.sin(t)])
        return -stiffness * q - p[0] * u + pull

    system = ss.LagrangianSystem(
        mass=lambda q, t, p: [[1.0, 0.0], [0.0, 2.0 + 0.1 * np.abs(q[0])]],
        force=force,
        coordinates=["x", "y"],
        parameters={"c": 0.3},
    )
    runs = [
        ss.simulate(system, [1.0, 0.5], [0.0, 0.2], dt=1e-3, t_end=0.1, engine=engine)
        for engine in ("auto", "reference")
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=1e-13, atol=1e-15)


def test_the_impact_of_the_start_is_in_the_table():
    ball = library.bouncing_ball(restitution=0.5)
    trajectory = ball.simulate(q0=[0.0], u0=[-2.0], t_end=0.05, engine="reference", initialise=True)
    table = trajectory.impacts()
    assert trajectory.u[0, 0] == pytest.approx(1.0) and len(table) == 1
    assert [table[key][0] for key in ("time", "contact")] == [0.0, 0]
    assert table["normal_velocity_before"][0] == pytest.approx(-2.0)
    assert table["normal_velocity_after"][0] == pytest.approx(1.0)
    assert table["normal_impulse"][0] == pytest.approx(3.0 * trajectory.parameters["mass"])


def test_an_unknown_potential_leaves_the_book_open():
    system = ss.LagrangianSystem(mass=[[1.0]], force=lambda q, u, t, p: [-9.81], coordinates=["x"])
    trajectory = ss.simulate(system, [0.0], [1.0], dt=0.1, t_end=1.0, engine="reference")
    assert np.isnan(trajectory.certificate.integration_energy) and np.isnan(trajectory.energy_book().unexplained)


def test_work_of_forces_without_potential_is_integration_energy():
    """A damped oscillator: what the damper takes is E_end - E_0, since there are no contacts."""
    x, v = sp.symbols("x v")
    system = ss.LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, potential=2 * x**2, forces=[-0.1 * v], name="damped"
    )
    trajectory = ss.simulate(system, [1.0], [0.0], dt=1e-3, t_end=1.0, engine="reference")
    lost = 0.1 * np.trapezoid(trajectory.u[:, 0] ** 2, trajectory.t)
    assert trajectory.energy_book().integration == pytest.approx(-lost, rel=1e-3)


def test_progress_may_be_a_function_that_ends_the_run():
    seen = []

    def watch(step):
        seen.append(step)
        if len(seen) == 3:
            raise KeyboardInterrupt

    ball = library.bouncing_ball()
    run = ball.simulate(dt=1e-3, t_end=1.0, engine="reference", progress=watch)
    assert seen == sorted(seen) and len(seen) == 3
    assert not run.complete and run.status.startswith("interrupted at t = ") and run.steps == seen[-1]
    whole = ball.simulate(dt=1e-3, t_end=1.0, engine="reference", progress=seen.append)
    assert whole.complete and seen[-1] == whole.steps == 1000
