"""Restitution and amplitude from a film of a chaotic motion: a ball on a table that shakes.

Over one second at 30 Hz a small distance grows 34,000 times.  The sum of squares has countless minima, and a fit that
follows the whole motion from its start ends in one of them.  `ss.fit` notices: it misses the data by far more than the
noise.  It then follows the motion as far as the prediction meets it, and a little further, until all of it is met.

Run: python examples/chaotic_ball.py --plot fit.png
"""

import argparse
from pathlib import Path

import numpy as np

import stickslip as ss

TRUTH = {"restitution": 0.8, "amplitude": 2e-3}  # amplitude [m]
BEGIN = {"restitution": 0.75, "amplitude": 2.1e-3}
FREE = {"restitution": (0.6, 0.95), "amplitude": (1.5e-3, 2.5e-3)}
NOISE = 2e-4  # of a height [m]


def film(seed: int) -> dict[str, np.ndarray]:
    """Sixty frames a second, for one second."""
    ball = ss.library.bouncing_ball_on_table(**TRUTH)
    run = ball.simulate(dt=1.0 / 60.0, t_end=1.0, stepper="event-driven", progress=False)
    return {"t": run.t, "y": run["y"] + NOISE * np.random.default_rng(seed).standard_normal(len(run.t))}


def main(arguments: list[str] | None = None) -> ss.Fit:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=3, help="of the noise")
    parser.add_argument("--plot", type=Path, help="write a figure")
    options = parser.parse_args(arguments)
    ball = ss.library.bouncing_ball_on_table(**BEGIN)
    found = ss.fit(ball, film(options.seed), FREE, noise=NOISE, search=0, profile=False)
    print(found)
    if options.plot is not None:
        found.plot().savefig(options.plot, dpi=200)
    return found


if __name__ == "__main__":
    main()
