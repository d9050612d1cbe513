"""How well does a program predict a real cube?  Measured tosses, models fitted to some and judged on others.

Every toss is simulated from its start, which is fitted to the frames before the first contact.  The error of a toss is
the mean over its frames of the position error, in % of the width, plus that of the rotation error, in degrees.  The
score of a model is the mean over tosses.  Models are fitted to some tosses and judged on the others, with 95 %
intervals by a bootstrap over tosses.

The data is a file with arrays `toss_NNN` (frames, 13): position [m], quaternion body to world (w, x, y, z), velocity
[m/s], angular velocity in body axes [rad/s]; 148 frames a second (Pfrommer, Halm, Posa: ContactNets, CoRL 2020).  The
data itself says that its lengths are 2 % too small: the factor 1.021 makes gravity 9.81 m/s^2 and the height at rest
half the width.  Corners may be rounded by 5 mm at most, as the data shows.  Without a file, tosses are made up.

Run: python examples/cube_tosses.py --data cube_tosses.npz --plot tosses.png
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares, minimize
from scipy.spatial.transform import Rotation

import stickslip as ss

RATE = 148.0  # frames per second
WIDTH, MASS, INERTIA, SCALE = 2 * 0.0524, 0.37, 8.1e-4, 1.021
SUBSTEPS = 4  # steps per frame
APART = 6.0  # distance of tosses, which are simulated side by side [m]
CORNERS = 0.5 * WIDTH * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
DEFAULTS = {
    "friction": 0.18, "friction_impact": None, "restitution": 0.2, "restitution_tangential": 0.0, "radius": 0.0,
    "inertia": 1.0,
}  # fmt: skip
RANGES = {
    "friction": (0.05, 0.5), "friction_impact": (0.05, 0.5), "restitution": (0.0, 0.6),
    "restitution_tangential": (0.0, 0.6), "radius": (0.0, 0.005), "inertia": (0.9, 1.45),
}  # fmt: skip
STEPS = {
    "friction": 0.03, "friction_impact": 0.03, "restitution": 0.06, "restitution_tangential": 0.1, "radius": 0.002,
    "inertia": 0.15,
}  # fmt: skip
MODELS = {
    "friction and restitution": ("friction", "restitution"),
    "and inertia, corners, e_T": ("friction", "restitution", "inertia", "radius", "restitution_tangential"),
    "and another friction in impacts": (
        "friction", "restitution", "inertia", "radius", "restitution_tangential", "friction_impact",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Toss:
    """A measured toss: positions x (n, 3) [m], unit quaternions q (n, 4) w first, and its fitted start."""

    name: str
    x: np.ndarray
    q: np.ndarray
    start: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # position, quaternion, velocity, angular velocity


def turn(q: np.ndarray) -> Rotation:
    """Rotations of quaternions with w first."""
    return Rotation.from_quat(q[..., [1, 2, 3, 0]])


def read(path: Path) -> list[Toss]:
    """The tosses of a file, with their starts."""
    with np.load(path) as held:
        return [toss(name, np.asarray(held[name], dtype=float)) for name in sorted(held.files)]


def toss(name: str, rows: np.ndarray) -> Toss:
    """A toss with the start that fits the frames before the first contact best."""
    x, q = SCALE * rows[:, :3], rows[:, 3:7] / np.linalg.norm(rows[:, 3:7], axis=1)[:, None]
    lowest = (turn(q).as_matrix() @ CORNERS.T)[:, 2, :].min(axis=1) + x[:, 2]
    contact = np.flatnonzero(lowest < 0.006)
    n = int(min(contact[0] if len(contact) else len(x), 60))
    spin = turn(q[0]).apply(rows[0, 10:13])
    if n < 4:
        return Toss(name, x, q, (x[0], q[0], SCALE * rows[0, 7:10], spin))
    t = np.arange(n) / RATE
    fall = x[:n] + 0.5 * 9.81 * np.outer(t**2, [0.0, 0.0, 1.0])
    line = np.linalg.lstsq(np.stack([np.ones(n), t], 1), fall, rcond=None)[0]
    first, seen = turn(q[0]), turn(q[:n])

    def off(z: np.ndarray) -> np.ndarray:
        """Rotation vectors between the measured orientations and a turn at constant rate z[3:] from exp(z[:3]) q_0."""
        predicted = Rotation.from_rotvec(np.outer(t, z[3:])) * (Rotation.from_rotvec(z[:3]) * first)
        return np.asarray((seen * predicted.inv()).as_rotvec()).ravel()

    z = least_squares(off, np.concatenate([np.zeros(3), spin]), method="lm").x
    begin = (Rotation.from_rotvec(z[:3]) * first).as_quat()[[3, 0, 1, 2]]
    return Toss(name, x, q, (line[0], begin, line[1], z[3:]))


def predict(tosses: Sequence[Toss], values: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions and quaternions of every toss at its frames; all tosses are simulated side by side."""
    model = {**DEFAULTS, **values}
    scene = ss.Scene(dim=3, gravity=9.81, name="tosses")
    scene.add_static(ss.HalfSpace(normal=(0, 0, 1)))
    shape = cube(float(model["radius"]))
    surface = {"friction_impact": model["friction_impact"]} if model["friction_impact"] is not None else {}
    for k, each in enumerate(tosses):
        position, orientation, velocity, spin = each.start
        scene.add_body(
            shape, mass=MASS, inertia=INERTIA * model["inertia"] * np.eye(3), orientation=orientation,
            position=position + np.array([APART * k, 0.0, 0.0]), velocity=velocity, angular_velocity=spin,
            friction=model["friction"], restitution=model["restitution"], name=f"c{k}",
            restitution_tangential=model["restitution_tangential"], vanishes=(len(each.x) + 1) / RATE, **surface,
        )  # fmt: skip
    frames = max(len(each.x) for each in tosses)
    run = scene.simulate(
        dt=1.0 / (RATE * SUBSTEPS), t_end=(frames - 1) / RATE, every=SUBSTEPS, tol=1e-8, overlap="keep", progress=False,
        on_failure="continue", threads=2,
    )  # fmt: skip
    found = []
    for k, each in enumerate(tosses):
        columns = run.q[: len(each.x), 7 * k : 7 * k + 7]
        found.append((columns[:, :3] - np.array([APART * k, 0.0, 0.0]), columns[:, 3:]))
    return found


def cube(radius: float) -> ss.shapes.Shape:
    """A cube; with rounded corners, eight balls: on a plane nothing else touches."""
    if radius < 1e-5:
        return ss.Box((WIDTH, WIDTH, WIDTH))
    inner = CORNERS * (1.0 - 2.0 * radius / WIDTH)
    return ss.Compound([(ss.Sphere(radius), tuple(corner)) for corner in inner])


def errors(tosses: Sequence[Toss], values: Mapping[str, Any]) -> np.ndarray:
    """(n, 2) mean position error [% of the width] and mean rotation error [deg] of every toss."""
    found = np.empty((len(tosses), 2))
    for k, (each, (x, q)) in enumerate(zip(tosses, predict(tosses, values), strict=True)):
        cosine = np.abs(np.sum(q * each.q, axis=1)) / np.linalg.norm(q, axis=1)
        found[k, 0] = 100.0 * np.mean(np.linalg.norm(x - each.x, axis=1)) / WIDTH
        found[k, 1] = np.degrees(np.mean(2.0 * np.arccos(np.clip(cosine, 0.0, 1.0))))
    return found


def score(found: np.ndarray) -> float:
    """Mean position error [%] plus mean rotation error [deg]."""
    return float(found.sum(axis=1).mean())


def fit(tosses: Sequence[Toss], names: Sequence[str], first: Mapping[str, float], budget: int) -> dict[str, float]:
    """Values of the named quantities with the least score: a simplex search, since single tosses jump."""
    low, high = np.array([RANGES[name] for name in names]).T

    def value(z: np.ndarray) -> float:
        outside = float(np.abs(z - np.clip(z, low, high)).sum())
        if outside > 0.0:
            return 1e3 + outside
        return score(errors(tosses, dict(zip(names, z.tolist(), strict=True))))

    begin = np.array([first.get(name, DEFAULTS[name] or 0.18) for name in names], dtype=float)
    simplex = np.vstack([begin, begin + np.diag([STEPS[name] for name in names])])
    simplex = np.clip(simplex, low, high)
    found = minimize(
        value, begin, method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": budget, "xatol": 1e-3, "fatol": 5e-3},
    )  # fmt: skip
    return dict(zip(names, found.x.tolist(), strict=True))


def interval(found: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """95 % interval of the score by a bootstrap over tosses."""
    totals, generator = found.sum(axis=1), np.random.default_rng(seed)
    drawn = totals[generator.integers(0, len(totals), (2000, len(totals)))].mean(axis=1)
    return float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))


def spread(
    tosses: Sequence[Toss], names: Sequence[str], values: Mapping[str, float], folds: int, budget: int
) -> dict[str, float]:
    """Standard errors of the values by a jackknife: fits that leave out one part of the tosses each."""
    part = np.random.default_rng(1).permutation(len(tosses)) % folds
    fits = [
        list(fit([each for each, p in zip(tosses, part, strict=True) if p != k], names, values, budget).values())
        for k in range(folds)
    ]
    deviation = np.sqrt((folds - 1) / folds * np.sum((fits - np.mean(fits, axis=0)) ** 2, axis=0))
    return dict(zip(names, deviation.tolist(), strict=True))


def made_up(count: int, seed: int = 0) -> list[Toss]:
    """Tosses of a cube with known parameters, with noise of measurement."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        q = generator.standard_normal(4)
        state = np.concatenate([[0.0, 0.0, 0.2], q / np.linalg.norm(q), generator.uniform(-0.5, 0.5, 3)])
        rows.append(np.concatenate([state, generator.uniform(-3.0, 3.0, 3)]))
    still = [
        Toss("", np.zeros((60, 3)), np.zeros((60, 4)), (r[:3], r[3:7], r[7:10], turn(r[3:7]).apply(r[10:])))
        for r in rows
    ]
    truth = {"friction": 0.2, "restitution": 0.25}
    found = []
    for k, (x, q) in enumerate(predict(still, truth)):
        noisy = x + 3e-4 * generator.standard_normal(x.shape)
        spins = np.broadcast_to(rows[k][10:], (60, 3))
        speeds = np.broadcast_to(rows[k][7:10], (60, 3))
        found.append(toss(f"made up {k}", np.concatenate([noisy / SCALE, q, speeds / SCALE, spins], axis=1)))
    return found


def main(arguments: list[str] | None = None) -> dict[str, dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="npz file of tosses")
    parser.add_argument("--train", type=int, default=100, help="tosses for the fit; the others judge")
    parser.add_argument("--budget", type=int, default=90, help="simulations of all tosses per fit")
    parser.add_argument("--folds", type=int, default=0, help="parts of a jackknife for intervals of the values")
    parser.add_argument("--models", type=int, default=len(MODELS), help="how many of the models")
    parser.add_argument("--seed", type=int, default=0, help="of the split")
    parser.add_argument("--plot", type=Path, help="write a figure")
    options = parser.parse_args(arguments)
    tosses = made_up(24) if options.data is None else read(options.data)
    order = np.random.default_rng(options.seed).permutation(len(tosses))
    train = [tosses[k] for k in np.sort(order[: options.train])]
    test = [tosses[k] for k in np.sort(order[options.train :])]
    print(f"{len(train)} tosses to fit, {len(test)} to judge; error [% of the width] + [deg]")
    table: dict[str, dict[str, Any]] = {}
    values: dict[str, float] = {}
    for name, names in list(MODELS.items())[: options.models]:
        values = fit(train, names, values, options.budget)
        judged = errors(test, values)
        low, high = interval(judged)
        table[name] = {"values": values, "score": score(judged), "interval": (low, high), "errors": judged}
        off = spread(train, names, values, options.folds, options.budget // 2) if options.folds else {}
        print(f"  {name}: {score(judged):.2f} [{low:.2f}, {high:.2f}]  = {judged[:, 0].mean():.2f} % + "
              f"{judged[:, 1].mean():.2f} deg")  # fmt: skip
        said = (f"{key} {x:.4g}" + (f" +- {1.96 * off[key]:.2g}" if key in off else "") for key, x in values.items())
        print("      " + ", ".join(said))
    if options.plot is not None:
        draw(test, values, lambda each: predict([each], values)[0]).savefig(options.plot, dpi=200)
    return table


def draw(
    tosses: Sequence[Toss], values: Mapping[str, float], predicted: Callable[[Toss], tuple[np.ndarray, np.ndarray]]
) -> Any:
    """The toss with the median error: measured and predicted, height and turning over time."""
    from matplotlib.figure import Figure

    totals = errors(tosses, values).sum(axis=1)
    each = tosses[int(np.argsort(totals)[len(totals) // 2])]
    x, q = predicted(each)
    t = np.arange(len(x)) / RATE
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for k, axis in enumerate("xyz"):
        above.plot(t, each.x[:, k], ".", ms=3, color=f"C{k}")
        above.plot(t, x[:, k], lw=1.2, color=f"C{k}", label=axis)
    above.set(ylabel="position [m]")
    above.legend(ncols=3, fontsize=8)
    above.set_title(
        f"{each.name}: measured (dots) and predicted (lines), the toss with the median error", fontsize=9, loc="left"
    )
    tilt = [
        np.degrees(np.arccos(np.clip(np.abs(turn(z).as_matrix()[:, 2, :]).max(axis=1), 0.0, 1.0))) for z in (each.q, q)
    ]
    below.plot(t, tilt[0], ".", ms=3, color="C3")
    below.plot(t, tilt[1], lw=1.2, color="C3")
    below.set(xlabel="t [s]", ylabel="tilt to the nearest face [deg]", xlim=(0.0, t[-1]))
    for ax in (above, below):
        ax.grid(alpha=0.3)
    return figure


if __name__ == "__main__":
    main()
