"""An unfinished sweep: a folder beside the file to be, with a file for every chunk that is computed.

Each chunk appears whole or not at all.  Which chunks are there says all about where a sweep stands: after `kill -9` the
others are computed, and the result is what it would have been.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.ensembles.store import Chunk, Values, chunks_of
from stickslip.io.disk import DRAFT, replacing

_HEADER = "sweep.json"


@dataclass
class InFolder:
    """Chunks as files in `folder`; `header` says which sweep they belong to."""

    folder: Path
    size: int
    chunk: int
    header: dict[str, Any]

    @classmethod
    def begin(cls, folder: Path, size: int, chunk: int, fingerprint: str) -> InFolder:
        """An empty folder for a new sweep; one of an earlier sweep is removed."""
        discard_folder(folder)
        folder.mkdir()
        header = {"fingerprint": fingerprint, "size": size, "chunk": chunk}
        with replacing(folder / _HEADER) as draft:
            draft.write_text(json.dumps(header), encoding="utf-8")
        return cls(folder, size, chunk, header)

    @classmethod
    def resume(cls, folder: Path, size: int, fingerprint: str) -> InFolder:
        """The folder of an unfinished sweep, or ValueError where it is of another one."""
        header = read_header(folder)
        if header.get("fingerprint") != fingerprint or header.get("size") != size:
            raise ValueError(
                f"{folder} holds another sweep: what varies, what is observed, the step or the version differ; "
                "repeat that sweep's options, or give another --out."
            )
        return cls(folder, size, int(header["chunk"]), header)

    def missing(self) -> list[Chunk]:
        return [chunk for chunk in chunks_of(self.size, self.chunk) if self._read(chunk) is None]

    def put(self, chunk: Chunk, values: Values) -> None:
        with replacing(self._path(chunk)) as draft, open(draft, "wb") as file:
            np.savez(file, **values)  # type: ignore[arg-type]

    def column(self, name: str) -> Iterator[tuple[Chunk, np.ndarray]]:
        """One array of all chunks, in order, read one after the other."""
        for chunk in chunks_of(self.size, self.chunk):
            try:
                with np.load(self._path(chunk), allow_pickle=False) as file:
                    yield chunk, file[name]
            except (OSError, ValueError, KeyError, zipfile.BadZipFile):
                raise OSError(
                    f"{self._path(chunk)} was there and is not any more; repeat the sweep with --resume."
                ) from None

    def discard(self) -> None:
        discard_folder(self.folder)

    def _path(self, chunk: Chunk) -> Path:
        return self.folder / f"{chunk[0]:012d}-{chunk[1]:012d}.npz"

    def _read(self, chunk: Chunk) -> Values | None:
        """A chunk that is there, whole; its checksums are verified."""
        try:
            with np.load(self._path(chunk), allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def parts_folder(out: Path) -> Path:
    """Where the chunks of an unfinished sweep are kept."""
    return out.with_name(out.name + ".parts")


def read_header(folder: Path) -> dict[str, Any]:
    """What an unfinished sweep wrote first, or ValueError."""
    try:
        header = json.loads((folder / _HEADER).read_text(encoding="utf-8"))
        return {"fingerprint": str(header["fingerprint"]), "size": int(header["size"]), "chunk": int(header["chunk"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{folder} is no unfinished sweep of ours; remove it, or give another --out.") from None


def discard_folder(folder: Path) -> None:
    """Remove the chunks of a sweep; a folder that is not one of ours stays, and is an error."""
    if begun(folder):
        read_header(folder)
    for part in sorted(folder.glob("*"), key=lambda part: part.name == _HEADER):  # it says whose they are to the last
        part.unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)


def begun(folder: Path) -> bool:
    """Whether a folder holds a sweep, or anything else: not where its writer was killed before the first file."""
    if not folder.is_dir():
        return folder.exists()
    return any(not part.name.startswith(DRAFT) for part in folder.iterdir())
