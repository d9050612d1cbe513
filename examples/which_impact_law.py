"""Which impact law fits my experiment?  Rebounds of a bar are measured; every law is fitted to them and judged.

A bar of length 2 L strikes a plane at the angle phi with its tip, at several ratios of tangential to normal velocity.
Both velocities of the tip after the impact are measured.  Each law has its own coefficients, fitted by least squares.
The root mean square of the remaining differences tells how well the law describes the experiment:

    misfit = sqrt(mean (gamma^+ measured - gamma^+ computed)^2) / |gamma_N^-|

Where a contact slips one way throughout, the laws agree.  Where slip stops or reverses, they differ, so measure there.
`--data FILE.csv` takes measurements of your own, with the columns of `COLUMNS`.  Without it one of the laws makes up an
experiment, with noise.

Run: python examples/which_impact_law.py --plot laws.png
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import stickslip as ss

COLUMNS = ("angle [deg]", "gamma_T before", "gamma_N before", "gamma_T after", "gamma_N after")
"""Of a file with measurements: one impact per line, velocities of the tip in m/s, gamma_N before is negative."""


@dataclass(frozen=True)
class Candidate:
    """A law, as a function of its coefficients; `names`, `first` guesses and upper ends (the lower ones are 0)."""

    law: Callable[..., Any]
    names: tuple[str, ...]
    first: tuple[float, ...]
    most: tuple[float, ...]


CANDIDATES = {
    "Newton": Candidate(lambda e, e_T: ss.Newton(e, e_T), ("mu", "e", "e_T"), (0.3, 0.5, 0.1), (2.0, 1.0, 1.0)),
    "Poisson": Candidate(
        lambda e, part: ss.Poisson(e, part * e), ("mu", "e", "e_T/e"), (0.3, 0.5, 0.1), (2.0, 1.0, 1.0)
    ),
    "Stronge": Candidate(lambda e: ss.Stronge(e), ("mu", "e"), (0.3, 0.5), (2.0, 1.0)),
    "Stronge, lumped": Candidate(
        lambda e, ratio: ss.Stronge(e, model="lumped", stiffness_ratio=ratio),
        ("mu", "e", "eta^2"),
        (0.3, 0.5, 1.2),
        (2.0, 1.0, 3.0),
    ),
}
SYSTEM = ss.library.impacting_bar(mass=1.0, half_length=1.0).system


def experiment(angles: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Impacts to be made: every angle [deg] with every gamma_T^- / |gamma_N^-|; rows as `COLUMNS`, rebounds empty."""
    angle, ratio = (x.ravel() for x in np.meshgrid(angles, ratios, indexing="ij"))
    return np.column_stack([angle, ratio, -np.ones_like(angle), np.full((len(angle), 2), np.nan)])


def rebounds(rows: np.ndarray, law: Any, friction: float) -> np.ndarray:
    """Velocities of the tip after each impact under a law, shape (n, 2)."""
    phi = np.radians(rows[:, 0])
    q = np.stack([0 * phi, np.sin(phi), phi], axis=-1)  # the tip touches
    u = np.stack([rows[:, 1], rows[:, 2], 0 * phi], axis=-1)  # no spin: all points move alike
    hit = ss.impact(SYSTEM, q, u, law, params={"friction": friction})
    return np.stack([hit.tangential_velocity_after[..., 0], hit.normal_velocity_after[..., 0]], axis=-1)


@dataclass(frozen=True)
class Fit:
    """Coefficients of a law that describe measurements best, and the root mean square of the remaining differences."""

    law: str
    coefficients: dict[str, float]
    misfit: float


def fit(rows: np.ndarray, name: str) -> Fit:
    candidate = CANDIDATES[name]

    def left_over(x: np.ndarray) -> np.ndarray:
        computed = rebounds(rows, candidate.law(*x[1:]), float(x[0]))
        return ((computed - rows[:, 3:]) / -rows[:, 2:3]).ravel()

    # the laws have kinks where contact states change: steps of a hundredth feel the slope on both sides of a kink
    best = least_squares(left_over, candidate.first, bounds=(0.0, candidate.most), diff_step=0.01, x_scale=0.1)
    values = dict(zip(candidate.names, best.x.tolist(), strict=True))
    return Fit(name, values, float(np.sqrt(np.mean(best.fun**2))))


def disagreement(rows: np.ndarray, fits: list[Fit]) -> np.ndarray:
    """How far the two best laws lie apart in each impact, in parts of |gamma_N^-|: where measuring again pays."""
    first, second = (
        rebounds(rows, CANDIDATES[f.law].law(*list(f.coefficients.values())[1:]), f.coefficients["mu"])
        for f in fits[:2]
    )
    return np.abs(first - second).max(axis=1) / -rows[:, 2]


def read(path: str) -> np.ndarray:
    rows = np.atleast_2d(np.loadtxt(path, delimiter=",", comments="#"))
    if rows.shape[1] != len(COLUMNS) or not (rows[:, 2] < 0.0).all():
        raise SystemExit(f"{path} must have {len(COLUMNS)} columns, {', '.join(COLUMNS)}, the third negative.")
    return rows


def made_up(name: str, coefficients: tuple[float, ...], noise: float, seed: int = 1) -> np.ndarray:
    """An experiment that follows a law, with noise of the given part of |gamma_N^-|."""
    rows = experiment(np.array([50.0, 70.0, 90.0]), np.linspace(-2.0, 2.0, 9))
    rows[:, 3:] = rebounds(rows, CANDIDATES[name].law(*coefficients[1:]), coefficients[0])
    rows[:, 3:] += noise * np.random.default_rng(seed).standard_normal((len(rows), 2))
    return rows


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", help="measurements, CSV")
    options.add_argument("--truth", choices=list(CANDIDATES), default="Stronge", help="law of the made-up experiment")
    options.add_argument("--coefficients", type=float, nargs="+", default=[0.25, 0.6], help="of that law")
    options.add_argument("--noise", type=float, default=0.02, help="of the made-up experiment, in parts of |gamma_N|")
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    rows = read(args.data) if args.data else made_up(args.truth, tuple(args.coefficients), args.noise)
    fits = sorted((fit(rows, name) for name in CANDIDATES), key=lambda found: found.misfit)
    for found in fits:
        values = ", ".join(f"{name} = {value:.3f}" for name, value in found.coefficients.items())
        print(f"{found.law:16} misfit {100 * found.misfit:6.2f} %   {values}")
    apart = disagreement(rows, fits)
    most = rows[np.argmax(apart)]
    print(
        f"{fits[0].law} and {fits[1].law} differ most, by {100 * apart.max():.1f} %, at {most[0]:.0f} degrees with "
        f"gamma_T / |gamma_N| = {most[1] / -most[2]:.2f}: measure there to tell them apart."
    )
    if args.plot:
        draw(rows, fits, args.plot)
    return {"fits": fits, "apart": apart, "rows": rows}


def draw(rows: np.ndarray, fits: list[Fit], path: str) -> None:
    from stickslip.figures import style

    angles = np.unique(rows[:, 0])[:4]
    with style.look():
        figure = style.new_figure(2.6 * len(angles) + 0.6, 4.8)
        axes = np.atleast_2d(figure.subplots(2, len(angles), sharex=True, sharey="row"))
        for column, angle in enumerate(angles):
            own = rows[rows[:, 0] == angle]
            x = own[:, 1] / -own[:, 2]
            fine = experiment(np.array([angle]), np.linspace(x.min(), x.max(), 161))
            for k, found in enumerate(fits):
                law = CANDIDATES[found.law].law(*list(found.coefficients.values())[1:])
                after = rebounds(fine, law, found.coefficients["mu"])
                for row in (0, 1):
                    axes[row, column].plot(
                        fine[:, 1], after[:, row], color=style.SERIES[k], linewidth=1.8 - 0.3 * k, label=found.law
                    )
            for row in (0, 1):
                scale = -own[:, 2]
                axes[row, column].plot(
                    x, own[:, 3 + row] / scale, "o", color=style.INK, markersize=3.5, label="measured", zorder=5
                )
            style.panel(axes[0, column], f"φ = {angle:.0f}°", "", r"$\gamma_T^+ / |\gamma_N^-|$" if column == 0 else "")
            style.panel(
                axes[1, column],
                "",
                r"$\gamma_T^- / |\gamma_N^-|$",
                r"$\gamma_N^+ / |\gamma_N^-|$" if not column else "",
            )
        axes[0, 0].legend(fontsize=7)
    print("written", style.save(figure, Path(path)))


if __name__ == "__main__":
    main()
