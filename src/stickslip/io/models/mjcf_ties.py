"""Equalities of joints and tendons of an MJCF file, as joints that follow others and as ropes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.io.models.robot import Robot
from stickslip.io.models.robot_links import Axis
from stickslip.io.models.robot_ties import Coupling, Rope
from stickslip.io.models.xml_text import Element

SITES = 20  # of a spatial tendon that are read; more are too many for a rope in any case


@dataclass
class Sites:
    """Points that tendons run through, and tendons that are sums of joints."""

    points: dict[str, tuple[str | None, np.ndarray]] = field(default_factory=dict)
    sums: dict[str, list[tuple[str, float]]] = field(default_factory=dict)


def read_tendons(robot: Robot, element: Element, sites: Sites, limits: bool) -> None:
    """The tendons of a file; `limits`: a range counts without `limited`."""
    for child in element.children:
        child.read = True
        child.used |= {"name", "class", "width", "material", "rgba", "group"}
        name = child.attribute("name") or f"tendon {child.line}"
        if child.tag == "fixed":
            _sum(robot, child, name, sites, limits)
        elif child.tag == "spatial":
            _spatial(robot, child, name, sites, limits)
        else:
            robot.leave_out(child, f"<{child.tag}> of <tendon>")


def _limited(child: Element, limits: bool) -> tuple[float, float] | None:
    limited = child.attribute("limited", "auto")
    if not child.has("range") or limited == "false" or (limited == "auto" and not limits):
        child.used |= {"range", "limited"}
        return None
    low, high = child.numbers("range", 2)
    return low, high


def _losses(child: Element, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if child.has(name) and any(child.numbers(name))]


def _sum(robot: Robot, child: Element, name: str, sites: Sites, limits: bool) -> None:
    """A tendon whose length is a sum of joints; by itself it moves nothing."""
    sites.sums[name] = [(joint.text("joint"), joint.number("coef")) for joint in child.all("joint")]
    lost = _losses(child, ("stiffness", "damping", "frictionloss", "armature"))
    lost += ["range"] if _limited(child, limits) is not None else []
    child.used |= {"springlength", "solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin"}
    for what in lost:
        robot.leave_out(child, f"{what} of the fixed tendon {name!r}")
    if not lost:
        robot.leave_out(child, f"the fixed tendon {name!r} moves nothing by itself; an equality or an actuator uses it")


def _spatial(robot: Robot, child: Element, name: str, sites: Sites, limits: bool) -> None:
    """A tendon through sites."""
    points: list[tuple[str | None, np.ndarray]] = []
    for part in child.children:
        part.read = True
        part.used |= set(part.attributes)
        if part.tag != "site" or part.attribute("site") not in sites.points or len(points) >= SITES:
            robot.leave_out(child, f"the spatial tendon {name!r}, which runs over more than some known sites")
            child.used |= set(child.attributes)
            return
        points.append(sites.points[part.attribute("site")])
    if len(points) < 2:
        robot.leave_out(child, f"the spatial tendon {name!r}, which needs two sites")
        return
    low, high = _limited(child, limits) or (0.0, None)
    rest = child.numbers("springlength", None, [-1.0])
    lost = _losses(child, ("frictionloss", "armature"))
    if len(rest) == 2 and rest[0] != rest[1]:
        lost.append("springlength with a slack range")
    child.used |= {"solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin"}
    robot.ropes.append(
        Rope(
            name, points, child.line, high, low, child.number("stiffness", 0.0), child.number("damping", 0.0),
            rest[0] if rest[0] >= 0.0 else None, lost,
        )
    )  # fmt: skip


def joint_equality(robot: Robot, child: Element) -> bool:
    """A joint that follows another one; False where it is no straight line of one joint."""
    coefficients = [*child.numbers("polycoef", None, [0.0, 1.0]), 0.0, 0.0][:5]
    child.used |= {"solref", "solimp", "name", "class", "active"}
    if not child.has("joint2") or any(coefficients[2:]):
        return False
    follower, leader = child.text("joint1"), child.text("joint2")
    zero = _zeros(robot)
    offset = zero.get(follower, 0.0) + coefficients[0] - coefficients[1] * zero.get(leader, 0.0)
    what = f"<joint> of <equality>, {follower!r} after {leader!r}"
    robot.couplings.append(Coupling(follower, leader, coefficients[1], offset, child.line, what))
    return True


def tendon_equality(robot: Robot, child: Element, sites: Sites) -> bool:
    """A fixed tendon of two joints that keeps its length; False for other tendons."""
    parts = sites.sums.get(child.attribute("tendon1"), [])
    child.used |= {"solref", "solimp", "name", "class", "active"}
    constant = child.numbers("polycoef", None, [0.0])[0]
    if child.has("tendon2") or len(parts) != 2 or 0.0 in (parts[0][1], parts[1][1]):
        return False
    (leader, c), (follower, d) = parts
    zero = _zeros(robot)
    ratio = -c / d
    offset = zero.get(follower, 0.0) + constant / d - ratio * zero.get(leader, 0.0)
    what = f"<tendon> of <equality>, {follower!r} after {leader!r}"
    robot.couplings.append(Coupling(follower, leader, ratio, offset, child.line, what))
    return True


def tendon_motor(robot: Robot, drive: Element, sites: Sites, axes: Mapping[str, Axis]) -> bool:
    """Note how a motor that pulls a fixed tendon turns its joints; False where it is none."""
    parts = sites.sums.get(drive.attribute("tendon"), [])
    if drive.tag != "motor" or not parts or any(joint not in axes for joint, _ in parts):
        return False
    gear = drive.numbers("gear", None, [1.0])[0]
    shares = ", ".join(f"sim.joint({joint!r}).torque = {gear * coefficient:g} u" for joint, coefficient in parts)
    robot.notes.append(f"the motor u of the tendon {drive.attribute('tendon')!r} is {shares}")
    drive.used |= {"ctrlrange", "ctrllimited", "forcerange", "forcelimited"}
    return True


def _zeros(robot: Robot) -> dict[str, Any]:
    return {axis.name: axis.zero for link in robot.links for axis in link.axes}
