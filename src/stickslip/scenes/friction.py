"""Scenes whose friction depends on slip: the host solves every step, coefficients and slip together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.engine import Block
from stickslip.laws.friction import FrictionLaw
from stickslip.laws.slip import DEPENDS, EARLY, GRABS, HELD, Round, Slip, begin_slip, holds, next_slip
from stickslip.mechanisms.steppers.sliding import ROUNDS
from stickslip.scenes import step
from stickslip.scenes.bodies import Body, Material
from stickslip.scenes.engine import SceneEngine, SceneState
from stickslip.scenes.islands.problem import contact_velocity
from stickslip.scenes.rescue import Rescue
from stickslip.scenes.scene import Scene

AT_REST = 1e-8  # of the velocities: slip below is the solver's tolerance, as for the contact states of a scene


def engine_class(scene: Scene) -> type[SceneEngine]:
    """The engine that a scene needs."""
    materials = [*(body.material for body in scene.bodies), *scene.pair_laws.values()]
    return SlidingSceneEngine if any(isinstance(m.friction, FrictionLaw) for m in materials) else SceneEngine


class SlidingSceneEngine(SceneEngine):
    """Marches a scene with friction laws: the rounds of `laws.slip` go around the solution of a step's islands.

    A contact's flag is that of the point of the same pair of geometries next to it in the step before.
    """

    def __init__(self, scene: Scene, *arguments: Any) -> None:
        super().__init__(scene, *arguments)
        self.options = self.options._replace(start=-1.0)  # no start is good enough: the host sees every step
        self.flags: dict[tuple[int, int], list[tuple[np.ndarray, bool]]] | None = None
        self.slipping: list[int] = []  # active contacts of the step whose friction depends on slip
        self.slip_rows = Slip.room(np.zeros(0))
        self.tried = 0  # rounds of the step

    def _solve(self, rescue: Rescue) -> float:
        """Solve the islands with the coefficients that belong to their slip; the worst residual."""
        contacts = rescue.contacts
        self._begin(contacts)
        worst, islands = 0.0, int(self.counts[step.ISLANDS])
        for rounds in range(1, ROUNDS + 1):
            self.residuals[:islands] = math.inf
            worst = super()._solve(rescue)
            numbers = self.book.numbers
            numbers[codes.FRICTION_ROUNDS] = max(numbers[codes.FRICTION_ROUNDS], rounds)
            if not worst <= self.options.tol or not self._moved(contacts):
                break
        return worst

    def _call(self, state: SceneState, n: int, block: Block, resume: bool) -> int:
        """Call the kernel; a step to finish (`resume`) whose friction and slip do not agree is not solved."""
        if resume:
            contacts = self.contacts[int(self.counts[step.SIDE])]
            if self._moved(contacts):
                if not self.go_on:
                    return int(step.UNSOLVED)
                self.book.numbers[codes.FAILED_STEPS] += 1
            self._remember(contacts)
        return super()._call(state, n, block, resume)

    def _begin(self, contacts: Any) -> None:
        """Find the contacts of the step whose friction depends on slip, with their flags and first coefficients."""
        n = int(self.counts[step.ACTIVE])
        self.slipping = [i for i in range(n) if self._laws(contacts, i)]
        self.slip_rows = Slip.room(self.active.mu[:n].copy())
        self.tried = 0
        for i in self.slipping:
            code = self._code(contacts, i)
            speed = float(np.linalg.norm(self.active.before[i, 1:]))
            begin_slip.py_func(i, code, float(self._flag(contacts, i)), speed, self.slip_rows)
        self._take(contacts)

    def _code(self, contacts: Any, i: int) -> int:
        return GRABS if all(law.grabs for law in self._laws(contacts, i)) else DEPENDS

    def _materials(self, contacts: Any, i: int) -> tuple[Any, Any]:
        """Frictions of the two bodies of active contact i, or that of their pair."""
        c = int(self.active.contact[i])
        a, b = (self.scene.bodies[int(body)] for body in self.geoms.owner[contacts.pair[c]])
        pair = self.scene.pair_laws.get(_key(a, b), Material()).friction
        return (a.material.friction, b.material.friction) if pair is None else (pair, pair)

    def _laws(self, contacts: Any, i: int) -> list[FrictionLaw]:
        """The laws of active contact i; none where its friction is constant."""
        return [mu for mu in self._materials(contacts, i) if isinstance(mu, FrictionLaw) and mu.at_rest > 0.0]

    def _slip_friction(self, contacts: Any, i: int, speed: float) -> float:
        """mu at a slip speed: the static one times the laws' ratios, in the mean in which materials are combined."""
        ratios = []
        for mu in self._materials(contacts, i):
            if isinstance(mu, FrictionLaw) and mu.at_rest > 0.0:
                value = float(mu.slip(speed, mu._numbers()))
                if not 0.0 <= value < math.inf:
                    raise ValueError(
                        f"friction of a body must be finite and not negative, got {value:g} at a slip of {speed:g} m/s."
                    )
                ratios.append(value / mu.at_rest)
            elif mu is not None:
                ratios.append(1.0)
        return float(self.slip_rows.static[i] * math.prod(ratios) ** (1.0 / len(ratios)))

    def _take(self, contacts: Any) -> None:
        mode, speed, static = self.slip_rows.mode, self.slip_rows.speed, self.slip_rows.static
        for i in self.slipping:
            self.active.mu[i] = static[i] if mode[i] == HELD else self._slip_friction(contacts, i, float(speed[i]))

    def _moved(self, contacts: Any) -> bool:
        """Judge the contacts by the end velocities; whether a coefficient has to change."""
        end, mu_end, moved = self.slip_rows.end, self.slip_rows.mu_end, False
        self.tried += 1
        for i in self.slipping:
            r, before, beta = self.active.r[i], self.active.before[i], float(self.active.mobility[i])
            u, size = self._velocity(contacts, i), self._size(i)
            slip, N, T = float(np.linalg.norm(u[1:])), float(r[0]), float(np.linalg.norm(r[1 : self.options.dim]))
            end[i] = slip if slip > AT_REST * size else 0.0
            mu_end[i] = self._slip_friction(contacts, i, float(end[i]))
            speed_A = float(np.linalg.norm(before[1:]))
            along = float(u[1:] @ before[1:]) / speed_A if speed_A > 0.0 else slip
            seen = Round(float(self.active.mu[i]), speed_A, along, size, beta, N, T, 0.0)
            changes, _, contraction = next_slip.py_func(i, self.slip_rows, seen, AT_REST, self.tried > EARLY)
            moved = moved or changes
            numbers = self.book.numbers
            numbers[codes.FRICTION_CONTRACTION] = max(numbers[codes.FRICTION_CONTRACTION], contraction)
        if moved:
            self._take(contacts)
        return moved

    def _size(self, i: int) -> float:
        """How large the velocities are that the slip of active contact i is made of [m/s]."""
        fall = self.options.dt * float(np.linalg.norm(self.options.gravity))
        r = self.active.r[i, : self.options.dim]
        return fall + float(np.abs(self.active.before[i]).sum() + self.active.mobility[i] * np.abs(r).sum())

    def _velocity(self, contacts: Any, i: int) -> np.ndarray:
        """End velocity of active contact i in its frame; (3,), in the plane the last part is no slip."""
        c = int(self.active.contact[i])
        a, b = int(contacts.a[c]), int(contacts.b[c])
        u = np.array(contact_velocity(self.active, i, self.bodies, self.bodies.end, a, b))
        if self.options.dim == 2:
            u[2] = 0.0
        return u

    def _flag(self, contacts: Any, i: int) -> bool:
        """Whether active contact i stuck at the end of the step before; at the start, whether it does not slip."""
        if self.flags is None:
            before = self.active.before[i]
            return bool(
                np.linalg.norm(before[1:]) <= AT_REST * float(np.abs(before).sum()) and not self.active.impact[i]
            )
        c = int(self.active.contact[i])
        known = self.flags.get(_pair(contacts, c), [])
        if not known:
            return False
        return min(known, key=lambda entry: float(np.linalg.norm(entry[0] - contacts.local[c])))[1]

    def _remember(self, contacts: Any) -> None:
        mode, end = self.slip_rows.mode, self.slip_rows.end
        self.flags = {}
        for i in self.slipping:
            c = int(self.active.contact[i])
            speed_A, loaded = float(np.linalg.norm(self.active.before[i, 1:])), bool(self.active.r[i, 0] > 0.0)
            still = 0.0 if speed_A <= AT_REST * self._size(i) else speed_A
            sticks = holds.py_func(self._code(contacts, i), int(mode[i]), float(end[i]), still, self._size(i), loaded)
            self.flags.setdefault(_pair(contacts, c), []).append((contacts.local[c].copy(), sticks))

    def snapshot(self) -> dict[str, np.ndarray]:
        """All that changes during a run, with the flags: a row per contact point has pair, place, whether it sticks."""
        known = {} if self.flags is None else self.flags
        rows = [[*pair, *place, float(sticks)] for pair, points in known.items() for place, sticks in points]
        return {
            **super().snapshot(),
            "flags": np.array(rows).reshape(-1, 6),
            "started": np.array(self.flags is not None),
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.flags = {} if bool(arrays["started"]) else None
        for a, b, *place, sticks in arrays["flags"].reshape(-1, 6):
            assert self.flags is not None
            self.flags.setdefault((int(a), int(b)), []).append((np.array(place), bool(sticks)))


def _key(a: Body, b: Body) -> tuple[int, int]:
    return min(a.number, b.number), max(a.number, b.number)


def _pair(contacts: Any, c: int) -> tuple[int, int]:
    return int(contacts.pair[c, 0]), int(contacts.pair[c, 1])
