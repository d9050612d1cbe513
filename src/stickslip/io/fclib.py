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

from stickslip.complementarity.friction.delassus import Delassus
from stickslip.complementarity.friction.problem import FrictionProblem
from stickslip.io.disk import own_dataset, replacing


def read_fclib(path: str | Path) -> FrictionProblem:
    """The problem of an FCLIB file; ValueError with one line where it cannot be read."""
    import h5py

    path = Path(path)
    try:
        with h5py.File(path, "r") as file:
            if "fclib_local" in file:
                return _read_local(file["fclib_local"])
            if "fclib_global" in file:
                return _read_global(file["fclib_global"])
    except FileNotFoundError:
        raise
    except (OSError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RuntimeError) as problem:
        reason = str(problem).strip("'\"").split("\n")[0][:200]
        raise ValueError(f"{path.name} cannot be read as an FCLIB file: {reason}.") from problem
    raise ValueError(f"{path.name} has neither fclib_local nor fclib_global: no FCLIB file.")


LARGEST = 50_000_000
"""Rows and columns of a matrix in a file."""


def _array(group: Any, name: str) -> np.ndarray:
    """The numbers of a dataset; not those of another file, and no more than the file has."""
    dataset = own_dataset(group, name)
    if dataset.dtype.kind not in "iuf":
        raise TypeError(f"{name} has the type {dataset.dtype}, not numbers")
    if dataset.compression is None and dataset.nbytes > max(64, dataset.id.get_storage_size()):
        raise KeyError(f"{name} has less data than its size says")
    return np.asarray(dataset[()])


def _vector(group: Any, name: str) -> np.ndarray:
    return _array(group["vectors"], name).astype(float).ravel()


def _whole(group: Any, name: str) -> int:
    values = _array(group, name).ravel()
    if not len(values) or values[0] != int(values[0]):
        raise TypeError(f"{name} must be a whole number")
    return int(values[0])


def _dimension(group: Any, rows: int, contacts: int) -> int:
    """The dimension as written, else from the rows per contact."""
    if "spacedim" in group:
        return _whole(group, "spacedim")
    return rows // max(1, contacts)


def _read_local(group: Any) -> FrictionProblem:
    W, q, mu, joints = _read_matrix(group["W"]), _vector(group, "q"), _vector(group, "mu"), 0
    dim = _dimension(group, len(q), len(mu))
    if "V" in group and "R" in group:
        V, R = _read_matrix(group["V"]), _read_matrix(group["R"])
        joints = R.shape[0]
        W = sp.bmat([[W, V], [V.T, R]], format="csr")
        q = np.concatenate([q, _vector(group, "s")])
    return FrictionProblem(W, q, mu, dim, bilateral=joints)


def _read_global(group: Any) -> FrictionProblem:
    G = _read_matrix(group["G"]) if "G" in group else None
    b = _vector(group, "b") if G is not None else None
    f, w, mu = (_vector(group, name) for name in ("f", "w", "mu"))
    M, H = _read_matrix(group["M"]), _read_matrix(group["H"])
    return FrictionProblem.from_dynamics(M, H, f, w, mu, _dimension(group, len(w), len(mu)), G=G, b=b)


def _read_matrix(group: Any) -> sp.csr_matrix:
    m, n, nz = (_whole(group, name) for name in ("m", "n", "nz"))
    if not (0 <= m <= LARGEST and 0 <= n <= LARGEST):
        raise KeyError(f"a matrix of {m} x {n} is beyond {LARGEST} rows or columns")
    p, i, x = (_array(group, name).ravel() for name in ("p", "i", "x"))
    p, i = p.astype(np.int64), i.astype(np.int64)
    if nz >= 0:
        # FCLIB's own triplets keep rows in i and columns in p; files written through other versions have them swapped.
        rows, columns = i[:nz], p[:nz]
        if nz and (rows.max() >= m or columns.max() >= n):
            rows, columns = columns, rows
        if len(x) < nz or len(rows) != nz or len(columns) != nz:
            raise IndexError(f"a matrix has fewer than its {nz} entries")
        return sp.csr_matrix((x[:nz], (rows, columns)), shape=(m, n))
    if nz == -1:
        _require_compressed(p, i, x, n, m)
        return sp.csc_matrix((x[: p[-1]], i[: p[-1]], p), shape=(m, n)).tocsr()
    if nz == -2:
        _require_compressed(p, i, x, m, n)
        return sp.csr_matrix((x[: p[-1]], i[: p[-1]], p), shape=(m, n))
    raise KeyError(f"matrix format nz = {nz} is not one of FCLIB's")


def _require_compressed(p: np.ndarray, i: np.ndarray, x: np.ndarray, lines: int, across: int) -> None:
    """Raise where pointers or indices lead outside: SciPy would follow them."""
    if len(p) != lines + 1 or p[0] != 0 or np.any(np.diff(p) < 0) or p[-1] > min(len(i), len(x)):
        raise IndexError("the pointers of a compressed matrix do not fit its entries")
    used = i[: p[-1]]
    if len(used) and (used.min() < 0 or used.max() >= across):
        raise IndexError("a compressed matrix has an entry outside its size")


def write_fclib(problem: FrictionProblem, path: str | Path, title: str = "") -> None:
    """Write a problem: as a global one where it was given as M and H (f = 0, all of q in w), else as a local one."""
    import h5py

    if problem.elliptic:
        raise ValueError("FCLIB has no elliptic friction: mu must have one coefficient per contact.")
    n = problem.dim * problem.contacts
    with replacing(Path(path)) as draft, h5py.File(draft, "w") as file:
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


def _write_matrix(group: Any, matrix: sp.csr_matrix) -> None:
    for name, value in (("m", matrix.shape[0]), ("n", matrix.shape[1]), ("nz", -2), ("nzmax", matrix.nnz)):
        group[name] = np.array([value], np.int32)
    group["p"] = matrix.indptr.astype(np.int32)
    group["i"] = matrix.indices.astype(np.int32)
    group["x"] = matrix.data.astype(float)
