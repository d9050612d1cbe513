"""Derivatives of the impulses of an impact, and the table of them that `sensitivity` returns.

The impulse of a contact is a function Lambda(x-, t, p) of the state before the impact.  The impact itself moves in
time by dt*, so that along a quantity z

    dLambda/dz = Lambda_x (X- + f- dt*) + Lambda_t dt* + Lambda_p

with X- = dx/dz and the field f- before the impact.  Newton's law with its branch held gives Lambda_x, Lambda_t and
Lambda_p along with the velocities behind the impact; other laws are differenced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip import markup
from stickslip.analysis.slopes import Slopes, open_unknowns
from stickslip.checks import Array, unknown_name

if TYPE_CHECKING:
    from stickslip.analysis.saltation import ImpactBranch

_SAME = 1e-6  # share by which impulses of the held branch may differ from those of the motion
_ROWS, _COLUMNS = 12, 6  # that are printed


def impulse_slopes(slopes: Slopes, branch: ImpactBranch, z: Array, D: Array, y: Array, dy: Array) -> Array:
    """Derivatives (n, 2, K) of normal and tangential impulses in directions D, of Newton's law with its branch held.

    nan where a share is open, because contacts or constraints imply one another.

    y, dy : (u+, Lambda) and its derivatives, (f + rows, ...), the solution of `Slopes.impact`
    """
    f, n, hit = slopes.f, slopes.n, branch.motion.hit
    assert hit is not None
    residual, size = slopes.impact(branch)
    vague = open_unknowns(slopes.values(residual, z[:, None], size)[1][0], f)
    found, dy = np.zeros((n, 2, D.shape[1])), dy.copy()
    given = np.stack([hit.normal_impulse, hit.tangential_impulse], axis=-1)
    rows = branch.rows()
    off = np.array([abs(y[f + r] - given[k, part]) for r, (k, part) in enumerate(rows)])
    dy[f:][vague[f:] | (off > _SAME * np.abs(given).max())] = np.nan
    N = len(z)
    moved = np.concatenate([D, dy[:f]])
    mu = slopes.slopes(
        lambda A: slopes.blow_friction(A[:N], A[N:], branch), np.concatenate([z, y[:f]])[:, None], moved
    )[:, 0]
    for r, (k, part) in enumerate(rows):
        found[k, part] = dy[f + r]
        if not part and branch.ratio[k] != 0.0:  # slips: Lambda_T = r Lambda_N with |r| = mu
            found[k, 1] = branch.ratio[k] * dy[f + r] + np.sign(branch.ratio[k]) * mu[k] * y[f + r]
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Impulses:
    """Impulses of the impacts of a run with their derivatives; rows are those of `Trajectory.impacts()`.

    Attributes
    ----------
    names : (k,) quantities
    t : (m,) times of the impacts [s];  contacts : (m,) names;  dt : (m, k), derivatives of the times
    normal, tangential : (m,) impulses [N s];  dnormal, dtangential : (m, k), their derivatives.  A constraint answers
        an impact by an impulse in `tangential`.  nan where contacts or constraints that imply one another share an
        impulse in a way that is open, and where the motion has no derivative
    """

    names: tuple[str, ...]
    t: Array
    contacts: tuple[str, ...]
    dt: Array
    normal: Array
    tangential: Array
    dnormal: Array
    dtangential: Array

    @classmethod
    def of_rows(cls, names: tuple[str, ...], contact_names: Sequence[str], rows: Any, slopes: Any, dt: Any) -> Impulses:
        """The table of rows (time, contact, ..., Lambda_N, Lambda_T, ...) with slopes (m, 2, k) and dt (m, k)."""
        table = np.array(rows, float).reshape(len(rows), 8)
        d = np.array(slopes, float).reshape(len(rows), 2, len(names))
        return cls(
            names, table[:, 0], tuple(contact_names[int(k)] for k in table[:, 1]),
            np.array(dt, float).reshape(len(rows), len(names)), table[:, 4], table[:, 5], d[:, 0], d[:, 1],
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.t)

    def of(self, contact: str) -> Impulses:
        """The impulses of one contact, by name."""
        if contact not in self.contacts:
            raise ValueError(unknown_name("contact with impacts", contact, tuple(dict.fromkeys(self.contacts))))
        kept = np.array([name == contact for name in self.contacts])
        parts = (x[kept] for x in (self.normal, self.tangential, self.dnormal, self.dtangential))
        return Impulses(self.names, self.t[kept], (contact,) * int(kept.sum()), self.dt[kept], *parts)

    def arrays(self) -> dict[str, Any]:
        """Arrays by the names that they have in a file."""
        return {
            "impulse_t": self.t, "impulse_contacts": self.contacts, "impulse_dt": self.dt,
            "impulse_normal": self.normal, "impulse_tangential": self.tangential,
            "impulse_dnormal": self.dnormal, "impulse_dtangential": self.dtangential,
        }  # fmt: skip

    def __repr__(self) -> str:
        if not len(self):
            return "no impacts"
        shown = self.names[:_COLUMNS]
        rows = [["time [s]", "contact", "P_N [N s]", *(f"dP_N/d{name}" for name in shown)]]
        slides = bool(np.any(self.tangential != 0.0) or np.any(self.dtangential != 0.0))
        rows[0] += ["P_T [N s]", *(f"dP_T/d{name}" for name in shown)] if slides else []
        for i in range(min(len(self), _ROWS)):
            rows.append([f"{self.t[i]:.9g}", self.contacts[i], *_shown(self.normal[i], self.dnormal[i])])
            rows[-1] += _shown(self.tangential[i], self.dtangential[i]) if slides else []
        left = [f"... {len(self) - _ROWS} more impacts"] if len(self) > _ROWS else []
        left += [f"... {len(self.names) - _COLUMNS} more quantities"] if len(self.names) > _COLUMNS else []
        return "\n".join([*markup.aligned(rows), *left])


def _shown(value: float, slopes: Array) -> list[str]:
    return [f"{x + 0.0:.6g}" for x in (value, *slopes[:_COLUMNS])]
