"""Results of a fit so far, kept in a file: a fit that was broken off goes on from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.io.disk import file_path, read_regular, replacing
from stickslip.io.printable import visible

_MOST = 1 << 26  # bytes
_EACH = 8  # results between two writings


class Notes:
    """Results by name, in memory and, where there is a path, in a file."""

    def __init__(self, path: Path | None, task: str) -> None:
        self.path, self.task = path, task
        self.known: dict[str, Any] = {}
        self.fresh = 0

    @classmethod
    def opened(cls, path: Any, task: Callable[[], tuple[Any, ...]]) -> Notes:
        """Notes of a task; those of another task, in a file of this name, are an error.

        task : makes what tells the task from others; called where there is a path
        """
        if path is None:
            return cls(None, "")
        target = file_path(path, "notes")
        if not target.parent.is_dir():
            raise ValueError(f"notes {visible(target)}: the folder {visible(target.parent)} does not exist.")
        held = read(target) if target.exists() else None
        digest = hashlib.sha256()
        for part in task():
            digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
        notes = cls(target, digest.hexdigest())
        if held is not None:
            if held["task"] != notes.task:
                raise ValueError(f"notes {visible(target)} belong to another fit; give another name.")
            notes.known = held["known"]
        return notes

    def number(self, name: str, compute: Callable[[], float]) -> float:
        """A number that is known, or computed now."""
        if name not in self.known:
            self._keep(name, float(compute()))
        return float(self.known[name])

    def vector(self, name: str, compute: Callable[[], tuple[Array, float]]) -> tuple[Array, float]:
        """A vector and a number that are known, or computed now."""
        if name not in self.known:
            z, value = compute()
            self._keep(name, [z.tolist(), float(value)], now=True)
        z, value = self.known[name]
        return np.array(z, dtype=float), float(value)

    def _keep(self, name: str, value: Any, now: bool = False) -> None:
        self.known[name] = value
        self.fresh += 1
        if self.path is not None and (now or self.fresh % _EACH == 0):
            held = {"task": self.task, "known": self.known, "digest": _digest(self.task, self.known)}
            with replacing(self.path) as draft:
                draft.write_text(json.dumps(held), encoding="utf-8")


def _digest(task: str, known: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps([task, known]).encode()).hexdigest()


def read(path: Path) -> dict[str, Any]:
    """Content of a file of notes; ValueError where it is another file, or was changed since a fit has written it."""
    try:
        held: dict[str, Any] = json.loads(read_regular(path, _MOST))
        right = held["digest"] == _digest(held["task"], held["known"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"notes {visible(path)} must be a file that a fit has written; give another name.") from None
    if not right:
        raise ValueError(f"notes {visible(path)} were damaged or changed by hand; remove them, or give another name.")
    return held
