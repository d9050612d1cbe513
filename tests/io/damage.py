"""Saved files with random damages: each must load as what was written, or be a ValueError of one line.

`python -m tests.io.damage COUNT SEED [all]` tries COUNT damages in a process of its own, which may crash without its
caller, and prints how many were tried, refused and harmless.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import MappingProxyType
from typing import Any

import h5py
import numpy as np
import xarray as xr

from stickslip.ensembles import files
from stickslip.fitting import notes
from stickslip.fitting.notes import Notes
from stickslip.io import stream
from stickslip.io.load import load
from stickslip.io.stream import StreamWriter, save
from tests.io.trajectories import assert_same, records, trajectory

SECONDS = 5.0  # of the processor, for one file of some 50 kB
KINDS = ("bits", "bytes", "zeros", "ones", "words", "blocks", "move", "cut", "longer")
ROWS = 8  # of a block, so that a small file has several


class Seed:
    """A file as it was written, with a reader that tells whether it reads exactly the data that were written."""

    def __init__(self, path: Path, check: Any) -> None:
        self.content, self.check = path.read_bytes(), check
        self.blocks: dict[int, list[int]] = collections.defaultdict(list)  # places of the HDF5 chunks, by their length
        self.kinds = KINDS
        if path.suffix == ".json":
            self.kinds = tuple(kind for kind in KINDS if kind not in ("words", "blocks"))
            return
        self.content = self.content[: int.from_bytes(self.content[28:36], "little")]  # what is used, without reserve
        with h5py.File(path, "r") as file:
            file.visititems(self._note)
        if not any(len(places) > 1 for places in self.blocks.values()):
            self.kinds = tuple(kind for kind in KINDS if kind != "blocks")

    def _note(self, name: str, dataset: Any) -> None:
        if isinstance(dataset, h5py.Dataset) and dataset.chunks:
            for i in range(dataset.id.get_num_chunks()):
                found = dataset.id.get_chunk_info(i)
                self.blocks[found.size].append(found.byte_offset)


def damaged(seed: Seed, random_: random.Random) -> tuple[str, bytes]:
    """The content of a file with one damage, and its kind."""
    data = bytearray(seed.content)
    place = random_.randrange(len(data))
    kind = random_.choice(seed.kinds)
    if kind == "bits":
        for _ in range(random_.choice((1, 1, 2, 8))):
            data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
    elif kind == "bytes":
        for _ in range(random_.choice((1, 1, 2, 20))):
            data[random_.randrange(len(data))] = random_.randrange(256)
    elif kind in ("zeros", "ones"):
        length = random_.choice((1, 2, 4, 8, 16, 64, 512, 4096))
        data[place : place + length] = (b"\0" if kind == "zeros" else b"\xff") * len(data[place : place + length])
    elif kind == "words":  # what Fletcher-32 cannot see: 0x0000 for 0xffff and back, inside the blocks of data
        size = random_.choice([size for size in seed.blocks if size > 12])
        begin = random_.choice(seed.blocks[size])
        words = [i for i in range(begin, begin + size - 5, 2) if data[i : i + 2] in (b"\0\0", b"\xff\xff")]
        for i in random_.sample(words, min(len(words), random_.choice((1, 4, 8)))):
            data[i : i + 2] = b"\xff\xff" if data[i] == 0 else b"\0\0"
    elif kind == "blocks":
        size = random_.choice([size for size, places in seed.blocks.items() if len(places) > 1])
        a, b = random_.sample(seed.blocks[size], 2)
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
    elif kind == "move":
        length = random_.choice((8, 64, 512, 4096))
        other = random_.randrange(len(data))
        piece = data[other : other + length]
        data[place : place + len(piece)] = piece
    elif kind == "cut":
        del data[place:]
    else:
        data += random_.randbytes(random_.choice((1, 512, 5000)))
    return kind, bytes(data)


def seeds(folder: Path) -> list[Seed]:
    """A saved run, a run that was killed and can go on, a sweep, notes of a fit."""
    stream._CHUNK_ROWS, files._CHUNK_BYTES = ROWS, 8 * ROWS
    run = trajectory(n=30, impacts=11)
    run.u[3:20] = 0.0  # as velocities and impulses often are
    run.normal_impulse[5:] = 0.0
    save(run, folder / "saved.nc")
    saved = load(folder / "saved.nc")
    writer = StreamWriter(folder / "going.nc", run)
    writer.append(**records(run, slice(0, 20)))
    writer.append_impacts(run.impact_table.columns)
    state = {"q": np.zeros(3), "step": np.array(20)}
    writer.checkpoint(state, run.certificate, "running", 60, 1.0)
    writer.release()
    part = load(folder / "going.nc.part")

    def goes_on(path: Path) -> None:
        target = folder / "any.nc"
        found = StreamWriter.resumed(target, run)
        assert found is not None
        again, was = found
        try:
            assert was.keys() == state.keys() and all(np.array_equal(was[name], state[name]) for name in state)
            assert again.records == 20 and again.impacts == 11
            rows = next(iter(again.rows()))
            assert rows["u"].tobytes() == run.u[:20].tobytes() and rows["gap"].tobytes() == run.gap[:20].tobytes()
        finally:
            again.release()

    grid = xr.Dataset(
        {
            "drop": (("mass", "speed"), np.arange(30.0).reshape(6, 5) // 7),
            "status": (("mass", "speed"), np.ones((6, 5), np.int8)),
        },
        {"mass": np.linspace(1.0, 2.0, 6), "speed": np.zeros(5), "contact": ["left", "right"]},
        {"stickslip_format": "sweep", "fingerprint": "abc", "varied": "mass,speed", "system": "ball"},
    )
    files.save_dataset(grid, folder / "sweep.nc")

    def same_sweep(path: Path) -> None:
        with files.load_ensemble(path).dataset as found:
            assert found.load().identical(whole)

    with files.load_ensemble(folder / "sweep.nc").dataset as found:
        whole = found.load()
    return [
        Seed(folder / "saved.nc", lambda path: assert_same(load(path), saved)),
        Seed(folder / "going.nc.part", lambda path: assert_same(load(path), part)),
        Seed(folder / "going.nc.part", goes_on),
        Seed(folder / "sweep.nc", same_sweep),
        notes_seed(folder),
    ]


def other_seeds(folder: Path) -> list[Seed]:
    """Files of computed results, which take seconds to make: a circuit, a scene, an ensemble."""
    return [circuit_seed(folder), scene_seed(folder), members_seed(folder)]


def circuit_seed(folder: Path) -> Seed:
    """The run of a circuit with a diode: modes, events, energies."""
    import stickslip as ss

    net = ss.Circuit("rectifier")
    net.source("V", "a", "0", voltage=lambda t: np.sin(2000.0 * t))
    net.diode("D", "a", "b")
    net.resistor("R", "b", "0", 1.0)
    net.simulate(dt=1e-4, t_end=1e-2).save(folder / "circuit.nc")
    whole = load(folder / "circuit.nc")

    def same_run(path: Path) -> None:
        assert pickled(load(path)) == pickled(whole)

    def pickled(run: Any) -> bytes:
        return repr({name: _plain(value) for name, value in vars(run).items()}).encode()

    return Seed(folder / "circuit.nc", same_run)


def _plain(value: Any) -> Any:
    """Something that is written out to the last bit."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes() if value.dtype != object else value.tolist())
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict | MappingProxyType):
        return {key: _plain(each) for key, each in value.items()}
    return value


def scene_seed(folder: Path) -> Seed:
    """A run of a scene, written as it was computed."""
    import stickslip as ss

    scene = ss.Scene(dim=2)
    scene.add_static(ss.HalfPlane(normal=(0.0, 1.0)), friction=0.3)
    ball = scene.add_body(ss.Circle(0.1), mass=1.0, position=(0.0, 0.1), velocity=(1.0, 0.0), name="ball")
    scene.add_rope(None, ball, (0.0, 0.5), (0.0, 0.1), length=0.45)
    scene.simulate(dt=1e-2, t_end=0.3, out=folder / "scene.nc")
    whole = load(folder / "scene.nc")
    return Seed(folder / "scene.nc", lambda path: assert_same(load(path), whole))


def members_seed(folder: Path) -> Seed:
    """An ensemble as it was computed, with all that is observed of it."""
    import stickslip as ss

    ss.ensemble(
        ss.library.bouncing_ball(), {"y": "0.5:1.5:20"}, observe="final,impacts,energy", dt=0.01, t_end=0.02,
        out=folder / "members.nc",
    )  # fmt: skip
    with files.load_ensemble(folder / "members.nc").dataset as found:
        whole = found.load()

    def same_members(path: Path) -> None:
        with files.load_ensemble(path).dataset as found:
            assert found.load().identical(whole)

    return Seed(folder / "members.nc", same_members)


def notes_seed(folder: Path) -> Seed:
    """Notes of a fit."""
    kept = Notes(folder / "notes.json", "task")
    for k in range(12):
        kept.number(f"search {k}", lambda k=k: k / 7.0)
    kept.vector("best", lambda: (np.arange(3) / 3.0, 0.1))

    def same_notes(path: Path) -> None:
        found = notes.read(path)
        assert found["known"] == kept.known and found["task"] == "task"

    return Seed(folder / "notes.json", same_notes)


def attack(count: int, seed: int, folder: Path, every: bool = False) -> dict[str, int]:
    """Try `count` damages; AssertionError, or whatever a reader raised, at the first that passes for data.

    every : files of every kind
    """
    warnings.simplefilter("error", UserWarning)  # a file that has lost its digests
    random_ = random.Random(seed)
    files, weights = seeds(folder), [4, 2, 1, 1, 1]
    if every:
        files, weights = [*files, *other_seeds(folder)], [*weights, 4, 2, 2]
    done: dict[str, int] = collections.Counter()
    path = folder / "any.nc.part"
    for _ in range(count):
        chosen = random_.choices(files, weights)[0]
        kind, content = damaged(chosen, random_)
        path.write_bytes(content)
        begin = time.process_time()
        try:
            chosen.check(path)
            done["harmless"] += 1
        except ValueError as error:
            assert str(error) and "\n" not in str(error), repr(error)
            done["refused"] += 1
        except BaseException:
            Path(tempfile.gettempdir(), f"stickslip-damage-{seed}.nc").write_bytes(content)
            raise
        assert time.process_time() - begin < SECONDS
        done[kind] += 1
    return dict(done)


if __name__ == "__main__":
    memory = Path("/dev/shm")
    where = Path(tempfile.mkdtemp(prefix="stickslip-damage", dir=memory if os.access(memory, os.W_OK) else None))
    try:
        print(attack(int(sys.argv[1]), int(sys.argv[2]), where, sys.argv[3:] == ["all"]))
    finally:
        shutil.rmtree(where, ignore_errors=True)
