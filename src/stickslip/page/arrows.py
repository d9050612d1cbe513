"""Forces at the contact points of a scene's last step, for a page that simulates; a kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.layout import MOVING
from stickslip.scenes.parts import Records, World


class Arrows(NamedTuple):
    """Room for the arrows of one step."""

    written: np.ndarray  # (1,) number of arrows
    parts: np.ndarray  # (N, 6) points [m], and forces on the body that moves [N]


class Shown(NamedTuple):
    """What a march in a browser writes for the page: rows of records, and the arrows of its last step."""

    records: Records
    arrows: Arrows


def room_for(points: int) -> Arrows:
    return Arrows(np.zeros(1, np.int64), np.zeros((points, 6)))


@kernel
def write_arrows(world: World, contacts: Any, active: Any, points: int, arrows: Arrows) -> None:
    """Write the forces of the active contacts that carried a load; `page.overlay.forces` tells them in Python."""
    n = 0
    for j in range(points):
        c = active.contact[j]
        struck = contacts.hit[c, 0] != 0.0 or contacts.hit[c, 1] != 0.0 or contacts.hit[c, 2] != 0.0
        if active.r[j, 0] > 0.0 or struck:
            write_arrow(world, contacts, active, j, arrows.parts[n])
            n += 1
    arrows.written[0] = n


@kernel
def write_arrow(world: World, contacts: Any, active: Any, j: int, out: np.ndarray) -> None:
    """Write one arrow: the point at the middle of the step, and the mean force of the step on the body that moves.

    Of two bodies that move it is the one that the other holds up.
    """
    bodies, options, c = world.bodies, world.options, active.contact[j]
    a, b = contacts.a[c], contacts.b[c]
    a_moves, b_moves = bodies.kind[a] == MOVING, bodies.kind[b] == MOVING
    holder = a if a_moves else b
    along, directions = 0.0, 3 if options.dim == 3 else 2
    for k in range(3):
        out[k] = bodies.pose[holder, k] - options.theta * options.dt * bodies.vel[holder, k] + contacts.point[c, k]
        impulse = contacts.hit[c, k]
        for i in range(directions):
            impulse += active.frame[j, 3 * i + k] * active.r[j, i]
        out[3 + k] = impulse / options.dt
        along += out[3 + k] * options.gravity[k]
    if (a_moves and b_moves and along > 0.0) or not b_moves:
        for k in range(3):
            out[3 + k] = -out[3 + k]
