"""Solve the LCPs of an .npz file with Siconos: `python3 siconos.py problems.npz answers.npz`.

The script runs under whatever Python has Siconos, so it imports nothing of stickslip.  For every problem i of every
group g it writes the unknowns X_g[i], solved_g[i] (whether Siconos says so) and seconds_g[i].
"""

from __future__ import annotations

import sys
import time

import numpy as np


def main(problems: str, answers: str) -> None:
    """Read the file `problems`, solve, and write the file `answers`."""
    import siconos.numerics as sn

    data = np.load(problems)
    rounds, budget = int(data["rounds"]), float(data["budget_s"])
    results: dict[str, np.ndarray] = {}
    for group in range(int(data["groups"])):
        A, b = data[f"A_{group}"], data[f"b_{group}"]
        k, n = b.shape
        X, solved, seconds = np.zeros((k, n)), np.zeros(k, bool), np.full(k, np.inf)
        options = sn.SolverOptions(sn.SICONOS_LCP_LEMKE)
        begin = time.perf_counter()
        for turn in range(rounds):
            for i in range(k):
                if turn and (not solved[i] or time.perf_counter() - begin > budget):
                    continue
                M, q = A[i], b[i]
                start = time.perf_counter()
                x, y = np.zeros(n), np.zeros(n)
                info = sn.linearComplementarity_driver(sn.LCP(M, q), x, y, options)
                seconds[i] = min(seconds[i], time.perf_counter() - start)
                X[i], solved[i] = x, info == 0
        results |= {f"X_{group}": X, f"solved_{group}": solved, f"seconds_{group}": seconds}
    np.savez(answers, **results)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(*sys.argv[1:])
