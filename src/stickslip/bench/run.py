"""`stickslip bench run`: the woodpecker by our kernels, by a kernel written by hand, and by Siconos, in one run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stickslip.jit import entry, kernel

DT = 1e-4
SICONOS_PYTHON = "/usr/bin/python3"

# The toy in Siconos' Python interface: its own Moreau-Jean integrator and its planar friction solver.
_SICONOS = """
import sys, time, json
import numpy as np
import siconos.kernel as sk
p, dt, steps = json.loads(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
M = np.array([[p["m_S"] + p["m_M"], p["m_S"] * p["l_M"], p["m_S"] * p["l_G"]],
              [p["m_S"] * p["l_M"], p["J_M"] + p["m_S"] * p["l_M"] ** 2, p["m_S"] * p["l_M"] * p["l_G"]],
              [p["m_S"] * p["l_G"], p["m_S"] * p["l_M"] * p["l_G"], p["J_S"] + p["m_S"] * p["l_G"] ** 2]])
body = sk.LagrangianLinearTIDS(np.array(p["q0"]), np.array(p["u0"]), M)
body.setKPtr(p["c_phi"] * np.array([[0, 0, 0], [0, 1, -1], [0, -1, 1.0]]))
body.setFExtPtr(-p["g"] * np.array([p["m_S"] + p["m_M"], p["m_S"] * p["l_M"], p["m_S"] * p["l_G"]]))
model = sk.NonSmoothDynamicalSystem(0.0, dt * (steps + 10))
model.insertDynamicalSystem(body)
play = p["r_M"] - p["r_O"]
keep = []
for normal, tangent, gap, e in (
    ([0, 0, -p["h_S"]], [1, p["l_M"], p["l_G"] - p["l_S"]], p["l_M"] + p["l_G"] - p["l_S"] - p["r_O"], 0.5),
    ([0, p["h_M"], 0], [1, p["r_M"], 0], play, 0.0),
    ([0, -p["h_M"], 0], [1, p["r_M"], 0], play, 0.0),
):
    law = sk.NewtonImpactFrictionNSL(e, 0.0, p["friction"], 2)
    relation = sk.LagrangianLinearTIR(np.array([normal, tangent], dtype=float), np.array([gap, 0.0]))
    interaction = sk.Interaction(law, relation)
    model.link(interaction, body)
    keep += [law, relation, interaction]
simulation = sk.TimeStepping(model, sk.TimeDiscretisation(0.0, dt), sk.MoreauJeanOSI(0.5), sk.FrictionContact(2))
begin, n = time.perf_counter(), 0
while n < steps:
    simulation.computeOneStep()
    simulation.nextStep()
    n += 1
print(json.dumps({"seconds": time.perf_counter() - begin, "q": list(map(float, body.q()))}))
"""


@kernel(inline=True)
def contact_by_hand(alpha: float, beta: float, delta: float, c_N: float, c_T: float, mu: float) -> tuple:
    """Impulses of one contact, the others held: open, stick, or one of two slips."""
    if c_N >= 0.0:
        return 0.0, 0.0
    det = alpha * beta - delta**2
    N, T = (-beta * c_N + delta * c_T) / det, (delta * c_N - alpha * c_T) / det
    if not (N >= 0.0 and abs(T) <= mu * N):
        N = -c_N / (alpha + mu * delta)
        T = mu * N
        if c_T + delta * N + beta * T > 0.0:
            N = -c_N / (alpha - mu * delta)
            T = -mu * N
    return N, T


@entry(long_work=True)
def hand_written(q: np.ndarray, u: np.ndarray, mass_inverse: np.ndarray, p: tuple, dt: float, steps: int) -> None:
    """The woodpecker alone: constants inlined, mass inverted by hand, no record, no certificate."""
    r_O, r_M, h_M, l_M, l_G, h_S, l_S, m_M, m_S, c, g, mu, e = p
    y, a, b = q[0], q[1], q[2]
    v, wa, wb = u[0], u[1], u[2]
    W_N = np.array([[0.0, 0.0, -h_S], [0.0, h_M, 0.0], [0.0, -h_M, 0.0]])
    W_T = np.array([[1.0, l_M, l_G - l_S], [1.0, r_M, 0.0], [1.0, r_M, 0.0]])
    I = mass_inverse  # noqa: E741
    V_N, V_T = np.empty((3, 3)), np.empty((3, 3))
    alpha, beta, delta = np.zeros(3), np.zeros(3), np.zeros(3)
    for k in range(3):
        for j in range(3):
            V_N[k, j] = W_N[k, 0] * I[0, j] + W_N[k, 1] * I[1, j] + W_N[k, 2] * I[2, j]
            V_T[k, j] = W_T[k, 0] * I[0, j] + W_T[k, 1] * I[1, j] + W_T[k, 2] * I[2, j]
            alpha[k] += W_N[k, j] * V_N[k, j]
            beta[k] += W_T[k, j] * V_T[k, j]
            delta[k] += W_N[k, j] * V_T[k, j]
    eps = np.array([e, 0.0, 0.0])
    P, gap, before = np.zeros((3, 2)), np.empty(3), np.empty(3)
    for _ in range(steps):
        ym, am, bm = y + 0.5 * dt * v, a + 0.5 * dt * wa, b + 0.5 * dt * wb
        h0, h1, h2 = -(m_S + m_M) * g, -c * (am - bm) - m_S * l_M * g, -c * (bm - am) - m_S * l_G * g
        f0 = v + dt * (I[0, 0] * h0 + I[0, 1] * h1 + I[0, 2] * h2)
        f1 = wa + dt * (I[1, 0] * h0 + I[1, 1] * h1 + I[1, 2] * h2)
        f2 = wb + dt * (I[2, 0] * h0 + I[2, 1] * h1 + I[2, 2] * h2)
        gap[0] = l_M + l_G - l_S - r_O - h_S * bm
        gap[1] = r_M - r_O + h_M * am
        gap[2] = r_M - r_O - h_M * am
        closed = 0
        for k in range(3):
            if gap[k] <= 0.0:
                closed += 1
                P[k, 0] = 0.0
                P[k, 1] = 0.0
                before[k] = eps[k] * (W_N[k, 0] * v + W_N[k, 1] * wa + W_N[k, 2] * wb)
        for _sweep in range(1000 if closed > 0 else 0):
            change = 0.0
            for k in range(3):
                if gap[k] > 0.0:
                    continue
                c_N = W_N[k, 0] * f0 + W_N[k, 1] * f1 + W_N[k, 2] * f2 + before[k]
                c_T = W_T[k, 0] * f0 + W_T[k, 1] * f1 + W_T[k, 2] * f2
                c_N -= alpha[k] * P[k, 0] + delta[k] * P[k, 1]
                c_T -= delta[k] * P[k, 0] + beta[k] * P[k, 1]
                N, T = contact_by_hand(alpha[k], beta[k], delta[k], c_N, c_T, mu)
                dN, dT = N - P[k, 0], T - P[k, 1]
                P[k, 0], P[k, 1] = N, T
                f0 += V_N[k, 0] * dN + V_T[k, 0] * dT
                f1 += V_N[k, 1] * dN + V_T[k, 1] * dT
                f2 += V_N[k, 2] * dN + V_T[k, 2] * dT
                change = max(change, abs(alpha[k] * dN) + abs(beta[k] * dT))
            if closed == 1 or change < 1e-13:
                break
        v, wa, wb = f0, f1, f2
        y, a, b = ym + 0.5 * dt * v, am + 0.5 * dt * wa, bm + 0.5 * dt * wb
    q[0], q[1], q[2] = y, a, b
    u[0], u[1], u[2] = v, wa, wb


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Rates of all programs [steps/s], ratios to ours, start times and memory; `say` reports progress."""
    from stickslip.library import woodpecker

    steps = 300_000 if quick else 3_000_000
    scenario = woodpecker()
    result: dict[str, Any] = {"system": "woodpecker", "dt": DT, "steps": steps, "rates": {}}
    say("compiling our kernels and the hand-written one")
    options: dict[str, Any] = {"dt": DT, "progress": False}
    runs: dict[str, Callable[[], Any]] = {}
    for solver in ("auto", "gauss-seidel", "lemke"):
        scenario.simulate(t_end=0.1, solver=solver, **options)
        runs[solver] = partial(scenario.simulate, t_end=steps * DT, every=steps, solver=solver, **options)
    p = scenario.system.parameter_values
    named = dict(zip(scenario.system.parameter_names, p.tolist(), strict=True))
    order = ("r_O", "r_M", "h_M", "l_M", "l_G", "h_S", "l_S", "m_M", "m_S", "c_phi", "g", "friction")
    constants = (*(named[key] for key in order), named["restitution_normal"])
    inverse = np.linalg.inv(scenario.system.mass(scenario.q0))

    def by_hand(n: int = steps) -> np.ndarray:
        q, u = scenario.q0.copy(), scenario.u0.copy()
        hand_written(q, u, inverse, constants, DT, n)
        return q

    difference = np.abs(by_hand(2000) - scenario.simulate(t_end=2000 * DT, **options).q[-1]).max()
    result["hand_written_agrees_to"] = float(difference)
    runs["hand-written"] = by_hand
    best = dict.fromkeys(runs, np.inf)
    for turn in range(3 if quick else 5):  # programs alternate, so that a busy moment of the machine hits all
        say(f"marching {steps:,} steps, round {turn + 1}")
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)
    result["rates"] = {name: steps / seconds for name, seconds in best.items()}
    result["auto_over_hand_written"] = best["auto"] / best["hand-written"]
    say("Siconos")
    result["siconos"] = _siconos(named, scenario, 3_000 if quick else 30_000)
    if result["siconos"]:
        result["auto_over_siconos"] = result["rates"]["auto"] / result["siconos"]["rate"]
    say("start of a fresh process, with an empty and with a filled cache")
    result["start"] = _starts()
    return result


def _siconos(parameters: dict[str, float], scenario: Any, steps: int) -> dict[str, Any] | None:
    data = {**parameters, "q0": scenario.q0.tolist(), "u0": scenario.u0.tolist()}
    command = [SICONOS_PYTHON, "-c", _SICONOS, json.dumps(data), str(DT), str(steps)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    return {"rate": steps / answer["seconds"], "steps": steps}


def _starts() -> dict[str, float]:
    """Time from the shell to the summary of `run woodpecker --t-end 1` [s], and the peak memory of its process [MB]."""
    command = [sys.executable, "-m", "stickslip", "run", "woodpecker", "--t-end", "1", "--quiet"]
    seconds = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "STICKSLIP_CACHE": cache}
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            seconds.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024.0
    return {"first_s": seconds[0], "later_s": min(seconds[1:]), "peak_memory_MB": peak}


def table(result: dict[str, Any]) -> Any:
    """The result of `measure` as a Rich table."""
    from rich.table import Table

    grid = Table(title=f"Woodpecker, dt = {result['dt']:g} s, one core")
    grid.add_column("what")
    grid.add_column("time steps per second", justify="right")
    grid.add_column("our auto is faster by", justify="right")
    auto = result["rates"]["auto"]
    for name, rate in result["rates"].items():
        grid.add_row(f"stickslip, {name}" if name != "hand-written" else name, f"{rate:.2e}", f"{auto / rate:.2f}")
    if result["siconos"]:
        rate = result["siconos"]["rate"]
        grid.add_row("Siconos, Python interface", f"{rate:.2e}", f"{auto / rate:.0f}")
    else:
        grid.add_row("Siconos, Python interface", "not installed", "")
    start = result["start"]
    grid.caption = (
        f"first start {start['first_s']:.1f} s, later starts {start['later_s']:.1f} s, "
        f"peak memory {start['peak_memory_MB']:.0f} MB; hand-written kernel agrees to "
        f"{result['hand_written_agrees_to']:.0e} after 2000 steps"
    )
    return grid
