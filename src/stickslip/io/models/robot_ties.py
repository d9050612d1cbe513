"""Joints of a robot that follow others, and its ropes, as rows of a scene: couplings, gears, racks, pulleys, springs.

A row of a scene ties two bodies.  Two joints on one body that moves are three bodies: wheels on parallel axes roll on
one another, other joints are led by a small slider or pinion on that body, as in a real gripper.  Where the second
joint hangs on the first one, wheels of the bodies on both sides roll on one another.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.io.models.robot_masses import carrier
from stickslip.scenes.shapes import IDENTITY

if TYPE_CHECKING:
    from stickslip.io.models.robot import Robot
    from stickslip.io.models.robot_content import Writer

SAME = 1e-9  # of directions that count as one
RADIUS = 0.05  # [m] of pinions and of the wheels that meet a slider; the motion does not depend on it


@dataclass(frozen=True)
class Coupling:
    """A joint that follows another one: x = offset + ratio * x_led, as the file counts them."""

    follower: str
    leader: str
    ratio: float
    offset: float
    line: int
    what: str


@dataclass(frozen=True)
class Rope:
    """A tendon through points of links, by name and in their frames; None: of the world."""

    name: str
    points: list[tuple[str | None, np.ndarray]]
    line: int
    longest: float | None = None  # [m]
    shortest: float = 0.0  # [m]
    stiffness: float = 0.0  # [N/m]
    damping: float = 0.0  # [N s/m]
    rest: float | None = None  # [m]
    losses: list[str] = field(default_factory=list)  # further settings, which are left out


def starts(robot: Robot, values: dict[str, float]) -> None:
    """Put joints that follow others where these lead them; chains of followers are followed."""
    for coupling in robot.couplings:
        if coupling.follower in robot.options.pose:
            raise ValueError(
                f"pose must not set joint {coupling.follower!r}, which follows {coupling.leader!r}; set that one."
            )
    for _ in robot.couplings:
        for coupling in robot.couplings:
            values[coupling.follower] = coupling.offset + coupling.ratio * values[coupling.leader]


def known(robot: Robot, coupling: Coupling) -> bool:
    """Whether both joints are there, with an axis each; else a note says so."""
    kinds = {axis.name: axis.kind for link in robot.links for axis in link.axes}
    wrong = [name for name in (coupling.follower, coupling.leader) if kinds.get(name) in (None, "spherical")]
    if wrong or coupling.follower == coupling.leader or not math.isfinite(coupling.ratio) or coupling.ratio == 0.0:
        why = f"joint {wrong[0]!r} has no axis" if wrong else "its ratio leads nowhere"
        robot.notes.append(f"line {coupling.line}: {coupling.what}: {why}")
        return False
    return True


def sorted_out(robot: Robot) -> list[Coupling]:
    """The couplings that can be met: each joint follows one other, and none leads itself; notes name the others.

    Where a joint is said to follow two, the second one follows it instead.
    """
    leads: dict[str, str] = {}
    found: list[Coupling] = []
    for each in (coupling for coupling in robot.couplings if known(robot, coupling)):
        coupling = each
        if coupling.follower in leads:
            ratio, offset = 1.0 / each.ratio, -each.offset / each.ratio
            coupling = replace(each, follower=each.leader, leader=each.follower, ratio=ratio, offset=offset)
        top = coupling.leader
        while top in leads:
            top = leads[top]
        if coupling.follower in leads or top == coupling.follower:
            robot.notes.append(f"line {each.line}: {each.what}: {each.follower!r} would lead itself; it is left out")
            continue
        leads[coupling.follower] = coupling.leader
        found.append(coupling)
    return found


class Ties:
    """Rows that tie the joints and bodies of a robot, as entries of its model file."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.robot = writer, writer.robot
        self.entries: list[dict[str, Any]] = []
        self.springs: list[dict[str, Any]] = []
        self.held = {joint["b"]: joint["a"] for joint in writer.joints if joint["type"] == "fixed"}
        self.static = {"world", *(body["name"] for body in writer.bodies if body.get("type") == "static")}

    def _whole(self, body: str) -> str:
        """The body that a body is fixed to, or itself."""
        while body in self.held:
            body = self.held[body]
        return "world" if body in self.static else body

    # -- joints --------------------------------------------------------------------------------------------------------

    def couple(self) -> None:
        """Tie every follower to a joint that moves with its leader and that it can be tied to."""
        led: dict[str, tuple[str, float]] = {}  # joint -> the one that leads it in the end, and the ratio to that
        for coupling in self.robot.couplings:
            top, ratio = led.get(coupling.leader, (coupling.leader, 1.0))
            led[coupling.follower] = (top, ratio * coupling.ratio)
        tied: dict[str, list[str]] = {}
        for coupling in self.robot.couplings:
            top, ratio = led[coupling.follower]
            family = tied.setdefault(top, [top])
            others = [coupling.leader, *(name for name in family if name != coupling.leader)]
            partners = [(name, led.get(name, (top, 1.0))[1]) for name in others if name in family]
            if any(self._tie(coupling.follower, name, ratio / own) for name, own in partners):
                family.append(coupling.follower)
            else:
                self.robot.notes.append(
                    f"line {coupling.line}: {coupling.what}: no row ties {coupling.follower!r} to {coupling.leader!r}, "
                    "since they share no body or their axes do not fit; it moves freely"
                )

    def _tie(self, follower: str, leader: str, k: float) -> bool:
        """Rows for x_follower = k x_leader, counted from the start; False where there are none."""
        first, second = self.writer.by_axis[follower], self.writer.by_axis[leader]
        a, b = (self._whole(joint["a"]) for joint in (first, second))
        if a == b == "world":
            self.entries.append(
                {
                    "type": "coupling", "first": first["name"], "second": second["name"], "ratio": k,
                    "name": self._name(f"{follower} follows {leader}"),
                }
            )  # fmt: skip
            return True
        if a == b:
            return self._on_one_body(first, second, k)
        if a == self._whole(second["b"]):
            return self._on_the_next(first, second, k)
        if b == self._whole(first["b"]):
            return self._on_the_next(second, first, 1.0 / k)
        return False

    def _on_one_body(self, first: dict[str, Any], second: dict[str, Any], k: float) -> bool:
        """Two joints on one body that moves."""
        e, f = np.array(first["axis"]), np.array(second["axis"])
        slides = [joint["type"] == "prismatic" for joint in (first, second)]
        if slides == [True, True]:
            self._pinion(first, second, k)
            return True
        if slides == [False, False]:
            alike = math.copysign(1.0, float(e @ f))
            apart = np.linalg.norm(np.cross(f, np.array(first["at"]) - np.array(second["at"])))
            parallel = np.linalg.norm(np.cross(e, f)) < SAME and apart > 1e-6
            if parallel and abs(alike * k - 1.0) > SAME:
                self._gear(first, second, f, -alike * k)
            else:
                self._slider(first, second, k)
            return True
        if abs(float(e @ f)) > SAME:
            return False
        rack, wheel, ratio = (first, second, k) if slides[0] else (second, first, 1.0 / k)
        self._rack(rack["b"], wheel, np.array(rack["axis"]), -ratio)
        return True

    def _on_the_next(self, first: dict[str, Any], second: dict[str, Any], k: float) -> bool:
        """The first joint hangs on the body that the second one moves: hinges with parallel axes alone."""
        e, f = np.array(first["axis"]), np.array(second["axis"])
        p, q = np.array(second["at"]), np.array(first["at"])
        across = np.cross(f, q - p)
        if [first["type"], second["type"]] != ["revolute", "revolute"] or np.linalg.norm(np.cross(e, f)) > SAME:
            return False
        if np.linalg.norm(across) < 1e-6:
            return False
        alike = k * math.copysign(1.0, float(e @ f))
        outer = {"a": second["a"], "at": p, "b": first["b"], "far": q}
        if abs(alike + 1.0) > SAME:
            self._wheels(outer["a"], p, outer["b"], q, f, 1.0 / alike)
            return True
        middle = 0.5 * (p + q) + across  # an idle wheel, off the line of the others, turns the way round
        idle = self._helper(first, "idler", "revolute", middle, f)
        self._wheels(outer["a"], p, idle, middle, f, 1.0)
        self._wheels(idle, middle, outer["b"], q, f, -1.0 / alike)
        return True

    def _gear(self, first: dict[str, Any], second: dict[str, Any], axis: np.ndarray, ratio: float) -> None:
        self._wheels(first["b"], np.array(first["at"]), second["b"], np.array(second["at"]), axis, ratio)

    def _wheels(self, a: str, p: np.ndarray, b: str, q: np.ndarray, axis: np.ndarray, ratio: float) -> None:
        """Two wheels, r_a turn_a + r_b turn_b = 0 with ratio = r_b / r_a."""
        at = {"at_a": p.tolist(), "at_b": q.tolist(), "axis": axis.tolist()}
        entry = {"type": "gear", "a": a, "b": b, **at, "ratio": float(ratio), "collide": True}
        self.entries.append({**entry, "name": self._name(f"{b} gear")})

    def _rack(self, rack: str, wheel: dict[str, Any], along: np.ndarray, radius: float) -> None:
        """A rack on the body that carries the wheel's hinge: its travel is -radius times the turn of the wheel."""
        axis, at = np.array(wheel["axis"]), np.array(wheel["at"])
        mesh = at + radius * np.cross(axis, along)
        entry = {"type": "rack", "a": rack, "b": wheel["b"], "at": at.tolist(), "along": along.tolist()}
        entry |= {"mesh": mesh.tolist(), "collide": True, "name": self._name(f"{wheel['b']} rack")}
        self.entries.append(entry)

    def _slider(self, first: dict[str, Any], second: dict[str, Any], k: float) -> None:
        """Two hinges of any directions: a slider across both axes meets a wheel of each."""
        e, f = np.array(first["axis"]), np.array(second["axis"])
        along = _across(e, f)
        name = self._helper(first, "slider", "prismatic", np.array(first["at"]), along)
        self._rack(name, first, along, RADIUS / k)
        self._rack(name, second, along, RADIUS)

    def _pinion(self, first: dict[str, Any], second: dict[str, Any], k: float) -> None:
        """Two slides of any directions: both are racks of one pinion."""
        e, f = np.array(first["axis"]), np.array(second["axis"])
        at, axis = np.array(second["at"]), _across(e, f)
        name = self._helper(first, "pinion", "revolute", at, axis)
        wheel = {"b": name, "at": at, "axis": axis}
        self._rack(first["b"], wheel, e, k * RADIUS)
        self._rack(second["b"], wheel, f, RADIUS)

    def _helper(self, joint: dict[str, Any], what: str, kind: str, at: np.ndarray, axis: np.ndarray) -> str:
        """A small body on the body that carries a joint."""
        writer = self.writer
        link = writer.owner[joint["b"]]
        own = carrier(writer.masses[link.name])
        inertia = max(own.inertia[0, 0], own.volume * RADIUS**2)  # it turns as a wheel of some size
        entry: dict[str, Any] = {
            "name": f"{joint['b']} {what}", "shape": {"type": "sphere", "radius": 1e-3}, "mass": own.volume,
            "inertia": (inertia * np.eye(3)).tolist(), "position": at.tolist(), "orientation": IDENTITY.tolist(),
        }  # fmt: skip
        name = writer.helper(entry, link)
        hinge = {"type": kind, "a": joint["a"], "b": name, "at": at.tolist(), "axis": axis.tolist()}
        writer.joints.append({**hinge, "name": self._name(name)})
        return name

    def _name(self, wanted: str) -> str:
        return self.writer.joint_name(wanted)

    # -- ropes ---------------------------------------------------------------------------------------------------------

    def rope(self, rope: Rope) -> None:
        """A rope, a pulley or a spring, or a note that says why there is none."""
        if rope.losses:
            self.robot.notes.append(f"line {rope.line}: {', '.join(rope.losses)} of the tendon {rope.name!r}")
        bodies = ["world" if link is None else self.writer.label.get(link, "world") for link, _ in rope.points]
        frames = {link.name: link.pose for link in self.robot.links}
        at = [p if link is None else frames[link].point(p) for link, p in rope.points]
        told = f"line {rope.line}: the tendon {rope.name!r}"
        inner = all(body in self.static for body in bodies[1:-1])
        if rope.longest is None and rope.stiffness == 0.0 and rope.damping == 0.0:
            self.robot.notes.append(f"{told} has no limit, stiffness or damping: it moves nothing by itself")
            return
        if not inner or bodies[0] == bodies[-1] or not 2 <= len(at) <= 4 or bodies[-1] in self.static:
            bodies, at = bodies[::-1], at[::-1]  # the second end is one that moves
        if not inner or bodies[0] == bodies[-1] or len(at) > 4 or bodies[-1] in self.static:
            self.robot.notes.append(f"{told} runs over points that move, or over more than two: it is left out")
            return
        if rope.longest is not None:
            self._limit(rope, bodies, at, told)
        if rope.stiffness > 0.0 or rope.damping > 0.0:
            if len(at) > 2:
                self.robot.notes.append(f"{told}: stiffness and damping are left out, since it runs over a pulley")
                return
            now = float(np.linalg.norm(at[1] - at[0]))
            self.springs.append(
                {
                    "a": bodies[0], "b": bodies[1], "at_a": at[0].tolist(), "at_b": at[1].tolist(),
                    "stiffness": rope.stiffness, "damping": rope.damping,
                    "length": now if rope.rest is None else rope.rest,
                }
            )  # fmt: skip

    def _limit(self, rope: Rope, bodies: list[str], at: list[np.ndarray], told: str) -> None:
        """The largest length of a tendon: a rope, or a pulley."""
        assert rope.longest is not None
        spans = [float(np.linalg.norm(q - p)) for p, q in itertools.pairwise(at)]
        if rope.shortest > 0.0:
            self.robot.notes.append(f"{told}: its least length {rope.shortest:g} m is left out, ropes only pull")
        if rope.longest < sum(spans) * (1.0 - 1e-12):
            self.robot.notes.append(
                f"{told} is longer at the start, {sum(spans):.6g} m, than its largest length {rope.longest:g} m: it "
                "begins as long as it is"
            )
        length = max(rope.longest, sum(spans))
        ends = {"a": bodies[0], "b": bodies[-1], "at_a": at[0].tolist(), "at_b": at[-1].tolist()}
        entry: dict[str, Any] = {"type": "rope", **ends, "length": length, "name": self._name(rope.name)}
        if len(at) > 2:
            if bodies[0] in self.static:
                self.robot.notes.append(f"{told} is held at one end and runs over a pulley: it is left out")
                return
            inside = spans[1] if len(at) == 4 else 0.0
            entry |= {"type": "pulley", "length": length - inside, "over_a": at[1].tolist(), "over_b": at[-2].tolist()}
        self.entries.append(entry)


def _across(e: np.ndarray, f: np.ndarray) -> np.ndarray:
    """A unit vector at right angles to both directions."""
    found = np.cross(e, f)
    if np.linalg.norm(found) < SAME:
        found = np.cross(e, np.eye(3)[int(np.argmin(np.abs(e)))])
    found = found / np.linalg.norm(found)
    found -= (found @ e) * e  # to all digits, which a rack asks for
    return np.asarray(found / np.linalg.norm(found))
