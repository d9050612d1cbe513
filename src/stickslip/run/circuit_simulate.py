"""The run of a circuit: checks of what was asked, the march with its progress bar, the result with its certificate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.checks import real_number, shown, truth
from stickslip.circuits.circuit import Circuit, StateProbe
from stickslip.circuits.march import March
from stickslip.circuits.network import Element, Network
from stickslip.circuits.present import Stopped
from stickslip.circuits.problem import CHOICE
from stickslip.circuits.records import CircuitRecords
from stickslip.circuits.run import EVENT_COLUMNS, JUMP_COLUMNS, CircuitCertificate, CircuitEnergies, CircuitRun, Table
from stickslip.circuits.signals import ours
from stickslip.cost import require_memory
from stickslip.interrupts import opened, settle, uninterrupted
from stickslip.lcp.problems import checked_count, checked_tolerance
from stickslip.run.progress import progress_bar

_MOST_STEPS = 10**9
_VALVE_WORDS = {"closes": "opens", "opens": "shuts"}
"""A valve that opens lets fluid pass, as a switch does that closes."""


def simulate_circuit(
    circuit: Circuit,
    *,
    dt: float,
    t_end: float,
    theta: float | None = None,
    locate: bool = False,
    every: int = 1,
    tol: float = 1e-10,
    progress: Any = None,
) -> CircuitRun:
    """March a circuit from t = 0 to t_end; see `Circuit.simulate`."""
    net = circuit.network()
    steps = _steps(dt, t_end)
    every = checked_count(every, "every", 1)
    locate = truth(locate, "locate")
    rule = _theta(theta, net, locate)
    width = 2 * len(net.links) + 3 * len(net.branches) + 2 * len(circuit.elements)
    require_memory(8.0 * width * (steps // every + 1), f"the records of {steps:,} steps", "record less often: every=")
    book = CircuitRecords(net, steps // every + 1)
    march = March(
        book, lambda u, q, volts: StateProbe(circuit, net, u, q, volts), dt=float(dt), theta=rule,
        tol=checked_tolerance(tol), locate=locate, every=every,
    )  # fmt: skip
    begin = time.perf_counter()
    with uninterrupted(), ours():
        try:
            with opened():
                march.begin()
        except Stopped as stop:
            raise ValueError(f"the circuit has no consistent start: {stop}.") from None
        with progress_bar(progress, circuit.name, steps) as advance:
            status = _marched(march, steps, advance)
        result = _result(circuit, march, steps, status, time.perf_counter() - begin)
        settle()
    return result


def _marched(march: March, steps: int, advance: Callable[[int], None]) -> str:
    """March to the end; "finished", or where and why it ended early."""
    try:
        while march.k < steps:
            march.advance(steps)
            with opened():
                advance(march.k)
    except Stopped as stop:
        return str(stop)
    except KeyboardInterrupt:
        if march.k == steps:  # nothing was left to be ended
            return "finished"
        return f"interrupted at t = {march.t:.9g} s"
    return "finished"


def _steps(dt: Any, t_end: Any) -> int:
    for name, value in (("dt", dt), ("t_end", t_end)):
        if not real_number(value, name) > 0.0:
            raise ValueError(f"{name} must be positive [s], got {value:g}.")
    ratio = float(t_end) / float(dt)  # inf where it is beyond all numbers
    if not 0.5 < ratio < _MOST_STEPS + 0.5:
        raise ValueError(f"t_end / dt must be between 1 and {_MOST_STEPS:,} steps, got {ratio:g}.")
    return round(ratio)


def _theta(theta: Any, net: Network, locate: bool) -> float | None:
    """The rule of the steps; None: the march chooses for each mode.

    1/2 rings in loops without inductance, unless every mode starts consistent: events are located.
    """
    if theta is None:
        return None if locate else 0.5 if net.every_loop_has_inductance() else 1.0
    value = real_number(theta, "theta")
    if not 0.5 <= value <= 1.0:
        raise ValueError(f"theta must lie between 0.5 and 1, or be None, got {shown(theta)}.")
    return value


def _result(circuit: Circuit, march: March, steps: int, status: str, wall: float) -> CircuitRun:
    net, book = march.net, march.book
    a = book.finished()
    elements = list(circuit.elements.values())
    branch_currents = a["u"] @ net.B
    currents, voltages = (
        np.column_stack([sum(w * values[:, k] for k, w in getattr(e, part).items()) for e in elements])
        for values, part in ((branch_currents, "current"), (a["voltage"], "voltage"))
    )
    switching = [e for e in elements if e.rows]
    words: list[str] = []
    modes = np.zeros((len(a["t"]), len(switching)), dtype=np.int16)
    for k, element in enumerate(switching):
        modes[:, k] = _modes(element, net, a["conducting"], a["status"], words)
    magnetic, electric = book.stored(a["u"], a["q"])
    energy = CircuitEnergies(magnetic, electric)
    return CircuitRun(
        t=a["t"],
        q=a["q"],
        u=a["u"],
        currents=currents,
        voltages=voltages,
        modes=modes,
        energy=energy,
        certificate=_certificate(march, energy),
        events=_events(march, elements),
        jump_table=_jumps(march, elements),
        book=_energy_book(march, energy),
        system_name=circuit.name,
        loop_names=tuple(net.branches[k].name for k in net.links),
        element_names=tuple(e.name for e in elements),
        element_kinds=tuple(e.kind for e in elements),
        switching=tuple(e.name for e in switching),
        mode_words=tuple(words),
        dt=march.dt,
        every=march.every,
        steps=march.k,
        theta=0.5 if march.theta is None else march.theta,
        located=march.locate,
        units=(circuit.flow_unit, circuit.effort_unit),
        status=status,
        complete=march.k == steps,
        wall_s=wall,
        version=__version__,
    )


def _modes(element: Element, net: Network, conducting: np.ndarray, status: np.ndarray, words: list[str]) -> np.ndarray:
    """Numbers of the words that say what an element does at each record; new words are appended to `words`."""
    rows = {word: net.row_branches.index(branch) for word, branch in element.rows.items()}
    code = np.zeros(len(conducting), dtype=np.int64)
    for bit, row in enumerate(rows.values()):
        code += (conducting[:, row].astype(np.int64)) << bit
        code += (status[:, row] != CHOICE).astype(np.int64) << (bit + len(rows))
    found = np.zeros(len(code), dtype=np.int16)
    for value in np.unique(code):
        on = [word for bit, word in enumerate(rows) if value >> bit & 1]
        fixed = bool(value >> len(rows))
        if element.kind == "switch":
            word = "closed" if on else "open"
        elif element.kind == "valve":
            word = "passes" if on else "shut"
        elif element.kind == "thyristor" and fixed:
            word = "locked"
        else:
            word = " ".join(on) or "blocks"
        if word not in words:
            words.append(word)
        found[code == value] = words.index(word)
    return found


def _owners(elements: list[Element]) -> dict[int, Element]:
    """Which element a branch belongs to; the diodes of a bridge belong to themselves."""
    owners: dict[int, Element] = {}
    for element in elements:
        if element.kind != "bridge":
            owners.update(dict.fromkeys((*element.current, *element.voltage, *element.rows.values()), element))
    return owners


def _events(march: March, elements: list[Element]) -> Table:
    owners, rows = _owners(elements), []
    for moment, branch, kind in sorted(march.book.events, key=lambda event: event[0]):
        element = owners[branch]
        back = len(element.rows) == 2 and branch == list(element.rows.values())[1]
        said = _VALVE_WORDS.get(kind, kind) if element.kind == "valve" else kind
        if back:
            said = {"conducts": "breaks down", "blocks": "recovers"}[kind] if element.kind == "Zener diode" else (
                f"{kind} backward"
            )  # fmt: skip
        rows.append({"time": moment, "element": element.name, "kind": said})
    return Table.of(rows, EVENT_COLUMNS, ("element", "kind"))


def _jumps(march: March, elements: list[Element]) -> Table:
    owners = _owners(elements)
    rows = [{**jump, "element": owners[jump["branch"]].name} for jump in march.book.jumps]
    return Table.of(rows, JUMP_COLUMNS, ("element",))


def _energy_book(march: March, energy: CircuitEnergies) -> dict[str, float]:
    w = march.book.work
    start = march.start_energy
    at_record = march.at_end_of_step() and march.k % march.every == 0
    end = float(energy.total[-1]) if at_record else march.present_energy()
    rule = w.ideal - w.damping
    explained = w.sources - w.resistors - w.thresholds - w.jumps + rule
    return {
        "start": start,
        "sources": w.sources,
        "resistors": w.resistors,
        "thresholds": w.thresholds,
        "jumps": w.jumps,
        "rule": rule,
        "end": end,
        "unexplained": end - start - explained,
    }


def _certificate(march: March, energy: CircuitEnergies) -> CircuitCertificate:
    w = march.book.work
    return CircuitCertificate(
        failed_steps=march.failed,
        max_residual=march.worst,
        max_energy_gain=w.largest_gain,
        max_lcp_size=march.largest_lcp,
        fallbacks=march.fallbacks,
        contact_work=-(w.thresholds + w.jumps),
        integration_energy=w.ideal - w.damping,
        tolerance=march.tol,
        ringing=march.ringing,
        energy_in_play=max(w.largest_store, abs(w.sources), march.start_energy),
    )
