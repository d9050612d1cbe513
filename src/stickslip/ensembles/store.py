"""Results so far, chunk by chunk: here in memory; `stickslip.ensembles.parts` keeps the chunks in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

Chunk = tuple[int, int]
Values = dict[str, np.ndarray]


def chunks_of(size: int, chunk: int) -> Iterator[Chunk]:
    """First and last member (exclusive) of each chunk."""
    return ((first, min(first + chunk, size)) for first in range(0, size, chunk))


class ChunkStore(Protocol):
    """Where the chunks of an ensemble are kept until it is complete."""

    def missing(self) -> list[Chunk]:
        """Chunks that are still to be computed."""

    def put(self, chunk: Chunk, values: Values) -> None:
        """Keep a chunk."""

    def column(self, name: str) -> Iterator[tuple[Chunk, np.ndarray]]:
        """One array of all chunks, in order."""

    def discard(self) -> None:
        """Forget everything."""

    def release(self) -> None:
        """Let others go on with what is kept."""


@dataclass
class InMemory:
    """Chunks that are kept until the ensemble is complete."""

    size: int
    chunk: int
    parts: dict[Chunk, Values] = field(default_factory=dict)

    def missing(self) -> list[Chunk]:
        return [chunk for chunk in chunks_of(self.size, self.chunk) if chunk not in self.parts]

    def put(self, chunk: Chunk, values: Values) -> None:
        self.parts[chunk] = values

    def column(self, name: str) -> Iterator[tuple[Chunk, np.ndarray]]:
        """One array of all chunks, in order."""
        return ((chunk, self.parts[chunk][name]) for chunk in chunks_of(self.size, self.chunk))

    def discard(self) -> None:
        self.parts.clear()

    def release(self) -> None:
        """Nothing to do: nobody else knows of it."""
