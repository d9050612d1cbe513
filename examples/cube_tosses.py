"""How well does a program predict a real cube?  Measured tosses, models fitted to some and judged on others.

Every toss is simulated from its start, which is fitted to the frames before the first contact.  The error of a toss is
the mean over its frames of the position error, in % of the width, plus that of the rotation error, in degrees.  The
score of a model is the mean over tosses.

The tosses are split at random into halves, several times.  A model is fitted to one half and judged on the other, and
the other way round: each toss is judged by fits that have not seen it.  Intervals of scores (95 %) are a bootstrap over
tosses.  Intervals of values come from how far the fits to two halves lie apart: both are independent.

The data is a file with arrays `toss_NNN` (frames, 13): position [m], quaternion body to world (w, x, y, z), velocity
[m/s], angular velocity in body axes [rad/s]; 148 frames a second (Pfrommer, Halm, Posa: ContactNets, CoRL 2020).  The
data itself says that its lengths are 2 % too small: the factor 1.021 makes gravity 9.81 m/s^2 and the height at rest
half the width.  It says as well that the centre of mass is not the middle of the cube: see `flight_offset`.  Without a
file, tosses are made up.

Run: python examples/cube_tosses.py --data cube_tosses.npz --plot tosses.png --page toss.html
"""

import argparse
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares, minimize
from scipy.spatial.transform import Rotation
from scipy.stats import t as student

import stickslip as ss
from stickslip.page.document import export

RATE = 148.0  # frames per second
WIDTH, MASS, INERTIA, SCALE = 2 * 0.0524, 0.37, 8.1e-4, 1.021
SUBSTEPS = 4  # steps per frame
APART = 6.0  # distance of tosses, which are simulated side by side [m]
TOGETHER = 48  # tosses of one simulation: a scene of hundreds of cubes takes several times as long per cube
CORNERS = 0.5 * WIDTH * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
UP = np.array([0.0, 0.0, 1.0])
DEFAULTS = {
    "friction": 0.18, "friction_impact": None, "restitution": 0.2, "restitution_tangential": 0.0, "radius": 0.0,
    "inertia": 1.0, "offset": 0.0,
}  # fmt: skip
RANGES = {
    "friction": (0.05, 0.5), "friction_impact": (0.05, 0.5), "restitution": (0.0, 0.6),
    "restitution_tangential": (0.0, 0.6), "radius": (0.0, 0.01), "inertia": (0.8, 1.5), "offset": (-0.015, 0.015),
}  # fmt: skip
STEPS = {
    "friction": 0.02, "friction_impact": 0.02, "restitution": 0.05, "restitution_tangential": 0.1, "radius": 0.0015,
    "inertia": 0.1, "offset": 0.003,
}  # fmt: skip
FIRST = {
    "friction": 0.2, "friction_impact": 0.17, "restitution": 0.2, "restitution_tangential": 0.1, "radius": 0.004,
    "inertia": 1.2,
}  # fmt: skip
"""Where quantities begin; the offset of the centre of mass begins where free flight puts it."""
BODY = ("friction", "restitution", "inertia", "radius", "restitution_tangential")
MODELS = {
    "friction and restitution": ("friction", "restitution"),
    "and inertia, corners, e_T": BODY,
    "and another friction in impacts": (*BODY, "friction_impact"),
    "and the centre of mass": (*BODY, "friction_impact", "offset"),
}


@dataclass(frozen=True)
class Toss:
    """A measured toss.

    x : (n, 3) positions of the middle of the cube [m];  q : (n, 4) unit quaternions, w first
    flight : frames before the first contact
    turned, spin : quaternion and angular velocity (world axes) at the start, fitted to the flight
    velocity : measured velocity of the middle in the first frame
    """

    name: str
    x: np.ndarray
    q: np.ndarray
    flight: int
    turned: np.ndarray
    spin: np.ndarray
    velocity: np.ndarray

    def start(self, offset: float) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity of the centre of mass at the start: the parabola nearest to the flight.

        offset : of the centre of mass along the z axis of the cube [m]
        """
        centre = self.x + offset * turn(self.q).apply(UP)
        if self.flight < 4:
            return centre[0], self.velocity + np.cross(self.spin, centre[0] - self.x[0])
        t = np.arange(self.flight) / RATE
        straight = centre[: self.flight] + 0.5 * 9.81 * np.outer(t**2, UP)
        position, velocity = np.linalg.lstsq(np.stack([np.ones(self.flight), t], 1), straight, rcond=None)[0]
        return position, velocity


def turn(q: np.ndarray) -> Rotation:
    """Rotations of quaternions with w first."""
    return Rotation.from_quat(q[..., [1, 2, 3, 0]])


def read(path: Path) -> list[Toss]:
    """The tosses of a file, with their starts."""
    with np.load(path) as held:
        return [toss(name, np.asarray(held[name], dtype=float)) for name in sorted(held.files)]


def toss(name: str, rows: np.ndarray) -> Toss:
    """A toss with the orientation and spin at its start that fit the frames before the first contact best."""
    x, q = SCALE * rows[:, :3], rows[:, 3:7] / np.linalg.norm(rows[:, 3:7], axis=1)[:, None]
    lowest = (turn(q).as_matrix() @ CORNERS.T)[:, 2, :].min(axis=1) + x[:, 2]
    contact = np.flatnonzero(lowest < 0.006)
    n = int(min(contact[0] if len(contact) else len(x), 60))
    velocity, spin = SCALE * rows[0, 7:10], turn(q[0]).apply(rows[0, 10:13])
    if n < 4:
        return Toss(name, x, q, n, q[0], spin, velocity)
    t = np.arange(n) / RATE
    first, seen = turn(q[0]), turn(q[:n])

    def off(z: np.ndarray) -> np.ndarray:
        """Rotation vectors between the measured orientations and a turn at constant rate z[3:] from exp(z[:3]) q_0."""
        predicted = Rotation.from_rotvec(np.outer(t, z[3:])) * (Rotation.from_rotvec(z[:3]) * first)
        return np.asarray((seen * predicted.inv()).as_rotvec()).ravel()

    z = least_squares(off, np.concatenate([np.zeros(3), spin]), method="lm").x
    begin = (Rotation.from_rotvec(z[:3]) * first).as_quat()[[3, 0, 1, 2]]
    return Toss(name, x, q, n, begin, z[3:], velocity)


def flight_offset(tosses: Sequence[Toss], draws: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Centre of mass in the axes of the cube [m] and its standard error, from free flight alone.

    In flight the centre of mass moves on a parabola, the middle of the cube winds about it:

        x(t) + R(t) c = a + b t - g t^2 / 2   with a, b of each toss and c, g of all: linear least squares.

    Standard errors are a bootstrap over tosses.
    """
    normal, right = [], []
    for each in tosses:
        n = each.flight
        if n < 10:
            continue
        t = np.arange(n) / RATE
        own, _ = np.linalg.qr(np.kron(np.stack([np.ones(n), t], 1), np.eye(3)))
        A = np.zeros((3 * n, 4))
        A[:, :3] = -turn(each.q[:n]).as_matrix().reshape(3 * n, 3)
        A[2::3, 3] = -0.5 * t**2
        A, x = A - own @ (own.T @ A), each.x[:n].ravel()
        normal.append(A.T @ A)
        right.append(A.T @ x)
    N, r = np.array(normal), np.array(right)
    drawn = np.random.default_rng(0).integers(0, len(N), (draws, len(N)))
    spread = np.std([np.linalg.solve(N[k].sum(axis=0), r[k].sum(axis=0))[:3] for k in drawn], axis=0)
    return np.linalg.solve(N.sum(axis=0), r.sum(axis=0))[:3], spread


def scene_of(tosses: Sequence[Toss], model: Mapping[str, Any], shape: ss.shapes.Shape) -> ss.Scene:
    """All tosses side by side over one table."""
    scene = ss.Scene(dim=3, gravity=9.81, name="tosses")
    scene.add_static(ss.HalfSpace(normal=(0, 0, 1)))
    surface = {"friction_impact": model["friction_impact"]} if model["friction_impact"] is not None else {}
    for k, each in enumerate(tosses):
        position, velocity = each.start(model["offset"])
        scene.add_body(
            shape, mass=MASS, inertia=INERTIA * model["inertia"] * np.eye(3), orientation=each.turned,
            centre_of_mass=model["offset"] * UP, position=position + np.array([APART * k, 0.0, 0.0]),
            velocity=velocity, angular_velocity=each.spin, friction=model["friction"],
            restitution=model["restitution"], restitution_tangential=model["restitution_tangential"],
            name=f"predicted{k or ''}", vanishes=(len(each.x) + 1) / RATE, **surface,
        )  # fmt: skip
    return scene


def simulated(scene: ss.Scene, frames: int) -> ss.Trajectory:
    """A run with a record per frame."""
    return scene.simulate(
        dt=1.0 / (RATE * SUBSTEPS), t_end=(frames - 1) / RATE, every=SUBSTEPS, tol=1e-8, overlap="keep", progress=False,
        on_failure="continue", threads=1,
    )  # fmt: skip


def predict(tosses: Sequence[Toss], values: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions of the middle and quaternions of every toss at its frames."""
    model = {**DEFAULTS, **values}
    if len(tosses) > TOGETHER:
        parts = (predict(tosses[k : k + TOGETHER], values) for k in range(0, len(tosses), TOGETHER))
        return [each for part in parts for each in part]
    run = simulated(scene_of(tosses, model, cube(float(model["radius"]))), max(len(each.x) for each in tosses))
    found = []
    for k, each in enumerate(tosses):
        columns = run.q[: len(each.x), 7 * k : 7 * k + 7]
        q = columns[:, 3:] / np.linalg.norm(columns[:, 3:], axis=1)[:, None]
        middle = columns[:, :3] - np.array([APART * k, 0.0, 0.0]) - model["offset"] * turn(q).apply(UP)
        found.append((middle, q))
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
        cosine = np.abs(np.sum(q * each.q, axis=1))
        found[k, 0] = 100.0 * np.mean(np.linalg.norm(x - each.x, axis=1)) / WIDTH
        found[k, 1] = np.degrees(np.mean(2.0 * np.arccos(np.clip(cosine, 0.0, 1.0))))
    return found


def score(found: np.ndarray) -> float:
    """Mean position error [%] plus mean rotation error [deg]."""
    return float(found.sum(axis=1).mean())


def loss(found: np.ndarray) -> float:
    """What a fit makes least: a mean of logarithms, in which the few tosses that jump to another face weigh little."""
    return float(np.log1p(found.sum(axis=1) / 10.0).mean())


def fit(tosses: Sequence[Toss], names: Sequence[str], first: Mapping[str, float], budget: int) -> dict[str, float]:
    """Values of the named quantities with the least loss: a simplex search, since single tosses jump."""
    low, high = np.array([RANGES[name] for name in names]).T

    def value(z: np.ndarray) -> float:
        outside = float(np.abs(z - np.clip(z, low, high)).sum())
        if outside > 0.0:
            return 1e3 + outside
        return loss(errors(tosses, dict(zip(names, z.tolist(), strict=True))))

    begin = np.array([first.get(name, FIRST.get(name, 0.0)) for name in names], dtype=float)
    simplex = np.clip(np.vstack([begin, begin + np.diag([STEPS[name] for name in names])]), low, high)
    found = minimize(
        value, begin, method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": budget, "xatol": 1e-4, "fatol": 1e-4},
    )  # fmt: skip
    return dict(zip(names, found.x.tolist(), strict=True))


def interval(totals: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """95 % interval of the mean of the errors of tosses (n,) by a bootstrap over tosses."""
    generator = np.random.default_rng(seed)
    drawn = totals[generator.integers(0, len(totals), (2000, len(totals)))].mean(axis=1)
    return float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))


@dataclass
class Judged:
    """A model, fitted to halves of the tosses and judged on the others.

    unseen : (n, splits, 2) errors of every toss by the fit that has not seen it
    seen : (n, splits, 2) by the fit that has
    values : per fit, of the halves A and B of every split
    """

    names: tuple[str, ...]
    unseen: np.ndarray
    seen: np.ndarray
    values: list[dict[str, float]]

    @property
    def totals(self) -> np.ndarray:
        """(n,) errors of tosses not seen, mean over the splits."""
        return np.asarray(self.unseen.sum(axis=2).mean(axis=1))

    @property
    def middle(self) -> dict[str, float]:
        """Means of the values over the fits: they hold less of the chance in any one half than a fit does."""
        return {name: float(np.mean([values[name] for values in self.values])) for name in self.names}

    def value(self, name: str) -> tuple[float, float]:
        """Mean of a value over the fits to halves, and half the width of its 95 % interval.

        Fits to two halves are independent.  Their mean has the variance (A - B)^2 / 4.
        """
        at = np.array([values[name] for values in self.values]).reshape(-1, 2)
        deviation = np.sqrt(np.mean((at[:, 0] - at[:, 1]) ** 2) / 4.0)
        return float(at.mean()), float(student.ppf(0.975, len(at)) * deviation)


class Notes:
    """Fits that are known, in a file, so that a run that was broken off goes on; None: kept nowhere."""

    def __init__(self, path: Path | None, tosses: Sequence[Toss], budget: int) -> None:
        self.path, held = path, {}
        data = b"".join(each.x.tobytes() + each.q.tobytes() for each in tosses)
        self.task = hashlib.sha256(data + repr((budget, SUBSTEPS, RANGES, STEPS)).encode()).hexdigest()
        if path is not None and path.exists():
            held = json.loads(path.read_text(encoding="utf-8"))
            if held["task"] != self.task:
                raise SystemExit(f"{path} holds fits of other data or another budget; give another name.")
        self.known: dict[str, dict[str, float]] = held.get("known", {})

    def put(self, label: str, values: dict[str, float]) -> None:
        """Keep the values of a fit."""
        self.known[label] = values
        if self.path is not None:
            part = self.path.with_name(f"{self.path.name}.part")
            part.write_text(json.dumps({"task": self.task, "known": self.known}), encoding="utf-8")
            part.replace(self.path)


@dataclass
class Jobs:
    """Processes that work side by side, each on one core; one job: this process."""

    count: int = 1
    pool: ProcessPoolExecutor | None = field(default=None, init=False)

    def __enter__(self) -> Callable[..., Any]:
        """What runs a function with its arguments in a process that is free, and waits for it."""
        if self.count < 2:
            return lambda what, *given: what(*given)
        self.pool = ProcessPoolExecutor(self.count, mp_context=multiprocessing.get_context("spawn"))
        pool = self.pool
        return lambda what, *given: pool.submit(what, *given).result()

    def __exit__(self, *error: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)


def judge(
    tosses: Sequence[Toss], models: Mapping[str, tuple[str, ...]], splits: int, budget: int, path: Path | None = None,
    jobs: int = 1,
) -> dict[str, Judged]:  # fmt: skip
    """Every model on every half of every split; path : of notes; jobs : halves that are fitted side by side.

    A fit begins where the fit of the model before to this half has ended.  Those with the centre of mass begin anew,
    with the centre where the flights of this half put it.  No fit sees anything of the half on which it is
    judged, but for `FIRST`, one set of numbers near what earlier fits of tosses had found.
    """
    notes = Notes(path, tosses, budget)
    n = len(tosses)
    found = {
        name: Judged(names, np.empty((n, splits, 2)), np.empty((n, splits, 2)), [{} for _ in range(2 * splits)])
        for name, names in models.items()
    }

    def of_half(number: int, run: Callable[..., Any]) -> None:
        """All models, fitted to one half of a split; errors of all tosses."""
        split, mine = number // 2, _half(n, number // 2, number % 2)
        own = [tosses[k] for k in np.flatnonzero(mine)]
        values: dict[str, float] = {}
        for name, names in models.items():
            if "offset" in names:
                values = {**FIRST, "offset": float(flight_offset(own)[0][2])}
            label = f"split {split + 1} of the tosses, half {number % 2 + 1}, {name}"
            if label not in notes.known:
                notes.put(label, run(fit, own, names, values, budget * len(names)))
            values = notes.known[label]
            off = run(errors, tosses, values)
            model = found[name]
            model.values[number] = values
            model.seen[mine, split], model.unseen[~mine, split] = off[mine], off[~mine]
            print(f"  {label}: {score(off[~mine]):.2f}", flush=True)

    with Jobs(jobs) as run:
        if jobs == 1:
            for number in range(2 * splits):
                of_half(number, run)
        else:
            with ThreadPoolExecutor(jobs) as waiting:
                list(waiting.map(partial(of_half, run=run), range(2 * splits)))
    return found


def report(found: Mapping[str, Judged]) -> None:
    """The table: scores on tosses not seen and seen, values with intervals; then the best model, half by half."""
    print("error [% of the width] + [deg] of tosses not seen, 95 % interval; of those that were fitted")
    for name, model in found.items():
        low, high = interval(model.totals)
        parts = model.unseen.mean(axis=(0, 1))
        print(f"  {name}: {model.totals.mean():.2f} [{low:.2f}, {high:.2f}] = {parts[0]:.2f} % + {parts[1]:.2f} deg, "
              f"median {np.median(model.totals):.1f}; fitted {score(model.seen.mean(axis=1)):.2f}")  # fmt: skip
        said = []
        for key in model.names:
            value, off = model.value(key)
            ends = [min(abs(v[key] - end) for v in model.values) for end in RANGES[key]]
            at_end = min(ends) < 1e-3 * (RANGES[key][1] - RANGES[key][0])
            said.append(f"{key} {value:.4g} +- {off:.2g}" + (" (at the end of its range)" if at_end else ""))
        print("      " + ", ".join(said))
    best = min(found, key=lambda name: found[name].totals.mean())
    halves(best, found[best])


def halves(name: str, model: Judged) -> None:
    """Whether fits predict the other half as well as their own, and why not.

    Two halves differ by chance: one has more tosses that are hard for any fit.  This is seen where both fits judge both
    halves.  What a fit takes up of the chance of its own half is seen toss by toss, in its errors by the fit that has
    seen it and by the one that has not.  Errors are standard errors of means over tosses.
    """
    seen, unseen = model.seen.sum(axis=2), model.unseen.sum(axis=2)
    print(f"halves of {name!r}: error of the half that was fitted, of the other one; difference in standard errors")
    for number in range(len(model.values)):
        split = number // 2
        own = _half(len(seen), split, number % 2)
        print("  " + apart(seen[own, split], unseen[~own, split]))
    print("one half, the other one, by the mean of both fits: how hard the halves are")
    for split in range(seen.shape[1]):
        own, both = _half(len(seen), split, 0), 0.5 * (seen + unseen)[:, split]
        print("  " + apart(both[own], both[~own]))
    lost = (unseen - seen).mean(axis=1)
    print(f"one toss, by fits that have not seen it minus by fits that have: {mean_of(lost)}")


def mean_of(totals: np.ndarray) -> str:
    """A mean over tosses with its standard error."""
    return f"{totals.mean():.2f} +- {totals.std(ddof=1) / np.sqrt(len(totals)):.2f}"


def apart(first: np.ndarray, second: np.ndarray) -> str:
    """Two means over different tosses, and by how many standard errors the second is larger."""
    deviation = np.sqrt(sum(each.var(ddof=1) / len(each) for each in (first, second)))
    return f"{mean_of(first)}, {mean_of(second)}: {(second.mean() - first.mean()) / deviation:+.1f}"


def kept_back(kept: Sequence[Toss], model: Judged) -> tuple[np.ndarray, str]:
    """Errors (n, 2) of tosses that were kept back, by the mean values of the fits to halves, and what they say.

    The error to expect is that of tosses that a fit has not seen.  That of fitted ones is smaller: a fit takes up some
    of the chance in them.
    """
    found = errors(kept, model.middle)
    return found, apart(model.totals, found.sum(axis=1))


def check(tosses: Sequence[Toss], name: str, count: int, budget: int, path: Path | None, jobs: int = 1) -> list[str]:
    """What `kept_back` says where random halves of the tosses play the part of tosses kept back."""
    said = []
    for number in range(2 * count):
        mine = np.random.default_rng([11, number // 2]).permutation(len(tosses)) % 2 == number % 2
        own, other = ([tosses[k] for k in np.flatnonzero(part)] for part in (mine, ~mine))
        notes = None if path is None else path.with_name(f"{path.stem}-half-{number}{path.suffix}")
        model = judge(own, {name: MODELS[name]}, 1, budget, notes, jobs)[name]
        said.append(kept_back(other, model)[1])
        fitted = mean_of(errors(own, model.middle).sum(axis=1))
        print(f"  half {number % 2 + 1} of split {number // 2 + 1}: {said[-1]}; this half {fitted}", flush=True)
    return said


def _half(count: int, split: int, number: int) -> np.ndarray:
    """(count,) whether a toss is in half 0 or 1 of a split."""
    order = np.random.default_rng([7, split]).permutation(count)
    found = np.zeros(count, dtype=bool)
    found[order[: count // 2] if number == 0 else order[count // 2 :]] = True
    return found


def made_up(count: int, seed: int = 0, offset: float = 0.0) -> list[Toss]:
    """Tosses of a cube with known parameters, with noise of measurement; offset : of its centre of mass [m]."""
    generator = np.random.default_rng(seed)
    still = []
    for _ in range(count):
        q = generator.standard_normal(4)
        q /= np.linalg.norm(q)
        velocity, spin = generator.uniform(-0.5, 0.5, 3), generator.uniform(-3.0, 3.0, 3)
        x = np.tile([0.0, 0.0, 0.2], (60, 1))
        still.append(Toss("", x, np.tile(q, (60, 1)), 0, q, turn(q).apply(spin), velocity))
    found = []
    for k, (x, q) in enumerate(predict(still, {"friction": 0.2, "restitution": 0.25, "offset": offset})):
        noisy = x + 3e-4 * generator.standard_normal(x.shape)
        spins = np.broadcast_to(turn(q[0]).inv().apply(still[k].spin), (60, 3))
        speeds = np.broadcast_to(still[k].velocity, (60, 3))
        found.append(toss(f"made up {k}", np.concatenate([noisy / SCALE, q, speeds / SCALE, spins], axis=1)))
    return found


def main(arguments: list[str] | None = None) -> dict[str, Judged]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="npz file of tosses")
    parser.add_argument("--splits", type=int, default=3, help="random splits into halves")
    parser.add_argument("--budget", type=int, default=14, help="simulations of all tosses per free quantity")
    parser.add_argument("--models", type=int, default=len(MODELS), help="how many of the models")
    parser.add_argument("--plot", type=Path, help="write a figure")
    parser.add_argument("--notes", type=Path, help="file that keeps fits, so that a run that was broken off goes on")
    parser.add_argument("--kept", type=Path, help="npz file of tosses kept back: predicted by the mean of all fits")
    parser.add_argument("--check", type=int, default=0, help="random splits whose halves play the part of --kept")
    alone = os.cpu_count() or 1 if __name__ == "__main__" else 1
    parser.add_argument("--jobs", type=int, default=alone, help="processes that fit side by side; default: all cores")
    parser.add_argument("--page", type=Path, help="write a page with a toss and its prediction over one another")
    options = parser.parse_args(arguments)
    tosses = made_up(24) if options.data is None else read(options.data)
    print(f"{len(tosses)} tosses, {options.splits} splits into halves")
    kept = [] if options.kept is None else read(options.kept)
    if any(len(a.x) == len(b.x) and np.array_equal(a.x, b.x) for a in tosses for b in kept):
        raise SystemExit(f"{options.kept} must hold tosses that no fit has seen; some are those of --data.")
    centre, off = flight_offset(tosses)
    print("centre of mass in the axes of the cube, from free flight alone [mm]: "
          + ", ".join(f"{1e3 * x:.1f} +- {1e3 * s:.1f}" for x, s in zip(centre, off, strict=True)))  # fmt: skip
    models = dict(list(MODELS.items())[: options.models])
    found = judge(tosses, models, options.splits, options.budget, options.notes, options.jobs)
    report(found)
    name = min(found, key=lambda each: found[each].totals.mean())
    best = found[name]
    print(
        f"means of the values over the fits of {name!r}: " + ", ".join(f"{k} {x:.4g}" for k, x in best.middle.items())
    )
    fitted = mean_of(errors(tosses, best.middle).sum(axis=1))
    print(f"error to expect, of tosses not seen: {mean_of(best.totals)}; of the fitted ones, by these means: {fitted}")
    if kept:
        print(f"error to expect, error of the {len(kept)} tosses kept back; difference in standard errors")
        print(f"  {kept_back(kept, best)[1]}")
    if options.check:
        print(
            "error to expect from one half, error of the other half; difference in standard errors; error of this half"
        )
        check(tosses, name, options.check, options.budget, options.notes, options.jobs)
    if options.plot is not None or options.page is not None:
        order = np.argsort(best.totals)
        chosen = {share: int(order[int(share * (len(order) - 1))]) for share in (0.5, 0.9)}
        values = {k: _blind(best, number, len(tosses)) for k, number in chosen.items()}
        if options.plot is not None:
            shown = [(f"{100 * k:.0f} %", tosses[number], values[k]) for k, number in chosen.items()]
            draw(shown, found).savefig(options.plot, dpi=200)
        if options.page is not None:
            print(f"wrote {page(tosses[chosen[0.5]], values[0.5], options.page)}")
    return found


def _blind(model: Judged, number: int, count: int) -> dict[str, float]:
    """Values of the first fit that has not seen a toss."""
    return model.values[1] if _half(count, 0, 0)[number] else model.values[0]


def page(each: Toss, values: Mapping[str, float], path: Path) -> Path:
    """A page with the predicted cube, solid, and the measured one, a cage of bars along its edges, over one another.

    The cage has next to no mass and touches nothing: energies and contacts of the page are those of the prediction.
    """
    model = {**DEFAULTS, **values}
    size = (WIDTH, WIDTH, WIDTH)
    shape = ss.RoundedBox(size, model["radius"]) if model["radius"] > 1e-5 else ss.Box(size)
    scene = scene_of([each], model, shape)
    cage = scene.add_body(
        edges(0.0015), mass=1e-9, inertia=1e-12 * np.eye(3), position=each.x[0], orientation=each.q[0], name="measured"
    )
    for body in scene.bodies[:-1]:
        scene.ignore(body, cage)
    run = simulated(scene, len(each.x))
    q, u = np.array(run.q), np.array(run.u)
    rotation = turn(each.q)
    steps = (rotation[1:] * rotation[:-1].inv()).as_rotvec() * RATE
    q[:, 7:14] = np.concatenate([each.x, each.q], axis=1)
    u[:, 6:12] = np.concatenate([np.gradient(each.x, 1.0 / RATE, axis=0), np.vstack([steps[:1], steps])], axis=1)
    return export(replace(run, q=q, u=u), path, scene)


def edges(thick: float) -> ss.shapes.Shape:
    """Twelve bars along the edges of the cube; thick : their radius [m]."""
    bars = []
    for axis, turned in enumerate(((0.0, 90.0), (90.0, 0.0), (0.0, 0.0))):
        around = Rotation.from_euler("xy", turned, degrees=True).as_quat()[[3, 0, 1, 2]]
        for corner in CORNERS[CORNERS[:, axis] > 0.0]:
            middle = np.where(np.arange(3) == axis, 0.0, corner)
            bars.append((ss.Capsule(thick, WIDTH), tuple(middle), tuple(around)))
    return ss.Compound(bars)


def draw(shown: Sequence[tuple[str, Toss, Mapping[str, float]]], found: Mapping[str, Judged]) -> Any:
    """Two tosses, measured and predicted by fits that have not seen them, and the errors of all models."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.4), layout="constrained")
    rows = figure.subplots(3, 2)
    for column, (share, each, values) in enumerate(shown):
        x, q = predict([each], values)[0]
        t = np.arange(len(x)) / RATE
        above, below = rows[0, column], rows[1, column]
        for k, axis in enumerate("xyz"):
            above.plot(t, each.x[:, k], ".", ms=3, color=f"C{k}")
            above.plot(t, x[:, k], lw=1.2, color=f"C{k}", label=axis)
        vectors = [np.unwrap(np.degrees(turn(z).as_euler("ZYX")), axis=0, period=360.0) for z in (each.q, q)]
        vectors[1] += 360.0 * np.round((vectors[0][0] - vectors[1][0]) / 360.0)
        for k, axis in enumerate(("yaw", "pitch", "roll")):
            below.plot(t, vectors[0][:, k], ".", ms=3, color=f"C{k + 3}")
            below.plot(t, vectors[1][:, k], lw=1.2, color=f"C{k + 3}", label=axis)
        above.set_title(f"{each.name}: {share} of all tosses have less error", fontsize=9, loc="left")
        above.set(ylabel="position [m]", xlim=(0.0, t[-1]))
        below.set(xlabel="t [s]", ylabel="angle [deg]", xlim=(0.0, t[-1]))
        for ax in (above, below):
            ax.legend(ncols=3, fontsize=7)
    for ax in rows[2]:
        ax.remove()
    ax = figure.add_subplot(rows[2, 0].get_gridspec()[2, :])
    for name, model in found.items():
        share = (np.arange(len(model.totals)) + 0.5) / len(model.totals)
        ax.plot(np.sort(model.totals), share, lw=1.3, label=f"{name}: {model.totals.mean():.1f}")
    ax.set(xlabel="error of tosses not seen [% + deg]", ylabel="share with less", ylim=(0.0, 1.0), xlim=(0.0, 100.0))
    ax.legend(fontsize=8)
    for each_ax in figure.axes:
        each_ax.grid(alpha=0.3)
    figure.suptitle("Tosses of a cube: measured (dots) and predicted (lines)", fontsize=10, x=0.01, ha="left")
    return figure


if __name__ == "__main__":
    main()
