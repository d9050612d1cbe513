"""Masses and inertias of a robot's links: links without mass, inertias that no body has."""

from __future__ import annotations

import numpy as np

from stickslip.io.models.robot_links import Link
from stickslip.io.models.robot_shapes import together
from stickslip.scenes.given import LEAST_PRINCIPAL
from stickslip.scenes.shapes import MassProperties

CARRIER = 1e-5
"""Mass of a link that carries nothing but joints, as a share of the mass that hangs on it."""


def carrier(of: MassProperties | None) -> MassProperties:
    """Mass of a link that has none: a ball with a small share of a neighbour's mass and inertia."""
    if of is None:
        return MassProperties(CARRIER, np.zeros(3), 1e-2 * CARRIER * np.eye(3))
    return MassProperties(CARRIER * of.volume, np.zeros(3), CARRIER * float(np.trace(of.inertia)) / 3.0 * np.eye(3))


def repaired(own: MassProperties, link: Link) -> MassProperties:
    """The nearest inertia that a body has: its second moments, 1/2 tr(I) 1 - I, have no negative principal value.

    An inertia of zero is that of the shapes, or of a ball of 0.1 m.
    """
    inertia = own.inertia
    largest = float(np.abs(inertia).max())
    if largest == 0.0:
        shapes = together([part for geometry in link.geometries if (part := geometry.weighed()) is not None])
        if shapes is None:
            return MassProperties(own.volume, own.centre, 0.4 * own.volume * 0.1**2 * np.eye(3))
        return MassProperties(own.volume, own.centre, shapes.inertia * (own.volume / shapes.volume))
    moments, axes = np.linalg.eigh(0.5 * float(np.trace(inertia)) * np.eye(3) - inertia)
    least = 1e-3 * largest
    if np.all(moments >= 0.0) and np.linalg.eigvalsh(inertia)[0] > 1e3 * LEAST_PRINCIPAL * largest:
        return own
    second = axes @ np.diag(np.maximum(moments, least)) @ axes.T
    fixed = float(np.trace(second)) * np.eye(3) - second
    return MassProperties(own.volume, own.centre, 0.5 * (fixed + fixed.T))
