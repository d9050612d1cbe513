"""A ball on a vibrating table: its limit cycle, the multipliers, and where the period doubles.

One bounce per period of the table exists for Gamma = A w^2 / g >= pi (1 - e)/(1 + e) and doubles its period at
Gamma_PD = sqrt((pi (1 - e)/(1 + e))^2 + (2 (1 + e^2)/(1 + e)^2)^2): there a multiplier leaves the unit circle at -1.

Run: python examples/limit_cycle_of_a_ball.py --plot ball.png
"""

import argparse
import math

import sympy as sp

import stickslip as ss

G, FREQUENCY, RESTITUTION = 9.81, 30.0, 0.8
OMEGA, PERIOD = 2 * math.pi * FREQUENCY, 1 / FREQUENCY


def model() -> ss.LagrangianSystem:
    y, v, t, g, Gamma, f = sp.symbols("y v t g Gamma f")
    table = Gamma * g / (2 * sp.pi * f) ** 2 * sp.sin(2 * sp.pi * f * t)
    return ss.LagrangianSystem.from_energies(
        [y],
        velocities=[v],
        kinetic=v**2 / 2,
        potential=g * y,
        contacts=[ss.Contact("table", gap=y - table, restitution_normal="eps")],
        parameters={g: G, Gamma: 1.0, f: FREQUENCY, "eps": RESTITUTION},
        name="ball on a vibrating table, by Gamma",
    )


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--to", type=float, default=1.2, help="last Gamma")
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    closing = math.pi * (1 - RESTITUTION) / (1 + RESTITUTION)
    after = PERIOD - math.acos(closing) / OMEGA  # seconds from the bounce to the next t = 0, at Gamma = 1
    bounce, up = G / OMEGA**2 * math.sin(math.acos(closing)), G * PERIOD / 2
    start = [bounce + up * after - G * after**2 / 2], [up - G * after]
    ball = ss.Scenario(model(), *start, dt=1e-4, t_end=1.0, title="Ball on a vibrating table", source="")
    section = ss.PhaseSection(PERIOD)
    cycle = ss.limit_cycle(ball, section=section, settle_returns=0)
    branch = ss.continue_cycle(ball, "Gamma", 1.0, args.to, section=section, settle_returns=0, largest_step=0.3)
    expected = math.hypot(closing, 2 * (1 + RESTITUTION**2) / (1 + RESTITUTION) ** 2)
    flips = [special.parameter for special in branch.specials if special.kind == "flip"]
    print(f"Gamma = 1: period {cycle.period:.6f} s, |multipliers| {abs(cycle.multipliers).round(6)}")
    print(f"period doubling at Gamma = {', '.join(f'{x:.9f}' for x in flips)} (closed form: {expected:.9f})")
    if args.plot:
        from stickslip.figures.bifurcation import branch as draw

        draw(branch).savefig(args.plot)
    return {"modulus": float(abs(cycle.multipliers[0])), "flip": flips[0] if flips else math.nan, "expected": expected}


if __name__ == "__main__":
    main()
