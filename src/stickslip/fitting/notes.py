"""Results of a fit so far, kept in a file: a fit that was broken off goes on from there.

One fit at a time writes a file of notes: it claims the file from its start to its end, whatever draft takes its place
meanwhile, and another one is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.io.disk import file_path, lock, open_regular, read_regular, replacing
from stickslip.io.printable import visible

_MOST = 1 << 26  # bytes
_EACH = 8  # results between two writings
_CLAIMS = os.name == "posix"  # elsewhere an open file cannot be replaced


class Notes:
    """Results by name, in memory and, where there is a path, in a file."""

    def __init__(self, path: Path | None, task: str, claims: list[int] | None = None) -> None:
        self.path, self.task = path, task
        self.known: dict[str, Any] = {}
        self.fresh = 0
        self._claims = claims or []  # descriptor of the file, while this fit writes it

    @classmethod
    def opened(cls, path: Any, task: Callable[[], tuple[Any, ...]]) -> Notes:
        """Notes of a task; those of another task, in a file of this name, are an error, and so is a file in use.

        task : makes what tells the task from others; called where there is a path
        """
        if path is None:
            return cls(None, "")
        target = notes_path(path)
        claims = _claimed(target)
        try:
            held = read(target) if claims or target.exists() else None
            digest = hashlib.sha256()
            for part in task():
                digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
            notes = cls(target, digest.hexdigest(), claims)
            if held is None:
                notes._write()  # a file that cannot be written is told before hours have passed
            elif held["task"] != notes.task:
                raise ValueError(f"notes {visible(target)} belong to another fit; give another name.")
            else:
                notes.known = held["known"]
        except BaseException:
            _release(claims)
            raise
        return notes

    def close(self) -> None:
        """Let others have the file."""
        _release(self._claims)

    def number(self, name: str, compute: Callable[[], float]) -> float:
        """A number that is known, or computed now."""
        if name not in self.known:
            self._keep(name, float(compute()))
        return float(self.known[name])

    def row(self, name: str, compute: Callable[[], Array]) -> Array:
        """A row of numbers that is known, or computed now."""
        if name not in self.known:
            self._keep(name, compute().tolist(), now=True)
        return np.array(self.known[name], dtype=float)

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
            self._write()

    def _write(self) -> None:
        assert self.path is not None
        if _CLAIMS and self.path.exists() and not (self._claims and _leads_to(self.path, self._claims[0])):
            raise _taken(self.path)
        held = {"task": self.task, "known": self.known, "digest": _digest(self.task, self.known)}
        new: list[int] = []
        with replacing(self.path, claims=new) as draft:
            draft.write_text(json.dumps(held), encoding="utf-8")
        _release(self._claims)  # the old file has no name any more
        self._claims += new


def notes_path(path: Any) -> Path:
    """Where notes are kept, in a folder that is there."""
    target = file_path(path, "notes")
    if not target.parent.is_dir():
        raise ValueError(f"notes {visible(target)}: the folder {visible(target.parent)} does not exist.")
    return target


def _claimed(path: Path) -> list[int]:
    """The descriptor of a file of notes, claimed for this fit; none where there is no file.

    ValueError where another fit has it, or has put a new one in its place just now.
    """
    if not (_CLAIMS and path.exists()):
        return []
    descriptor = open_regular(path, os.O_RDWR)
    if lock(descriptor) and _leads_to(path, descriptor):
        return [descriptor]
    os.close(descriptor)
    raise _taken(path)


def _leads_to(path: Path, descriptor: int) -> bool:
    """Whether a name is that of an open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _release(claims: list[int]) -> None:
    while claims:
        os.close(claims.pop())


def _taken(path: Path) -> ValueError:
    return ValueError(
        f"notes {visible(path)} are being written by another fit, or were replaced since this one began; wait for it, "
        "or give another name."
    )


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
