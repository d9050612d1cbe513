"""The default figure shows the run's own numbers."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip.figures import ribbon, style
from stickslip.figures.trajectory import caption, plot
from stickslip.trajectory import IMPACT, OPEN, SLIP_MINUS, STICK


def axes_by_label(figure):
    return {ax.get_ylabel(): ax for ax in figure.axes if ax.get_ylabel()}


def test_every_quantity_is_drawn_with_its_data_and_unit(woodpecker):
    scenario, trajectory = woodpecker
    axes = axes_by_label(plot(trajectory, scenario))
    expected = {
        "$y$ [m]": ["y"],
        "$v$ [m/s]": ["v"],
        r"$\varphi_{M}$, $\varphi_{S}$ [rad]": ["phi_M", "phi_S"],
        r"$\omega_{M}$, $\omega_{S}$ [rad/s]": ["omega_M", "omega_S"],
    }
    assert set(expected) < set(axes)
    for label, names in expected.items():
        lines = axes[label].get_lines()
        assert len(lines) == len(names)
        for line, name in zip(lines, names, strict=True):
            assert np.array_equal(line.get_xdata(), trajectory.t)
            assert np.array_equal(line.get_ydata(), trajectory[name])
            assert line.get_label() == style.symbol(name)


def test_energies_are_drawn_in_a_readable_unit(woodpecker):
    scenario, trajectory = woodpecker
    lines = {line.get_label(): line for line in axes_by_label(plot(trajectory, scenario))["$E$ [mJ]"].get_lines()}
    energy = trajectory.energy
    for name, values in (("kinetic", energy.kinetic), ("potential", energy.potential), ("total", energy.total)):
        assert lines[name].get_ydata() == pytest.approx(1e3 * values)


def test_unknown_potential_is_left_out(ball):
    _, trajectory = ball
    energy = replace(trajectory.energy, potential=np.full(len(trajectory), np.nan))
    figure = plot(replace(trajectory, energy=energy))
    assert [line.get_label() for line in axes_by_label(figure)["$E$ [J]"].get_lines()] == ["kinetic"]


def test_title_source_and_certificate_are_on_the_figure(woodpecker):
    scenario, trajectory = woodpecker
    figure = plot(trajectory, scenario)
    assert figure.get_suptitle() == scenario.title
    foot = figure.get_supxlabel()
    for part in (
        scenario.source,
        "moreau-midpoint",
        "reference engine",
        r"$\Delta t$ = 0.0005 s",
        "0 failed steps",
        "penetration",
    ):
        assert part in foot
    assert plot(trajectory).get_suptitle() == "woodpecker"


def test_a_run_that_ended_early_says_so(ball):
    _, trajectory = ball
    assert "failed at t = 0.1 s: no" in caption(replace(trajectory, complete=False, status="failed at t = 0.1 s: no"))


def test_runs_of_equal_state():
    t = np.arange(7.0)
    state = np.array([OPEN, STICK, STICK, SLIP_MINUS, OPEN, OPEN, STICK])
    expected = [(0.0, 2.0, STICK), (2.0, 1.0, SLIP_MINUS), (3.0, 2.0, OPEN), (5.0, 1.0, STICK)]
    assert ribbon.runs(t, state) == expected
    assert ribbon.runs(t[:1], state[:1]) == []


def test_ribbon_covers_the_closed_times(oscillator):
    scenario, trajectory = oscillator
    figure = plot(trajectory, scenario)
    (ax,) = (ax for ax in figure.axes if ax.get_title(loc="left") == "contacts")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["block 2", "block 1"]
    sticking = {c.get_label(): c for c in ax.collections}["block 1: stick"]
    length = sum(np.ptp(path.vertices[:, 0]) for path in sticking.get_paths())
    steps = np.sum(trajectory.contact_state[1:, 0] == STICK)
    assert length == pytest.approx(steps * trajectory.dt)


def test_every_impact_is_a_tick(ball):
    scenario, trajectory = ball
    figure = plot(trajectory, scenario)
    (ax,) = (ax for ax in figure.axes if ax.get_title(loc="left") == "contacts")
    ticks = {c.get_label(): c for c in ax.collections}["table: impact"]
    assert [path.vertices[0, 0] for path in ticks.get_paths()] == pytest.approx(trajectory.impacts()["time"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["closed", "impact"]


def test_long_runs_become_small_figures(ball, tmp_path):
    _, trajectory = ball
    n = 200_000
    t = np.linspace(0.0, 1.0, n)
    long = replace(
        trajectory,
        t=t,
        q=np.sin(900 * t)[:, None],
        u=np.cos(900 * t)[:, None],
        gap=np.zeros((n, 1)),
        contact_state=np.where(t < 0.5, OPEN, IMPACT).astype(np.int8)[:, None],
        energy=replace(trajectory.energy, kinetic=t, potential=t),
    )
    figure = plot(long)
    assert all(len(line.get_xdata()) < 10_000 for ax in figure.axes for line in ax.get_lines())
    assert style.save(figure, tmp_path / "long.svg").stat().st_size < 2e6


def test_the_portrait_that_tells_most_shows_the_jumps(woodpecker):
    from stickslip.figures import portrait

    scenario, trajectory = woodpecker
    ((coordinate, velocity),) = portrait.telling(trajectory, 1)
    (ax,) = (ax for ax in plot(trajectory, scenario).axes if ax.get_title(loc="left") == "phase portrait")
    assert ax.get_xlabel() == style.axis_label(coordinate, trajectory.units)
    assert ax.get_ylabel() == style.axis_label(velocity, trajectory.units)
    dotted = [line for line in ax.get_lines() if line.get_color() == style.SERIES[1]]
    assert len(dotted) == len(portrait.jump_rows(trajectory)) > 4


def test_one_portrait_without_a_picture_takes_the_whole_width(ball):
    _, trajectory = ball
    figure = plot(trajectory)
    figure.draw_without_rendering()
    (portrait,) = (ax for ax in figure.axes if ax.get_title(loc="left") == "phase portrait")
    energies = figure.axes[-1]
    assert portrait.get_position().width == pytest.approx(energies.get_position().width, rel=0.02)


def test_a_plot_for_a_column_has_its_panels_in_one(ball):
    from stickslip.figures.sheet import on_paper

    scenario, trajectory = ball
    with on_paper("85mm"):
        figure = plot(trajectory, scenario)
    assert figure.get_figwidth() == pytest.approx(85 / 25.4)
    assert {ax.get_subplotspec().colspan.start for ax in figure.axes} == {0}


def test_headings_of_narrow_figures_are_free_of_legends(woodpecker):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from stickslip.figures.sheet import on_paper

    with on_paper("85mm"):
        figure = plot(*woodpecker[::-1])
    renderer = FigureCanvasAgg(figure).get_renderer()
    seen = 0
    for ax in figure.axes:
        titles = [t.get_window_extent(renderer) for t in (ax.title, ax._left_title) if t.get_text()]
        if ax.get_legend() is not None:
            seen += 1
            legend = ax.get_legend().get_window_extent(renderer)
            assert not any(legend.overlaps(title) for title in titles)
            assert legend.x0 >= 0.0
    assert seen >= 2
