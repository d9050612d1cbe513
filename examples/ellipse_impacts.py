"""How far is every impact law from reality?  Measured impacts of an ellipse, all laws fitted and judged.

An ellipse falls on a plane, in a vertical plane.  Its motion before and after the impact was measured.  Every law is
fitted with its coefficients, and judged by cross-validation: on impacts that its fit has not seen.  The error is

    sqrt(mean du^T M du / mean u^T M u),   du : predicted minus measured velocities after the impact

that is, what is missed, as a share of the speed before, in the metric of kinetic energy.  Beside the laws stand bounds:
the least error that any impulse at the contact could have reached, impact by impact.  A law cannot be better.

The data is a file with the arrays `before`, `after` (n, 6): x, y, theta and their rates, and `flags` (n, k), not zero
where an impact is doubtful: data of Fazeli, Donlon, Drumwright and Rodriguez 2017, for instance.  Their angle counts
clockwise: with the other sense no impulse at the contact explains the spin (least error 0.29 in place of 0.056).
Without a file, the example makes impacts up.

The error to expect of other impacts is that of cross-validation.  `--kept other.npz` puts it to the test: laws fitted
to all of `--data` predict another file, and the difference is printed in standard errors.  `--splits 6` does this with
random halves of the data.

Run: python examples/ellipse_impacts.py --data ellipse_impacts.npz --kept other.npz --plot laws.png
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import stickslip as ss

MASS, A, B = 0.037, 0.035, 0.025
INERTIA = MASS * (A**2 + B**2) / 4.0
METRIC = np.array([MASS, MASS, INERTIA])


def ellipse(by_speed: bool = False) -> ss.Scenario:
    """An ellipse above a plane; its contact point comes from the support function h of the turned ellipse.

    by_speed : restitution changes with the approach speed, by `slope` per speed of the mean
    """
    x, y, theta, v, w, omega = sp.symbols("x y theta v w omega", real=True)
    mu, e, e_T = sp.symbols("friction restitution restitution_tangential", nonnegative=True)
    slope, approach = sp.Symbol("slope", real=True), sp.Symbol("approach", nonnegative=True)
    h = sp.sqrt(A**2 * sp.sin(theta) ** 2 + B**2 * sp.cos(theta) ** 2)
    curve = ss.RestitutionCurve(sp.Max(0, sp.Min(1, e + slope * (approach - 1))), approach)
    plane = ss.Contact(
        "plane", gap=y - h, tangent=(1, 0, -h), friction=mu, restitution_normal=curve if by_speed else e,
        restitution_tangential=e_T,
    )  # fmt: skip
    system = ss.LagrangianSystem.from_energies(
        [x, y, theta],
        velocities=[v, w, omega],
        kinetic=(MASS * (v**2 + w**2) + INERTIA * omega**2) / 2,
        potential=MASS * 9.81 * y,
        contacts=[plane],
        parameters={mu: 0.2, e: 0.6, e_T: 0.0, **({slope: 0.0} if by_speed else {})},
        name="ellipse",
    )
    return ss.Scenario(system, [0.0, 0.1, 0.3], [0.5, 0.0, 0.0], 1e-4, 0.3, "An ellipse falls on a plane", "example")


def height(theta: np.ndarray) -> np.ndarray:
    """Height of the centre when the ellipse touches."""
    return np.asarray(np.sqrt(A**2 * np.sin(theta) ** 2 + B**2 * np.cos(theta) ** 2))


def read(path: Path | None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States before (n, 6) and velocities after (n, 3), in shares of the mean speed before."""
    if path is None:
        before, after = made_up(200, seed)
    else:
        with np.load(path) as held:
            clean = ~held["flags"].any(axis=1)
            before, after = held["before"][clean].copy(), held["after"][clean, 3:].copy()
    before[:, 0], before[:, 1] = 0.0, height(before[:, 2])
    h, theta = before[:, 1], before[:, 2]
    lever = (A**2 - B**2) * np.sin(theta) * np.cos(theta) / h
    closing = before[:, 4] - lever * before[:, 5] < 0.0
    before, after = before[closing], after[closing]
    speed = np.sqrt(np.mean(before[:, 3:] ** 2 @ METRIC) / MASS)
    before[:, 3:] /= speed
    return before, after / speed


def made_up(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Impacts by Poisson's law, with noise."""
    generator, scenario = np.random.default_rng(seed), ellipse()
    theta = generator.uniform(-3.0, 3.0, count)
    u = np.stack([generator.uniform(0, 1, count), -generator.uniform(2, 3, count), generator.uniform(-5, 5, count)], 1)
    q = np.stack([np.zeros(count), height(theta), theta], 1)
    lever = (A**2 - B**2) * np.sin(theta) * np.cos(theta) / q[:, 1]
    closing = u[:, 1] - lever * u[:, 2] < -0.1
    q, u = q[closing], u[closing]
    hit = ss.impact(scenario.system, q, u, "poisson", params={"friction": 0.15, "restitution": 0.6})
    noise = 0.1 * generator.standard_normal(u.shape) * np.sqrt(MASS / METRIC)
    return np.concatenate([q, u], 1), np.asarray(hit.u) + noise


def bounds(before: np.ndarray, after: np.ndarray) -> dict[str, np.ndarray]:
    """Least errors, impact by impact: of any impulse at the contact, and of one that does not pull or gain energy."""
    h, theta, u = before[:, 1], before[:, 2], before[:, 3:]
    lever = (A**2 - B**2) * np.sin(theta) * np.cos(theta) / h
    zero, one = np.zeros_like(h), np.ones_like(h)
    W = np.stack([np.stack([zero, one, -lever], 1), np.stack([one, zero, -h], 1)], 2)  # (n, 3, 2)
    change = after - u
    G = np.einsum("nij,i,nik->njk", W, 1.0 / METRIC, W)
    impulse = np.linalg.solve(G, np.einsum("nij,ni->nj", W, change)[:, :, None])[:, :, 0]
    any_impulse = _error(u + np.einsum("nij,nj->ni", W, impulse) / METRIC - after)
    # Energy is kept on an ellipse of impulses, p^T G p / 2 + p^T gamma = 0; the admissible ones lie inside.
    gamma = np.einsum("nij,ni->nj", W, u)
    admissible = np.empty(len(h))
    angle = np.linspace(0.0, 2.0 * np.pi, 721)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for i in range(len(h)):
        L = np.linalg.cholesky(G[i])
        centre = -np.linalg.solve(G[i], gamma[i])
        radius = np.linalg.norm(L.T @ centre)
        rim = centre[:, None] + radius * np.linalg.solve(L.T, circle)
        inside = np.linalg.norm(L.T @ (impulse[i] - centre)) <= radius and impulse[i, 0] >= 0.0
        points = np.concatenate([impulse[i][:, None], rim], 1) if inside else rim
        points = points[:, points[0] >= 0.0]
        reached = u[i][:, None] + (W[i] @ points) / METRIC[:, None]
        admissible[i] = float(np.min(_error((reached - after[i][:, None]).T)))
    return {"any impulse": any_impulse, "any impulse that does not pull or gain energy": admissible}


def _error(du: np.ndarray) -> np.ndarray:
    """(n,) sqrt(du^T M du / m): shares of the speed before."""
    return np.asarray(np.sqrt(du**2 @ METRIC / MASS))


def laws(quick: bool) -> dict[str, dict[str, Any]]:
    """Models by name: keywords of `ss.fit`."""
    model = ellipse()
    two = {"friction": (0.0, 1.0), "restitution": (0.0, 1.0)}
    three = {**two, "restitution_tangential": (0.0, 1.0)}
    found = {
        "Newton": {"model": model, "free": two, "law": "newton"},
        "Newton with e_T": {"model": model, "free": three, "law": "newton"},
        "Poisson": {"model": model, "free": two, "law": "poisson"},
    }
    if not quick:
        found["Poisson with e_T"] = {"model": model, "free": three, "law": "poisson"}
        found["Newton with e_T, e by speed"] = {
            "model": ellipse(by_speed=True), "free": {**three, "slope": (-1.0, 1.0)}, "law": "newton"
        }  # fmt: skip
        found["Stronge"] = {"model": model, "free": two, "law": "stronge"}
        found["Stronge, lumped"] = {"model": model, "free": two, "law": "stronge-lumped"}
    return found


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="npz file with before, after, flags")
    parser.add_argument("--kept", type=Path, help="npz file of impacts kept back: predicted by fits to all of --data")
    parser.add_argument("--splits", type=int, default=0, help="random halves of --data that play the part of --kept")
    parser.add_argument("--plot", type=Path, help="write a figure")
    parser.add_argument("--quick", action="store_true", help="three laws, three folds")
    options = parser.parse_args(arguments)
    before, after = read(options.data)
    kept = None if options.kept is None else dict(zip(("before", "after"), read(options.kept), strict=True))
    chosen, folds = laws(options.quick), 3 if options.quick else 5
    found = judged(chosen, {"before": before, "after": after}, kept, folds)
    errors = {name: found.mean(name) for name in found.names}
    least = {name: float(np.sqrt(np.mean(values**2))) for name, values in bounds(before, after).items()}
    print(f"{len(before)} impacts; error on impacts not seen, as a share of the speed before; more than the best law")
    for name in found.names:
        values = ", ".join(f"{key} {value:.3f}" for key, value in found.fits[name].values.items())
        more = f"{found.mean(name) - found.mean(found.names[0]):.4f} +- {found.standard_error(name):.4f}"
        print(f"  {name:28} {told(found.expected[name])}   {more}   {values}")
    for name, value in least.items():
        print(f"  least error of {name}: {value:.4f}")
    if kept is not None:
        print(f"error to expect, error of the {len(kept['before'])} impacts kept back, difference in standard errors")
        for name in found.names:
            print(f"  {name:28} {told(found.expected[name])}, {told(found.kept[name])}: {found.apart(name):+.1f}")
    best = {found.names[0]: chosen[found.names[0]]}
    if options.splits:
        print(f"{found.names[0]}, halves: error to expect, error of the other half, difference in standard errors")
    for split in range(options.splits):
        mine = np.random.default_rng(split).permutation(len(before)) % 2 == 0
        for own in (mine, ~mine):
            parts = [{"before": before[part], "after": after[part]} for part in (own, ~own)]
            half = judged(best, parts[0], parts[1], folds)
            name = half.names[0]
            print(f"  {told(half.expected[name])}, {told(half.kept[name])}: {half.apart(name):+.1f}")
    if options.plot is not None:
        draw(found, before, after).savefig(options.plot, dpi=200)
    return {**errors, **least}


def judged(chosen: dict[str, dict[str, Any]], data: Any, kept: Any, folds: int) -> ss.Comparison:
    """Laws judged by impacts that their fits have not seen; residuals are shares of the speed before."""
    noise = dict(zip(("v", "w", "omega"), np.sqrt(MASS / METRIC / 3.0), strict=True))
    return ss.compare_fits(
        chosen, data, kept=kept, folds=folds, noise=noise, search=4 if folds < 5 else 16, profile=False, progress=None
    )


def told(missed: Any) -> str:
    """An error with its standard error."""
    return f"{missed.error:.4f} +- {missed.standard_error:.4f}"


def slip(before: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slip of the contact point before and with velocities u (n, 3), both relative to the approach, as in [PG05]."""
    h, theta = before[:, 1], before[:, 2]
    lever = (A**2 - B**2) * np.sin(theta) * np.cos(theta) / h
    approach = lever * before[:, 5] - before[:, 4]
    return (before[:, 3] - h * before[:, 5]) / approach, (u[:, 0] - h * u[:, 2]) / approach


def draw(found: ss.Comparison, before: np.ndarray, after: np.ndarray) -> Any:
    """Errors of every law, sorted, with the bounds; and slip after over slip before, as Fig. 13 of [PG05] has it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    ax, beside = figure.subplots(1, 2)
    share = (np.arange(len(before)) + 0.5) / len(before)
    into, out = slip(before, after)
    beside.plot(into, out, ".", ms=2.5, color="0.7", label="measured")
    edges = np.unique(np.quantile(into, np.linspace(0.0, 1.0, 13)))
    part = np.clip(np.searchsorted(edges, into, side="right") - 1, 0, len(edges) - 2)
    parts = range(len(edges) - 1)
    middles = [float(np.median(into[part == k])) for k in parts]
    beside.plot(middles, [float(np.median(out[part == k])) for k in parts], "ko-", ms=4, lw=1.6, label="median")
    for name in found.names:
        r = found.fits[name].residuals.reshape(len(before), 3)
        ax.plot(np.sort(np.sqrt(np.mean(r**2, axis=1))), share, lw=1.3, label=name)
        predicted = slip(before, after + r * np.sqrt(MASS / METRIC / 3.0))[1]
        beside.plot(middles, [float(np.median(predicted[part == k])) for k in parts], lw=1.3)
    for (name, values), style in zip(bounds(before, after).items(), (":", "--"), strict=True):
        ax.plot(np.sort(values), share, style, color="0.3", lw=1.2, label=f"least: {name}")
    ax.set(xlabel="error / mean speed before", ylabel="share of impacts with less", ylim=(0.0, 1.0), xlim=(0.0, 0.4))
    beside.set(xlabel="slip before / approach", ylabel="slip after / approach")
    beside.set_xlim(*np.quantile(into, [0.002, 0.998]))
    beside.set_ylim(*np.quantile(out, [0.005, 0.995]))
    for each in (ax, beside):
        each.grid(alpha=0.3)
    ax.legend(fontsize=7, loc="lower right")
    beside.legend(fontsize=7, loc="upper left")
    ax.set_title("Measured impacts of an ellipse: how far the laws are off", fontsize=9, loc="left")
    beside.set_title("What the laws say of the slip (medians, colours as beside)", fontsize=9, loc="left")
    return figure


if __name__ == "__main__":
    main()
