"""A chunk of members of any ensemble, mechanisms or scenes, on a device."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from stickslip.ensembles.bounds import judge
from stickslip.ensembles.cpu import Cores, Report
from stickslip.ensembles.gpu import Card
from stickslip.ensembles.request import Request
from stickslip.ensembles.scene_card import compute_on_card
from stickslip.ensembles.scene_members import compute_scenes, run_member
from stickslip.ensembles.scenes import SceneRequest

AnyRequest = Request | SceneRequest


def compute_chunk(
    request: AnyRequest, where: Cores | Card, first: int, last: int, report: Report
) -> dict[str, np.ndarray]:
    """The arrays of the result for the members first .. last - 1."""
    if isinstance(request, SceneRequest):
        if isinstance(where, Card):
            return compute_on_card(request, first, last, where, report)
        return compute_scenes(request, first, last, where.threads, report)
    rows, P = request.rows(first, last)
    starts = rows[:, : 2 * request.system.n_dof].copy()
    where.advance(request, rows, P, report)
    judge(request, starts, rows, P)
    return request.read(rows)


def warm_up(request: AnyRequest, where: Cores | Card) -> None:
    """Compile the kernels, or load them from the disk cache."""
    if isinstance(request, SceneRequest) and isinstance(where, Card):
        where.warm_up(request)
    elif isinstance(request, SceneRequest):
        first = {name: float(values[0]) for name, values in request.plan.members(0, 1).items()}
        run_member(request, first, steps=1)  # what islands need is compiled at the first contact of a member
    elif isinstance(request, Request):
        where.warm_up(request)
    else:
        assert_never(request)
