"""A driven oscillator that just touches a stop: the grazing bifurcation and the square root in its section map.

The steady motion x = A cos(w t - phi) reaches the stop at x = -d when the force is F = d sqrt((1 - w^2)^2 + (c w)^2).
At this force a start that is perturbed by s strikes with a velocity of order sqrt(s) and is thrown off by as much, once
per period.

Run: python examples/grazing_oscillator.py --plot graze.png
"""

import argparse
import math

import numpy as np
import sympy as sp

import stickslip as ss
from stickslip.analysis.return_map import EventMap, Setting

OMEGA, DAMPING, CLEARANCE = 1.7, 0.1, 0.5
SECTION = ss.PhaseSection(2 * math.pi / OMEGA)
REACH = math.hypot(1 - OMEGA**2, DAMPING * OMEGA)


def oscillator(force: float) -> ss.Scenario:
    x, v, t, c, F, w, d = sp.symbols("x v t c F w d")
    system = ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=v**2 / 2,
        potential=x**2 / 2,
        forces=[F * sp.cos(w * t) - c * v],
        contacts=[ss.Contact("stop", gap=x + d, restitution_normal=0.8)],
        parameters={c: DAMPING, F: force, w: OMEGA, d: CLEARANCE},
        name="driven oscillator against a stop",
    )
    size, phase = force / REACH, math.atan2(DAMPING * OMEGA, 1 - OMEGA**2)
    start = [size * math.cos(phase)], [size * OMEGA * math.sin(phase)]
    return ss.Scenario(system, *start, dt=1e-3, t_end=20.0, title="Driven oscillator against a stop", source="")


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--from", dest="start", type=float, default=0.8, help="first force")
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    branch = ss.continue_cycle(
        oscillator(args.start), "F", args.start, 1.0, section=SECTION, settle_returns=0, largest_step=0.5
    )
    print(
        f"{branch.specials[-1].kind} at F = {branch.specials[-1].parameter:.9f} (closed form: {CLEARANCE * REACH:.9f})"
    )
    section_map = EventMap(Setting.of(oscillator(CLEARANCE * REACH), SECTION))
    x = np.concatenate([section_map.setting.scenario.q0, section_map.setting.scenario.u0])
    steps = np.geomspace(1e-6, 1e-4, 5)
    thrown = [np.linalg.norm(section_map(x + np.array([s, 0.0]), tangent=False).x - x) for s in steps]
    slope = float(np.polyfit(np.log(steps), np.log(thrown), 1)[0])
    print(f"the section map grows like the power {slope:.4f} of the perturbation (theory: 0.5)")
    if args.plot:
        import matplotlib.pyplot as plt

        plt.loglog(steps, thrown, "o-")
        plt.gca().set(xlabel="perturbation of x in m", ylabel="deviation after one period")
        plt.savefig(args.plot)
    return {"graze": branch.specials[-1].parameter, "expected": CLEARANCE * REACH, "slope": slope}


if __name__ == "__main__":
    main()
