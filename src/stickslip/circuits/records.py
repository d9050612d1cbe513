"""Records of the march of a circuit: states, events, jumps, and where the energy went."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from stickslip.circuits.network import Network


@dataclass
class Work:
    """Energies that passed during a run [J]."""

    sources: float = 0.0
    resistors: float = 0.0  # dissipated
    thresholds: float = 0.0  # dissipated at forward and breakdown voltages
    jumps: float = 0.0  # lost in jumps of charges and fluxes
    ideal: float = 0.0  # put in at ideal elements, which do no work: an error of the rule
    damping: float = 0.0  # taken out by the rule
    largest_gain: float = 0.0  # at ideal elements in one step
    largest_store: float = 0.0

    def is_finite(self) -> bool:
        """Whether all of them are numbers: a voltage of 1e160 V has an energy beyond all."""
        return all(map(math.isfinite, astuple(self)))


@dataclass
class Steps:
    """Steps of one length that were accepted: states before and after, impulses, sources."""

    t_A: np.ndarray
    t_E: np.ndarray
    h: float
    theta: float
    u_A: np.ndarray
    q_A: np.ndarray
    u_E: np.ndarray
    q_E: np.ndarray
    Lambda: np.ndarray
    Mu: np.ndarray
    sources: np.ndarray  # mean of each source branch [V]
    sources_E: np.ndarray  # at the end of the step
    conducting: np.ndarray
    status: np.ndarray
    at_end: tuple[np.ndarray, np.ndarray, np.ndarray] | None = (
        None  # u', lam, mu at the ends; None: the means over the steps
    )


@dataclass
class CircuitRecords:
    """Records at multiples of `every` steps."""

    net: Network
    records: int
    row: int = 0
    arrays: dict[str, np.ndarray] = field(init=False)
    work: Work = field(default_factory=Work)
    events: list[tuple[float, int, str]] = field(default_factory=list)  # time, branch, kind
    jumps: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        net, n = self.net, self.records
        loops, branches, rows = len(net.links), len(net.branches), len(net.row_branches)
        self.arrays = {
            "t": np.zeros(n),
            "q": np.zeros((n, loops)),
            "u": np.zeros((n, loops)),
            "voltage": np.zeros((n, branches)),
            "conducting": np.zeros((n, rows), dtype=bool),
            "status": np.zeros((n, rows), dtype=np.int8),
        }
        self._R = np.array([b.resistance for b in net.branches])
        self.elastances = np.array([b.elastance for b in net.branches])
        self._charge = np.array([b.charge for b in net.branches])
        self._thresholds = np.array([b.threshold for b in net.branches])

    def charges(self, q: np.ndarray) -> np.ndarray:
        """Charges of all branches with a capacitor, shape (n, branches); zero elsewhere [C]."""
        return np.where(self.elastances > 0.0, self._charge + q @ self.net.B, 0.0)

    def stored(self, u: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Energy in inductors and in capacitors [J], each of the shape (n,)."""
        magnetic = 0.5 * np.einsum("ni,ij,nj->n", u, self.net.M, u)
        return magnetic, 0.5 * (self.charges(q) ** 2) @ self.elastances

    def voltages(self, s: Steps) -> np.ndarray:
        """Voltage drops of all branches at the ends of the steps, shape (n, branches) [V].

        With theta = 1 mean rates and forces of a step are those of its end: the voltage law holds exactly.
        """
        net = self.net
        rate, lam, mu = s.at_end or ((s.u_E - s.u_A) / s.h, s.Lambda / s.h, s.Mu / s.h)
        i_E = s.u_E @ net.B
        drop = rate @ net.B @ net.L + i_E * self._R + self.charges(s.q_E) * self.elastances + self._thresholds
        drop[:, net.row_branches] -= lam
        drop[:, net.source_branches] += s.sources_E
        known = len(net.current_branches)
        drop[:, net.current_branches] -= mu[:, :known]
        for k, winding in enumerate(net.windings):
            for branch, turns in winding.turns.items():
                drop[:, branch] -= turns * mu[:, known + k]
        return drop

    def add_work(self, s: Steps) -> None:
        """Book the energies of steps: start + sources - resistors - thresholds - jumps + ideal - damping = end."""
        net, w, h = self.net, self.work, s.h
        u = s.theta * s.u_E + (1.0 - s.theta) * s.u_A
        i = u @ net.B
        w.sources -= h * float((s.sources * i[:, net.source_branches]).sum())
        w.sources += float((s.Mu * (u @ net.G)).sum())
        w.resistors += h * float((i * i * self._R).sum())
        w.thresholds += h * float((i * self._thresholds).sum())
        gain = (s.Lambda * (u @ net.W)).sum(axis=1)
        w.ideal += float(gain.sum())
        w.largest_gain = max(w.largest_gain, float(gain.max(initial=0.0)))
        change = s.u_E - s.u_A
        damped = np.einsum("ni,ij,nj->n", change, net.M, change) + h * h * np.einsum("ni,ij,nj->n", u, net.K, u)
        w.damping += (s.theta - 0.5) * float(damped.sum())
        magnetic, electric = self.stored(s.u_E, s.q_E)
        w.largest_store = float((magnetic + electric).max(initial=w.largest_store))  # nan where one is

    def record(self, s: Steps, wanted: np.ndarray) -> None:
        """Keep those steps that `wanted` marks."""
        count = int(wanted.sum())
        if not count:
            return
        rows = slice(self.row, self.row + count)
        a = self.arrays
        a["t"][rows], a["q"][rows], a["u"][rows] = s.t_E[wanted], s.q_E[wanted], s.u_E[wanted]
        a["voltage"][rows] = self.voltages(s)[wanted]
        a["conducting"][rows], a["status"][rows] = s.conducting, s.status
        self.row += count  # whatever interrupts before leaves the records as they were

    def mark(self) -> tuple[int, Work, int, int]:
        """Where the book stands, for `back_to`."""
        return self.row, replace(self.work), len(self.events), len(self.jumps)

    def back_to(self, mark: tuple[int, Work, int, int]) -> None:
        """Forget what was written since the mark."""
        self.row, self.work, events, jumps = mark
        del self.events[events:], self.jumps[jumps:]

    def finished(self) -> dict[str, np.ndarray]:
        """The records so far."""
        return {name: values[: self.row] for name, values in self.arrays.items()}
