"""`ensemble`: many motions of one system, observed while they run, with the same answer on every device."""

from __future__ import annotations

import inspect
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

from stickslip.analysis.sections import AnySection
from stickslip.checks import refuse_unknown_options, whole_number
from stickslip.contact.planar import PlanarSolver
from stickslip.control import ControlLaw
from stickslip.debug import bar_wanted
from stickslip.ensembles.chunks import AnyRequest, compute_chunk, warm_up
from stickslip.ensembles.cluster import Cluster
from stickslip.ensembles.cpu import Cores, cores
from stickslip.ensembles.devices import device_name
from stickslip.ensembles.gpu import Card, unavailable
from stickslip.ensembles.request import prepare
from stickslip.ensembles.result import Ensemble
from stickslip.ensembles.scenes import prepare_scenes
from stickslip.ensembles.store import ChunkStore, InMemory
from stickslip.interrupts import opened, poll, settle, uninterrupted
from stickslip.io.printable import visible
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.steppers.stepper import Stepper
from stickslip.run.progress import progress_bar
from stickslip.run.records import memory_budget
from stickslip.scenario import Scenario, as_scenario
from stickslip.scenes.scene import Scene

Device = Cores | Card | Cluster
_PREPARE: dict[str, Callable[..., AnyRequest]] = {"mechanism": prepare, "scene": prepare_scenes}  # by `Scenario.kind`


class Watching(TypedDict, total=False):
    """Section, passages and travel that are watched in every motion."""

    section: AnySection | None
    travel: str | None
    points: int | None
    skip: float


class Sampling(TypedDict, total=False):
    """How the values of what varies are combined and drawn."""

    samples: int | None
    seed: int
    paired: bool


class Keeping(TypedDict, total=False):
    """Where the result is kept."""

    chunk: int | None
    out: str | Path | None
    resume: bool
    overwrite: bool


class OfScenes(TypedDict, total=False):
    """Options of `Scene.simulate`, for ensembles of scenes."""

    rule: str | None
    cone: str | int | None
    tol: float | None
    overlap: str | None
    on_failure: str | None


class Options(Watching, Sampling, Keeping, OfScenes, total=False):
    """Keywords of `ensemble` that few calls need."""

    penetration_tol: float
    control: ControlLaw | None


def ensemble(
    scenario: Scenario | Scene,
    vary: Mapping[str, Any],
    observe: Any = ("final",),
    *,
    device: str = "cpu",
    threads: int | None = None,
    dt: float | None = None,
    t_end: float | None = None,
    stepper: str | Stepper = "moreau-midpoint",
    solver: str | PlanarSolver = "auto",
    law: str | ImpactLaw | None = None,
    params: Mapping[Any, float] | None = None,
    progress: bool | Callable[[int], None] | None = None,
    **options: Unpack[Options],
) -> Ensemble:
    """Compute many motions of a system, the members of an ensemble, and return what was observed of each.

    Parameters
    ----------
    scenario : system, start, step size and end time that the members share, such as `stickslip.library.woodpecker()`;
        a scene of the library, or a `Scene` with dt and t_end.
    vary : values of parameters, coordinates and velocities of the start, by name; of a scene friction, restitution,
        masses, sizes, loads and starts, see `stickslip.scenes.varied`.  An array, a number, or text:
        "0.2:0.4:1001" (even grid with both ends), "1e-3:1:50:log", "0.1,0.2,0.5", "uniform:0.2:0.4" and
        "normal:0.3:0.01" (random).  Every array is an axis of a grid, in the order given.
    observe : list of, or text with commas: "period" (mean, shortest and longest time between passages of the section),
        "drop" (way of `travel` per cycle), "points" (the last states on the section), "extremes", "impacts" (numbers by
        contact), "shares" (of time in each contact state), "final" (state at the end), "energy".  Status and
        certificate of every member are always there.
    device : "cpu", "gpu", "auto" (a GPU where there is one) or "dask:ADDRESS" of a scheduler, dask:tcp://host:8786.
    threads : of the device "cpu"; default: all cores.  The result does not depend on it.
    dt, t_end, stepper, solver, law, params, penetration_tol : as in `simulate`; default: the scenario's own.
    control : a `ControlLaw` in the kernel language, for mechanisms on the device "cpu"; each member has its own memory.
    progress : show a progress bar (None: after two seconds, on a terminal or in a notebook); or a function that is
        called with the number of steps done.

    What is watched:

    section : where the motion is cut, an object or text, see `stickslip.analysis.sections`: "phi_S<-0.28" (falls
        through a level), "phi_S>0" (rises), "impact:beak", "phase:omega" (every period of a parameter in rad/s) or
        "every:0.01" [s]; default: the section that a library system is known by.
    travel : coordinate whose way per cycle "drop" tells.
    points : states on the section that are kept of each member, the last ones; default 16.
    skip : seconds before anything is watched: section, extremes, impacts and shares.

    Of scenes:

    rule, cone, tol, overlap, on_failure : as in `Scene.simulate`; default: the scene's own.

    How values are drawn:

    samples, seed : number of random values, and the seed of their generator.
    paired : arrays go in pairs, as columns of a table, instead of spanning a grid.

    Where the result is kept:

    chunk : members computed between two savings.
    out : write the result to this netCDF file; chunks are kept beside it, in `out.parts`, until it is complete.
    resume : go on with an ensemble that was interrupted; the file is the same, bit for bit, as without interruption.
    overwrite : allow `out` to replace an ensemble of ours.

    A member that fails has its reason in `failed()`, nan in all observables, and goes into no mean.  Bad input raises
    ValueError before anything is computed.  On CPU and GPU a member takes the steps of `simulate`, bit for bit.
    """
    own = [name for name in inspect.signature(ensemble).parameters if name != "options"]
    refuse_unknown_options("ensemble", options, [*own, *Options.__annotations__])
    kept = {name: options[name] for name in Keeping.__annotations__ if name in options}  # type: ignore[literal-required]
    asked: dict[str, Any] = {name: value for name, value in options.items() if name not in kept}
    asked |= {"dt": dt, "t_end": t_end, "stepper": stepper, "solver": solver, "law": law, "params": params}
    moving = _as_scenario(scenario, dt, t_end)
    request = _request(moving, device, vary, observe, asked)
    return _kept(request, device_of(device, threads, moving.kind), progress, **kept)


def _as_scenario(moving: Any, dt: Any, t_end: Any) -> Scenario:
    """The scenario that is run many times; a scene that is no scenario needs step size and end time."""
    if isinstance(moving, Scenario):
        return moving
    if t_end is None:
        raise ValueError("t_end must be given [s]; only scenarios, such as those of the library, have one.")
    return as_scenario(moving, dt, None, None)


def _request(moving: Scenario, device: Any, vary: Any, observe: Any, asked: dict[str, Any]) -> AnyRequest:
    if asked.get("control") is not None and (moving.kind == "scene" or device != "cpu"):
        raise ValueError("control of an ensemble is for mechanisms on the device 'cpu'.")
    if asked.get("control") is None:
        asked.pop("control", None)
    for name in () if moving.kind == "scene" else OfScenes.__annotations__:
        if asked.pop(name, None) is not None:
            raise ValueError(f"{name} is for ensembles of scenes, got a mechanism; leave it out.")
    return _PREPARE[moving.kind](moving, vary, observe, **asked)


def _kept(
    request: AnyRequest, where: Device, progress: bool | Callable[[int], None] | None, *,
    chunk: Any = None, out: str | Path | None = None, resume: bool = False, overwrite: bool = False,
) -> Ensemble:  # fmt: skip
    """The members of a request, computed or read from where an earlier call kept them."""
    target = None if out is None else Path(out)
    fingerprint = request.fingerprint(where.kind)
    _check_size(request, target)
    if target is not None and resume and _is_there(target, fingerprint):
        return _load(target)
    if isinstance(where, Card):
        warm_up(request, where)  # says before a file is touched what a card cannot run
    with uninterrupted():
        store = _store(request, where, target, chunk, fingerprint, resume, overwrite)
        try:
            wall, steps = _compute(request, where, store, progress)
            dataset = _publish(request, store, target, fingerprint)
            settle()
        finally:
            store.release()
    return Ensemble(dataset, where.name, wall, steps)


def device_of(device: Any, threads: Any, kind: str) -> Device:
    """What a device is called, checked; kind : of what runs on it, "mechanism" or "scene"."""
    if threads is not None:
        whole_number(threads, "threads")
    name = device_name(device)
    if name == "auto":
        name = "cpu" if kind == "scene" or unavailable() else "gpu"
    if name == "cpu":
        return Cores(int(threads or cores()))
    return Card() if name == "gpu" else Cluster(name.removeprefix("dask:"))


def _check_size(request: AnyRequest, out: Path | None) -> None:
    """Raise where the result would not fit into memory, or onto the disk."""
    size, each = request.plan.size, request.bytes_per_member
    if out is None:
        if size * each > memory_budget():
            raise ValueError(
                f"{size:.4g} members with {each} bytes each do not fit into memory ({memory_budget() / 1e9:.2g} GB are "
                "for results); give --out sweep.nc (out='sweep.nc') to write them chunk by chunk, or fewer values."
            )
        return
    if out.parent.is_dir() and 2 * size * each > shutil.disk_usage(out.parent).free:
        raise ValueError(
            f"{size:.4g} members with {each} bytes each do not fit onto the disk of {visible(out.parent)}; vary "
            "less, observe "
            "less, or choose another folder."
        )


def _chunk(request: AnyRequest, where: Device, chunk: Any) -> int:
    most = max(1, memory_budget() // request.working_bytes)
    if chunk is None:
        return max(1, min(where.chunk(request), most, request.plan.size))
    if whole_number(chunk, "chunk") > most and request.plan.size > most:
        raise ValueError(f"chunk must be at most {most} members to fit into memory, got {chunk}.")
    return min(int(chunk), request.plan.size)


def _is_there(out: Path, fingerprint: str) -> bool:
    """Whether the file of an ensemble to go on with is complete already; ValueError where it holds another one."""
    from stickslip.ensembles.files import fingerprint_of

    if not out.exists():
        return False
    if fingerprint_of(out) != fingerprint:
        raise ValueError(
            f"{visible(out)} is of another ensemble: what varies, what is observed, the step, the device or the "
            "version differ; "
            "repeat that ensemble's options, or give another --out."
        )
    return True


def _load(out: Path) -> Ensemble:
    from stickslip.ensembles.files import load_ensemble

    return load_ensemble(out)


def _store(
    request: AnyRequest, where: Device, out: Path | None, chunk: Any, fingerprint: str, resume: bool, overwrite: bool
) -> ChunkStore:
    """Where chunks are kept: in memory, or in the folder beside `out`."""
    size = request.plan.size
    members = _chunk(request, where, chunk)
    if out is None:
        if resume:
            raise ValueError("resume goes on with a file; give --out (out=).")
        return InMemory(size, members)
    from stickslip.ensembles.files import require_free
    from stickslip.ensembles.parts import InFolder, begun, parts_folder

    folder = parts_folder(out)
    if resume and begun(folder):
        return InFolder.resume(folder, size, fingerprint)
    require_free(out, overwrite)
    if begun(folder) and not overwrite:
        raise ValueError(
            f"{visible(folder)} holds an unfinished ensemble; --resume (resume=True) goes on with it, --overwrite "
            "begins anew."
        )
    return InFolder.begin(folder, size, members, fingerprint)


def _compute(
    request: AnyRequest, where: Device, store: ChunkStore, progress: bool | Callable[[int], None] | None
) -> tuple[float, int]:
    """Compute the missing chunks; seconds without compilation, and steps."""
    missing = store.missing()
    total = sum(last - first for first, last in missing) * request.steps
    if not missing:
        return 0.0, 0
    show = bar_wanted(progress)
    if isinstance(where, Cluster):
        begin = time.perf_counter()
        with _progress(progress, request, total) as report, opened():
            for chunk, values in where.run(request, missing, report):
                with uninterrupted():
                    store.put(chunk, values)
        return time.perf_counter() - begin, total
    with opened():
        _warm_up(request, where, show)
    begin = time.perf_counter()
    with _progress(progress, request, total) as report:
        for first, last in missing:
            store.put((first, last), compute_chunk(request, where, first, last, report))
            if last < missing[-1][1]:  # Ctrl-C behind the last chunk has nothing left to end
                poll()
    return time.perf_counter() - begin, total


def _warm_up(request: AnyRequest, where: Cores | Card, show: bool) -> None:
    """Compile the kernel, which takes seconds the first time, and say so."""
    if not show:
        warm_up(request, where)
        return
    from rich.console import Console

    with Console(stderr=True).status(f"preparing the kernel of {request.system.name} (compiled once, then cached)"):
        warm_up(request, where)


def _publish(request: AnyRequest, store: ChunkStore, out: Path | None, fingerprint: str) -> Any:
    from stickslip.ensembles.files import to_dataset, write_ensemble

    if out is None:
        dataset = to_dataset(request, store, fingerprint)
    else:
        write_ensemble(out, request, store, fingerprint)
        dataset = _load(out).dataset
    store.discard()
    return dataset


@contextmanager
def _progress(
    progress: bool | Callable[[int], None] | None, request: AnyRequest, total: int
) -> Iterator[Callable[[int], None]]:
    """The bar of `simulate`, from the third second on: share, rate and remaining time; told of more steps done."""
    done = 0
    with progress_bar(progress, request.system.name, total) as advance:

        def report(steps: int) -> None:
            nonlocal done
            done += steps
            advance(done)

        yield report
