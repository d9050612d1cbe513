"""How hard and how often does the slider strike its guide? 1600 runs over clearance, crank speed and restitution.

Threads share the work: the compiled steps release Python's lock.

Run: python examples/clearance_design_study.py --plot study.png
"""

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

import stickslip as ss
from stickslip.analysis.distinct_impacts import distinct_impacts

MECHANISM = ss.library.slider_crank()  # derived once; parameters are values of a run
TURNS = 8.0  # of a crank that kept its initial speed; the free one makes about five
STEPS_PER_TURN = 4200  # dt = 1e-5 s at 150 rad/s


@dataclass(frozen=True)
class Study:
    """Results over a grid, shape (restitutions, clearances, speeds).

    impulse : mean normal impulse of an impact [N s]; both corners of a face together are one impact.
    per_turn : impacts per crank turn.
    failed : steps whose contact problem was not solved, of all runs.
    """

    clearances: np.ndarray  # [m]
    speeds: np.ndarray  # [rad/s]
    restitutions: np.ndarray
    impulse: np.ndarray
    per_turn: np.ndarray
    steps: int
    failed: int
    wall_s: float


def one_run(clearance: float, speed: float, restitution: float) -> tuple[float, float, int, int]:
    """Mean impulse [N s] and impacts per turn of one design; steps done and failed."""
    period = 2 * np.pi / speed
    run = MECHANISM.simulate(
        u0=speed / MECHANISM.u0[0] * MECHANISM.u0,
        params={"clearance": clearance, "restitution_normal": restitution},
        dt=period / STEPS_PER_TURN,
        t_end=TURNS * period,
        every=STEPS_PER_TURN,
        progress=False,
    )
    # a thousandth of the crank pin's speed: slower approaches are the way in which a step holds a contact
    table = distinct_impacts(run, min_speed=1e-3 * run.parameters["l_1"] * speed)
    impulse, count = float(table["normal_impulse"].sum()), len(np.unique(table["time"]))
    turns = float(run["theta_1"][-1]) / (2 * np.pi)
    return impulse / max(count, 1), count / turns, run.steps, run.certificate.failed_steps


def study(clearances: np.ndarray, speeds: np.ndarray, restitutions: np.ndarray, threads: int | None = None) -> Study:
    """Run the whole grid."""
    begin = time.perf_counter()
    one_run(clearances[0], speeds[0], restitutions[0])  # compiles before the threads start
    designs = [(c, w, eps) for eps, c, w in product(restitutions, clearances, speeds)]
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        rows = np.array(list(pool.map(lambda design: one_run(*design), designs)))
    shape = (len(restitutions), len(clearances), len(speeds))
    impulse, per_turn = (rows[:, k].reshape(shape) for k in (0, 1))
    steps, failed = (int(rows[:, k].sum()) for k in (2, 3))
    return Study(clearances, speeds, restitutions, impulse, per_turn, steps, failed, time.perf_counter() - begin)


def main(arguments: list[str] | None = None) -> Study:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--points", type=int, default=20, help="clearances, and as many speeds")
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    clearances, speeds = np.geomspace(1e-4, 2e-3, args.points), np.linspace(50.0, 250.0, args.points)
    done = study(clearances, speeds, np.array([0.1, 0.4, 0.6, 0.9]), args.threads)
    print(f"{done.impulse.size} runs, {done.steps:.3g} steps, {done.failed} failed, {done.wall_s:.1f} s")
    for eps, impulse, per_turn in zip(done.restitutions, done.impulse, done.per_turn, strict=True):
        print(f"restitution {eps:g}: {per_turn.mean():.1f} impacts per turn of {1e3 * impulse.mean():.1f} mN s")
    if args.plot:
        draw(done, args.plot)
    return done


def draw(done: Study, path: str) -> None:
    """Mean impulse above, impacts per turn below, one column per restitution."""
    from stickslip.figures import style
    from stickslip.figures.sheet import dress

    with style.look():
        figure = style.new_figure(8.6, 4.9)
        axes = figure.subplots(2, len(done.restitutions), sharex=True, sharey=True, squeeze=False)
        for row, values, label in (
            (0, 1e3 * done.impulse, "mean impulse [mN s]"),
            (1, done.per_turn, "impacts per turn"),
        ):
            for ax, grid, eps in zip(axes[row], values, done.restitutions, strict=True):
                image = ax.pcolormesh(
                    done.speeds, 1e3 * done.clearances, grid, vmin=0.0, vmax=values.max(), rasterized=True
                )
                ax.set_yscale("log")
                ax.set_yticks([0.1, 0.2, 0.5, 1.0, 2.0], ["0.1", "0.2", "0.5", "1", "2"])
                ax.minorticks_off()
                ax.grid(False)
                if row == 0:
                    ax.set_title(f"$\\varepsilon_N$ = {eps:g}")
                else:
                    ax.set_xlabel("crank speed [rad/s]")
            axes[row, 0].set_ylabel("clearance [mm]")
            figure.colorbar(image, ax=list(axes[row]), label=label, pad=0.01)
        title = "How hard and how often the slider strikes its guide"
        dress(
            figure,
            title,
            f"slider-crank of [FLG10] Table 1; {done.impulse.size} runs, {done.steps:.3g} steps, {done.failed} failed, "
            f"{done.wall_s:.0f} s; impacts with an approach faster than 0.001 of the crank pin's speed",
        )
    style.save(figure, path, title=title)


if __name__ == "__main__":
    main()
