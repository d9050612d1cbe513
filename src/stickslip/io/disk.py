"""A file on disk as HDF5 should see it: without errors, and without Ctrl-C in the middle of a write."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def sync_folder(folder: Path) -> None:
    """Make a new name durable, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def file_path(value: Any, name: str) -> Path:
    """The argument `name` as a path, or ValueError."""
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise ValueError(f"{name} must be the name of a file, got {value!r}.")
    return Path(value)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A draft beside `path` that takes its place when the block ends well, and vanishes when it does not."""
    draft = path.with_name(f".stickslip-{secrets.token_hex(8)}{path.suffix}")
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


class Disk:
    """The file object HDF5 writes through. HDF5 never sees an error: the first one is kept in `error`.

    HDF5 2.0 reports a full disk late or only on stderr, and then crashes the interpreter when it exits.
    """

    def __init__(self, descriptor: int) -> None:
        self.error: BaseException | None = None
        self._descriptor = descriptor
        self._position = 0
        self._end = 0
        self._reserved = 0

    def reserve(self, size: int) -> None:
        """Claim room on the disk for a file of `size` bytes, or raise the OSError that says why not."""
        if size <= self._reserved:
            return
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._descriptor, self._reserved, size - self._reserved)
            else:  # macOS; what HDF5 has written lies below `_reserved`
                offset = self._reserved
                while offset < size:
                    offset += os.pwrite(self._descriptor, bytes(min(2**20, size - offset)), offset)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):  # a file system that cannot
                raise
        self._reserved = size

    def sync(self) -> None:
        """Cut off what was reserved and not used, and wait until the disk has the rest."""
        try:
            os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)
        except OSError as error:
            self.error = self.error or error

    def close(self) -> None:
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1

    # What h5py calls.

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + (self._end if whence == os.SEEK_END else 0)
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int) -> bytes:
        try:
            data = os.pread(self._descriptor, size, self._position)
        except BaseException as error:
            self.error = self.error or error
            data = b""
        return data.ljust(size, b"\0")

    def write(self, data: Any) -> int:
        view = memoryview(data)
        try:
            written = 0
            while written < len(view) and self.error is None:
                written += os.pwrite(self._descriptor, view[written:], self._position + written)
        except BaseException as error:
            self.error = self.error or error
        self._position += len(view)
        self._end = max(self._end, self._position)
        return len(view)

    def truncate(self, size: int) -> int:
        self._end = size
        return size

    def flush(self) -> None:
        pass


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done: an exception in the middle of HDF5 would leave it in pieces."""
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    received: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if received:
            previous(*received[0])
