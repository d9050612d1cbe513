"""Robot descriptions that others have made: all that MuJoCo or Bullet load, with MuJoCo's masses and inertias.

The files are those of `pybullet_data` (a folder with them can be named in STICKSLIP_ROBOTS); without it, and without
MuJoCo for the comparison, the tests are skipped.  `python tests/io/models/test_robot_files.py` prints the table.
"""

import importlib.util
import os
import re
from pathlib import Path

import numpy as np
import pytest

from stickslip.io.models.imports import import_robot
from stickslip.io.models.meshes import find_mesh
from stickslip.io.models.toml_text import ModelError
from stickslip.scenes.shapes import rotation_matrix

REFUSED = {
    "torus_deform.urdf": "there is no link",  # a cloth, which no program but Bullet with soft bodies reads
}
"""Files with nothing in them that a scene has."""


def folder() -> Path | None:
    if "STICKSLIP_ROBOTS" in os.environ:
        return Path(os.environ["STICKSLIP_ROBOTS"])
    found = importlib.util.find_spec("pybullet_data")
    return Path(found.origin).parent if found is not None and found.origin else None


def files(root: Path) -> list[Path]:
    found = [path for kind in ("urdf", "sdf", "xml") for path in sorted(root.rglob(f"*.{kind}"))]
    return [path for path in found if "random_urdfs" not in path.parts]


def opened(path: Path):
    """The import of a file, its inertias repaired where it needs that, and whether it did."""
    try:
        return import_robot(path), False
    except ModelError as problem:
        if "--repair" not in str(problem):
            raise
        return import_robot(path, repair=True), True


def by_mujoco(path: Path, notes: list[str]) -> list[tuple[str, float, np.ndarray, np.ndarray]] | None:
    """Name, mass, place and inertia in world axes of MuJoCo's bodies; None where it does not read the file.

    Joints stand where the import has put them, as its notes say.
    """
    mujoco = pytest.importorskip("mujoco")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        spec.compiler.fusestatic = False
        spec.compiler.discardvisual = path.suffix == ".urdf"
        model = spec.compile()
    except ValueError:
        return None
    data = mujoco.MjData(model)
    moved = next((note for note in notes if note.startswith("joints are counted")), "")
    for name, value in re.findall(r"'([^']+)' (-?[\d.e+-]+)", moved):
        data.qpos[model.jnt_qposadr[model.joint(name).id]] = float(value)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    found, names = [], set()
    for i in range(1, model.nbody):
        wanted = name = model.body(i).name or "body"
        k = 2
        while name in names:
            name, k = f"{wanted} {k}", k + 1
        names.add(name)
        R = data.ximat[i].reshape(3, 3)
        tensor = R @ np.diag(model.body_inertia[i]) @ R.T
        found.append((name, float(model.body_mass[i]), data.xipos[i].copy(), tensor))
    return found


def unlike(scene, peers) -> tuple[int, float]:
    """Number of moving bodies that both have, and the largest difference of mass, inertia (relative) and place [m]."""
    own = {body.name: body for body in scene.bodies if body.kind == "moving"}
    worst, count = 0.0, 0
    for name, mass, place, inertia in peers:
        if name in own:
            count += 1
            R = rotation_matrix(np.asarray(own[name].orientation))
            off = np.abs(R @ own[name].inertia @ R.T - inertia).max() / np.abs(inertia).max()
            away = np.abs(np.asarray(own[name].position) - place).max()
            worst = max(worst, abs(own[name].mass - mass) / mass, off, away)
    return count, worst


@pytest.mark.slow
def test_all_files_are_read_with_mujocos_masses():
    root = folder()
    if root is None:
        pytest.skip("pybullet_data is not installed")
    compared = 0
    for path in files(root):
        name = str(path.relative_to(root))
        try:
            found = opened(path)[0]
            scene = found.scenario.scene
        except ModelError as problem:
            assert name in REFUSED and REFUSED[name] in str(problem), problem
            continue
        peers = by_mujoco(path, found.notes) if path.suffix != ".sdf" else None
        if peers is not None:
            count, worst = unlike(scene, peers)
            compared += count
            assert worst < 1e-5, (name, worst)  # the notes have six digits of joints that begin elsewhere
    assert compared > 500


def main() -> None:
    root = folder()
    if root is None:
        raise SystemExit("pybullet_data is not installed; name its folder in STICKSLIP_ROBOTS.")
    print(f"{'file':46} {'bodies':>6} {'joints':>6} {'repair':>6} {'notes':>5} {'compared':>8} {'unlike':>8}")
    for path in files(root):
        name = str(path.relative_to(root))
        try:
            found, repaired = opened(path)
        except ModelError as problem:
            print(f"{name:46} refused: {str(problem).rpartition(': ')[2]}")
            continue
        scene = found.scenario.scene
        peers = by_mujoco(path, found.notes) if path.suffix != ".sdf" else None
        count, worst = unlike(scene, peers) if peers is not None else (0, 0.0)
        beside = f"{count:8d} {worst:8.1e}" if peers is not None else "       -        -"
        moving = sum(body.kind == "moving" for body in scene.bodies)
        said = "yes" if repaired else ""
        print(f"{name:46} {moving:6d} {len(scene.joints):6d} {said:>6} {len(found.notes):5d} {beside}")


if __name__ == "__main__":
    main()


def test_a_mesh_whose_name_no_file_can_have_is_missing(tmp_path):
    for name in ("a" * 5000 + ".obj", "package://" + "b/" * 3000 + "c.stl", "null\0.obj"):
        assert find_mesh(name, tmp_path) is None
