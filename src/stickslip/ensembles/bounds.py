"""Members whose motion has left all bounds: judged where they end, as `simulate` judges its runs."""

from __future__ import annotations

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.ensembles.request import Request
from stickslip.mechanisms.bounds import FACTOR, ROUNDING, Bounds


def judge(request: Request, starts: Array, rows: Array, P: Array) -> None:
    """Give the status BLOWN_UP to members that have left all bounds on their way from `starts` (n, 2 f) to their end.

    The energies and depths in the rows clear nearly all members at once; only the others are looked at closely.
    """
    layout, system = request.module, request.system
    n, f = len(system.parameter_names), system.n_dof
    kinetic, potential = (rows[:, [layout.ENERGY_START + i, layout.ENERGY_END + i]] for i in (0, 1))
    potential = np.where(np.isfinite(potential).all(axis=1, keepdims=True), potential, 0.0)
    rise = potential[:, 1] - potential[:, 0]
    work, depth = (rows[:, layout.BOOK_OF_MEMBER + i] for i in (codes.CONTACT_WORK, codes.MAX_PENETRATION))
    known = np.maximum(np.maximum(kinetic[:, 0], np.abs(work)), np.maximum(-rise, ROUNDING * np.abs(potential).sum(1)))
    with np.errstate(all="ignore"):
        energetic = kinetic[:, 1] + np.maximum(rise, 0.0) > FACTOR * known
    deep = depth > request.penetration_tol
    t_end = request.steps * request.dt
    for i in np.flatnonzero((rows[:, layout.STATUS] == codes.DONE) & (energetic | deep)).tolist():
        bounds = Bounds(system, starts[i, :f], starts[i, f:], P[i, :n], 0.0, t_end)
        q, u = rows[i, :f], rows[i, f : 2 * f]
        excess = None
        if energetic[i]:
            end = (np.array([t_end]), q[None], u[None], kinetic[i, 1:], potential[i, 1:])
            excess = bounds.excess(*end, float(work[i]), request.dt)
        if excess or bounds.too_deep(float(depth[i]), t_end, q):
            rows[i, layout.STATUS] = codes.BLOWN_UP
