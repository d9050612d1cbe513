"""`stickslip bench ensemble`: trajectory-steps per second of ensembles on one core, on all cores and on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

REPETITIONS = 3


@dataclass(frozen=True)
class Case:
    """An ensemble to time: its system, the quantity that varies, and the number of steps of each member."""

    system: str
    solver: str
    vary: str
    low: float
    high: float
    steps: int
    what: str


CASES = (
    Case("woodpecker", "gauss-seidel", "friction", 0.28, 0.32, 4000, "friction 0.28 to 0.32"),
    Case("woodpecker", "auto", "friction", 0.28, 0.32, 4000, "friction 0.28 to 0.32"),
    Case("slider_crank", "auto", "restitution_normal", 0.4, 0.4 + 1e-9, 500, "free flight"),
    Case("slider_crank", "auto", "restitution_normal", 0.4, 0.4 + 1e-9, 4189, "one turn, neighbours alike"),
    Case("slider_crank", "auto", "restitution_normal", 0.4, 0.4 + 1e-9, 42000, "0.42 s, neighbours alike"),
    Case("slider_crank", "auto", "restitution_normal", 0.3, 0.5, 4189, "one turn, neighbours differ"),
)
BIFURCATION = ("friction", 0.2, 0.4, 100_000, 10.0)  # low, high, values, seconds of motion at dt = 1e-4


def measure(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Rates of all cases and devices, the agreement of CPU and GPU, and the bifurcation sweep where there is a GPU."""
    from stickslip.ensembles.cpu import cores
    from stickslip.ensembles.gpu import unavailable

    no_gpu = unavailable()
    if no_gpu:
        say(no_gpu)
    rows = []
    for case in CASES:
        row = _measure_case(case, quick, cores(), not no_gpu, say)
        rows.append(row)
    result: dict[str, Any] = {"cores": cores(), "gpu": no_gpu or _card_name(), "rows": rows}
    if not no_gpu:
        result["bifurcation"] = _bifurcation(quick, say)
    return result


def _measure_case(case: Case, quick: bool, cores: int, gpu: bool, say: Callable[[str], None]) -> dict[str, Any]:
    from stickslip.ensembles.cpu import Cores
    from stickslip.ensembles.gpu import Card

    few = (8 if quick else 64) * cores * max(1, 4000 // case.steps)
    row: dict[str, Any] = {"system": case.system, "solver": case.solver, "what": case.what}
    devices: dict[str, Any] = {"one core": Cores(1), f"{cores} cores": Cores(cores)}
    say(f"{case.system}, {case.solver}, {case.what} ...")
    rates = _rates(case, devices, few, quick)
    row["one_core"], row["all_cores"] = rates["one core"], rates[f"{cores} cores"]
    row["speedup"] = row["all_cores"] / row["one_core"]
    if gpu:
        card = Card()
        row["gpu"], row["gpu_with_transfers"] = _gpu_rates(case, card, 20_000 if quick else 135_168)
        row |= _agreement(case, card)
    return row


def _request(case: Case, members: int, steps: int | None = None) -> Any:
    from stickslip import library
    from stickslip.ensembles.request import prepare

    scenario = library.get(case.system)
    end = (steps or case.steps) * scenario.dt
    values = {case.vary: np.linspace(case.low, case.high, members)}
    return prepare(scenario, values, ["final"], t_end=end, solver=case.solver)


def _rates(case: Case, devices: dict[str, Any], members: int, quick: bool) -> dict[str, float]:
    """Best rate of each device [steps/s] of `REPETITIONS` rounds; a round times all devices in turn."""
    request = _request(case, members)
    best = dict.fromkeys(devices, 0.0)
    for device in devices.values():
        device.warm_up(request)
    for _ in range(1 if quick else REPETITIONS):
        for name, device in devices.items():
            rows, P = request.rows(0, members)
            begin = time.perf_counter()
            device.advance(request, rows, P, lambda steps: None)
            best[name] = max(best[name], members * request.steps / (time.perf_counter() - begin))
    return best


def _gpu_rates(case: Case, card: Any, members: int) -> tuple[float, float]:
    """Best rates of some repetitions: of the kernel alone, and with the rows sent to the card and back."""
    request = _request(case, members)
    card.warm_up(request)
    kernel = whole = 0.0
    for _ in range(REPETITIONS):
        rows, P = request.rows(0, members)
        begin, busy = time.perf_counter(), card.busy_s
        card.advance(request, rows, P, lambda steps: None)
        kernel = max(kernel, members * request.steps / (card.busy_s - busy))
        whole = max(whole, members * request.steps / (time.perf_counter() - begin))
    return kernel, whole


def _agreement(case: Case, card: Any) -> dict[str, Any]:
    """Compare end states after 1000 steps: of CPU and GPU, and of two runs on the GPU."""
    from stickslip.ensembles.cpu import Cores

    request = _request(case, 64, steps=1000)
    ends = []
    for device in (Cores(), card, card):
        rows, P = request.rows(0, 64)
        device.advance(request, rows, P, lambda steps: None)
        ends.append(rows)
    f = 2 * request.system.n_dof
    size = np.maximum(1.0, np.abs(ends[0][:, :f]))
    return {
        "largest_difference": float(np.max(np.abs(ends[0][:, :f] - ends[1][:, :f]) / size)),
        "equal_members": int((ends[0] == ends[1]).all(axis=1).sum()),
        "same_bits_again": bool(np.array_equal(ends[1], ends[2], equal_nan=True)),
    }


def _bifurcation(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The woodpecker over friction: 100,000 values, 10 s of motion each; every thousandth also on the CPU."""
    from stickslip import library
    from stickslip.ensembles.run import ensemble

    name, low, high, members, end = BIFURCATION
    members //= 10 if quick else 1
    say(f"bifurcation sweep, {members:,} values x {end:g} s ...")
    values = np.linspace(low, high, members)
    options: dict[str, Any] = {"t_end": end, "skip": 0.5 * end, "points": 16, "progress": False}
    scenario, observe = library.woodpecker(), ["period", "drop", "points", "final"]
    ensemble(scenario, {name: values[:64]}, observe, device="gpu", **{**options, "t_end": 0.1, "skip": 0.0})  # compile
    begin = time.perf_counter()
    on_gpu = ensemble(scenario, {name: values}, observe, device="gpu", **options)
    wall = time.perf_counter() - begin
    some = slice(0, None, 1000)
    on_cpu = ensemble(scenario, {name: values[some]}, observe, device="cpu", **options)
    same = on_gpu.dataset.isel({name: some})
    return {
        "members": members,
        "steps": on_gpu.steps,
        "seconds": wall,
        "kernel_seconds": on_gpu.wall_s,
        "failed": on_gpu.n_failed,
        "members_on_cpu": len(on_cpu),
        "equal_on_cpu": int((same["final_q"].values == on_cpu["final_q"].values).all(axis=1).sum()),
        "equal_points": bool(np.array_equal(same["point_u"].values, on_cpu["point_u"].values, equal_nan=True)),
    }


def _card_name() -> str:
    from stickslip.ensembles.gpu import Card

    return Card().name


def table(result: dict[str, Any]) -> Any:
    """The result of `measure` as Rich tables."""
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table

    drawn = Table(title=f"trajectory-steps per second; {escape(result['gpu'])}", title_justify="left")
    for column in ("system", "solver", "members", "one core", f"{result['cores']} cores", "ratio", "gpu"):
        drawn.add_column(column, justify="left" if column in ("system", "solver", "members") else "right")
    drawn.add_column("cpu and gpu after 1000 steps")
    for row in result["rows"]:
        apart = ""
        if "gpu" in row:
            apart = f"{row['largest_difference']:.1e}, {row['equal_members']}/64 bit for bit"
            apart += ", again the same" if row["same_bits_again"] else ", NOT the same again"
        drawn.add_row(
            row["system"],
            row["solver"],
            row["what"],
            f"{row['one_core']:.3g}",
            f"{row['all_cores']:.3g}",
            f"{row['speedup']:.2f}",
            f"{row['gpu']:.3g}" if "gpu" in row else "-",
            apart,
        )
    if "bifurcation" not in result:
        return drawn
    b = result["bifurcation"]
    text = (
        f"bifurcation sweep: {b['members']:,} members, {b['steps']:.3g} steps in {b['seconds']:.2f} s "
        f"({b['kernel_seconds']:.2f} s without assembling the result), {b['failed']} failed; "
        f"{b['equal_on_cpu']} of {b['members_on_cpu']} members equal on the cpu bit for bit"
    )
    return Group(drawn, text)
