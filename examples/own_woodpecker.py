"""Friction and restitution of your own woodpecker toy, from a film: its period and its drop.

Film the toy at 120 frames a second and note the height of its sleeve in every frame.  On its cycle the height is a
straight line plus a periodic part, y = a - (drop / T) t + sum of sines and cosines of 2 pi k t / T.  Least squares give
period and drop with their standard errors; two numbers fix two coefficients.  The lengths and masses are those of
[GS05]; measure yours.  Without a film, one is made up: two seconds, heights to 0.4 mm.

Run: python examples/own_woodpecker.py --film film.csv --plot fit.png      (columns t [s], y [mm] or y [m])
     python examples/own_woodpecker.py --period 0.1445 --drop 0.0188       (from a stop-watch and a rule)
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import stickslip as ss
from stickslip.fitting.data import samples_from

RATE = 120.0  # frames per second
HARMONICS = 5
TRUTH = {"friction": 0.295, "restitution_normal": 0.52}  # of the film that is made up


@dataclass(frozen=True)
class Reading:
    """Period [s] and drop [m] that a film says, with standard errors, and the curve through its heights."""

    period: float
    drop: float
    period_error: float
    drop_error: float
    y: np.ndarray


def made_up(seconds: float = 2.0, noise: float = 4e-4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Times and heights of a toy that has settled on its cycle, as a film shows them.

    Event by event: time stepping with dt = 0.1 ms moves the drop by 1.3 %, 23 times what the film leaves open.
    """
    settled = 2.0
    toy = ss.library.woodpecker(**TRUTH)
    run = toy.simulate(dt=0.1 / RATE, t_end=settled + seconds, stepper="event-driven", progress=False)
    t = np.arange(int(seconds * RATE)) / RATE
    heights = np.interp(settled + t, run.t, run["y"])
    return t, heights - heights[0] + noise * np.random.default_rng(seed).standard_normal(len(t))


def film(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Times and heights of a CSV file."""
    (samples,) = samples_from(path, ["y"])
    there = np.isfinite(samples.columns["y"])
    return samples.t[there], samples.columns["y"][there]


def columns(t: np.ndarray, period: float) -> np.ndarray:
    """(n, 2 + 2 HARMONICS) functions of time whose sum a cycle is."""
    phase = 2.0 * np.pi * np.outer(t, np.arange(1, HARMONICS + 1)) / period
    return np.column_stack([np.ones_like(t), t, np.cos(phase), np.sin(phase)])


def read(t: np.ndarray, y: np.ndarray, shortest: float = 0.06, longest: float = 0.4) -> Reading:
    """Period and drop that come nearest to the heights; periods between two bounds [s]."""

    def rest(period: float) -> np.ndarray:
        A = columns(t, period)
        return np.asarray(A @ np.linalg.lstsq(A, y, rcond=None)[0] - y)

    # A multiple of the period fits as well: the shortest that is as good as any counts.
    tried = 1.0 / np.arange(1.0 / longest, 1.0 / shortest, 0.1 / np.ptp(t))
    squares = np.array([np.sum(rest(period) ** 2) for period in tried])
    first = float(np.min(tried[squares < 2.0 * squares.min()]))
    begin = np.append(np.linalg.lstsq(columns(t, first), y, rcond=None)[0], first)
    found = least_squares(lambda z: columns(t, z[-1]) @ z[:-1] - y, begin, x_scale="jac")
    variance = 2.0 * found.cost / (len(t) - len(begin))
    covariance = variance * np.linalg.inv(found.jac.T @ found.jac)
    period, slope = float(found.x[-1]), float(found.x[1])
    by = np.zeros(len(begin))
    by[1], by[-1] = -period, -slope  # drop = -slope * period
    return Reading(
        period, -slope * period, float(np.sqrt(covariance[-1, -1])), float(np.sqrt(by @ covariance @ by)), y + found.fun
    )


def main(arguments: list[str] | None = None) -> ss.Fit:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--film", type=Path, help="CSV file with columns t and y")
    parser.add_argument("--period", type=float, help="[s]")
    parser.add_argument("--drop", type=float, help="height lost in a period [m]")
    parser.add_argument("--noise", type=float, nargs=2, default=(1e-3, 2e-4), help="of --period [s] and --drop [m]")
    parser.add_argument("--plot", type=Path, help="write a figure")
    options = parser.parse_args(arguments)
    if (options.period is None) != (options.drop is None):
        parser.error("--period and --drop belong together")
    shown = None
    if options.period is not None:
        period, drop, noise = options.period, options.drop, options.noise
    else:
        t, y = made_up() if options.film is None else film(options.film)
        reading = read(t, y)
        period, drop, noise = reading.period, reading.drop, (reading.period_error, reading.drop_error)
        shown = (t, y, reading)
        print(f"{len(t)} frames: period {1e3 * period:.2f} +- {1e3 * noise[0]:.2f} ms, "
              f"drop {1e3 * drop:.2f} +- {1e3 * noise[1]:.2f} mm")  # fmt: skip
    found = ss.fit(
        ss.library.woodpecker(),
        {"period": period, "y": -drop},
        free={"friction": (0.27, 0.33), "restitution_normal": (0.4, 0.6)},
        noise=dict(zip(("period", "y"), noise, strict=True)),
        search=0,
        profile=False,
        options={"settle_returns": 40},
    )
    print(found)
    if options.plot is not None:
        (found.plot() if shown is None else draw(*shown, found)).savefig(options.plot, dpi=200)
    return found


def draw(t: np.ndarray, y: np.ndarray, reading: Reading, found: ss.Fit) -> Any:
    """Heights of the film with the curve through them; below, without the straight line, over one period."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    above, below = figure.subplots(2, 1)
    above.plot(t, 1e3 * y, ".", ms=3, color="C1", label="film")
    above.plot(t, 1e3 * reading.y, lw=1.0, color="C0", label=f"period {1e3 * reading.period:.2f} ms")
    above.set(xlabel="t [s]", ylabel="height of the sleeve [mm]", xlim=(t[0], t[-1]))
    above.legend(fontsize=8)
    phase, falling = np.mod(t, reading.period), reading.drop / reading.period * t
    order = np.argsort(phase)
    below.plot(1e3 * phase, 1e3 * (y + falling), ".", ms=3, color="C1")
    below.plot(1e3 * phase[order], 1e3 * (reading.y + falling)[order], lw=1.0, color="C0")
    below.set(xlabel="time within a period [ms]", ylabel="height without\nthe mean fall [mm]")
    below.set_xlim(0.0, 1e3 * reading.period)
    for ax in (above, below):
        ax.grid(alpha=0.3)
    words = "   ".join(
        f"{name.replace('_', ' ')} {found.values[name]:.3f} [{low:.3f}, {high:.3f}]"
        for name, (low, high) in found.intervals.items()
    )
    figure.suptitle(f"Your own woodpecker: {words}", fontsize=9, x=0.01, ha="left")
    return figure


if __name__ == "__main__":
    main()
