"""A file on disk as HDF5 should see it: without errors, without Ctrl-C in the middle of a write, and safe to kill.

A file that is written for hours is committed now and then.  What HDF5 overwrites of the committed part waits in memory
until the next commit, which writes it to a journal beside the file first: whatever happens, the file or its journal
holds the last commit whole.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import io
import mmap
import os
import platform
import secrets
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stickslip.checks import shown
from stickslip.interrupts import undoing
from stickslip.io.printable import visible

LONGEST_NAME = 255  # bytes


def sync_folder(folder: Path) -> None:
    """Make a new name durable, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def file_path(value: Any, name: str, behind: str = "") -> Path:
    """The argument `name` as a path that a file can have, also with `behind` put behind it, or ValueError."""
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise ValueError(f"{name} must be the name of a file, got {shown(value)}.")
    try:
        words = os.fsencode(value)
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be a name that files can have, got {shown(value)}.") from None
    if b"\0" in words:
        raise ValueError(f"{name} must be a name that files can have, without zero bytes, got {shown(value)}.")
    longest, most = max(map(len, words.split(os.fsencode(os.sep)))), LONGEST_NAME - len(behind)
    if longest > most:  # the system says so where the file is opened, with another exit code
        raise ValueError(f"{name} must have names of {most} bytes at most, got one of {longest}.")
    return Path(value)


class NotRegular(ValueError):
    """One line about a name that leads to a folder, a pipe, a socket or a device."""


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """The descriptor of a regular file; at once `NotRegular` for anything else, OSError where it cannot be opened."""
    _require_regular(path, os.stat(path).st_mode)  # to open a pipe or a device would be noticed on its other side
    flags |= os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    descriptor = os.open(path, flags)
    try:
        _require_regular(path, os.fstat(descriptor).st_mode)  # the name may lead elsewhere by now
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(path: str | Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for test, words in _KINDS if test(mode)), "no regular file")
        raise NotRegular(f"{visible(path)} is {kind}; give the name of a regular file.")


def open_binary(path: str | Path) -> io.BufferedReader:
    """`open(path, "rb")` for regular files alone."""
    return os.fdopen(open_regular(path), "rb")


def read_regular(path: str | Path, most: int) -> bytes:
    """The content of a regular file, or its first `most` + 1 bytes where it has more than `most`."""
    with open_binary(path) as file:
        return file.read(most + 1)


_HEAP = b"GCOL\x01\0\0\0"
_OBJECT = struct.Struct("<HHIQ")  # index, count of references, reserved, size


_WINDOW = 2**24
"""Bytes of a mapped file that are searched at once, and given back: they count as memory of the process until then."""


def heaps(content: mmap.mmap) -> Iterator[int]:
    """Yield where the global heaps of a mapped file may begin."""
    for start in range(0, len(content), _WINDOW):
        stop = start + _WINDOW + len(_HEAP) - 1
        begin = content.find(_HEAP, start, stop)
        while begin >= 0:
            yield begin
            begin = content.find(_HEAP, begin + 1, stop)
        if hasattr(mmap, "MADV_DONTNEED"):
            content.madvise(mmap.MADV_DONTNEED, start, min(_WINDOW, len(content) - start))


def require_sound_heaps(descriptor: int) -> None:
    """Raise ValueError where HDF5 would never come to the end of one of a file's heaps.

    A global heap, which keeps texts and references, is a row of objects; each is found by the size of the one before.
    HDF5 steps on by whatever size is written there, and where that is zero, for ever.
    """
    if os.fstat(descriptor).st_size == 0:
        return
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as content:
        for begin in heaps(content):
            size = int.from_bytes(content[begin + 8 : begin + 16], "little")
            place, end = begin + 16, min(begin + size, len(content))
            while place + _OBJECT.size <= end:
                index, _, _, length = _OBJECT.unpack_from(content, place)
                step = length if index == 0 else _OBJECT.size + (length + 7) // 8 * 8  # free space counts its own head
                if step % 2**64 == 0 or length >= 2**63:
                    raise ValueError("a heap of the file never ends")
                place += step


def reading(content: io.BufferedReader) -> Any:
    """An HDF5 file to read from, once its heaps are known to end."""
    import h5py

    require_sound_heaps(content.fileno())
    return h5py.File(content, "r")


def member(group: Any, name: str) -> Any:
    """Entry of an HDF5 group under a name; None where nothing does.

    A link that leads elsewhere is a ValueError before its target is looked for, and so is a dataset whose values are
    kept in other files, before they are.
    """
    import h5py

    links, key = group.id.links, name.encode()  # what h5py's own `in` and `get` ask opens the target of a link
    if not links.exists(key):
        return None
    if links.get_info(key).type != h5py.h5l.TYPE_HARD:
        raise ValueError(f"{name} is a link, and not a dataset of the file itself")
    found = group[name]
    if isinstance(found, h5py.Dataset) and (found.external or found.is_virtual):
        raise ValueError(f"{name} is not a dataset of the file itself: its values are kept in another file")
    return found


DRAFT = ".stickslip-"
"""How the names of files begin that are not finished yet."""
_ATTEMPTS = 20


def _drafts_of(path: Path) -> str:
    """How the names of all drafts for `path` begin that are written on this machine."""
    word = hashlib.sha256(platform.node().encode() + b"\0" + os.fsencode(path.name)).hexdigest()[:16]
    return f"{DRAFT}{word}-"


def draft_of(path: Path, suffix: str) -> Path:
    """A name for a draft beside `path`, never used before; without the name of `path`, which may be long."""
    return path.with_name(f"{_drafts_of(path)}{secrets.token_hex(8)}{suffix}")


def open_draft(draft: Path) -> int:
    """The descriptor of a new draft, claimed for this process until it is closed."""
    for _ in range(_ATTEMPTS):
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        if lock(descriptor) and os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # another process took it for a dead one, in the moment before it was claimed
        while draft.exists():
            time.sleep(1e-3)
    raise FileExistsError(errno.EEXIST, "taken by another process again and again", str(draft))


def remove_dead_drafts(path: Path) -> None:
    """Remove drafts for `path` whose writer was killed: those of this user and machine that nobody has a claim on."""
    begin = _drafts_of(path)
    flags = os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for draft in [entry.path for entry in entries if entry.name.startswith(begin)]:
            with contextlib.suppress(OSError):
                descriptor = os.open(draft, flags)
                try:
                    at = os.fstat(descriptor)
                    if stat.S_ISREG(at.st_mode) and _claim(descriptor) and at.st_uid == os.geteuid():
                        os.unlink(draft)
                finally:
                    os.close(descriptor)


def write_error(path: Path, cause: BaseException, kept: str = "nothing was replaced") -> OSError:
    """An error in one line for a file that could not be written; `kept` says what is left."""
    number = getattr(cause, "errno", None)
    named = str(cause) if type(cause) is OSError else f"{type(cause).__name__}: {cause}"
    reason = os.strerror(number) if number else named
    helps = "; free some space, or choose another folder" if number in (errno.ENOSPC, errno.EDQUOT) else ""
    error = OSError(f"{visible(path)} could not be written: {reason}; {kept}{helps}.")
    error.errno = number
    return error


@contextlib.contextmanager
def replacing(path: Path, tidy: bool = True, claims: list[int] | None = None) -> Iterator[Path]:
    """A draft beside `path` that takes its place when the block ends well, and vanishes when it does not.

    tidy : remove drafts that killed processes left; reads the whole folder.
    claims : gets a descriptor of the new file, by which this process claims it until the descriptor is closed.
    """
    if tidy:
        remove_dead_drafts(path)
    draft = draft_of(path, path.suffix)
    with undoing(functools.partial(draft.unlink, missing_ok=True)):
        try:
            try:
                descriptor = open_draft(draft)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from error
            try:
                if os.name != "posix":  # there an open file can be neither written by others nor renamed
                    os.close(descriptor)
                try:
                    yield draft
                    os.replace(draft, path)
                    if claims is not None and os.name == "posix":
                        claims.append(os.dup(descriptor))
                except OSError as error:
                    if error.filename not in (None, draft, str(draft)):  # of another file
                        raise
                    raise write_error(path, error) from error
            finally:
                if os.name == "posix":
                    os.close(descriptor)
        finally:
            draft.unlink(missing_ok=True)


_PAGE = 4096
_MAGIC = b"stickslip journal 1\n"
_PATIENCE = 2.0  # [s] for a commit of another process to end


def journal_of(path: Path) -> Path:
    """The journal of a file that is being written: there only while a commit is under way, or was cut short."""
    return path.with_name(f"{path.name}-journal")


def recover(path: Path) -> None:
    """Finish a commit that was cut short, so that the file is whole again; nothing to do for most files."""
    journal = journal_of(path)
    begin = time.monotonic()
    while journal.is_file():
        try:
            descriptor = open_regular(path, os.O_RDWR)
        except (OSError, NotRegular):
            return  # not ours to mend: the reader says what is wrong
        try:
            if not lock(descriptor):  # its writer is alive and will be done in a moment
                if time.monotonic() - begin > _PATIENCE:
                    return
                time.sleep(0.01)
                continue
            for offset, page in _read_journal(journal):
                _write_all(descriptor, page, offset)
            os.fsync(descriptor)
            journal.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Claim a file for this process until it is closed; False if another process has it.

    True where the system has no way to claim files.
    """
    return _claim(descriptor) is not False


def _claim(descriptor: int) -> bool | None:
    """Whether this process has claimed a file; None where the system has no way to claim files.

    Not by `flock` where there is another way: HDF5 takes `flock`, and nobody could look at a run under way.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        if hasattr(fcntl, "F_OFD_SETLK"):
            whole_file = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole_file)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _read_journal(journal: Path) -> list[tuple[int, bytes]]:
    """The pages of a journal; none if it is not whole, in which case the file has not been touched yet."""
    with open_binary(journal) as file:
        content = file.read()
    body, digest = content[: -hashlib.sha256().digest_size], content[-hashlib.sha256().digest_size :]
    if not body.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        return []
    position, pages = len(_MAGIC), []
    while position < len(body):
        (offset,) = struct.unpack_from("<q", body, position)
        pages.append((offset, body[position + 8 : position + 8 + _PAGE]))
        position += 8 + _PAGE
    return pages


def _write_all(descriptor: int, data: Any, offset: int) -> None:
    view = memoryview(data)
    written = 0
    while written < len(view):
        written += os.pwrite(descriptor, view[written:], offset + written)


class Disk:
    """The file object HDF5 writes through. HDF5 never sees an error: the first one is kept in `error`.

    HDF5 2.0 reports a full disk late or only on stderr, and then crashes the interpreter when it exits.
    `committed` is the size of a file that holds a commit already.
    """

    def __init__(self, descriptor: int, committed: int = 0) -> None:
        self.error: BaseException | None = None
        self.descriptor = descriptor
        self._identity = os.fstat(descriptor)
        self._position = 0
        self._end = committed
        self._reserved = committed
        self._kept = -(-committed // _PAGE)  # pages of the last commit
        self._pages: dict[int, bytearray] = {}  # what they shall become with the next

    def commit(self, path: Path) -> None:
        """Make what HDF5 has written so far, and closed, the content of the file; OSError leaves the last commit."""
        if self.error is not None:
            return
        os.fsync(self.descriptor)
        if self._pages:
            journal = journal_of(path)
            with replacing(journal, tidy=False) as draft:
                digest = hashlib.sha256(_MAGIC)
                with open(draft, "wb") as file:
                    file.write(_MAGIC)
                    for number, page in self._pages.items():
                        entry = struct.pack("<q", number * _PAGE) + page
                        digest.update(entry)
                        file.write(entry)
                    file.write(digest.digest())
                    file.flush()
                    os.fsync(file.fileno())
            sync_folder(path.parent)
            for number, page in self._pages.items():
                _write_all(self.descriptor, page, number * _PAGE)
            os.fsync(self.descriptor)
            journal.unlink()
        self._pages.clear()
        self._kept = -(-self._end // _PAGE)

    def is_at(self, path: Path) -> bool:
        """Whether a name leads to this file; OSError where it leads nowhere."""
        return os.path.samestat(os.stat(path), self._identity)

    def require_name(self, path: Path) -> None:
        """Raise the OSError that says so where the name of this file leads to another one, or nowhere, by now."""
        if not self.is_at(path):
            raise OSError("another file stands in its place")

    def reserve(self, size: int) -> None:
        """Claim room on the disk for a file of `size` bytes, or raise the OSError that says why not."""
        if size <= self._reserved:
            return
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self.descriptor, self._reserved, size - self._reserved)
            else:  # macOS; what HDF5 has written lies below `_reserved`
                offset = self._reserved
                while offset < size:
                    offset += os.pwrite(self.descriptor, bytes(min(2**20, size - offset)), offset)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):  # a file system that cannot
                raise
        self._reserved = size

    def sync(self) -> None:
        """Cut off what was reserved and not used, and wait until the disk has the rest; for a file without commits."""
        try:
            os.ftruncate(self.descriptor, self._end)
            os.fsync(self.descriptor)
        except OSError as error:
            self.error = self.error or error

    def close(self) -> None:
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self.descriptor)
            self.descriptor = -1

    # What h5py calls.

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + (self._end if whence == os.SEEK_END else 0)
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int) -> bytes:
        try:
            data = os.pread(self.descriptor, size, self._position)
        except BaseException as error:
            self.error = self.error or error
            data = b""
        data = data.ljust(size, b"\0")
        first, last = self._position // _PAGE, (self._position + size - 1) // _PAGE
        waiting = [number for number in range(first, last + 1) if number in self._pages] if self._pages else []
        if waiting:
            mixed = bytearray(data)
            for number in waiting:
                begin = number * _PAGE - self._position
                a, b = max(0, begin), min(size, begin + _PAGE)
                mixed[a:b] = self._pages[number][a - begin : b - begin]
            data = bytes(mixed)
        self._position += size
        return data

    def write(self, data: Any) -> int:
        view = memoryview(data)
        try:
            held = self._hold(view, self._position)
            if held < len(view) and self.error is None:
                _write_all(self.descriptor, view[held:], self._position + held)
        except BaseException as error:
            self.error = self.error or error
        self._position += len(view)
        self._end = max(self._end, self._position)
        return len(view)

    def _hold(self, view: memoryview, offset: int) -> int:
        """Keep what falls on pages of the last commit; returns how many bytes that were."""
        held = 0
        while held < len(view) and (number := (offset + held) // _PAGE) < self._kept:
            if number not in self._pages:
                page = os.pread(self.descriptor, _PAGE, number * _PAGE)
                self._pages[number] = bytearray(page.ljust(_PAGE, b"\0"))
            begin = offset + held - number * _PAGE
            count = min(_PAGE - begin, len(view) - held)
            self._pages[number][begin : begin + count] = view[held : held + count]
            held += count
        return held

    def truncate(self, size: int) -> int:
        self._end = size
        return size

    def flush(self) -> None:
        pass


@contextlib.contextmanager
def writing(draft: Path, **options: Any) -> Iterator[Any]:
    """A new HDF5 file in the place of a draft, on the disk when the block ends; `options` are those of `h5py.File`.

    HDF5 writes through `Disk`: where the disk is full, OSError says so when all is written.
    """
    import h5py

    disk = Disk(os.open(draft, os.O_RDWR | getattr(os, "O_BINARY", 0)))
    try:
        with h5py.File(disk, "w", **options) as file:
            yield file
        disk.sync()
    except Exception:
        if disk.error is None:
            raise
    finally:
        disk.close()
    if disk.error is not None:
        raise disk.error
