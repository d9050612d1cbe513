"""Wrong netlists get one clear line; loops in words; runs that stop say where and why."""

import math

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.circuits import PWM, Feedback


def small():
    net = ss.Circuit("small")
    net.source("V", "a", "0", voltage=1.0)
    net.resistor("R1", "a", "b", 1.0)
    net.inductor("L1", "b", "0", 1.0)
    return net


def test_loops_in_words():
    net = small()
    net.capacitor("C", "b", "0", 1.0)
    text = net.loops()
    assert "tree: V, C" in text and "links: R1, L1" in text
    assert "loop of L1: +L1 -C" in text


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda net: net.resistor("R2", "a", "b", -1.0), "resistance of 'R2' must be positive [ohm], got -1."),
        (lambda net: net.resistor("R2", "a", "b", 0.0), "must be positive"),
        (lambda net: net.resistor("R2", "a", "b", "10k"), "resistance of 'R2' must be a finite number, got '10k'."),
        (lambda net: net.capacitor("C", "a", "b", math.nan), "capacitance of 'C' must be a finite number"),
        (lambda net: net.inductor("L", "a", "b", -2e-3), "inductance of 'L' must be positive [H]"),
        (lambda net: net.diode("D", "a", "b", threshold=-0.7), "threshold of 'D' must not be negative [V], got -0.7."),
        (lambda net: net.zener("Z", "a", "b", -6.2), "voltage of 'Z' must be positive [V]"),
        (lambda net: net.resistor("R1", "a", "b", 1.0), "has an element 'R1' already"),
        (lambda net: net.resistor("R2", "a", "a", 1.0), "'R2' has both ends at node 'a'"),
        (lambda net: net.resistor("R2", "a", 0, 1.0), "nodes of 'R2' must be texts"),
        (lambda net: net.resistor("", "a", "b", 1.0), "name of an element must be a text"),
        (lambda net: net.coupled("K", "L1", "R1", coupling=0.5), "couples inductors, and 'R1' is a resistor"),
        (lambda net: net.coupled("K", "L1", "L7", coupling=0.5), "unknown element 'L7'; did you mean 'L1'?"),
        (lambda net: net.coupled("K", "L1", "L1", coupling=0.5), "couples 'L1' with itself"),
        (lambda net: net.coupled("K", "L1", "L1"), "either coupling= (between -1 and 1) or mutual="),
        (lambda net: net.coupled("K", "L1", "L1", coupling=1.5), "must lie between -1 and 1, got 1.5"),
        (lambda net: net.transformer("T", ("a", "b"), "c", 2.0), "secondary of 'T' must be two nodes"),
        (lambda net: net.transformer("T", ("a", "b"), ("c", "d"), 0.0), "ratio of 'T' must not be 0"),
        (lambda net: net.transformer("T", ("a", "b"), ("c", "c"), 2.0), "'T.secondary' has both ends at node 'c'"),
        (lambda net: net.bridge("B", ac=("a", "b"), dc=("c", "c")), "'B.dc' has both ends at node 'c'"),
        (lambda net: net.bridge("B", ac=("a", "b"), dc=("c", 0)), "nodes of 'B.dc' must be texts"),
        (lambda net: net.source("V2", "a", "b", voltage="10 V"), "voltage of 'V2' must be a finite number, a function"),
        (lambda net: net.source("V2", "a", "b", voltage=sp.Symbol("U")), "must depend on t alone, got the symbols U."),
        (lambda net: net.switch("S", "a", "b", closed=0.5), "closed of 'S' must be True, False, a function of t"),
        (lambda net: net.thyristor("T", "a", "b", fired=Feedback(lambda t, p: 1.0)), "got Feedback"),
        (lambda net: Feedback(3.0), "function must be a function of t and of a probe, got 3.0."),
        (lambda net: Feedback(lambda t, p: 1.0, period=0.0), "period must be positive [s], or inf, got 0."),
        (lambda net: net.switch("S", "a", "b", closed=PWM(1.0, 1.5)), "duty must lie between 0 and 1"),
        (lambda net: net.switch("S", "a", "b", closed=PWM(-1.0, 0.5)), "period must be positive [s], got -1."),
    ],
)
def test_wrong_elements(add, words):
    net = small()
    with pytest.raises(ValueError) as caught:
        add(net)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert list(net.elements) == ["V", "R1", "L1"]  # nothing is half added, so that a second try may succeed


def floating(net):
    net.resistor("R2", "b", "x", 1.0)


def loop_of_sources(net):
    net.source("V2", "a", "0", voltage=2.0)


def cut_of_currents(net):
    net.current_source("I1", "c", "0", current=1.0)
    net.current_source("I2", "c", "0", current=2.0)


def too_much_coupling(net):
    net.inductor("L2", "b", "0", 1.0)
    net.coupled("K", "L1", "L2", mutual=1.5)


def two_symbols(net):
    import sympy as sp

    net.source("V3", "b", "0", voltage=sp.Symbol("t") * sp.Symbol("U"))


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (floating, "node 'x' floats: only 'R2' touches it"),
        (loop_of_sources, "sources V, V2 form a loop without impedance"),
        (cut_of_currents, "current sources I1, I2 are the only way to node 'c'"),
        (too_much_coupling, "'K' couples 'L1' and 'L2' too much"),
        (two_symbols, "must depend on t alone, got the symbols U, t"),
    ],
)
def test_wrong_networks(add, words):
    net = small()
    with pytest.raises(ValueError) as caught:
        add(net)
        net.simulate(dt=0.1, t_end=1.0)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_circuit_without_elements_or_loops():
    with pytest.raises(ValueError, match="no elements"):
        ss.Circuit().network()
    with pytest.raises(ValueError, match="name must be a text"):
        ss.Circuit("")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dt": 0.0}, "dt must be positive [s], got 0."),
        ({"dt": "1"}, "dt must be a finite number"),
        ({"t_end": -1.0}, "t_end must be positive"),
        ({"t_end": 0.01}, "t_end / dt must be between 1 and"),
        ({"theta": 0.3}, "theta must lie between 0.5 and 1, or be None, got 0.3."),
        ({"every": 0}, "every must be a whole number >= 1"),
        ({"tol": 2.0}, "tol must be a number between 0 and 1"),
        ({"locate": "yes"}, "locate must be True or False, got 'yes'."),
    ],
)
def test_wrong_requests(options, words):
    with pytest.raises(ValueError) as caught:
        small().simulate(**{"dt": 0.1, "t_end": 1.0, **options})
    assert words in str(caught.value)


def test_unknown_names_in_a_run():
    run = small().simulate(dt=0.1, t_end=1.0)
    with pytest.raises(ValueError, match="unknown element 'R2'; did you mean 'R1'"):
        run.current("R2")
    with pytest.raises(ValueError, match="unknown element 3; known: V, R1, L1"):
        run.voltage(3)
    assert str(run.energy_book()).count(" J") == 8 and "\nunexplained" in str(run.energy_book())
    with pytest.raises(ValueError, match="'R1' does not switch; those that do: none"):
        run.mode("R1")
    with pytest.raises(KeyError, match="unknown column 'tim'; did you mean 'time'"):
        run.events["tim"]


def test_a_short_circuit_stops_the_run_and_names_its_branches():
    net = ss.Circuit()
    net.source("V", "a", "0", voltage=lambda t: np.sin(t) - 0.5)
    net.diode("D", "a", "0")
    net.resistor("R", "a", "0", 1.0)
    run = net.simulate(dt=0.01, t_end=2.0)
    assert not run.complete and run.certificate.failed_steps == 1
    assert run.t[-1] == pytest.approx(math.asin(0.5), abs=0.01)  # up to there it is kept
    assert run.status.startswith("stopped at t = 0.52 s: D, V form a short circuit: nothing limits the current")


def test_a_current_without_a_way_stops_the_run():
    net = ss.Circuit()
    net.current_source("I", "0", "a", current=1.0)
    net.switch("S", "a", "b", closed=lambda t: t < 0.5)
    net.resistor("R", "b", "0", 1.0)
    net.switch("S2", "a", "0", closed=False)
    run = net.simulate(dt=0.1, t_end=1.0)
    assert not run.complete and run.t[-1] == pytest.approx(0.5)
    assert "the current of I has no way past what is open or blocks (S, S2)" in run.status


def test_a_source_that_is_not_finite_is_refused():
    net = small()
    net.source("E", "c", "0", voltage=lambda t: 1.0 / (t - 0.5) if t != 0.5 else math.inf)
    net.resistor("R2", "c", "b", 1.0)
    with pytest.raises(ValueError, match=r"voltage of 'E' must be finite, got inf at t = 0.5 s"):
        net.simulate(dt=0.1, t_end=1.0)


def test_a_feedback_says_what_it_sees():
    net = small()
    net.switch("S", "b", "c", closed=Feedback(lambda t, probe: probe.voltage("L1")))
    net.resistor("R2", "c", "0", 1.0)
    with pytest.raises(ValueError, match="a feedback sees the voltages of capacitors, resistors and sources"):
        net.simulate(dt=0.1, t_end=1.0)


def test_progress_and_sparse_records():
    seen = []
    net = small()
    run = net.simulate(dt=1e-3, t_end=1.0, every=10, progress=seen.append)
    assert len(run) == 101 and seen[-1] == 1000 and seen == sorted(seen)
    every = net.simulate(dt=1e-3, t_end=1.0)
    np.testing.assert_array_equal(run.current("L1"), every.current("L1")[::10])
    assert abs(run.energy_book()["unexplained"]) < 1e-12
