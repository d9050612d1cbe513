"""Three one-way drives: a rack with saw teeth and a pawl, its limit of fine teeth, and a wheel behind a sprag clutch.

The rack is pulled by F sin(W t) and held by dry friction.  Without teeth it goes one stroke forward in each period and
stays (`ss.Ratchet`).  With teeth it goes forward by whole pitches: it falls back to the last tooth that the pawl has
passed.  The wheel has the speed of its shaft until tan(W t) = d / (J W), and then runs free.

Run: python examples/ratchet_and_clutch.py --plot one_way.png
"""

import argparse
import math

import numpy as np
import sympy as sp

import stickslip as ss

MASS, FORCE, FREQUENCY, FRICTION, PITCH = 0.5, 3.0, 2.0, 1.0, 0.02


def fine_teeth() -> ss.LagrangianSystem:
    x, v, t = sp.symbols("x v t")
    return ss.LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=MASS * v**2 / 2,
        forces=[FORCE * sp.sin(2 * sp.pi * FREQUENCY * t)],
        contacts=[ss.Ratchet("pawl", x), ss.DryFriction("guide", x, FRICTION)],
        time=t,
        name="ratchet with fine teeth",
    )


def stroke() -> float:
    """Way of the rack in one period without teeth: from rest where F sin = friction until it stops again."""
    W, a = 2 * math.pi * FREQUENCY, FRICTION / FORCE
    start = math.asin(a)  # phase
    low, high = start, 2 * math.pi
    for _ in range(80):  # the velocity is F/(m W) (cos(start) - cos(p) - a (p - start))
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.cos(start) - math.cos(middle) - a * (middle - start) > 0.0 else (low, middle)
    phases = np.linspace(start, high, 20001)
    speed = FORCE / (MASS * W) * (math.cos(start) - np.cos(phases) - a * (phases - start))
    return float(np.trapezoid(speed, phases) / W)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--dt", type=float, default=2e-4)
    options.add_argument("--t-end", type=float, default=2.5)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    ends = np.arange(1, round(args.t_end * FREQUENCY) + 1) / FREQUENCY - 0.01
    # a step in which the rack stops gains Lambda u / 2 by the midpoint rule: some 1e-7 of the energy
    quiet = {"engine": "reference", "on_energy_gain": "ignore"}
    smooth = ss.simulate(fine_teeth(), [0.0], [0.0], dt=args.dt, t_end=args.t_end, **quiet)
    advance = float(np.diff(smooth["x"][np.searchsorted(smooth.t, ends)]).mean())
    teeth = ss.library.toothed_ratchet(pitch=PITCH, force=FORCE, frequency=FREQUENCY, guide_friction=FRICTION)
    toothed = teeth.simulate(dt=args.dt, t_end=args.t_end)
    steps = float(np.diff(toothed["rack.x"][np.searchsorted(toothed.t, ends)]).mean())
    clutch = ss.library.one_way_clutch().simulate(**quiet)
    turned = float(clutch["phi"][-1])
    print(f"fine teeth: {1e3 * advance:.3f} mm a period (closed form: {1e3 * stroke():.3f} mm)")
    print(f"pitch of {1e3 * PITCH:g} mm: {1e3 * steps:.3f} mm a period")
    print(f"clutch: the wheel has turned by {turned:.2f} rad while its shaft swings by {0.6:g} rad to and fro")
    for run in (smooth, toothed, clutch):
        print(run.certificate)
    if args.plot:
        import matplotlib.pyplot as plt

        _, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
        left.plot(smooth.t, 1e3 * smooth["x"], label="fine teeth")
        left.plot(toothed.t, 1e3 * (toothed["rack.x"] - toothed["rack.x"][0]), label="saw teeth")
        left.set(xlabel="t in s", ylabel="way in mm")
        left.legend()
        right.plot(clutch.t, clutch["phi"], label="wheel")
        right.plot(clutch.t, 0.6 * np.sin(4 * np.pi * clutch.t), label="shaft")
        right.set(xlabel="t in s", ylabel="angle in rad")
        right.legend()
        plt.savefig(args.plot)
    return {"advance": advance, "expected": stroke(), "steps": steps, "turned": turned}


if __name__ == "__main__":
    main()
