"""An unfinished ensemble: a folder beside the file to be, with a file for every chunk that is computed.

Each chunk appears whole or not at all, and its file ends with a digest of its content, its place and its ensemble.
Which chunks are there says all about where an ensemble stands: after `kill -9` the others are computed, and the result
is what it would have been.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.ensembles.store import Chunk, Values, chunks_of
from stickslip.io import digests
from stickslip.io.disk import DRAFT, lock, open_binary, open_regular, read_regular, replacing
from stickslip.io.printable import visible

_HEADER = "sweep.json"


@dataclass
class InFolder:
    """Chunks as files in `folder`, which one process at a time writes; `header` says which ensemble they belong to."""

    folder: Path
    size: int
    chunk: int
    header: dict[str, Any]
    claim: int = -1  # descriptor of the header, held as long as this process writes chunks

    @classmethod
    def begin(cls, folder: Path, size: int, chunk: int, fingerprint: str) -> InFolder:
        """An empty folder for a new ensemble; one of an earlier ensemble is removed."""
        if begun(folder):
            read_header(folder)
            before = _claimed(folder)
            try:
                discard_folder(folder)
            finally:
                os.close(before)
        discard_folder(folder)
        header = {"fingerprint": fingerprint, "size": size, "chunk": chunk}
        try:
            folder.mkdir()
        except FileExistsError:
            raise _taken(folder) from None
        with replacing(folder / _HEADER) as draft:
            draft.write_text(json.dumps({**header, "digest": _header_digest(header)}), encoding="utf-8")
        return cls(folder, size, chunk, header, _claimed(folder))

    @classmethod
    def resume(cls, folder: Path, size: int, fingerprint: str) -> InFolder:
        """The folder of an unfinished ensemble, or ValueError where it is of another one."""
        header = read_header(folder)
        if header.get("fingerprint") != fingerprint or header.get("size") != size:
            raise ValueError(
                f"{visible(folder)} holds another ensemble: what varies, what is observed, the step or the version "
                "differ; "
                "repeat that ensemble's options, or give another --out."
            )
        return cls(folder, size, int(header["chunk"]), header, _claimed(folder))

    def missing(self) -> list[Chunk]:
        return [chunk for chunk in chunks_of(self.size, self.chunk) if self._read(chunk) is None]

    def put(self, chunk: Chunk, values: Values) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **values)  # type: ignore[arg-type]
        content = buffer.getbuffer()
        with replacing(self._path(chunk), tidy=False) as draft, open(draft, "wb") as file:
            file.write(content)
            file.write(self._digest(chunk, content))

    def column(self, name: str) -> Iterator[tuple[Chunk, np.ndarray]]:
        """One array of all chunks, in order, read one after the other."""
        for chunk in chunks_of(self.size, self.chunk):
            values = self._read(chunk, name)
            if values is None or name not in values:
                raise OSError(f"{self._path(chunk)} was there and is not any more; repeat the ensemble with --resume.")
            yield chunk, values[name]

    def discard(self) -> None:
        discard_folder(self.folder)
        self.release()

    def release(self) -> None:
        if self.claim >= 0:
            os.close(self.claim)
            self.claim = -1

    def _path(self, chunk: Chunk) -> Path:
        return self.folder / f"{chunk[0]:012d}-{chunk[1]:012d}.npz"

    def _read(self, chunk: Chunk, only: str | None = None) -> Values | None:
        """A chunk as it was written, or the array `only` of the chunk; None for a missing or damaged file."""
        try:
            with open_binary(self._path(chunk)) as file:
                data = memoryview(file.read())
            content, written = data[: -digests.SIZE], data[-digests.SIZE :]
            if self._digest(chunk, content) != written:
                return None
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files if only in (None, name)}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    def _digest(self, chunk: Chunk, content: memoryview) -> bytes:
        return digests.digest([f"{self.header['fingerprint']} {chunk[0]} {chunk[1]}".encode(), content])


def parts_folder(out: Path) -> Path:
    """Where the chunks of an unfinished ensemble are kept."""
    return out.with_name(out.name + ".parts")


def _claimed(folder: Path) -> int:
    """The descriptor of the header of a sweep, claimed for this process; ValueError where another process has it."""
    try:
        descriptor = open_regular(folder / _HEADER, os.O_RDWR)
    except FileNotFoundError:  # the other one is done, or begins anew
        raise _taken(folder) from None
    if not lock(descriptor):
        os.close(descriptor)
        raise _taken(folder)
    return descriptor


def _taken(folder: Path) -> ValueError:
    return ValueError(f"{visible(folder)} is being written by another process; wait for it, or give another --out.")


def _header_digest(header: dict[str, Any]) -> str:
    return digests.digest([json.dumps(header).encode()]).hex()


def read_header(folder: Path) -> dict[str, Any]:
    """Read the header of an unfinished ensemble; ValueError where it is damaged."""
    try:
        written = json.loads(read_regular(folder / _HEADER, 2**16))
        header = {"fingerprint": written["fingerprint"], "size": written["size"], "chunk": written["chunk"]}
        if written["digest"] != _header_digest(header):
            raise ValueError("the digest differs")
        return header
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(
            f"{visible(folder)} is no unfinished ensemble of ours; remove it, or give another --out."
        ) from None


def discard_folder(folder: Path) -> None:
    """Remove the chunks of an ensemble; a folder that is not one of ours stays, and is an error."""
    if begun(folder):
        read_header(folder)
    for part in sorted(folder.glob("*"), key=lambda part: part.name == _HEADER):  # it says whose they are to the last
        part.unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)


def begun(folder: Path) -> bool:
    """Whether a folder holds an ensemble, or anything else: not where its writer was killed before the first file."""
    if not folder.is_dir():
        return folder.exists()
    return any(not part.name.startswith(DRAFT) for part in folder.iterdir())
