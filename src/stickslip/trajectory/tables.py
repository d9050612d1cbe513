"""History of the contacts of a run: states, the table of impacts, and the list of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import markup
from stickslip.checks import unknown_name

OPEN, STICK, SLIP_PLUS, SLIP_MINUS, IMPACT, CLOSED = range(6)
STATE_NAMES = ("open", "stick", "slip+", "slip-", "impact", "closed")
"""closed: a contact without friction that carries load; slip+ and slip- by the sign of gamma_T."""
IMPACT_COLUMNS = (
    "time",
    "contact",
    "normal_velocity_before",
    "normal_velocity_after",
    "normal_impulse",
    "tangential_impulse",
    "tangential_velocity_before",
    "tangential_velocity_after",
)
EVENT_KINDS = (
    "impact", "closes", "opens", "sticks", "slips", "slip reverses", "accumulation ends", "grazes", "kink",
)  # fmt: skip
"""Events of a contact: an impact, a change of its state, the end of infinitely many impacts, a gap that turns
right at zero, and a kink of its gap or slip that is passed."""
STRIKES, CLOSES, OPENS, STICKS, SLIPS, REVERSES, ACCUMULATES, GRAZES, KINK = range(len(EVENT_KINDS))
OTHER = "other"  # the column that the impacts of a scene have besides
_PRINTED = 8  # rows that `print` shows
_HEADINGS = {
    "time": "time [s]", "normal_velocity_before": "v_N before", "normal_velocity_after": "after",
    "normal_impulse": "P_N [N s]", "tangential_impulse": "P_T", "tangential_velocity_before": "v_T before",
    "tangential_velocity_after": "after",
}  # fmt: skip


@dataclass(frozen=True)
class ImpactTable:
    """One row per impact; columns are arrays, `table["time"]`, and `len(table)` counts them.

    `contact` holds contact numbers; `names` translates them.  Columns: see `IMPACT_COLUMNS`; velocities [m/s] before
    and after the step, impulses [N s].  In a scene the contacts are its bodies: `contact` is one of the two, never a
    static one, and a column `other` has the second, -1 where that is static; which of two comes first means nothing.
    """

    columns: dict[str, np.ndarray]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns["time"])

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self.columns:
            raise KeyError(f"no column {key!r}; the columns are {', '.join(self.columns)}")
        return self.columns[key]

    def of(self, contact: str) -> ImpactTable:
        """The impacts of one contact, by name; in a scene those of one body, be it the first or the second of two."""
        if contact not in self.names:
            raise ValueError(unknown_name("contact", contact, self.names))
        number = self.names.index(contact)
        mask = self.columns["contact"] == number
        if OTHER in self.columns:
            mask = mask | (self.columns[OTHER] == number)
        return ImpactTable({key: value[mask] for key, value in self.columns.items()}, self.names)

    def counts(self) -> dict[str, int]:
        """How many impacts each contact has, by name; in a scene an impact of two bodies counts for both."""
        numbers = np.concatenate([self.columns["contact"], self.columns.get(OTHER, np.zeros(0, np.int64))])
        found = np.bincount(numbers[numbers >= 0], minlength=len(self.names))
        return dict(zip(self.names, found.tolist(), strict=True))

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame with contact names; a static body has the name ""."""
        import pandas as pd

        names = np.array((*self.names, ""), dtype=object)  # number -1 is the last
        return pd.DataFrame(
            {key: names[value] if key in ("contact", OTHER) else value for key, value in self.columns.items()}
        )

    def _repr_html_(self) -> str:
        names = np.array((*self.names, "-"), dtype=object)
        columns = {key: names[x] if key in ("contact", OTHER) else x for key, x in self.columns.items()}
        return markup.columns_table(columns, len(self), f"{len(self)} impacts")

    def __str__(self) -> str:
        """The first impacts, with short headings: v is a velocity before and after [m/s], P an impulse [N s]."""
        names, shown = (*self.names, "-"), min(len(self), _PRINTED)
        rows = [[_HEADINGS.get(key, key) for key in self.columns]]
        for i in range(shown):
            row = {key: f"{value[i]:.4g}" for key, value in self.columns.items()}
            row |= {key: names[int(self.columns[key][i])] for key in ("contact", OTHER) if key in row}
            rows.append(list((row | {"time": f"{self.columns['time'][i]:.9g}"}).values()))
        lines = markup.aligned(rows)
        if shown < len(self):
            counts = ", ".join(f"{name} {n}" for name, n in list(self.counts().items())[:6] if n)
            lines.append(
                f"... {len(self) - shown} more of {len(self)}: {counts}{', ...' if len(self.names) > 6 else ''}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class EventTable:
    """Events of the contacts of a run, one row per event and contact, in the order of time.

    Attributes
    ----------
    time : (n,) [s]
    kind : (n,) words of `EVENT_KINDS`
    contact : (n,) names
    exact : whether times are those of the events (event-driven); else changes of state have the times of the records
        that show them, and what is between two records is not seen
    names : of all contacts of the run
    """

    time: np.ndarray
    kind: np.ndarray
    contact: np.ndarray
    exact: bool
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[tuple[float, int, int]], names: tuple[str, ...], exact: bool) -> EventTable:
        """From rows of time, number of the kind, and number of the contact."""
        ordered = sorted(rows, key=lambda row: row[0])
        return cls(
            np.array([row[0] for row in ordered], dtype=float),
            np.array([EVENT_KINDS[row[1]] for row in ordered], dtype=str),
            np.array([(*names, "")[row[2]] for row in ordered], dtype=str),  # -1: none, a kink of the forces
            exact,
            names,
        )

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in ("time", "kind", "contact"):
            raise KeyError(f"no column {key!r}; the columns are time, kind, contact")
        column: np.ndarray = getattr(self, key)
        return column

    def of_kind(self, kind: str) -> EventTable:
        """The events of one kind."""
        if kind not in EVENT_KINDS:
            raise ValueError(unknown_name("kind of event", kind, EVENT_KINDS))
        return self._where(self.kind == kind)

    def of_contact(self, contact: str) -> EventTable:
        """The events of one contact, by name."""
        if contact not in self.names:
            raise ValueError(unknown_name("contact", contact, self.names))
        return self._where(self.contact == contact)

    def _repr_html_(self) -> str:
        columns = {"time": self.time, "kind": self.kind, "contact": self.contact}
        return markup.columns_table(columns, len(self), f"{len(self)} events")

    def _where(self, mask: np.ndarray) -> EventTable:
        return EventTable(self.time[mask], self.kind[mask], self.contact[mask], self.exact, self.names)

    def counts(self) -> dict[str, int]:
        """How many events there are of each kind that occurs."""
        return {kind: int((self.kind == kind).sum()) for kind in EVENT_KINDS if np.any(self.kind == kind)}

    def to_pandas(self) -> Any:
        """The list as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame({"time": self.time, "kind": self.kind, "contact": self.contact})

    def __str__(self) -> str:
        return "\n".join(self.lines(_PRINTED))

    def lines(self, most: int | None = None) -> list[str]:
        """The table as text: a heading, then a line per event, or the first `most` and how many there are."""
        shown = len(self) if most is None else min(len(self), most)
        width = max((len(kind) for kind in self.kind[:shown]), default=4)
        rows = [f"{'time [s]':>18}  {'kind':<{width}}  contact"]
        rows += [f"{self.time[i]:>18.12g}  {self.kind[i]:<{width}}  {self.contact[i]}" for i in range(shown)]
        if shown < len(self):
            rows.append(
                f"... {len(self) - shown} more: {', '.join(f'{n} {kind}' for kind, n in self.counts().items())}"
            )
        return rows


def seen_events(t: np.ndarray, states: np.ndarray, impacts: ImpactTable) -> list[tuple[float, int, int]]:
    """The events that records (n,) and (n, c) and the table of impacts show; the first record has no step before it."""
    rows = [(float(time), STRIKES, int(k)) for time, k in zip(impacts["time"], impacts["contact"], strict=True)]
    for k in range(states.shape[1]):
        told = np.flatnonzero(states[1:, k] != IMPACT) + 1
        seen = states[told, k]
        for i in np.flatnonzero(seen[1:] != seen[:-1]):
            last, state = seen[i], seen[i + 1]
            if OPEN in (state, last):
                kind = CLOSES if last == OPEN else OPENS
            else:
                kind = STICKS if state == STICK else (SLIPS if last == STICK else REVERSES)
            rows.append((float(t[told[i + 1]]), kind, k))
    return rows
