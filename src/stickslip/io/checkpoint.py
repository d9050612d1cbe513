"""The checkpoint in the file of a run: arrays by name, as bytes in one dataset."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.io.disk import member
from stickslip.io.whole import array

_GROUP, _NAME = "checkpoint", "state"
CHECKPOINT = f"{_GROUP}/{_NAME}"
PACKET = 4096


def packed(state: Mapping[str, ArrayLike]) -> np.ndarray:
    """Arrays as bytes, without objects; padded, so that the size seldom changes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.asarray(value) for name, value in state.items()})
    content = buffer.getvalue()
    size = len(content).to_bytes(8, "little")
    return np.frombuffer((size + content).ljust(-(-(len(content) + 8) // PACKET) * PACKET, b"\0"), np.uint8)


def unpacked(content: np.ndarray) -> dict[str, np.ndarray]:
    data = content.tobytes()
    size = int.from_bytes(data[:8], "little")
    with np.load(io.BytesIO(data[8 : 8 + size]), allow_pickle=False) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.zip.infolist()):
            raise ValueError("its checkpoint is compressed, as no program of ours writes it")
        return {name: archive[name] for name in archive.files}


def checkpoint_in(file: Any) -> Any:
    """The dataset of the last checkpoint; None where there is none."""
    group = member(file, _GROUP)
    return None if group is None else array(group, _NAME)
