"""Tables of contacts and of joint reactions: what touches, where, and with which impulses and forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from stickslip import markup
from stickslip.trajectory.tables import OPEN, STATE_NAMES

_SHOWN = 20


@dataclass(frozen=True, eq=False)
class ContactTable:
    """One row per contact that is closed; columns are arrays, `table["gap"]`, and `len(table)` counts the rows.

    Columns of a mechanism: `contact` (name), `gap` [m], `normal_impulse`, `tangential_impulse` [N s] of the last step,
    `normal_force`, `tangential_force` [N] (impulse over step size), `state` (a word of `STATE_NAMES`).

    Columns of a scene: `body`, `other` (names), `point` (n, 3) [m] and `normal` (n, 3) in world coordinates, the normal
    points from `body` to `other`; `gap` [m], `normal_impulse` [N s], `tangential_impulse` (n, 3) [N s] and `force`
    (n, 3) [N] and `torque` (n, 3) [N m] of spinning and rolling resistance on `other` in world coordinates, `state`.

    Forces in an impact are impulses over the length of a step: they grow without bound as the step becomes smaller.

    The table of a run has a column `time` [s] in front, the time of the record.
    """

    columns: dict[str, np.ndarray]
    nothing: ClassVar[str] = "no contact is closed"
    caption: ClassVar[str] = "closed contacts"
    keys: ClassVar[tuple[str, ...]] = ("contact", "body", "other")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self.columns:
            raise KeyError(f"no column {key!r}; the columns are {', '.join(self.columns)}")
        return self.columns[key]

    def of(self, name: str) -> Self:
        """The rows of one contact or joint, or those in which one body takes part."""
        names = [key for key in self.keys if key in self.columns]
        return self.where(np.any([self.columns[key] == name for key in names], axis=0))

    def at(self, time: float) -> Self:
        """The rows of the record next to a time [s], of the table of a run."""
        times = self["time"]
        if not len(times):
            return self
        return self.where(times == times[np.argmin(np.abs(times - time))])

    def where(self, mask: np.ndarray) -> Self:
        """The rows that a mask (n,) chooses."""
        return type(self)({key: value[mask] for key, value in self.columns.items()})

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame; vectors have a column for each component, `point.x`."""
        import pandas as pd

        found: dict[str, np.ndarray] = {}
        for key, value in self.columns.items():
            if value.ndim == 1:
                found[key] = value
            else:
                found |= {f"{key}.{axis}": value[:, k] for k, axis in enumerate("xyz")}
        return pd.DataFrame(found)

    def __str__(self) -> str:
        rows = [list(self.columns)]
        for i in range(min(len(self), _SHOWN)):
            rows.append([_cell(value[i]) for value in self.columns.values()])
        lines = markup.aligned(rows)
        if len(self) > _SHOWN:
            lines.append(f"... {len(self) - _SHOWN} more")
        return "\n".join(lines) if len(self) else self.nothing

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return markup.columns_table(self.columns, len(self), f"{len(self)} {self.caption}")


@dataclass(frozen=True, eq=False)
class ReactionTable(ContactTable):
    """One row per joint of a scene: `joint` (name), `force` (n, 3) [N] and `torque` (n, 3) [N m] on body b.

    World axes, torque about the centre of mass of b; limits, motors and friction are part of both.  `motor_effort`
    [N m or N] is that of the motor alone.  The table of a run has a column `time` [s] in front.
    """

    nothing: ClassVar[str] = "there is no joint"
    caption: ClassVar[str] = "joint reactions"
    keys: ClassVar[tuple[str, ...]] = ("joint",)


def stacked(tables: dict[float, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Columns of several moments, one below the other, behind a column `time` [s]; `tables`: columns by time."""
    parts = list(tables.values())
    lengths = [len(next(iter(part.values()))) for part in parts]
    times = np.repeat(np.array(list(tables), float), lengths)
    return {"time": times, **{key: np.concatenate([part[key] for part in parts]) for key in parts[0]}}


def closed_contacts(run: Any) -> ContactTable:
    """The table of the contacts of a mechanism that were closed at the records of its run."""
    rows, columns = np.nonzero(run.contact_state != OPEN)
    dt = np.diff(run.t, prepend=np.nan)[rows]  # impulses of a record are sums since the record before
    found = {
        "time": run.t[rows],
        "contact": np.array(run.contact_names, dtype=str)[columns],
        "gap": run.gap[rows, columns],
        "normal_impulse": run.normal_impulse[rows, columns],
        "tangential_impulse": run.tangential_impulse[rows, columns],
        "normal_force": run.normal_impulse[rows, columns] / dt,
        "tangential_force": run.tangential_impulse[rows, columns] / dt,
        "state": np.array(STATE_NAMES, dtype=str)[run.contact_state[rows, columns]],
    }
    return ContactTable(found)


def _cell(value: Any) -> str:
    if isinstance(value, np.ndarray):
        # adding zero turns -0 into 0
        return f"({', '.join(f'{x + 0.0:.4g}' for x in value)})"
    return str(value) if isinstance(value, str) else f"{value:.6g}"
