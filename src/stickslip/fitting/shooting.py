"""Multiple shooting: a measured motion in pieces, each with a free start, which ties hold to the piece before.

In a chaotic motion the distance to the truth grows by orders of magnitude within the run.  The sum of squares then has
countless minima in the parameters, and a search that follows the motion from its one start ends in one of them.  In
pieces nothing grows far.  The starts of the pieces are near where the motion was measured, and the ties, loose at
first, are tightened until the pieces are one motion.

Reference: H. G. Bock, Randwertproblemmethoden zur Parameteridentifizierung, Bonner Mathematische Schriften 183 (1987).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stickslip.checks import Array
from stickslip.fitting.data import Samples, turning
from stickslip.fitting.experiments import Motion, Stepped, Unpredictable, Values
from stickslip.fitting.problem import Problem
from stickslip.mechanisms.system import CONTACT

FREEDOM = 1e3
"""Standard deviation of the start of a piece, in spreads of the quantity over the motion: as good as free."""
_NODE = "@"
_TRIES = 12  # predictions of a piece while its start is fitted to its samples alone
_GOOD = 1.5  # sum of squares per sample of a piece that is met: no further guess is tried
_ASIDE = 0.3  # spreads by which velocities of further guesses differ
_WINDOW = 1  # samples to each side from which a velocity is taken that was not measured


def node(name: str, number: int) -> str:
    """Name of the unknown start of a piece."""
    return f"{name}{_NODE}{number}"


@dataclass(eq=False)
class Shooting:
    """One measured motion in pieces.

    Attributes
    ----------
    whole : the motion in one piece
    pieces : its parts in the order of time; all but the last predict the state at their ends
    states : names of coordinates and velocities
    spread : state -> how far it ranges over the motion: the unit of its ties
    """

    whole: Motion | Stepped
    pieces: Sequence[Motion | Stepped]
    states: tuple[str, ...]
    spread: Mapping[str, float]
    replaced: int = field(default=0)

    def __post_init__(self) -> None:
        self.y = np.concatenate([piece.y for piece in self.pieces])
        self.t = np.concatenate([piece.t for piece in self.pieces])
        self.channel = np.concatenate([piece.channel.astype("U64") for piece in self.pieces])
        offsets = np.cumsum([0, *(1 + len(piece.data.t) for piece in self.pieces[:-1])])
        self.row = np.concatenate([piece.row + k for piece, k in zip(self.pieces, offsets, strict=True)])
        self.name = self.whole.name
        nodes: dict[str, float] = {}
        self.free: dict[str, float] = {}  # start of a piece -> its standard deviation
        for number, piece in enumerate(self.pieces[1:], 1):
            nodes |= {node(name, number): float(piece.data.start[name]) for name in self.states}
            self.free |= {node(name, number): FREEDOM * self.spread[name] for name in self.states}
        self.starts: Mapping[str, float] = {**self.whole.starts, **nodes}

    def _own(self, number: int, values: Values) -> dict[str, float]:
        """Values of the quantities of one piece; starts that vary, or are free, are those of the first one."""
        own = {name: value for name, value in values.items() if _NODE not in name}
        if number:
            own = {name: value for name, value in own.items() if name not in self.states}
            own |= {name: values[node(name, number)] for name in self.states}
        return own

    def predict(self, values: Values, until: float = np.inf) -> Array:
        parts = []
        for number, piece in enumerate(self.pieces):
            y = piece.predict(self._own(number, values), until)
            if piece.ends:
                y[-len(self.states) :] -= [values[node(name, number + 1)] for name in self.states]
            parts.append(y)
        return np.concatenate(parts)

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float = np.inf) -> tuple[Array, Array]:
        at, wide = {name: k for k, name in enumerate(names)}, dict(zip(names, scales.tolist(), strict=True))
        y, J = np.empty(len(self.y)), np.zeros((len(self.y), len(names)))
        row = 0
        for number, piece in enumerate(self.pieces):
            own = self._own(number, values)
            asked = {name: node(name, number) if number and name in self.states else name for name in own}
            asked = {name: label for name, label in asked.items() if label in at}
            reach = [self.spread[name] if _NODE in label else wide[label] for name, label in asked.items()]
            rows = slice(row, row + len(piece.y))
            row = rows.stop
            y[rows], slope = piece.slopes(own, tuple(asked), np.array(reach), until)
            J[rows, [at[label] for label in asked.values()]] = slope
            if piece.ends:
                for i, name in enumerate(self.states):
                    label = node(name, number + 1)
                    y[rows.stop - len(self.states) + i] -= values[label]
                    if label in at:
                        J[rows.stop - len(self.states) + i, at[label]] -= 1.0
        self.replaced = sum(getattr(piece, "replaced", 0) for piece in self.pieces)
        return y, J


def in_pieces(
    whole: Motion | Stepped, states: tuple[str, ...], count: int, values: Values, sigma: Mapping[str, float]
) -> Shooting:
    """A motion cut into `count` pieces between its samples.

    The starts of pieces are what was measured there.  Velocities that were not measured are slopes of coordinates.
    What else is missing is predicted from the piece before at the given values, or taken from the model's start.  The
    start of a piece of a mechanism is then fitted to the samples of this piece alone; sigma : noise of the columns.
    """
    t = whole.data.t
    seen = _measured_states(whole.data, states)
    edges = _edges(whole, seen, count)
    pieces: list[Motion | Stepped] = []
    state = dict(whole.data.start)
    found: dict[str, list[float]] = {name: [] for name in states}
    for number in range(len(edges) - 1):
        first, stop = int(edges[number]), int(edges[number + 1])
        last = number == len(edges) - 2
        t0 = whole.t0 if number == 0 else float(t[first])
        data = _part(whole.data, first, stop, state)
        until = None if last else float(t[stop])
        own = whole.starts if number == 0 else {}
        piece = replace(whole, data=data, starts=own, t0=t0, until=until, ends=not last)
        pieces.append(piece)
        if last:
            break
        free = {name: x for name, x in values.items() if number == 0 or name not in states}
        try:
            end = piece.predict(free, np.inf)[-len(states) :]
        except Unpredictable:
            end = np.array([data.start.get(name, 0.0) for name in states])
        state = dict(zip(states, end.tolist(), strict=True))
        predicted = dict(state)
        state |= _there(seen, stop, state)
        if isinstance(whole, Motion):
            reach = {name: _spread(seen.get(name), [*found[name], state[name], predicted[name]]) for name in states}
            following = int(edges[number + 2])
            later = replace(whole, data=_part(whole.data, stop, following, {}), t0=float(t[stop]))
            rates = states[len(states) // 2 :]
            aside = [{**state, **{n: state[n] + x * reach[n] for n in rates}} for x in (-_ASIDE, _ASIDE)]
            state = _fitted_start(later, (state, predicted, *aside), reach, values, sigma)
        for name in states:
            found[name].append(state[name])
    spread = {name: _spread(seen.get(name), found[name]) for name in states}
    return Shooting(whole, pieces, states, spread)


def _fitted_start(
    piece: Motion, guesses: Sequence[Mapping[str, float]], reach: Mapping[str, float], values: Values,
    sigma: Mapping[str, float],
) -> dict[str, float]:  # fmt: skip
    """The start of a piece that comes nearest to its samples, from several guesses, with all else at given values."""
    params = {**piece.data.params, **{name: x for name, x in values.items() if name not in reach}}
    least, best = np.inf, dict(guesses[0])
    for guess in guesses:
        if least < _GOOD * len(piece.y):
            break
        alone = replace(piece, data=replace(piece.data, params=params), starts=guess)
        problem = Problem([alone], (), np.zeros(0), np.zeros(0), reach, dict(sigma))
        z, chi2 = problem.refine(np.zeros(problem.size), tries=_TRIES)
        if chi2 < least:
            least, best = chi2, problem.of(0, z)
    return best


def _edges(whole: Motion | Stepped, seen: Mapping[str, Array], count: int) -> np.ndarray:
    """Samples at which pieces begin, and the number of samples; far from contacts, since an impact cuts the ties.

    An impact that moves past the start of a piece turns its velocity round: the ties would jump.
    """
    n = len(whole.data.t)
    even = np.round(np.linspace(0, n, count + 1)).astype(int)
    if not isinstance(whole, Motion):
        return np.unique(even)
    system = whole.scenario.system
    kinds = np.array(system.contact_kinds, dtype=int) == CONTACT
    if not kinds.any() or not all(name in seen for name in system.coordinate_names):
        return np.unique(even)
    q = np.stack([seen[name] for name in system.coordinate_names], 1)
    p = system.parameter_vector({**(whole.scenario.params or {}), **whole.data.params})
    room = np.array([np.min(system.gap(q[k], float(whole.data.t[k]), p)[kinds]) for k in range(n)])
    third = max(1, n // (3 * count))
    edges = [0]
    for middle in even[1:-1]:
        near = np.arange(max(edges[-1] + 2, middle - third), min(n - 2, middle + third + 1))
        edges.append(int(near[np.argmax(room[near])]) if len(near) else int(middle))
    return np.unique([*edges, n])


def _there(seen: Mapping[str, Array], row: int, predicted: Mapping[str, float]) -> dict[str, float]:
    """What the samples say of the state in a row; a quaternion with the sign of the predicted one."""
    found = {name: float(column[row]) for name, column in seen.items() if np.isfinite(column[row])}
    for name in [name for name in found if name.endswith(".qw")]:
        turn = [f"{name[:-2]}{axis}" for axis in ("qw", "qx", "qy", "qz")]
        if all(each in found for each in turn) and sum(found[each] * predicted[each] for each in turn) < 0.0:
            found |= {each: -found[each] for each in turn}
    return found


def _spread(column: Array | None, nodes: list[float]) -> float:
    values = np.asarray(nodes if column is None else column[np.isfinite(column)])
    size = float(np.std(values)) if len(values) > 1 else 0.0
    return size or float(np.max(np.abs(values), initial=0.0)) or 1.0


def _part(data: Samples, first: int, stop: int, start: Mapping[str, float]) -> Samples:
    columns = {name: values[first:stop] for name, values in data.columns.items()}
    return Samples(data.t[first:stop], columns, dict(start), data.params, data.name)


def _measured_states(data: Samples, states: Sequence[str]) -> dict[str, Array]:
    """State -> (n,) what the samples say of it, nan where they say nothing; states come as coordinates, velocities."""
    found = {name: _filled(data.t, column) for name, column in data.columns.items()}
    found |= {name: rate for name, rate in turning(data).items() if name not in found}
    half = len(states) // 2
    plain = len(states) % 2 == 0 and not any(name.endswith(".qw") for name in states)
    pairs = zip(states[:half], states[half:], strict=True) if plain else _pairs_in_space(states)
    for coordinate, velocity in pairs:
        if coordinate in found and velocity not in found:
            found[velocity] = _slope(data.t, found[coordinate])
    return found


def _pairs_in_space(states: Sequence[str]) -> list[tuple[str, str]]:
    """Positions of bodies in space with their velocities."""
    pairs = []
    for name in states:
        body, dot, axis = name.rpartition(".")
        if axis in ("x", "y", "z") and f"{body}{dot}v{axis}" in states:
            pairs.append((name, f"{body}{dot}v{axis}"))
    return pairs


def _filled(t: Array, column: Array) -> Array:
    """The column with its gaps filled in by straight lines."""
    there = np.isfinite(column)
    return np.interp(t, t[there], column[there]) if there.any() else column


def _slope(t: Array, column: Array) -> Array:
    """Slopes of straight lines through a few samples about each."""
    found = np.full(len(t), np.nan)
    for k in range(len(t)):
        near = slice(max(0, k - _WINDOW), k + _WINDOW + 1)
        if len(t[near]) > 1:
            found[k] = np.polyfit(t[near] - t[k], column[near], 1)[0]
    return found
