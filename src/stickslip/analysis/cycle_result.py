"""`LimitCycle`: a limit cycle as it is returned, printed and saved, with what stands behind it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip import markup
from stickslip._version import __version__
from stickslip.analysis.return_map import Setting
from stickslip.analysis.sections import TURN
from stickslip.checks import Array
from stickslip.io.disk import file_path, replacing
from stickslip.io.printable import visible
from stickslip.on_request import service

FLOW, TRANSLATION = "flow", "translation"


class NoCycle(ArithmeticError):
    """No limit cycle was found; says why."""


@dataclass(frozen=True)
class CycleCertificate:
    """Numbers by which a reader judges a limit cycle: closure, errors of the multipliers, residuals.

    Attributes
    ----------
    closure : |P(x) - x| relative to the ranges of coordinates and velocities, worst component
    error : estimated distance to the cycle, relative to the ranges, worst component: (I - DP)^-1 (P(x) - x), which is
        closure / |1 - lambda| along the direction of each multiplier lambda, and (I - DP)^-1 times the error of the
        integrator
    multiplier_error : estimated error of the multiplier that is nearest to the unit circle; nan where not asked for
    iterations : Newton steps
    trivial_defect : by how much the multipliers that must be 1 differ from 1; nan where they are not computed
    jacobian_error : largest difference between DP from saltation matrices and from differences, relative to the
        largest entry, or to 1e-3 where all are smaller; nan where not asked for.  By a time stepper: the standard error
        of the multipliers
    noise : standard error of the closure (time stepper), else 0
    max_residual : worst violation of a contact law on the way
    failed_steps : of the time stepper
    one_sided : events at which the derivative holds on one side only
    """

    closure: float
    error: float
    multiplier_error: float
    iterations: int
    trivial_defect: float
    jacobian_error: float
    noise: float
    max_residual: float
    failed_steps: int
    one_sided: int


@dataclass(frozen=True, eq=False)
class LimitCycle:
    """A limit cycle.

    Attributes
    ----------
    period : [s];  returns : passages of the section per cycle;  section : in words
    q, u : state on the section, (f,)
    error : how far (q, u) may be off the cycle, an estimate, (2 f,); see `CycleCertificate.error`
    shift : change per cycle of the coordinates that stand in no equation, by name (minus the woodpecker's drop), and
        whole turns of angles
    multipliers : (2 f,) complex, largest first;  kinds : "flow" or "translation" for those that are 1 in any case,
        else ""
    events : what happens on the way, dicts with keys "t" (time since the section [s]), "kind" (one of `EVENT_KINDS`, as
        in `Trajectory.events()`), "contacts" (names) and "speed" (closing velocity of an impact [m/s], else None);
        event-driven only
    orbit : times (k,) and states (k, 2 f) along the cycle
    extrema : lowest and highest value of each coordinate along the cycle, (2, f); to the accuracy of the integrator
        event by event, of the records by a time stepper
    slowest_impact, lowest_gap : smallest closing velocity [m/s] and smallest gap of an open contact [m], inf where
        there is none: both are zero at a graze
    """

    system: str
    method: str
    step: float
    section: str
    period: float
    returns: int
    q: Array
    u: Array
    error: Array
    shift: dict[str, float]
    multipliers: Array
    kinds: tuple[str, ...]
    events: tuple[dict[str, Any], ...]
    orbit: tuple[Array, Array]
    extrema: Array
    slowest_impact: float
    lowest_gap: float
    certificate: CycleCertificate
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    parameters: dict[str, float]
    units: dict[str, str]

    @property
    def nontrivial(self) -> Array:
        """The multipliers that decide on stability, largest first."""
        return self.multipliers[[kind == "" for kind in self.kinds]]

    @property
    def stability(self) -> str:
        """ "stable", "unstable", or "undecided" where a multiplier is within its own error of the unit circle."""
        size, error = np.abs(self.nontrivial), self.certificate.multiplier_error
        error = 0.0 if math.isnan(error) else error
        if np.any(size - error > 1.0):
            return "unstable"
        return "stable" if np.all(size + error < 1.0) else "undecided"

    @property
    def stable(self) -> bool:
        """Whether all nontrivial multipliers lie inside the unit circle, by more than their error; see `stability`."""
        return self.stability == "stable"

    def __repr__(self) -> str:
        off = float(self.certificate.error)
        return (
            f"<LimitCycle of {self.system!r}: period {self.period:.12g} s, {self.stability}, largest multiplier "
            f"{float(np.abs(self.nontrivial).max(initial=0.0)):.6g}, closure {self.certificate.closure:.1e}, "
            f"estimated error {off:.1e} of the ranges; {self.method}>"
        )

    def _repr_html_(self) -> str:
        names = (*self.coordinate_names, *self.velocity_names)
        rows: list[tuple[Any, ...]] = [
            ("period [s]", f"{self.period:.12g}"),
            ("stability", self.stability),
            ("multipliers", ", ".join(f"{m:.6g}" for m in np.real_if_close(self.nontrivial))),
            ("shift per cycle", ", ".join(f"{name} {value:.9g}" for name, value in self.shift.items()) or "none"),
            *((f"{name} on the section", f"{value:.9g}") for name, value in zip(names, self.x.tolist(), strict=True)),
            ("estimated error of the ranges", f"{float(self.certificate.error):.1e}"),
        ]
        return markup.table(rows, caption=f"limit cycle of {self.system} ({self.method}), cut where {self.section}")

    @property
    def x(self) -> Array:
        """(q, u) on the section, (2 f,)."""
        return np.concatenate([self.q, self.u])

    def to_dict(self, orbit: bool = False) -> dict[str, Any]:
        """The cycle as plain values, ready for JSON; `orbit` adds the states along the cycle."""
        names = (*self.coordinate_names, *self.velocity_names)
        answer: dict[str, Any] = {
            "system": self.system,
            "method": self.method,
            "step": self.step,
            "section": self.section,
            "period": self.period,
            "returns": self.returns,
            "state": dict(zip(names, self.x.tolist(), strict=True)),
            "error": {name: plain_or_none(value) for name, value in zip(names, self.error.tolist(), strict=True)},
            "extrema": dict(zip(self.coordinate_names, self.extrema.T.tolist(), strict=True)),
            "shift": self.shift,
            "multipliers": [
                {"real": float(m.real), "imag": float(m.imag), "modulus": float(abs(m)), "trivial": kind or None}
                for m, kind in zip(self.multipliers, self.kinds, strict=True)
            ],
            "stable": self.stable,
            "stability": self.stability,
            "events": list(self.events),
            "slowest_impact": plain_or_none(self.slowest_impact),
            "lowest_gap": plain_or_none(self.lowest_gap),
            "certificate": {key: plain_or_none(value) for key, value in asdict(self.certificate).items()},
            "parameters": self.parameters,
            "version": __version__,
        }
        if orbit:
            answer["orbit"] = {"t": self.orbit[0].tolist(), "x": self.orbit[1].tolist()}
        return answer

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write everything, the orbit included, as JSON, whole or not at all."""
        path = file_path(path, "path")
        if path.suffix.lower() != ".json":
            raise ValueError(f"a limit cycle is saved as .json, got {path.name!r}.")
        if path.exists() and not overwrite:
            raise ValueError(f"{visible(path)} exists; give overwrite=True to replace it, or another name.")
        text = json.dumps(self.to_dict(orbit=True), allow_nan=False) + "\n"
        with replacing(path) as draft:
            draft.write_text(text, encoding="utf-8")
        return path

    def plot(self, path: str | Path) -> Path:
        """Draw the cycle and its multipliers into a .png, .svg or .pdf file."""
        return service("save a figure")(service("draw a limit cycle")(self), path, title=f"Limit cycle: {self.system}")


def plain_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shift_of(setting: Setting, change: Array) -> dict[str, float]:
    names = setting.scenario.system.coordinate_names
    turns = {names[i]: TURN * round(float(change[i]) / TURN) for i in setting.turning}
    return {names[i]: float(change[i]) for i in setting.travel} | {name: turn for name, turn in turns.items() if turn}


def parameters_of(setting: Setting) -> dict[str, float]:
    return dict(zip(setting.scenario.system.parameter_names, setting.p.tolist(), strict=True))
