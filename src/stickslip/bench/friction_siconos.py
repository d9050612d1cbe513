"""Solve a friction problem with Siconos: `python3 bench_friction_siconos.py problem.dat SOLVER tol rounds answer.npz`.

Runs under whatever Python has Siconos, so it imports nothing of stickslip.  SOLVER is NSGS or NSN_AC.  Writes r,
whether Siconos says solved, and the least time [s] of a call of its driver, problem in and impulses out.
"""

from __future__ import annotations

import sys
import time

import numpy as np

BUDGET = 1.0  # [s] for repetitions


def main(path: str, solver: str, tol: str, rounds: str, answer: str) -> None:
    import siconos.numerics as sn

    problem = sn.frictionContact_new_from_filename(path)
    dim, n = problem.dimension, problem.numberOfContacts
    driver = sn.fc3d_driver if dim == 3 else sn.fc2d_driver
    options = sn.SolverOptions(getattr(sn, f"SICONOS_FRICTION_{dim}D_{solver}"))
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 20_000 if solver == "NSGS" else 1_000
    options.dparam[sn.SICONOS_DPARAM_TOL] = float(tol)
    best, r, solved = np.inf, np.zeros(dim * n), False
    begin = time.perf_counter()
    for turn in range(int(rounds)):
        if turn and (not solved or time.perf_counter() - begin > BUDGET):
            break
        r, u = np.zeros(dim * n), np.zeros(dim * n)
        start = time.perf_counter()
        info = driver(problem, r, u, options)
        best = min(best, time.perf_counter() - start)
        solved = info == 0
    np.savez(answer, r=r, solved=solved, seconds=best)


if __name__ == "__main__":
    main(*sys.argv[1:])
