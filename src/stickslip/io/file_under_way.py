"""The file of a run under way: the names it goes by, who may write it, and how it gets the name it was asked for.

A run writes to a draft with a name of its own, which is called `<name>.part` as soon as it can be opened and read, and
gets its name at the end. A trajectory that is saved in one go needs no `<name>.part` in between.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from stickslip.interrupts import undoing
from stickslip.io.disk import (
    Disk,
    draft_of,
    file_path,
    journal_of,
    lock,
    open_draft,
    open_regular,
    recover,
    remove_dead_drafts,
    sync_folder,
    write_error,
)
from stickslip.io.load import is_trajectory
from stickslip.io.printable import visible

FOREIGN_ENDINGS = (
    *(".csv", ".json", ".txt", ".md", ".toml", ".yaml", ".mat", ".npy", ".npz", ".pkl", ".pickle", ".parquet"),
    *(".xlsx", ".png", ".jpg", ".svg", ".pdf", ".gif", ".html"),
)
"""Endings that promise another format than ours."""


class FileUnderWay:
    """A file that is being written: its names, its claim, and the steps in which its content becomes safe.

    Parameters
    ----------
    path : str or Path
        The name that the file is to have at the end.
    overwrite : bool
        Whether a finished trajectory, or an unfinished run, may be replaced.
    whole : bool
        Whether the content is written in one go, so that nothing of it is worth keeping before its end.

    Attributes
    ----------
    path : Path as it was given.
    draft : Path of the file at present.
    disk : Disk, the open file; from `begin` or `take_up` on.
    safe : records of the last commit; whatever fails, they stay.
    """

    disk: Disk
    draft: Path

    def __init__(self, path: str | Path, overwrite: bool, whole: bool) -> None:
        self.path = file_path(path, "path", behind="" if whole else ".part-journal")
        self.whole = whole
        self.safe = 0
        self._overwrite = overwrite
        self._target = Path(os.path.realpath(path))  # a link stays a link, and its file is replaced
        self._part = part_of(self._target)
        self._ending = contextlib.ExitStack()  # what a signal that ends the process does first

    def begin(self) -> None:
        """Open a draft; ValueError where the name is taken or the folder cannot be written to."""
        self._require_free()
        self._tidy()
        if not self.whole:
            _drop_unfinished(self.path, self._part, self._overwrite)
        self.draft = draft_of(self._target, ".tmp")
        self._ending.enter_context(undoing(functools.partial(self.draft.unlink, missing_ok=True)))
        try:
            descriptor = open_draft(self.draft)
        except OSError as error:
            self._ending.close()
            raise write_error(self.path, error) from error
        self.disk = Disk(descriptor)

    def _require_free(self) -> None:
        require_replaceable(self.path, self._target, self._overwrite, is_trajectory, "trajectory")

    def _tidy(self) -> None:
        """Remove drafts and journals of writers of this file that were killed."""
        for path in (self._target, journal_of(self._part)):
            remove_dead_drafts(path)

    def claim_name(self) -> None:
        """Call the draft `<name>.part` from now on; whoever comes second finds it taken."""
        try:
            os.link(self.draft, self._part)  # unlike a rename, it replaces nothing
            self.draft.unlink()
        except FileExistsError:
            raise _taken(self.path, self._part) from None
        except OSError:  # a file system without hard links
            os.rename(self.draft, self._part)
        self.draft = self._part
        self._ending.close()

    def take_up(self) -> bool:
        """Open and claim the file that an earlier run of this name left; False where there is none."""
        self._tidy()
        source = self._part if self._part.exists() else self._target
        recover(source)  # before it is looked at: in the middle of a commit it may not be readable
        if not source.exists():
            return False
        if not is_trajectory(source):
            raise ValueError(
                f"{visible(source)} is not a readable trajectory, so no run can go on from it; "
                "give another name, or remove it if it is not needed."
            )
        try:
            descriptor = open_regular(source, os.O_RDWR)
        except OSError as error:
            raise write_error(self.path, error) from error
        self.draft = source
        self.disk = Disk(descriptor, os.fstat(descriptor).st_size)
        if not lock(descriptor):
            self.disk.close()
            raise _taken(self.path, source)
        return True

    def take_over(self) -> None:
        """Call the file of a run that goes on `<name>.part` again, until the run has ended."""
        if self.draft != self._part:
            os.rename(self.draft, self._part)
            self.draft = self._part

    def reserve(self, size: int) -> None:
        """Make sure that the disk has room for a file of `size` bytes."""
        try:
            self.disk.reserve(size)
        except OSError as error:
            raise write_error(self.path, error, self._last_commit()) from error

    def check(self) -> None:
        """OSError where a write to the disk has failed, which HDF5 may have kept to itself."""
        if self.disk.error is not None:
            raise write_error(self.path, self.disk.error) from self.disk.error

    def commit(self) -> None:
        """Make the content safe against a kill and a power cut."""
        try:
            self.disk.require_name(self.draft)
            self.disk.commit(self.draft)
        except OSError as error:
            raise write_error(self.path, error, self._last_commit()) from error

    def complete(self) -> None:
        """Make the whole content safe: the file can be published."""
        self.check()
        if not self.whole:
            self.commit()
        self.disk.sync()
        self.check()
        try:
            self.disk.require_name(self.draft)
        except OSError as error:
            raise write_error(self.path, error, self._kept("the run is in")) from error

    def _last_commit(self) -> str:
        """What is left of the run when nothing more can be written."""
        if not self.safe:
            return "nothing was replaced"
        records = "the first record is" if self.safe == 1 else f"the first {self.safe} records are"
        return self._kept(f"{records} safe in")

    def _kept(self, words: str) -> str:
        """Remains of the run's file, which may have gone with its folder or its drive."""
        try:
            return f"{words} {self.draft}" if self.disk.is_at(self.draft) else f"{self.draft} is none of this run"
        except OSError:
            return f"{self.draft} has gone, with its folder or its drive"

    def publish(self) -> None:
        """Give the file its name."""
        try:
            require_replaceable(
                self.path, self._target, self._overwrite, is_trajectory, "trajectory"
            )  # again: hours may have passed
            os.replace(self.draft, self._target)
            journal_of(self.draft).unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            kept = "nothing was replaced" if self.whole else self._kept("the run is kept in")
            if isinstance(error, ValueError):
                raise ValueError(f"{error} Meanwhile {kept}.") from error
            raise write_error(self.path, error, kept) from error
        finally:
            self._ending.close()
        sync_folder(self._target.parent)

    def discard(self) -> None:
        """Remove the draft; a file that stands under the name stays as it is."""
        with contextlib.suppress(OSError):
            self.draft.unlink(missing_ok=True)
        self._ending.close()


def part_of(target: Path) -> Path:
    """Name of a run's file until the run has ended."""
    if len(os.fsencode(target.name)) <= 240:
        return target.with_name(f"{target.name}.part")
    return target.with_name(f"{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:32]}.part")


def bytes_held(path: str | Path) -> int:
    """Bytes on the disk of a run of this name, ended or not; 0 where there is none."""
    with contextlib.suppress(OSError, ValueError):
        target = Path(os.path.realpath(path))
        for file in (part_of(target), target):
            if file.is_file():
                return file.stat().st_size
    return 0


def _drop_unfinished(path: Path, part: Path, overwrite: bool) -> None:
    """Make room for a run where another one was killed; never where one is still under way."""
    recover(part)
    try:
        descriptor = open_regular(part, os.O_RDWR)
    except FileNotFoundError:
        return
    except OSError as error:
        raise write_error(path, error) from error
    try:
        if not lock(descriptor):
            raise _taken(path, part)
        if not overwrite:
            raise ValueError(
                f"{visible(part)} is what a run left that was cut short; go on with it (resume=True, --resume), or "
                "drop it "
                "(overwrite=True, --overwrite)."
            )
        if not is_trajectory(part):
            raise ValueError(
                f"{visible(part)} exists and is not a readable trajectory, so it is never replaced; remove it."
            )
        part.unlink()
        journal_of(part).unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _taken(path: Path, part: Path) -> ValueError:
    return ValueError(
        f"{visible(path)} is being written by another process (see {visible(part)}); wait for it, or give another name."
    )


def require_replaceable(path: Path, target: Path, overwrite: bool, is_own: Callable[[Path], bool], what: str) -> None:
    """Raise unless `path`, which leads to `target`, may be written; only a file that `is_own` is ever replaced."""
    folder = target.parent
    if not folder.is_dir():
        raise ValueError(
            f"{visible(path)} must lie in a folder that exists, and there is none at {visible(folder)}; create it "
            "first."
        )
    if target.is_dir():
        raise ValueError(f"{visible(path)} is a folder; give the name of a file in it.")
    if target.exists():
        if not is_own(target):
            raise ValueError(
                f"{visible(path)} exists and is not a readable stickslip {what}, so it is never replaced; "
                f"give another name, or remove it yourself."
            )
        if not overwrite:
            raise ValueError(
                f"{visible(path)} exists; give overwrite=True (--overwrite) to replace it, or another name."
            )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(
            f"{visible(path)} must lie in a folder you may write to, and {visible(folder)} is not; choose another."
        )
    if path.suffix.lower() in FOREIGN_ENDINGS:
        raise ValueError(
            f"{visible(path)} would be a netCDF file: give a name that ends in .nc, got one with {path.suffix!r}."
        )
