"""The woodpecker's figures show the computed motion, with the papers' axes."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from stickslip import library, papers
from stickslip.figures import style
from stickslip.papers import gs05


@pytest.fixture(scope="module")
def trajectory():
    return library.woodpecker().simulate(dt=5e-4, t_end=0.7, progress=False)


@pytest.fixture(autouse=True)
def short(monkeypatch, trajectory):
    monkeypatch.setattr(gs05, "_run", lambda: trajectory)


@cache
def drawn(key):
    """A figure, drawn once for all tests of this file, which only read it."""
    return papers.reproduce(key)


def panels(done):
    return [ax for ax in done.figure.axes if ax.axison]


@pytest.mark.parametrize(
    ("key", "names", "labels"),
    [
        ("gs05-fig4", ("phi_S", "omega_S"), (r"$\varphi_{S}$ [rad]", r"$\omega_{S}$ [rad/s]")),
        ("gs05-fig5", ("phi_M", "omega_M"), (r"$\varphi_{M}$ [rad]", r"$\omega_{M}$ [rad/s]")),
    ],
)
def test_time_histories(trajectory, key, names, labels):
    done = drawn(key)
    shown = trajectory.t <= 0.6 + 1e-12
    for ax, name, label in zip(panels(done), names, labels, strict=True):
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("$t$ [s]", label)
        (curve,) = (line for line in ax.get_lines() if line.get_label() == style.symbol(name))
        assert np.array_equal(curve.get_xdata(), trajectory.t[shown])
        assert np.array_equal(curve.get_ydata(), trajectory[name][shown])


def test_beak_impacts_are_marked(trajectory):
    ax, _ = panels(drawn("gs05-fig4"))
    marked = sorted({line.get_xdata()[0] for line in ax.get_lines() if line.get_color() == style.SERIES[1]})
    beak = trajectory.impacts().of("beak")["time"]
    assert len(marked) == 4 and marked == pytest.approx(beak[beak <= 0.6])


def test_angles_at_which_gaps_close_are_marked(trajectory):
    """[GS05] eq. (15) at Table I: the beak at 0.12 rad, the sleeve at 0.6 / 5.8 rad to both sides."""

    def dashed(ax, coordinate):
        lines = [line for line in ax.get_lines() if line.get_color() == style.GREY]
        return sorted(getattr(line, f"get_{coordinate}data")()[0] for line in lines)

    assert dashed(panels(drawn("gs05-fig4"))[0], "y") == pytest.approx([0.12])
    assert dashed(panels(drawn("gs05-fig5"))[0], "y") == pytest.approx([-0.6 / 5.8, 0.6 / 5.8])
    bird, sleeve = panels(drawn("gs05-fig6"))
    assert dashed(bird, "x") == pytest.approx([0.12])
    assert dashed(sleeve, "x") == pytest.approx([-0.6 / 5.8, 0.6 / 5.8])


def test_times_with_the_lower_edge_on_the_pole_are_shaded(trajectory):
    ax, _ = panels(drawn("gs05-fig5"))
    spans = [patch.get_bbox() for patch in ax.patches]
    closed = trajectory.contact_state[:, 1] != 0
    middle = [np.searchsorted(trajectory.t, 0.5 * (box.x0 + box.x1)) for box in spans]
    assert len(spans) >= 4 and closed[middle].all()
    covered = sum(box.width for box in spans)
    assert covered == pytest.approx(closed[trajectory.t <= 0.6].sum() * trajectory.dt, rel=0.1)


def test_limit_cycle_is_the_last_cycle(trajectory):
    start, stop = gs05.last_cycle(trajectory)
    assert trajectory.t[stop] - trajectory.t[start] == pytest.approx(0.146, abs=6e-3)  # 0.1460 as dt -> 0
    assert trajectory["phi_S"][[start, stop]] == pytest.approx([-0.2788, -0.2788], abs=5e-3)
    for ax, names in zip(panels(drawn("gs05-fig6")), (("phi_S", "omega_S"), ("phi_M", "omega_M")), strict=True):
        assert ax.get_xlabel() == style.axis_label(names[0], trajectory.units)
        assert ax.get_ylabel() == style.axis_label(names[1], trajectory.units)
        (cycle,) = (line for line in ax.get_lines() if line.get_label() == "limit cycle")
        shown = np.column_stack(cycle.get_data())
        shown = shown[np.isfinite(shown).all(axis=1)]
        known = np.column_stack([trajectory[name][start : stop + 1] for name in names])
        assert {tuple(row) for row in shown} <= {tuple(row) for row in known}
        assert np.ptp(shown, axis=0) == pytest.approx(np.ptp(known, axis=0), rel=0.1)
        (table,) = (line for line in ax.get_lines() if line.get_label() == "Table I")
        assert np.ravel(table.get_data()).tolist() == [trajectory[name][0] for name in names]


def test_impacts_are_dotted_jumps(trajectory):
    start, stop = gs05.last_cycle(trajectory)
    times = trajectory.impacts()["time"]
    inside = (times > trajectory.t[start]) & (times <= trajectory.t[stop])
    bird, _ = panels(drawn("gs05-fig6"))
    jumps = [line for line in bird.get_lines() if line.get_color() == style.SERIES[1]]
    assert len(jumps) == inside.sum()
    assert all(len(line.get_xdata()) == 2 for line in jumps)


@pytest.mark.parametrize("key", ["gs05-fig4", "gs05-fig5", "gs05-fig6"])
def test_caption_carries_parameters_and_certificate(trajectory, key):
    done = drawn(key)
    text = done.figure.get_supxlabel()
    for part in (
        "Table I",
        r"$\mu$ = 0.3",
        r"$\Delta t$ = 0.0005 s",
        "0 failed steps",
        "residual",
        "penetration",
        "energy gain",
    ):
        assert part in text
    assert " ".join(done.figure.get_suptitle().split()) == " ".join(f"{done.source}. {done.title}".split())
    assert (done.certificate, done.parameters) == (trajectory.certificate, trajectory.parameters)


def test_unknown_figure_names_the_nearest():
    with pytest.raises(ValueError, match="unknown figure 'gs05-fig44'; did you mean 'gs05-fig4'"):
        papers.reproduce("gs05-fig44")


def test_a_run_that_failed_draws_nothing(monkeypatch, trajectory):
    monkeypatch.undo()
    gs05._run.cache_clear()
    broken = replace(trajectory, complete=False, status="failed at t = 0.1 s")
    monkeypatch.setattr(library.Scenario, "simulate", lambda self, **options: broken)
    with pytest.raises(RuntimeError, match=r"the woodpecker's run failed at t = 0.1 s"):
        gs05.fig4()
