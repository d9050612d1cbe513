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
    except (OSError, KeyError) as problem:
        reason = str(problem).strip("'\"").split("\n")[0]
        raise ValueError(f"{path.name} cannot be read as an FCLIB file: {reason}.") from problem
    raise ValueError(f"{path.name} has neither fclib_local nor fclib_global: no FCLIB file.")


def _vector(group: Any, name: str) -> np.ndarray:
    return np.asarray(group["vectors"][name][()], dtype=float)


def _dimension(group: Any) -> int:
    return int(np.asarray(group["spacedim"][()]).ravel()[0])


def _read_local(group: Any) -> FrictionProblem:
    W, q, joints = _read_matrix(group["W"]), _vector(group, "q"), 0
    if "V" in group and "R" in group:
        V, R = _read_matrix(group["V"]), _read_matrix(group["R"])
        joints = R.shape[0]
        W = sp.bmat([[W, V], [V.T, R]], format="csr")
        q = np.concatenate([q, _vector(group, "s")])
    return FrictionProblem(W, q, _vector(group, "mu"), _dimension(group), bilateral=joints)


def _read_global(group: Any) -> FrictionProblem:
    G = _read_matrix(group["G"]) if "G" in group else None
    b = _vector(group, "b") if G is not None else None
    f, w, mu = (_vector(group, name) for name in ("f", "w", "mu"))
    M, H = _read_matrix(group["M"]), _read_matrix(group["H"])
    return FrictionProblem.from_dynamics(M, H, f, w, mu, _dimension(group), G=G, b=b)


def _read_matrix(group: Any) -> sp.csr_matrix:
    m, n, nz = (int(np.asarray(group[name][()]).ravel()[0]) for name in ("m", "n", "nz"))
    p, i, x = (np.asarray(group[name][()]) for name in ("p", "i", "x"))
    if nz >= 0:
        # FCLIB's own triplets keep rows in i and columns in p; files written through other versions have them swapped.
        rows, columns = i[:nz], p[:nz]
        if nz and (rows.max() >= m or columns.max() >= n):
            rows, columns = columns, rows
        return sp.csr_matrix((x[:nz], (rows, columns)), shape=(m, n))
    if nz == -1:
        return sp.csc_matrix((x[: p[-1]], i[: p[-1]], p), shape=(m, n)).tocsr()
    if nz == -2:
        return sp.csr_matrix((x[: p[-1]], i[: p[-1]], p), shape=(m, n))
    raise KeyError(f"matrix format nz = {nz} is not one of FCLIB's")


def write_fclib(problem: FrictionProblem, path: str | Path, title: str = "") -> None:
    """Write a problem: as a global one where it was given as M and H (f = 0, all of q in w), else as a local one."""
    import h5py

    if problem.elliptic:
        raise ValueError("FCLIB has no elliptic friction: mu must have one coefficient per contact.")
    n = problem.dim * problem.contacts
    with h5py.File(path, "w") as file:
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
