"""The result of `ensemble`: an xarray.Dataset over the varied quantities, with a list of the members that failed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.ensembles.observables import STATUS_NAMES

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class FailedMember:
    """A member without a result: its number, its varied values, when it ended [s] and why."""

    member: int
    values: dict[str, float]
    time: float
    reason: str

    def __str__(self) -> str:
        made_of = ", ".join(f"{name} = {value:.6g}" for name, value in self.values.items())
        return f"member {self.member} ({made_of}) at t = {self.time:.6g} s: {self.reason}"


@dataclass(frozen=True, eq=False)
class Ensemble:
    """An ensemble with its observables.

    Attributes
    ----------
    dataset : the result, `result["period"]` for one array; nan where a member failed or has no value.
    device : device on which the members were computed.
    wall_s, steps : time that the members took [s], without the compilation of their kernel, and their steps; zero for
        an ensemble loaded from a file.
    """

    dataset: xr.Dataset
    device: str = ""
    wall_s: float = 0.0
    steps: int = 0

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self.dataset:
            raise KeyError(f"no array {name!r}; there are {', '.join(map(str, self.dataset.variables))}")
        return self.dataset[name]

    def __len__(self) -> int:
        return int(self.dataset["status"].size)

    def __repr__(self) -> str:
        failed = self.n_failed
        text = f", {failed} failed" if failed else ""
        shape = ", ".join(f"{name} {size}" for name, size in self.dataset["status"].sizes.items())
        return f"<Ensemble of {self.dataset.attrs['system']!r}: {len(self):,} members ({shape}){text}>"

    def to_xarray(self) -> xr.Dataset:
        """The result as an xarray.Dataset."""
        return self.dataset

    @property
    def n_failed(self) -> int:
        """Number of members that failed."""
        return int((self.dataset["status"].values != 0).sum())

    @property
    def steps_per_s(self) -> float:
        """Steps of all members per second of computing."""
        return self.steps / self.wall_s if self.wall_s > 0.0 else 0.0

    def failed(self, most: int | None = None) -> list[FailedMember]:
        """The first members without a result, in order; `most` limits their number."""
        status = self.dataset["status"]
        found = np.flatnonzero(status.values.ravel() != 0)[:most]
        times = self.dataset["time_reached"].values.ravel()
        axes = {name: self.dataset[name] for name in self.dataset.attrs["varied"].split(",")}
        members = []
        for member in found.tolist():
            place = dict(zip(status.dims, np.unravel_index(member, status.shape), strict=True))
            values = {
                name: float(axis.values[tuple(place[dimension] for dimension in axis.dims)])
                for name, axis in axes.items()
            }
            reason = STATUS_NAMES[int(status.values.ravel()[member])]
            members.append(FailedMember(member, values, float(times[member]), reason))
        return members

    def certificate(self) -> dict[str, float]:
        """Failed members; the tolerance; worst residual, penetration [m] and energy gain [J] of the other members."""
        good = self.dataset["status"].values == 0
        tolerance = float(self.dataset.attrs.get("tolerance", "nan"))
        worst: dict[str, float] = {"failed_members": self.n_failed, "tolerance": tolerance}
        for name in ("max_residual", "max_penetration", "max_energy_gain"):
            values = self.dataset[name].values[good]
            worst[name] = float(values.max()) if values.size else float("nan")
        return worst

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write to a netCDF file, atomically; a file that is there and is not an ensemble of ours is never replaced."""
        from stickslip.ensembles.files import save_dataset

        return save_dataset(self.dataset, path, overwrite=overwrite)


def summary(values: Any) -> dict[str, float] | None:
    """Least, mean and largest of an array, over what is there; None where nothing is."""
    finite = np.asarray(values, dtype=float).ravel()
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return None
    return {"least": float(finite.min()), "mean": float(finite.mean()), "largest": float(finite.max())}
