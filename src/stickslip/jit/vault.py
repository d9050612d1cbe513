"""The folder that machine code is loaded from: the user's own, closed to everybody else, its files sealed with a key.

What a file of the cache holds is executed, so it must have been written by this user.  Checked on opened descriptors,
without a moment between check and use:

- every folder above the cache belongs to the user or the administrator, and nobody else can exchange what is in it;
- the cache and every folder and file in it belong to the user, are no links, and nobody else can write them;
- every file carries a seal made with a key that only the user can read, so a file that others could write once, and
  that looks harmless again, is not what its seal says.

A folder that fails is neither repaired nor used: it gets a mark, which keeps it from being used later, and another
folder takes its place (`_places`).  POSIX access lists are covered, since they show in the mode's group bits.
Windows and file systems there have no such modes: what is in the user's profile is the user's.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import secrets
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT_VARIABLE = "STICKSLIP_CACHE"
HAS_MODES = os.name == "posix" and {os.open, os.mkdir, os.stat, os.unlink} <= os.supports_dir_fd
SEAL_LENGTH = 40  # hexadecimal digits
_KEY, _KEY_BYTES = "key", 32
_MARK = "left-alone"  # a folder with this file in it is not used
_MOST_LINKS = 40  # on the way to the cache, as Linux has it
_THROUGH = getattr(os, "O_PATH", os.O_RDONLY)  # a folder may be passed by users who may not list it


class Untrusted(OSError):
    """Something on the way to the cache, or in it, that others can or could write; the text says what."""


def cache_folder() -> Path:
    """The folder that is asked for; it need not exist, and another one is used where it is not safe (`vault`).

    `$STICKSLIP_CACHE` where it is set, else `stickslip` in the user's cache folder of the platform.
    """
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(named).expanduser().absolute() if named else _user_cache_folder() / "stickslip"


def _user_cache_folder() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    xdg = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification tells programs to ignore a relative path here.
    return Path(xdg) if xdg and os.path.isabs(xdg) else Path.home() / ".cache"


class Vault:
    """A folder of the cache that passed the checks; parts of names lead from it to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _way_to(path) as root:
            self._identity = root.identity()
            if root.exists(_MARK):
                raise Untrusted(f"it was open to others before (its file {_MARK} says so)")
            self._key = _key_in(root)

    def read(self, *parts: str) -> bytes:
        """Content of a file; FileNotFoundError if it is missing, Untrusted if others can or could write it."""
        with self._folder(parts[:-1]) as folder:
            return folder.read(parts[-1])

    def write(self, content: bytes, *parts: str) -> Path:
        """Put a file in place, whole or not at all; folders on the way to it are made."""
        with self._folder(parts[:-1], create=True) as folder:
            folder.write(parts[-1], content)
        return self.path.joinpath(*parts)

    def seal(self, name: str, content: bytes) -> str:
        """Seal of a file: a hash of its name and content with a key that only this user can read."""
        digest = hashlib.blake2b(name.encode() + b"\0", key=self._key, digest_size=SEAL_LENGTH // 2)
        digest.update(content)
        return digest.hexdigest()

    def check(self) -> None:
        """Raise FileNotFoundError where the folder is gone, Untrusted where it is another one or open now."""
        with self._folder(()):
            pass

    @contextlib.contextmanager
    def _folder(self, parts: tuple[str, ...], create: bool = False) -> Iterator[_Folder]:
        """The folder at the end of `parts`.

        It is enough that the cache is the folder whose way was checked, wherever its name leads by now.
        """
        with contextlib.ExitStack() as opened:
            folder = opened.enter_context(_Folder.at(self.path))
            if folder.identity() != self._identity:
                raise FileNotFoundError(errno.ENOENT, "the folder was exchanged", str(self.path))
            folder.require_own()
            for name in parts:
                folder = opened.enter_context(folder.below(name, create))
                folder.require_own()
            yield folder


_vaults: dict[Path, Vault] = {}
_left: dict[Path, str] = {}
"""Folders that are not used in this process, and why."""
_told: set[Path] = set()


def vault(named: Path | None = None) -> Vault:
    """The folder of the cache that is used in place of `named`, by default of `cache_folder()`; OSError if none is.

    Where `named` is left alone, a line says so, once.
    """
    named = named or cache_folder()
    for place in _places(named):
        if place in _left:
            continue
        try:
            found = _opened(place)
        except Untrusted as reason:
            leave(place, str(reason))
            continue
        except OSError:  # missing and read-only, say
            if place == named:
                raise
            continue
        _tell(named, f"{found.path} is used instead")
        return found
    _tell(named, "kernels are compiled anew in every process")
    raise Untrusted(f"no folder for compiled kernels is safe, {ENVIRONMENT_VARIABLE} can name one")


def leave(place: Path, reason: str) -> None:
    """Use a folder no more, in this process and, by a mark in the folder, in later ones."""
    _vaults.pop(place, None)
    _left[place] = reason
    if HAS_MODES:
        with contextlib.suppress(OSError), _Folder.at(place) as folder:
            if folder.at_now().st_uid == os.geteuid() and not folder.exists(_MARK):
                text = f"stickslip loads no code from here: {reason}. Delete the whole folder to use it again.\n"
                folder.write(_MARK, text.encode())


def reason_left(place: Path) -> str | None:
    """Why a folder is not used in this process; None where it is, or where nobody asked for it."""
    return _left.get(place)


def _opened(place: Path) -> Vault:
    if place in _vaults:
        try:
            _vaults[place].check()
        except FileNotFoundError:  # emptied by hand: begin again
            _vaults.pop(place, None)
    if place not in _vaults:
        _vaults[place] = Vault(place)
    return _vaults[place]


def _places(named: Path) -> Iterator[Path]:
    """Where compiled code may lie, the first that is safe counts: as asked for, beside it, the default, a temporary."""
    usual = _user_cache_folder() / "stickslip"
    for place in dict.fromkeys((named, usual)):
        yield place
        yield place.with_name(f"{place.name}-private")
    if HAS_MODES:
        yield Path(tempfile.gettempdir()) / f"stickslip-{os.geteuid()}"


def _tell(named: Path, instead: str) -> None:
    if named in _left and named not in _told:
        _told.add(named)
        text = f"the kernel cache {named} is left alone: {_left[named]}; {instead}. Delete it, or name another folder "
        warnings.warn(f"{text}in {ENVIRONMENT_VARIABLE}.", RuntimeWarning, stacklevel=3)


# -- folders and files by their descriptors --------------------------------------------------------------------------


class _Folder:
    """A folder held open, where the platform can: what is done in it happens there, whatever its name leads to."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path, self.descriptor = path, descriptor

    @classmethod
    def at(cls, path: Path, inside: _Folder | None = None) -> _Folder:
        """Open a folder that is no link."""
        if not HAS_MODES:
            os.listdir(path)  # raises as opening does
            return cls(path, None)
        name, where = (str(path), None) if inside is None else (path.name, inside.descriptor)
        flags = _THROUGH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return cls(path, os.open(name, flags, dir_fd=where))
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, where):
                raise Untrusted(f"{path} is a link") from None
            raise

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)

    def below(self, name: str, create: bool = False) -> _Folder:
        """A folder in this one, made for the user alone where it is missing and `create` says so."""
        try:
            return _Folder.at(self.path / name, self)
        except FileNotFoundError:
            if not create:
                raise
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(self.name(name), 0o700, dir_fd=self.descriptor)
        return _Folder.at(self.path / name, self)

    def at_now(self) -> os.stat_result:
        return os.stat(self.path) if self.descriptor is None else os.fstat(self.descriptor)

    def identity(self) -> tuple[int, int]:
        at = self.at_now()
        return at.st_dev, at.st_ino

    def exists(self, name: str) -> bool:
        try:
            os.stat(self.name(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def require_own(self) -> None:
        """Raise Untrusted unless the folder is this user's, and closed to others."""
        if HAS_MODES:
            _require_own(self.at_now(), self.path)

    def require_passable(self) -> None:
        """Raise Untrusted where others can put something else into the place of what is in this folder.

        Where the sticky bit is set, each can exchange his own only: whose the next folder is, is checked there.
        """
        at = self.at_now()
        if at.st_uid not in _trusted_users():
            raise Untrusted(f"{self.path} above it belongs to user {at.st_uid}")
        if _others_write(at) and not at.st_mode & stat.S_ISVTX:
            raise Untrusted(f"others can write {self.path} above it (mode {stat.S_IMODE(at.st_mode):04o})")

    def read(self, name: str) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self.name(name), flags, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Untrusted(f"{self.path / name} is a link") from None
            if error.errno == errno.EACCES and HAS_MODES:  # whose is it?
                at = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
                _require_own(at, self.path / name)
            raise
        with os.fdopen(descriptor, "rb") as file:
            if HAS_MODES:
                _require_own_file(os.fstat(descriptor), self.path / name)
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        draft = self.name(f"{secrets.token_hex(8)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(draft, flags, 0o600, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(draft, self.name(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=self.descriptor)
            raise

    def name(self, name: str) -> str:
        """How a file in this folder is called, together with `dir_fd=self.descriptor`."""
        return name if self.descriptor is not None else str(self.path / name)


@contextlib.contextmanager
def _way_to(path: Path) -> Iterator[_Folder]:
    """The folder of the cache, made where it is missing, with every folder above it checked.

    Links above it are followed, one by one, where they are the user's or the administrator's; it is none itself.
    """
    if not HAS_MODES:
        path.mkdir(parents=True, exist_ok=True)
        yield _Folder.at(path)
        return
    names, links = list(reversed(path.parts[1:])), 0
    folder = _Folder.at(Path(path.anchor))
    try:
        while names:
            folder.require_passable()
            name = names.pop()
            if names and _is_link(name, folder.descriptor):
                links += 1
                owner = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False).st_uid
                if owner not in _trusted_users() or links > _MOST_LINKS:
                    raise Untrusted(f"the link {folder.path / name} above it belongs to user {owner}")
                target = Path(os.readlink(name, dir_fd=folder.descriptor))
                names += reversed(target.parts[1:] if target.is_absolute() else target.parts)
                if target.is_absolute():
                    folder, before = _Folder.at(Path(target.anchor)), folder
                    before.__exit__()
                continue
            folder, before = folder.below(name, create=True), folder
            before.__exit__()
        folder.require_own()
        yield folder
    finally:
        folder.__exit__()


def _key_in(root: _Folder) -> bytes:
    """The secret key of this cache; a new one is made on first use."""
    for _ in range(2):
        with contextlib.suppress(FileNotFoundError):
            key = root.read(_KEY)
            mode = os.stat(root.name(_KEY), dir_fd=root.descriptor, follow_symlinks=False).st_mode
            if HAS_MODES and mode & 0o077:
                raise Untrusted(f"others can read {root.path / _KEY} (mode {stat.S_IMODE(mode):04o})")
            if len(key) == _KEY_BYTES:
                return key
        root.write(_KEY, secrets.token_bytes(_KEY_BYTES))  # of two processes at once the later one's counts for both
    raise OSError(errno.EIO, "the key of the kernel cache cannot be kept", str(root.path))


def _is_link(name: str, where: int | None) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=where, follow_symlinks=False).st_mode)
    return False


def _require_own(at: os.stat_result, path: Path) -> None:
    if at.st_uid != os.geteuid():
        raise Untrusted(f"{path} belongs to user {at.st_uid}")
    if _others_write(at):
        raise Untrusted(f"others can write {path} (mode {stat.S_IMODE(at.st_mode):04o})")


def _require_own_file(at: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(at.st_mode):
        raise Untrusted(f"{path} is no plain file")
    if at.st_nlink > 1:
        raise Untrusted(f"{path} has {at.st_nlink} names: another folder may hold it too")
    _require_own(at, path)


def _others_write(at: os.stat_result) -> bool:
    return bool(at.st_mode & 0o002 or (at.st_mode & 0o020 and not _is_private_group(at.st_gid, os.geteuid())))


@functools.cache
def _is_private_group(group: int, user: int) -> bool:
    """Whether a group is the one that many systems give each user: number and name are the user's, nobody else in it.

    There folders that the group can write are common, and open to nobody.  The group of the administrator is none:
    accounts of services have it, and whoever runs a container without an account of its own.
    """
    import grp
    import pwd

    try:
        at, own = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    if not (group == user == own.pw_gid and at.gr_name == own.pw_name and set(at.gr_mem) <= {own.pw_name}):
        return False
    return user != 0 and all(other.pw_gid != group for other in pwd.getpwall() if other.pw_uid != user)


def _trusted_users() -> tuple[int, ...]:
    return (os.geteuid(), *_administrators())


@functools.cache
def _administrators() -> tuple[int, ...]:
    """Number of root; where a container shows root under the number of unknown users, that one."""
    try:
        lines = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
        if all(int(first) > 0 for first, _, _ in lines):
            return (0, int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    return (0,)
