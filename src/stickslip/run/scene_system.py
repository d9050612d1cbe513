"""A scene in space as a system for the event-driven judge: features of bodies touch, and change during the run.

Bodies, joints and loads are a mechanism, derived by symbols.  Contacts are places: every pair of pieces has as many as
it may need at a time.  A place that is closed has a feature of its own, which is held until it ends or the contact
opens; open ones show the nearest features, in order.  The held features are parameters of the system, -1 where none is,
so that gaps and directions are functions of coordinates and parameters as in any system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.mechanisms.system import CONTACT, TANGENT, System
from stickslip.run.free_bodies import world_rates
from stickslip.run.scene_features import NOWHERE, Pose, cross
from stickslip.run.scene_pairs import OnPlane, Pair
from stickslip.scenes.bodies import Body
from stickslip.scenes.shapes import rotation_matrix

NEAR = 1e-3  # of the bodies' size: gaps of places whose directions are worked out
SAME = 1e-8  # of the bodies' size: places that are one
STRIDE = 0.4  # of the smaller body's size: what bodies move in a step, beside the way up to where they may meet
TURNED = 0.2  # sine of the angle between a normal and the axis that gives the tangents their direction, at least
NONE = -1.0  # no feature is held


@dataclass(frozen=True, eq=False)
class Place:
    """One place of a pair: its number there."""

    pair: int
    number: int


class SceneSystem(System):
    """A scene whose contacts are places; `inner` is the mechanism of its bodies, joints and loads without contacts."""

    has_features = True

    def __init__(self, inner: System, bodies: Sequence[Body], pairs: Sequence[Pair | OnPlane]) -> None:
        self.inner, self.pairs = inner, tuple(pairs)
        self.moving = {body.number: i for i, body in enumerate(b for b in bodies if b.kind == "moving")}
        self.still = {
            body.number: Pose(body.position, rotation_matrix(body.orientation), body.velocity, np.zeros(3))
            for body in bodies
            if body.kind != "moving"
        }
        self.places = [Place(i, k) for i, pair in enumerate(self.pairs) for k in range(pair.places)]
        self.size = max((sum(pair.reaches) for pair in self.pairs), default=1.0)
        own = [f"{pair.names[1]} and {pair.names[0]}" for pair in self.pairs]
        labels = [f"{own[place.pair]}, pair {place.pair + 1}, place {place.number + 1}" for place in self.places]
        names = [name for label in labels for name in (label, f"{label}: tangent 2")]
        self._last: Any = None
        self._laws = self._all_laws()
        super().__init__(
            name=inner.name, coordinate_names=inner.coordinate_names, velocity_names=inner.velocity_names,
            contact_names=(*names, *inner.contact_names),
            contact_kinds=((CONTACT, TANGENT) * len(self.places)) + tuple(inner.contact_kinds),
            parameters={f"feature at {label}": NONE for label in labels}, source=inner.source(), units=inner.units,
            forced=inner.forced,
        )  # fmt: skip

    # -- the parts that the mechanism has ----------------------------------------------------------------------

    def mass(self, q: Any, t: float = 0.0, p: Array | None = None) -> Array:
        return self.inner.mass(q, t)

    def force(self, q: Any, u: Any, t: float = 0.0, p: Array | None = None) -> Array:
        return self.inner.force(q, u, t)

    def energy(self, q: Any, u: Any, t: float = 0.0, p: Array | None = None) -> tuple[float, float]:
        return self.inner.energy(q, u, t)

    def gap_sizes(self, q: Any, t: float = 0.0, p: Array | None = None) -> Array:
        own = np.full(2 * len(self.places), self.size)
        return np.concatenate([own, self.inner.gap_sizes(q, t)])

    def laws(self, p: Array | None = None) -> tuple[Array, Array, Array, Array]:
        return self._laws

    def _all_laws(self) -> tuple[Array, Array, Array, Array]:
        found = [self.pairs[place.pair].law for place in self.places]
        rows = np.repeat(np.array([(law.mu, law.eps_N, law.eps_T, 0.0) for law in found]).reshape(-1, 4), 2, axis=0)
        rows[1::2, 1] = 0.0  # a second tangent has no normal
        mu, eps_N, eps_T, threshold = (
            np.concatenate([column, more]) for column, more in zip(rows.T, self.inner.laws(), strict=True)
        )
        return mu, eps_N, eps_T, threshold

    # -- places and features -----------------------------------------------------------------------------------

    def poses(self, q: Array, u: Array | None = None) -> dict[int, Pose]:
        """Poses of all bodies by number; without u they are at rest."""
        found = dict(self.still)
        for number, i in self.moving.items():
            x, Q = q[7 * i : 7 * i + 3], q[7 * i + 3 : 7 * i + 7]
            v = w = np.zeros(3)
            if u is not None:
                v, w = u[7 * i : 7 * i + 3], 2.0 * (world_rates(Q) @ u[7 * i + 3 : 7 * i + 7])
            found[number] = Pose(x, rotation_matrix(Q), v, w)
        return found

    def _shown(self, q: Array, p: Array) -> tuple[np.ndarray, Array, Array, list[Any]]:
        """Feature (k,) of each place, -1 for none, its gap and how far inside it counts; and what each pair sees."""
        key = (q.tobytes(), p.tobytes())
        if self._last is not None and self._last[0] == key:
            found: tuple[np.ndarray, Array, Array, list[Any]] = self._last[1]
            return found
        poses = self.poses(q)
        feature, gap, counts = np.full(len(self.places), -1), np.empty(len(self.places)), np.ones(len(self.places))
        seen, at = [], 0
        for pair in self.pairs:
            own = slice(at, at + pair.places)
            g, inside = pair.look((poses[pair.bodies[0]], poses[pair.bodies[1]]))
            seen.append((g, inside))
            at += pair.places
            if pair.fixed:
                feature[own], gap[own] = np.arange(pair.places), g
                continue
            held = np.where(p[own] >= 0.0, p[own] // 3.0, -1.0).astype(int)
            free = np.flatnonzero(held < 0)
            may = inside >= 0.0
            may[held[held >= 0]] = False
            nearest = np.flatnonzero(may)
            nearest = nearest[np.argsort(g[nearest], kind="stable")[: len(free)]]
            shown = held.copy()
            shown[free[: len(nearest)]] = nearest
            feature[own] = shown
            gap[own] = np.where(shown >= 0, g[np.maximum(shown, 0)], min(NOWHERE, float(g.max(initial=NOWHERE))))
            counts[own] = np.where(held >= 0, inside[np.maximum(held, 0)], 1.0)
        self._last = key, (feature, gap, counts, seen)
        return feature, gap, counts, seen

    def gap(self, q: Any, t: float = 0.0, p: Array | None = None) -> Array:
        q = np.asarray(q, dtype=float)
        own = self._shown(q, self._parameters(p))[1]
        return np.concatenate([np.repeat(own, 2), self.inner.gap(q, t)])

    def counts(self, q: Array, p: Array) -> Array:
        """How far inside the held features count, (n,): below 0 a contact has moved off them; 1 where none is held."""
        found = np.ones(self.n_contacts)
        found[0 : 2 * len(self.places) : 2] = self._shown(q, p)[2]
        return found

    def longest_step(self, q: Array, u: Array, du: Array) -> float:
        """See `System.longest_step`: up to where pairs may meet, or what moves them by a share of their sizes."""
        poses, longest = self.poses(q, u), np.inf
        for pair in self.pairs:
            speed = pull = 0.0
            for number, reach in zip(pair.bodies, pair.reaches, strict=True):
                pose = poses[number]
                speed += float(np.linalg.norm(pose.v)) + float(np.linalg.norm(pose.w)) * reach
                if number in self.moving:
                    at = 7 * self.moving[number]
                    pull += float(np.linalg.norm(du[at : at + 3]))
            way = max(STRIDE * min(reach for reach in pair.reaches if reach > 0.0), pair.apart(poses))
            # speed dt + pull dt^2 / 2 = way
            root = np.sqrt(speed * speed + 2.0 * pull * way)
            longest = min(longest, 2.0 * way / max(speed + float(root), 1e-300))
        return longest

    def _frame(self, index: int, feature: int, axis: int, poses: dict[int, Pose]) -> Any:
        """Touch of a feature with its two tangents and their rates."""
        pair = self.pairs[self.places[index].pair]
        pose = poses[pair.bodies[0]], poses[pair.bodies[1]]
        touch = pair.touch(feature, pose)
        R, w = pose[0].R, pose[0].w if not pair.fixed else np.zeros(3)
        n = touch.n
        if axis < 0:
            axis = int(np.argmin(np.abs(R.T @ n)))
        a = R[:, axis]
        a_rate = cross(w, a)
        line = a - n * (n @ a)
        size = float(np.sqrt(line @ line))
        t1 = line / size
        rate = a_rate - touch.n_rate * (n @ a) - n * (touch.n_rate @ a + n @ a_rate)
        t1_rate = (rate - t1 * (t1 @ rate)) / size
        t2, t2_rate = cross(n, t1), cross(touch.n_rate, t1) + cross(n, t1_rate)
        return touch, np.array([n, t1, t2]), np.array([touch.n_rate, t1_rate, t2_rate]), axis, size

    def _near(self, q: Array, p: Array) -> list[tuple[int, int, int]]:
        """Places whose directions matter, with their features and axes."""
        feature, gap, _, _ = self._shown(q, p)
        index = np.flatnonzero((feature >= 0) & ((gap <= NEAR * self.size) | (p >= 0.0)))
        return [(int(i), int(feature[i]), int(p[i] % 3.0) if p[i] >= 0.0 else -1) for i in index]

    def geometry(self, q: Any, t: float = 0.0, p: Array | None = None) -> tuple[Array, Array, Array]:
        q, p = np.asarray(q, dtype=float), self._parameters(p)
        n, k = self.n_contacts, 2 * len(self.places)
        W_N, W_T, w_hat = np.zeros((n, self.n_dof)), np.zeros((n, self.n_dof)), np.zeros((n, 2))
        W_N[k:], W_T[k:], w_hat[k:] = self.inner.geometry(q, t)
        poses = self.poses(q)
        for i, feature, axis in self._near(q, p):
            touch, D, _, _, _ = self._frame(i, feature, axis, poses)
            for sign, number in zip((-1.0, 1.0), self.pairs[self.places[i].pair].bodies, strict=True):
                if number not in self.moving:
                    slip = sign * (D @ poses[number].v)  # of a belt
                    w_hat[2 * i, 1] += slip[1]
                    w_hat[2 * i + 1, 1] += slip[2]
                    continue
                at = 7 * self.moving[number]
                rows = np.empty((3, 7))
                rows[:, :3] = sign * D
                turn = cross((touch.p - poses[number].x)[None], D)
                rows[:, 3:] = sign * 2.0 * (turn @ world_rates(q[at + 3 : at + 7]))
                W_N[2 * i, at : at + 7] = rows[0]
                W_T[2 * i, at : at + 7], W_T[2 * i + 1, at : at + 7] = rows[1], rows[2]
        return W_N, W_T, w_hat

    def drift(self, q: Any, u: Any, t: float = 0.0, p: Array | None = None) -> Array:
        q, u, p = np.asarray(q, dtype=float), np.asarray(u, dtype=float), self._parameters(p)
        zeta = np.zeros((self.n_contacts, 2))
        zeta[2 * len(self.places) :] = self.inner.drift(q, u, t)
        poses = self.poses(q, u)
        for i, feature, axis in self._near(q, p):
            touch, D, D_rate, _, _ = self._frame(i, feature, axis, poses)
            slip, bend = np.zeros(3), np.zeros(3)
            for sign, number in zip((-1.0, 1.0), self.pairs[self.places[i].pair].bodies, strict=True):
                body = poses[number]
                slip += sign * (body.v + cross(body.w, touch.p - body.x))
                if number in self.moving:
                    bend += sign * cross(body.w, touch.p_rate - body.v)
            rates = D @ bend + D_rate @ slip  # c of the contact point that moves, and the directions that turn
            zeta[2 * i] = rates[:2]
            zeta[2 * i + 1, 1] = rates[2]
        return zeta

    # -- what is held ------------------------------------------------------------------------------------------

    def _own(self, flags: np.ndarray) -> np.ndarray:
        """Of rows of contacts, those of the places."""
        return flags[0 : 2 * len(self.places) : 2]

    def holding(self, p: Array) -> np.ndarray:
        found = np.ones(self.n_contacts, bool)
        fixed = np.array([self.pairs[place.pair].fixed for place in self.places], dtype=bool)
        found[0 : 2 * len(self.places) : 2] = fixed | (p >= 0.0)
        return found

    def held(self, q: Array, p: Array, closed: np.ndarray, tol: float, left: np.ndarray | None = None) -> Array:
        """See `System.held`.  Features that are one place, such as two corners on one another, are held once."""
        leaving = np.zeros(len(self.places), bool) if left is None else self._own(left)
        gone = np.where(leaving & (p >= 0.0), p // 3.0, NONE)
        p = np.where(self._own(closed) & ~leaving & (self._own(self.counts(q, p)) >= 0.0), p, NONE)
        poses = self.poses(q)
        _, _, _, seen = self._shown(q, p)
        at = 0
        for pair, (g, inside) in zip(self.pairs, seen, strict=True):
            own = range(at, at + pair.places)
            at += pair.places
            if pair.fixed:
                continue
            taken = [self._frame(i, int(p[i] // 3.0), int(p[i] % 3.0), poses) for i in own if p[i] >= 0.0]
            kept = {int(p[i] // 3.0) for i in own if p[i] >= 0.0} | {int(gone[i]) for i in own}
            free = [i for i in own if p[i] < 0.0]
            for c in sorted(np.flatnonzero((g <= tol) & (inside >= 0.0)).tolist(), key=lambda c: (g[c], c)):
                if c in kept:
                    continue
                frame = self._frame(own[0], c, -1, poses)
                if any(_one(frame, other, SAME * self.size) for other in taken):
                    continue
                if not free:
                    raise ValueError(
                        f"{pair.names[1]!r} and {pair.names[0]!r} touch at more than {pair.places} places at a time."
                    )
                p[free.pop(0)] = 3.0 * c + frame[3]
                taken.append(frame)
        return np.asarray(p)

    def released(self, p: Array, closed: np.ndarray) -> Array:
        """Parameters that hold features at closed places alone."""
        return np.where(self._own(closed), p, NONE)


def _one(frame: Any, other: Any, size: float) -> bool:
    apart = frame[0].p - other[0].p
    return bool(apart @ apart <= size * size and frame[0].n @ other[0].n > 1.0 - 1e-6)
