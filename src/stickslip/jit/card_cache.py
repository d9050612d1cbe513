"""Machine code of a card on disk: numba-cuda's cache in a folder that belongs to the user and notices every edit.

Numba's own cache looks at the file of the function alone: change a helper in another module and the caller keeps the
old machine code.  Here the cache is named by the content of all compiled sources together (`compiled.sources_hash`).
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile, _CacheLocator

from stickslip.jit.compiled import source_group, sources_hash
from stickslip.jit.vault import SEAL_LENGTH, Untrusted, cache_folder, leave, vault


class PackageLocator(_CacheLocator):
    """Puts the machine code of a function into the user's cache folder, under the hash of the sources."""

    def __init__(self, function: Callable[..., Any], folder: Path, parts: tuple[str, ...], stamp: str) -> None:
        self._py_file = function.__code__.co_filename  # Numba names it where it warns that it cannot cache
        self._line = function.__code__.co_firstlineno
        self.asked_for = cache_folder()
        self.parts = parts
        self._folder = folder
        self._stamp = stamp

    def ensure_cache_path(self) -> None:
        """The folder is made where a file is written."""

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> PackageLocator | None:
        stamp = sources_hash(source_group(file))
        parts = ("numba", stamp, Path(file).resolve().parent.name)
        try:
            folder = vault().path.joinpath(*parts)
        except OSError:
            return None  # read-only home and the like: compile anew in every process
        return cls(function, folder, parts, stamp)


class _HashedFiles(IndexDataCacheFile):
    """Machine code in files named by the seal of their content, found through an index that ends with its own seal.

    Whatever is not what its seal says (a damaged disk, a process that was killed, another user) is taken for missing
    before a byte of it is unpickled.  Numba's own files are numbered: two processes that compile at the same time can
    give one number to two functions.
    """

    def __init__(self, asked_for: Path, parts: tuple[str, ...], base: str, stamp: str) -> None:
        super().__init__(str(asked_for.joinpath(*parts)), base, stamp)
        self._asked_for, self._parts, self._base = asked_for, parts, base

    def save(self, key: Any, data: Any) -> None:
        content, place = self._dump(data), vault(self._asked_for)
        name = f"{self._base}.{place.seal(self._base, content)}.nbc"
        place.write(content, *self._parts, name)
        self._save_index({**self._load_index(), key: name})  # of two at once one is lost, and compiled again

    def load(self, key: Any) -> Any:
        name = self._load_index().get(key)
        content = None if name is None else self._read(name)
        if name is None or content is None or name.split(".")[-2] != vault(self._asked_for).seal(self._base, content):
            return None
        return pickle.loads(content)

    def _load_index(self) -> dict[Any, str]:
        content = self._read(self._index_name)
        if content is None or len(content) < SEAL_LENGTH:
            return {}
        body, seal = content[:-SEAL_LENGTH], content[-SEAL_LENGTH:]
        if vault(self._asked_for).seal(self._index_name, body).encode() != seal:
            return {}
        version, stamp, overloads = pickle.loads(body)
        return dict(overloads) if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        body, place = self._dump((self._version, self._source_stamp, overloads)), vault(self._asked_for)
        place.write(body + place.seal(self._index_name, body).encode(), *self._parts, self._index_name)

    def _read(self, name: str) -> bytes | None:
        """What a file holds, or None; a file that others can or could write is the last of its folder we look at."""
        try:
            place = vault(self._asked_for)
            try:
                return place.read(*self._parts, name)
            except Untrusted as reason:
                leave(place.path, str(reason))
                vault(self._asked_for)  # tells it
                return None
        except OSError:
            return None


class SealedCache:
    """Makes a cache of numba-cuda's read and write sealed files of the user alone."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[call-arg]
        locator = self._impl.locator  # type: ignore[attr-defined]
        self._cache_file = _HashedFiles(
            locator.asked_for,
            locator.parts,
            self._impl.filename_base,  # type: ignore[attr-defined]
            locator.get_source_stamp(),
        )

    def save_overload(self, signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk costs the next process some seconds, not this one its run
            super().save_overload(signature, data)  # type: ignore[misc]


def cached(dispatcher: Any, kind: type) -> Any:
    """Give a compiled function the disk cache of the package; none where there is no folder to write to."""
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = kind(dispatcher.py_func)
    return dispatcher
