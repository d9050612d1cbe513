"""Shapes of other sizes, by the names of their measures: `radius`, `length`, `size_x`, or `scale` for any shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.scenes.bodies import Body
from stickslip.scenes.given import inertia_of_shape
from stickslip.scenes.shapes import (
    Box,
    Capsule,
    Circle,
    Compound,
    ConvexHull,
    HalfPlane,
    HalfSpace,
    HeightField,
    Polygon,
    Shape,
    Sphere,
    Unbounded,
)
from stickslip.scenes.smooth_shapes import Cone, Cylinder, Ellipsoid, RoundedBox, Torus
from stickslip.scenes.triangle_mesh import TriangleMesh

SCALE = "scale"
_LENGTHS: tuple[tuple[tuple[type[Shape], ...], tuple[str, ...]], ...] = (
    ((Circle, Sphere), ("radius",)),
    ((Capsule, Cylinder), ("radius", "length")),
    ((Cone,), ("radius", "height")),
    ((Torus,), ("radius", "tube")),
    ((Box,), ("size",)),
    ((RoundedBox,), ("size", "radius")),
    ((Ellipsoid,), ("radii",)),
    ((HalfPlane, HalfSpace), ("offset",)),
    ((Polygon,), ("vertices",)),
    ((ConvexHull,), ("points",)),
    ((HeightField,), ("heights", "spacing")),
    ((TriangleMesh,), ("vertices",)),
)
"""Fields of the shapes that are lengths [m]."""
_BY_NAME = ("radius", "length", "height", "tube", "offset", "spacing")  # fields that are one number
_BY_AXIS = ("size", "radii")  # fields with a number for each axis
_OWN = 1e-9  # relative: an inertia or a centre this near to that of the shape is that of the shape


def lengths_of(shape: Shape) -> tuple[str, ...]:
    """Fields of a shape that are lengths; none for a shape of an own class."""
    return next((fields for kinds, fields in _LENGTHS if isinstance(shape, kinds)), ())


def size_names(shape: Shape | None) -> tuple[str, ...]:
    """Names of the sizes of a shape that may vary."""
    if shape is None:
        return ()
    fields = lengths_of(shape)
    named = [name for name in fields if name in _BY_NAME]
    named += [f"{name}_{axis}" for name in fields if name in _BY_AXIS for axis in "xyz"]
    whole = isinstance(shape, Compound) or (bool(fields) and not isinstance(shape, Unbounded))
    return (*named, *((SCALE,) if whole else ()))


def size_of(shape: Shape, name: str) -> float:
    """A size of a shape by its name; 1 for `scale`, a factor."""
    if name == SCALE:
        return 1.0
    field, _, axis = name.partition("_")
    value = getattr(shape, field)
    return float(value["xyz".index(axis)] if field in _BY_AXIS else value)


def resized(shape: Shape, sizes: Mapping[str, float]) -> Shape:
    """The shape with other sizes; `scale` is a factor on all of its lengths, and acts first."""
    found = _scaled(shape, sizes[SCALE]) if SCALE in sizes else shape
    changed: dict[str, Any] = {}
    for name, value in sizes.items():
        field, _, axis = name.partition("_")
        if name == SCALE:
            continue
        if field in _BY_AXIS:
            entries = list(changed.get(field, getattr(found, field)))
            entries["xyz".index(axis)] = value
            changed[field] = tuple(entries)
        else:
            changed[name] = value
    return replace(found, **changed) if changed else found  # type: ignore[type-var]  # all shapes are dataclasses


def _scaled(shape: Shape, factor: float) -> Shape:
    if isinstance(shape, Compound):
        return Compound([_scaled_part(part, factor) for part in shape.parts])
    changed: dict[str, Any] = {}
    for name in lengths_of(shape):
        value = factor * np.asarray(getattr(shape, name), float)
        changed[name] = value if value.ndim > 1 else tuple(value.tolist()) if value.ndim else float(value)
    return replace(shape, **changed)  # type: ignore[type-var]  # all shapes are dataclasses


def _scaled_part(part: Any, factor: float) -> Any:
    if isinstance(part, Shape):
        return _scaled(part, factor)
    shape, position, *turn = part
    return (_scaled(shape, factor), factor * np.asarray(position, float), *turn)


def with_sizes(body: Body, sizes: Mapping[str, float]) -> Body:
    """The body with other sizes of its shape and with its mass: inertia and centre follow the shape.

    An inertia or a centre of mass that was given by hand goes with `scale` alone.
    """
    assert body.shape is not None
    for name, value in sizes.items():
        if name != "offset" and not value > 0.0:
            raise ValueError(f"{body.name}.{name} must be positive, got {value:g}.")
    shape = resized(body.shape, sizes)
    if body.kind != "moving":
        return replace(body, shape=shape)
    before, after = body.shape.mass_properties(body.dim), shape.mass_properties(body.dim)
    computed = before.inertia * (body.mass / before.volume)
    extent = float(np.sqrt(np.trace(before.inertia) / before.volume))
    own = np.allclose(body.inertia, 0.5 * (computed + computed.T), rtol=_OWN, atol=_OWN * np.trace(computed))
    if own and np.allclose(body.centre, before.centre, rtol=0.0, atol=_OWN * extent):
        tensor = inertia_of_shape(shape, after.inertia * (body.mass / after.volume), body.dim, body.name)
        return replace(body, shape=shape, inertia=tensor, centre=after.centre)
    if set(sizes) == {SCALE}:
        factor = sizes[SCALE]
        return replace(body, shape=shape, inertia=factor**2 * body.inertia, centre=factor * body.centre)
    raise ValueError(
        f"{body.name}.{next(iter(sizes))} must not vary: inertia or centre of mass of {body.name!r} were given by "
        f"hand, and do not follow the shape; vary {body.name}.{SCALE}."
    )
