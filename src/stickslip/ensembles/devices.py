"""Names of the devices on which ensembles run."""

from __future__ import annotations

from typing import Any

from stickslip.checks import shown

DEVICES = "cpu, gpu, auto or dask:ADDRESS"


def device_name(device: Any) -> str:
    """The name, or ValueError where no device has it."""
    if not isinstance(device, str):
        raise ValueError(f"device must be {DEVICES}, got {shown(device)}.")
    if device in ("cpu", "gpu", "auto") or (device.startswith("dask:") and device != "dask:"):
        return device
    raise ValueError(f"device must be {DEVICES}, got {device!r}.")
