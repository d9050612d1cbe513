"""FCLIB's `.hdf5` files of friction problems: read and write.

    /fclib_local   W, optional V and R (joints: W r + V l + q = u, V^T r + R l + s = 0), vectors q, s, mu, spacedim
    /fclib_global  M, H, optional G (joints), vectors f, w, b, mu, spacedim

A matrix is a group with m, n, nz, nzmax, p, i, x: nz >= 0 triplets, -1 compressed columns, -2 compressed rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.contact.delassus import Delassus
from stickslip.contact.problem import FrictionProblem
from stickslip.io.disk import member, open_binary, reading, replacing, writing
from stickslip.io.whole import require_whole

_COLUMNS, _ROWS = -1, -2  # values of nz: compressed columns, compressed rows
LARGEST_INDEX = 2**40
UNPACKED, MOST_UNPACKED = 64_000_000, 20
"""Bytes that any array may have, and times as many as it takes in the file that a larger one may have."""


def read_fclib(path: str | Path) -> FrictionProblem:
    """The problem of an FCLIB file; ValueError with one line, which names file and field, where it cannot be read."""
    import h5py

    path = Path(path)
    try:
        with open_binary(path) as content, reading(content) as file:
            for name, read in (("fclib_local", _read_local), ("fclib_global", _read_global)):
                found = member(file, name)
                if isinstance(found, h5py.Group):
                    return read(_Group(found))
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError) as problem:
        reason = str(problem).strip("'\"").split("\n")[0]
        raise ValueError(f"{path.name} cannot be read as an FCLIB file: {reason}.") from problem
    except ValueError as problem:
        raise ValueError(f"{path.name} cannot be read as an FCLIB file: {str(problem).rstrip('.')}.") from problem
    raise ValueError(f"{path.name} has neither fclib_local nor fclib_global: no FCLIB file.")


class _Group:
    """A group of the file; what is missing or of the wrong kind is said with its name."""

    def __init__(self, group: Any) -> None:
        self.group, self.name = group, str(group.name).lstrip("/")

    def __contains__(self, name: str) -> bool:
        return bool(self.group.id.links.exists(name.encode()))

    def __getitem__(self, name: str) -> _Group:
        found = self._own(name)
        if not hasattr(found, "keys"):
            raise ValueError(f"{self.name}/{name} must be a group, got {_kind(found)}.")
        return _Group(found)

    def _own(self, name: str) -> Any:
        """Entry under the name in the file itself; None where nothing does."""
        try:
            return member(self.group, name)
        except ValueError:
            raise ValueError(f"{self.name}/{name} must lie in the file itself.") from None

    def numbers(self, name: str) -> np.ndarray:
        """A vector of finite numbers."""
        found = self._own(name)
        if not hasattr(found, "dtype") or found.dtype.kind not in "iuf" or getattr(found, "shape", None) is None:
            raise ValueError(f"{self.name}/{name} must be a vector of numbers, got {_kind(found)}.")
        require_whole(found, name)
        if found.nbytes > max(UNPACKED, MOST_UNPACKED * found.id.get_storage_size()):
            raise ValueError(
                f"{self.name}/{name} unpacks to {found.nbytes >> 20} MB, more than {MOST_UNPACKED} times what the file "
                "holds of it; write it without compression."
            )
        values = np.asarray(found[()]).ravel()
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{self.name}/{name} must be finite, got a value that is not.")
        return values

    def vector(self, name: str, length: int) -> np.ndarray:
        values = self.numbers(name).astype(float)
        if len(values) != length:
            raise ValueError(f"{self.name}/{name} must have {length} entries, got {len(values)}.")
        return values

    def integers(self, name: str) -> np.ndarray:
        values = self.numbers(name)
        if np.any(values != np.round(values)) or np.any(np.abs(values) > LARGEST_INDEX):
            raise ValueError(f"{self.name}/{name} must hold whole numbers.")
        return values.astype(np.int64)

    def integer(self, name: str) -> int:
        values = self.integers(name)
        if len(values) != 1:
            raise ValueError(f"{self.name}/{name} must be one whole number, got {len(values)}.")
        return int(values[0])


def _kind(found: Any) -> str:
    if found is None:
        return "nothing"
    return f"an array of {found.dtype}" if hasattr(found, "dtype") else "a group"


def _dimension(group: _Group, rows: int, contacts: int) -> int:
    """The dimension as written, else from the rows per contact."""
    if "spacedim" in group:
        dim = group.integer("spacedim")
        if dim not in (2, 3):
            raise ValueError(f"{group.name}/spacedim must be 2 or 3, got {dim}.")
        return dim
    return rows // max(1, contacts)


def _read_local(group: _Group) -> FrictionProblem:
    W, vectors = _read_matrix(group["W"]), group["vectors"]
    q, mu, joints = vectors.vector("q", W.shape[0]), vectors.numbers("mu").astype(float), 0
    dim = _dimension(group, len(q), len(mu))
    if "V" in group and "R" in group:
        V, R = _read_matrix(group["V"]), _read_matrix(group["R"])
        joints = R.shape[0]
        if V.shape != (W.shape[0], joints) or R.shape[1] != joints:
            raise ValueError(f"{group.name}/V must be {W.shape[0]} x {joints} to match W and R, got {V.shape}.")
        W = sp.bmat([[W, V], [V.T, R]], format="csr")
        q = np.concatenate([q, vectors.vector("s", joints)])
    return FrictionProblem(W, q, mu, dim, bilateral=joints)


def _read_global(group: _Group) -> FrictionProblem:
    M, H, vectors = _read_matrix(group["M"]), _read_matrix(group["H"]), group["vectors"]
    G = _read_matrix(group["G"]) if "G" in group else None
    b = vectors.vector("b", G.shape[1]) if G is not None else None
    f, w, mu = vectors.vector("f", M.shape[0]), vectors.vector("w", H.shape[1]), vectors.numbers("mu").astype(float)
    return FrictionProblem.from_dynamics(M, H, f, w, mu, _dimension(group, len(w), len(mu)), G=G, b=b)


def _read_matrix(group: _Group) -> sp.csr_matrix:
    m, n, nz = (group.integer(name) for name in ("m", "n", "nz"))
    p, i, x = group.integers("p"), group.integers("i"), group.numbers("x").astype(float)
    if m < 0 or n < 0 or nz < _ROWS:
        raise ValueError(f"{group.name} must have m, n >= 0 and nz >= -2, got {m}, {n} and {nz}.")
    if nz >= 0:
        # FCLIB's own triplets keep rows in i and columns in p; files written through other versions have them swapped.
        rows, columns, x = i[:nz], p[:nz], x[:nz]
        if nz and len(rows) == len(columns) and (rows.max() >= m or columns.max() >= n):
            rows, columns = columns, rows
        _check_indices(group, "i", rows, m, nz)
        _check_indices(group, "p", columns, n, nz)
        _check_length(group, "x", x, nz)
        return sp.csr_matrix((x, (rows, columns)), shape=(m, n))
    slots, others = (n, m) if nz == _COLUMNS else (m, n)
    _check_length(group, "p", p, slots + 1)
    if p[0] != 0 or np.any(np.diff(p) < 0):
        raise ValueError(f"{group.name}/p must begin with 0 and never fall.")
    _check_indices(group, "i", i[: p[-1]], others, int(p[-1]))
    _check_length(group, "x", x[: p[-1]], int(p[-1]))
    compressed = sp.csc_matrix if nz == _COLUMNS else sp.csr_matrix
    return compressed((x[: p[-1]], i[: p[-1]], p), shape=(m, n)).tocsr()


def _check_length(group: _Group, name: str, values: np.ndarray, length: int) -> None:
    if len(values) != length:
        raise ValueError(f"{group.name}/{name} must have {length} entries, got {len(values)}.")


def _check_indices(group: _Group, name: str, values: np.ndarray, end: int, length: int) -> None:
    _check_length(group, name, values, length)
    if length and (values.min() < 0 or values.max() >= end):
        raise ValueError(f"{group.name}/{name} must lie between 0 and {end - 1}, got {values.min()} to {values.max()}.")


def write_fclib(problem: FrictionProblem, path: str | Path, title: str = "") -> None:
    """Write a problem: as a global one where it was given as M and H (f = 0, all of q in w), else as a local one."""
    if problem.elliptic:
        raise ValueError("FCLIB has no elliptic friction: mu must have one coefficient per contact.")
    n = problem.dim * problem.contacts
    _check_joints(problem, n)
    with replacing(Path(path)) as draft, writing(draft) as file:
        if isinstance(problem.W, Delassus):
            group = file.create_group("fclib_global")
            M, H = problem.W.M, problem.W.H.tocsr()
            matrices = {"M": M, "H": H[:, :n]}
            vectors = {"f": np.zeros(M.shape[0]), "w": problem.q[:n], "mu": problem.mu}
            if problem.bilateral:
                matrices["G"], vectors["b"] = H[:, n:], problem.q[n:]
        else:
            group = file.create_group("fclib_local")
            W = sp.csr_matrix(problem.matrix)
            matrices = {"W": W[:n, :n]}
            vectors = {"q": problem.q[:n], "mu": problem.mu}
            if problem.bilateral:
                matrices |= {"V": W[:n, n:], "R": W[n:, n:]}
                vectors["s"] = problem.q[n:]
        group["spacedim"] = np.array([problem.dim], np.int32)
        for name, matrix in matrices.items():
            _write_matrix(group.create_group(name), sp.csr_matrix(matrix))
        for name, vector in vectors.items():
            group[f"vectors/{name}"] = vector
        group["info/title"] = np.bytes_(title or "stickslip")
        group["info/description"] = np.bytes_("written by stickslip")
        group["info/math_info"] = np.bytes_("")


def _check_joints(problem: FrictionProblem, n: int) -> None:
    """A local file keeps V alone and takes V^T for the rows of the joints."""
    if not problem.bilateral or isinstance(problem.W, Delassus):
        return
    W = sp.csr_matrix(problem.matrix)
    off = abs(W[:n, n:] - W[n:, :n].T).max()
    if off > 0.0:
        raise ValueError(
            f"FCLIB's local form holds joints only where W is symmetric, and W_cb and W_bc^T differ by {off:.1e}; "
            "give the problem as M, H and G (FrictionProblem.from_dynamics)."
        )


def _write_matrix(group: Any, matrix: sp.csr_matrix) -> None:
    for name, value in (("m", matrix.shape[0]), ("n", matrix.shape[1]), ("nz", -2), ("nzmax", matrix.nnz)):
        group[name] = np.array([value], np.int32)
    group["p"] = matrix.indptr.astype(np.int32)
    group["i"] = matrix.indices.astype(np.int32)
    group["x"] = matrix.data.astype(float)
