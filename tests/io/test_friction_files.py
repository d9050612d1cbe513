"""FCLIB and Siconos files of friction problems, all of them written here."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.bench.random_friction import granular, stack


def same(one, other):
    np.testing.assert_allclose(sp.csr_matrix(one.matrix).toarray(), sp.csr_matrix(other.matrix).toarray(), atol=1e-13)
    np.testing.assert_allclose(one.q, other.q, rtol=1e-14)
    np.testing.assert_array_equal(one.mu, other.mu)
    assert one.dim == other.dim and one.bilateral == other.bilateral


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("suffix", [".hdf5", ".dat"])
def test_round_trip_of_a_matrix(tmp_path, dim, suffix):
    given = granular(12, np.random.default_rng(1), dim)
    local = ss.FrictionProblem(given.matrix, given.q, given.mu, dim)
    ss.write_friction_problem(local, tmp_path / f"p{suffix}")
    same(ss.read_friction_problem(tmp_path / f"p{suffix}"), local)


def test_round_trip_of_masses_and_directions(tmp_path):
    given = stack(8, np.random.default_rng(2), 3)
    ss.write_friction_problem(given, tmp_path / "p.hdf5")
    with h5py.File(tmp_path / "p.hdf5") as file:
        assert "fclib_global" in file and int(file["fclib_global/spacedim"][0]) == 3
    same(ss.read_friction_problem(tmp_path / "p.hdf5"), given)


@pytest.mark.parametrize("matrix_free", [True, False])
def test_round_trip_with_joints(tmp_path, matrix_free):
    rng = np.random.default_rng(3)
    H, G, f = rng.standard_normal((8, 6)), rng.standard_normal((8, 2)), rng.standard_normal(8)
    given = ss.FrictionProblem.from_dynamics(np.eye(8), H, f, np.zeros(6), 0.3, G=G)
    if not matrix_free:
        given = ss.FrictionProblem(given.matrix, given.q, given.mu, bilateral=2)
    ss.write_friction_problem(given, tmp_path / "p.hdf5")
    same(ss.read_friction_problem(tmp_path / "p.hdf5"), given)


@pytest.mark.parametrize("storage", ["triplets", "columns", "rows"])
def test_every_sparse_format_of_fclib(tmp_path, storage):
    given = granular(9, np.random.default_rng(4), 3)
    W = given.matrix
    with h5py.File(tmp_path / "p.hdf5", "w") as file:
        group = file.create_group("fclib_local")
        group["spacedim"], group["vectors/q"], group["vectors/mu"] = np.array([3]), given.q, given.mu
        coo, csc, csr = W.tocoo(), W.tocsc(), W.tocsr()
        nz, p, i, x = {
            "triplets": (coo.nnz, coo.col, coo.row, coo.data),
            "columns": (-1, csc.indptr, csc.indices, csc.data),
            "rows": (-2, csr.indptr, csr.indices, csr.data),
        }[storage]
        for name, value in (("m", W.shape[0]), ("n", W.shape[1]), ("nz", nz), ("nzmax", W.nnz)):
            group[f"W/{name}"] = np.array([value], np.int32)
        group["W/p"], group["W/i"], group["W/x"] = p, i, x
    same(ss.read_friction_problem(tmp_path / "p.hdf5"), ss.FrictionProblem(W, given.q, given.mu))


def test_dense_dat_is_column_by_column_and_may_have_a_number_more(tmp_path):
    W = np.array([[2.0, 0.5], [0.25, 1.0]])
    text = "2\n1\n0\n2\n2\n2\t2\n2.0 0.25\n0.5 1.0\n-1 0.5\n0.3\n"
    for tail in ("", "1\n"):
        (tmp_path / "p.dat").write_text(text + tail)
        problem = ss.read_friction_problem(tmp_path / "p.dat")
        np.testing.assert_array_equal(problem.matrix, W)
        np.testing.assert_array_equal(problem.q, [-1.0, 0.5])


def test_sparse_dumps_of_a_global_problem(tmp_path):
    """M as triplets, H as compressed columns, as CSparse prints them."""
    (tmp_path / "p.dat").write_text(
        "2\n1\n"
        "2\n3\n3\n1\nCSparse Version 3\ntriplet: 3-by-3, nzmax: 3 nnz: 3\n    0 0 : 2\n    1 1 : 2\n    2 2 : 0.5\n"
        "2\n3\n2\n2\nCSparse Version 3\n3-by-2, nzmax: 3 nnz: 3, 1-norm: 1\n"
        "    col 0 : locations 0 to 0\n      1 : 1\n    col 1 : locations 1 to 2\n      0 : 1\n      2 : -1\n"
        "1 -4 0\n0 0.25\n0.3\n"
    )
    problem = ss.read_friction_problem(tmp_path / "p.dat")
    np.testing.assert_allclose(problem.matrix.toarray(), [[0.5, 0.0], [0.0, 2.5]])
    np.testing.assert_allclose(problem.q, [-2.0, 0.5 + 0.25])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.dat", None, "there is no file"),
        ("p.txt", "1", "a friction problem's file must end in .hdf5, .h5, .dat, got 'p.txt'"),
        ("p.dat", "", "ends too early"),
        ("p.dat", "3\n1\n0\n3\n3\n3 3\n1 2 3\n", "ends too early"),
        ("p.dat", "5\n1\n", "p.dat: the dimension must be a whole number from 2 to 3, got 5 near line 1"),
        (
            "p.dat",
            "2\n1\n7\n2\n2\n",
            "the storage of the first matrix (W or M) must be a whole number from 0 to 2: dense, blocks or sparse",
        ),
        ("p.dat", "2\n1\n0\n2\n2\n2 2\n1 0 x 1\n0 0\n0.1\n", "something other than a number"),
        ("p.dat", "2\n1\n0\n2\n2\n2 2\n1 0 0 1\n0 0\n-0.1\n", "mu must be >= 0"),
        ("p.dat", b"\x89PNG\xff", "is not a text file"),
        ("p.hdf5", "no", "cannot be read as an FCLIB file"),
    ],
)
def test_what_cannot_be_read_gets_one_line(tmp_path, name, content, message):
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    elif content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ValueError) as caught:
        ss.read_friction_problem(tmp_path / name)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_hdf5_of_something_else(tmp_path):
    with h5py.File(tmp_path / "p.hdf5", "w") as file:
        file["x"] = 1
    with pytest.raises(ValueError, match="neither fclib_local nor fclib_global"):
        ss.read_friction_problem(tmp_path / "p.hdf5")
    with h5py.File(tmp_path / "p.hdf5", "w") as file:
        file.create_group("fclib_local")
    with pytest.raises(ValueError, match="cannot be read as an FCLIB file"):
        ss.read_friction_problem(tmp_path / "p.hdf5")


def test_what_a_format_cannot_hold(tmp_path):
    elliptic = ss.FrictionProblem(np.eye(3), [-1.0, 0.0, 0.0], [[0.1, 0.2]])
    for suffix in (".dat", ".hdf5"):
        with pytest.raises(ValueError, match="elliptic"):
            ss.write_friction_problem(elliptic, tmp_path / f"p{suffix}")
    with pytest.raises(ValueError, match=r"must end in \.hdf5"):
        ss.write_friction_problem(elliptic, tmp_path / "p.txt")


def sound_fclib(path):
    """An FCLIB file with one contact, to be damaged."""
    ss.write_friction_problem(ss.FrictionProblem(np.eye(3), [-1.0, 0.0, 0.0], 0.3), path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("W/p", np.empty(0, np.int32), "fclib_local/W/p must have 4 entries, got 0"),
        ("W/p", np.array([0, 1, 5, 3], np.int32), "fclib_local/W/p must begin with 0 and never fall"),
        ("W/p", np.array([0.0, 1.5, 2.0, 3.0]), "fclib_local/W/p must hold whole numbers"),
        ("W/i", np.array([0, 1, 7], np.int32), "fclib_local/W/i must lie between 0 and 2, got 0 to 7"),
        ("W/i", np.array([0, 1], np.int32), "fclib_local/W/i must have 3 entries, got 2"),
        ("W/x", np.array([1.0, np.nan, 1.0]), "fclib_local/W/x must be finite"),
        ("W/x", np.bytes_("abc"), "fclib_local/W/x must be a vector of numbers, got an array of |S3"),
        ("W/m", None, "fclib_local/W/m must be a vector of numbers, got nothing"),
        ("W/nz", np.array([-7], np.int32), "fclib_local/W must have m, n >= 0 and nz >= -2, got 3, 3 and -7"),
        ("W", None, "fclib_local/W must be a group, got nothing"),
        ("vectors/q", np.zeros(4), "fclib_local/vectors/q must have 3 entries, got 4"),
        ("vectors/mu", np.array([-0.3]), "mu must be >= 0"),
        ("vectors", None, "fclib_local/vectors must be a group, got nothing"),
        ("spacedim", np.array([5], np.int32), "fclib_local/spacedim must be 2 or 3, got 5"),
        ("spacedim", np.empty(0, np.int32), "fclib_local/spacedim must be one whole number, got 0"),
    ],
)
def test_damaged_fclib_files_get_one_line_that_names_the_field(tmp_path, field, value, message):
    sound_fclib(tmp_path / "p.hdf5")
    with h5py.File(tmp_path / "p.hdf5", "r+") as file:
        del file["fclib_local"][field]
        if value is not None:
            file["fclib_local"][field] = value
    with pytest.raises(ValueError) as caught:
        ss.read_friction_problem(tmp_path / "p.hdf5")
    assert str(caught.value).startswith("p.hdf5 ") and message in str(caught.value) and "\n" not in str(caught.value)


BLOCKS = "2\n2\n1\n4\n4\n2\n2\n2\n2 4\n2 4\n3\n2\n0 1 2\n0 1\n0\n1 0 0 1\n1\n1 0 0 1\n-1 0 -1 0\n0.3 0.3\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "\n0 1\n0\n",
            "\n0 9\n0\n",
            "the block columns of the first matrix (W or M) must be whole numbers from 0 to 1",
        ),
        (
            "\n0 1\n0\n",
            "\n0 -1\n0\n",
            "the block columns of the first matrix (W or M) must be whole numbers from 0 to 1",
        ),
        ("0 1 2\n", "0 2 1\n", "the row pointers of the first matrix (W or M) must never fall"),
        ("2 4\n2 4\n", "2 9\n2 4\n", "the row sizes of the first matrix (W or M) must be whole numbers from 0 to 4"),
        ("2 4\n2 4\n", "2 3\n2 4\n", "the row sizes of the first matrix (W or M) must add up to 4"),
        ("\n1\n1 0 0 1\n-1", "\n5\n1 0 0 1\n-1", "the number of a block of the first matrix (W or M)"),
        ("2\n2\n2 4", "2000000\n2\n2 4", "the numbers of blocks of the first matrix (W or M)"),
        ("0.3 0.3\n", "0.3 nan\n", "mu must be finite"),
        ("-1 0 -1 0\n", "-1 0 inf 0\n", "q must be finite"),
        ("0.3 0.3\n", "0.3\n", "p.dat"),
    ],
)
def test_damaged_dat_files_get_one_line_that_names_the_field(tmp_path, old, new, message):
    path = tmp_path / "p.dat"
    path.write_text(BLOCKS)
    assert ss.read_friction_problem(path).contacts == 2
    path.write_text(BLOCKS.replace(old, new, 1))
    with pytest.raises(ValueError) as caught:
        ss.read_friction_problem(path)
    assert str(caught.value).startswith("p.dat") and message in str(caught.value) and "\n" not in str(caught.value)


def test_every_cut_and_every_swap_of_a_file_is_refused_or_read(tmp_path):
    """No damage to a text file ends in anything but a problem or one line."""
    rng, words = np.random.default_rng(0), BLOCKS.split()
    for _ in range(300):
        damaged = list(words)
        for k in rng.integers(0, len(words), 2):
            damaged[k] = str(rng.choice(["-1", "0", "7", "1e9", "x", "nan", "3.5", "1e300"]))
        cut = int(rng.integers(1, len(words) + 1)) if rng.random() < 0.3 else len(words)
        (tmp_path / "p.dat").write_text("\n".join(damaged[:cut]))
        try:
            ss.read_friction_problem(tmp_path / "p.dat")
        except ValueError as problem:
            assert str(problem).startswith("p.dat") and "\n" not in str(problem)


def test_asymmetric_joints_are_not_lost_silently(tmp_path):
    W = np.eye(5)
    W[0, 3], W[3, 0] = 0.25, 0.5
    problem = ss.FrictionProblem(W, np.zeros(5), 0.3, bilateral=2)
    with pytest.raises(ValueError, match="only where W is symmetric"):
        ss.write_friction_problem(problem, tmp_path / "p.hdf5")
    assert not (tmp_path / "p.hdf5").exists()


def test_paths_that_are_none(tmp_path):
    problem = ss.FrictionProblem(np.eye(3), [-1.0, 0.0, 0.0], 0.3)
    for wrong in (None, 3):
        with pytest.raises(ValueError, match="path must be the name of a file, got"):
            ss.read_friction_problem(wrong)
        with pytest.raises(ValueError, match="path must be the name of a file, got"):
            ss.write_friction_problem(problem, wrong)
    with pytest.raises(ValueError, match="does not exist"):
        ss.write_friction_problem(problem, tmp_path / "nowhere" / "p.dat")
    with pytest.raises(ValueError, match="problem must be a FrictionProblem, got int"):
        ss.write_friction_problem(3, tmp_path / "p.dat")
