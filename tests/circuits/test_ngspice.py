"""Beside ngspice in its limit: its diodes, made ever sharper, give the currents of ideal ones.

ngspice is a program of its own; without it these tests are skipped.
"""

import shutil
import subprocess

import numpy as np
import pytest

import stickslip as ss
from tests.circuits.networks import PERIOD, bridge, half_wave

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("ngspice") is None, reason="ngspice is not installed"),
]


def ngspice(folder, netlist, probe, step, end):
    """Times and values of a transient analysis."""
    deck, data = folder / "deck.cir", folder / "out.txt"
    deck.write_text(
        f"test\n{netlist}\n.options reltol=1e-5 abstol=1e-8 vntol=1e-6 method=gear\n.control\n"
        f"tran {step} {end} 0 {step} uic\nwrdata {data} {probe}\nquit\n.endc\n.end\n"
    )
    subprocess.run(["ngspice", "-b", str(deck)], check=True, capture_output=True, timeout=120, cwd=folder)
    t, values = np.loadtxt(data).T
    return t, values


def sharp(n, rs=1e-4):
    """A diode with n x kT/q instead of kT/q: small n means a sharp knee near zero volts."""
    return f".model D d(is=1e-9 n={n} rs={rs} cjo=1e-11)"


def worst(netlist, probe, run, values, folder, step):
    t, found = ngspice(folder, netlist, probe, step, run.t[-1])
    assert t[-1] > 0.999 * run.t[-1]  # ngspice came to the end
    return float(np.abs(np.interp(run.t, t, found) - values).max())


def test_half_wave_rectifier_in_the_limit_of_sharp_diodes(tmp_path):
    run = half_wave().simulate(dt=PERIOD / 2000, t_end=PERIOD, locate=True)
    errors = []
    for n in (1.0, 0.1, 0.01):
        netlist = f"V1 a 0 sin(0 100 50)\nD1 a b D\nR1 b c 10\nL1 c 0 0.05 ic=0\n{sharp(n)}"
        errors.append(worst(netlist, "i(L1)", run, run.current("L"), tmp_path, 2e-6))
    print("half wave, largest difference of the current [A]:", errors)
    assert errors[1] < 0.3 * errors[0]  # the knee of the diode is the difference
    assert errors[2] < 5e-3 < errors[0]


def test_bridge_in_the_limit_of_sharp_diodes(tmp_path):
    run = bridge(impedance=True).simulate(dt=PERIOD / 2000, t_end=PERIOD, locate=True)
    errors = []
    for n in (1.0, 0.3, 0.1):
        netlist = (
            "V1 s b sin(0 20 50)\nRs s s2 0.5\nLs s2 a 1m ic=0\nD1 a p D\nD2 b p D\nD3 0 a D\nD4 0 b D\n"
            f"C1 p 0 1m ic=0\nR1 p 0 100\nRp a b 1e5\n{sharp(n, rs=1e-3)}"
        )
        errors.append(worst(netlist, "v(p)", run, run.voltage("C"), tmp_path, 1e-5))
    print("bridge, largest difference of the voltage [V]:", errors)
    assert errors[1] < 0.35 * errors[0] and errors[2] < 0.4 * errors[1]  # two knees in series are the difference
    assert errors[2] < 0.25


@pytest.mark.parametrize("load", [10.0, 100.0])  # the current never ends; it ends before the next pulse
def test_buck_converter_in_the_limit_of_sharp_diodes(tmp_path, load):
    """Currents of the coil over five periods; the switch of ngspice has 1 milliohm and opens within 20 ns."""
    converter = ss.library.buck_converter(resistance=load)
    start = converter.circuit.simulate(dt=1e-6, t_end=1e-6).voltage("C")[0]
    run = converter.circuit.simulate(dt=1e-6, t_end=5e-4, locate=True)
    snubber = "Cx x 0 0.1n" if load < 50.0 else ""  # without it ngspice stops where the switch takes over the current
    errors = []
    for n in (1.0, 0.3, 0.1):
        netlist = (
            "V1 in 0 24\nVg g 0 pulse(1 0 50u 20n 20n 49.98u 100u)\nS1 in x g 0 SW\nD1 0 x D\nL1 x out 1m ic=0\n"
            f"C1 out 0 100u ic={start:.9f}\nR1 out 0 {load}\n{snubber}\n"
            f".model SW sw(vt=0.5 vh=0.0 ron=1e-3 roff=1e9)\n{sharp(n, rs=1e-3)}"
        )
        errors.append(worst(netlist, "i(L1)", run, run.current("L"), tmp_path, 5e-8))
    print(
        f"buck, {load} ohm, largest difference of the current [A]:", errors, "largest current", run.current("L").max()
    )
    assert errors[1] < 0.4 * errors[0] and errors[2] < 0.5 * errors[1]  # what is left is the switch of ngspice
    assert errors[2] < 1e-2 * run.current("L").max()
