"""The contacts of one moment as a table: what touches, where, and with which impulses and forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import markup

_SHOWN = 20


@dataclass(frozen=True, eq=False)
class ContactTable:
    """One row per contact that is closed; columns are arrays, `table["gap"]`, and `len(table)` counts the rows.

    Columns of a mechanism: `contact` (name), `gap` [m], `normal_impulse`, `tangential_impulse` [N s] of the last step,
    `normal_force`, `tangential_force` [N] (impulse over step size), `state` (a word of `STATE_NAMES`).

    Columns of a scene: `body`, `other` (names), `point` (n, 3) [m] and `normal` (n, 3) in world coordinates, the normal
    points from `body` to `other`; `gap` [m], `normal_impulse` [N s], `tangential_impulse` (n, 3) [N s] and `force`
    (n, 3) [N] on `other` in world coordinates, `state`.

    Forces in an impact are impulses over the length of a step: they grow without bound as the step becomes smaller.
    """

    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["gap"])

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self.columns:
            raise KeyError(f"no column {key!r}; the columns are {', '.join(self.columns)}")
        return self.columns[key]

    def of(self, name: str) -> ContactTable:
        """The rows of one contact, or those in which one body takes part."""
        names = [key for key in ("contact", "body", "other") if key in self.columns]
        mask = np.any([self.columns[key] == name for key in names], axis=0)
        return ContactTable({key: value[mask] for key, value in self.columns.items()})

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
        return "\n".join(lines) if len(self) else "no contact is closed"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return markup.columns_table(self.columns, len(self), f"{len(self)} closed contacts")


def _cell(value: Any) -> str:
    if isinstance(value, np.ndarray):
        # adding zero turns -0 into 0
        return f"({', '.join(f'{x + 0.0:.4g}' for x in value)})"
    return str(value) if isinstance(value, str) else f"{value:.6g}"
