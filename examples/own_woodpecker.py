"""Friction and restitution of your own woodpecker toy, from its period and its drop.

A film at 120 frames a second gives the period, over ten pecks, to a millisecond, and the drop to two tenths of a
millimetre.  Two numbers fix two coefficients.  The lengths and masses are those of [GS05]; measure yours.

Run: python examples/own_woodpecker.py --period 0.1445 --drop 0.0188 --plot fit.png
"""

import argparse
from pathlib import Path

import stickslip as ss


def main(arguments: list[str] | None = None) -> ss.Fit:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--period", type=float, default=0.1445, help="[s]")
    parser.add_argument("--drop", type=float, default=0.0188, help="height lost in a period [m]")
    parser.add_argument("--noise", type=float, nargs=2, default=(1e-3, 2e-4), help="of period [s] and drop [m]")
    parser.add_argument("--plot", type=Path, help="write a figure")
    options = parser.parse_args(arguments)
    found = ss.fit(
        ss.library.woodpecker(),
        {"period": options.period, "y": -options.drop},
        free={"friction": (0.27, 0.33), "restitution_normal": (0.4, 0.6)},
        noise=dict(zip(("period", "y"), options.noise, strict=True)),
        search=0,
        profile=False,
        options={"settle_returns": 40},
    )
    print(found)
    if options.plot is not None:
        found.plot().savefig(options.plot, dpi=200)
    return found


if __name__ == "__main__":
    main()
