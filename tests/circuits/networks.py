"""Circuits that several tests run, with their data."""

import math

import numpy as np

import stickslip as ss
from stickslip.circuits import PWM, Feedback

OMEGA = 100.0 * math.pi
PERIOD = 0.02
HALF_WAVE_MEAN = 2.3668600229  # U (1 - cos b) / (2 pi R), extinction at b


def sine(amplitude, mean=0.0):
    return lambda t: mean + amplitude * np.sin(OMEGA * t)


def half_wave(freewheel=False):
    net = ss.Circuit("half wave")
    net.source("V", "a", "0", voltage=sine(100.0))
    net.diode("D", "a", "b")
    if freewheel:
        net.diode("F", "0", "b")
    net.resistor("R", "b", "c", 10.0)
    net.inductor("L", "c", "0", 0.05)
    return net


def bridge(impedance=False, bridges=1):
    """A bridge with RC load; behind a source impedance; several bridges in a row."""
    net = ss.Circuit("bridge")
    net.source("V", "s", "b0", voltage=sine(20.0))
    first = "s"
    if impedance:
        net.resistor("Rs", "s", "s2", 0.5)
        net.inductor("Ls", "s2", "a", 1e-3)
        first = "a"
    nodes = (first, "b0")
    for k in range(bridges):
        after = (f"p{k}", f"m{k}")
        net.bridge("B" if k == bridges - 1 else f"B{k}", ac=nodes, dc=after)
        nodes = after
    net.capacitor("C", *nodes, 1e-3)
    net.resistor("R", *nodes, 100.0)
    return net


def buck(R, *, L=1e-3, C=1e-4, V=24.0, voltage=12.0, current=1.0, closed=None, synchronous=False):
    """A buck converter; synchronous: a second switch in the place of the diode."""
    closed = PWM(1e-4, 0.5) if closed is None else closed
    net = ss.Circuit("buck converter")
    net.source("V", "in", "0", voltage=V)
    net.switch("S", "in", "x", closed=closed)
    if synchronous:
        net.switch("D", "0", "x", closed=PWM(closed.period, 1.0 - closed.duty, start=closed.duty * closed.period))
    else:
        net.diode("D", "0", "x")
    net.inductor("L", "x", "o", L, current=current)
    net.capacitor("C", "o", "0", C, voltage=voltage)
    net.resistor("R", "o", "0", R)
    return net


CONTROL_PERIOD = 4e-4


def controlled_buck(V, current, voltage):
    """A buck converter whose switch is closed while a ramp lies above the amplified error."""

    def excess(t, probe):
        return 3.8 + 4.4 * ((t / CONTROL_PERIOD) % 1.0) - 8.4 * (probe.voltage("C") - 11.3)

    control = Feedback(excess, period=CONTROL_PERIOD)
    return buck(22.0, L=0.02, C=47e-6, V=V, voltage=voltage, current=current, closed=control)


def mean(run, values, span):
    """Mean of a record over the last `span` seconds, by the trapezoidal rule."""
    n = round(span / (run.dt * run.every)) + 1
    return float(np.trapezoid(values[-n:], run.t[-n:]) / span)


def require_clean(run, tol=1e-10):
    """A run that ended as asked, whose steps are solved, and whose energy is accounted for."""
    assert run.complete and run.status == "finished"
    assert run.certificate.failed_steps == 0 and run.certificate.max_residual <= tol
    book = run.energy_book()
    assert abs(book["unexplained"]) <= 1e-8 * max(run.certificate.energy_in_play, 1e-30), book
