"""Members on a GPU: PTX of all systems, the text for a card run on the CPU, and a card where there is one."""

import ctypes
import re

import numpy as np
import pytest

import stickslip as ss
from stickslip import library
from stickslip.ensembles import gpu as ensembles_gpu
from stickslip.ensembles.cpu import Cores
from stickslip.ensembles.gpu import Card, arguments, unavailable
from stickslip.jit import cpu, gpu
from stickslip.jit.units import ENTRY
from stickslip.mechanisms.generate import compiled_module
from tests.ensembles.cases import request_of

slow = pytest.mark.slow
needs_card = pytest.mark.skipif(bool(unavailable()), reason="no GPU")
WITHOUT_CONTACTS = ("three_masses", "slider_crank_ideal")
CRANK = {"theta_2": -0.0032, "omega_2": -80.0}  # the slider is about to strike


def ball():
    return request_of(library.bouncing_ball(), {"restitution": [0.3, 0.6]}, t_end=0.02, dt=1e-3)


def belt():
    return request_of(library.block_on_belt(), {"friction_kinetic": [0.3, 0.9]}, ["final"], t_end=0.3, dt=1e-2)


def crank():
    start = library.slider_crank().starting(CRANK)
    return request_of(start, {"restitution_normal": [0.2, 0.6]}, ["final", "impacts"], t_end=4e-4)


def woodpecker(solver):
    vary = {"friction": np.linspace(0.28, 0.32, 8)}
    return request_of(library.woodpecker(), vary, ["final", "impacts"], t_end=0.4, solver=solver)


def falling_bar(law):
    """A bar that strikes the floor with one end, within the run, under an impact law."""
    vary = {"friction": [0.1, 0.5], "restitution_normal": [0.3, 0.8]}
    return request_of(library.impacting_bar(), vary, ["final", "impacts"], dt=2e-3, t_end=0.1, law=law)


def sled():
    """Friction of the place and restitution of the speed."""
    from tests.laws.test_state_laws import sled as system

    start = ss.Scenario(system(), np.array([0, 0.1]), np.array([2.0, 0]), dt=2e-3, t_end=0.3, title="", source="")
    return request_of(start, {"k": [0.0, 0.8], "a": [0.1, 0.3]}, ["final"])


LAWS = ["poisson", "stronge", "poisson-integrated", "stronge-lumped", ss.Newton(0.4)]


def text_of(request):
    rows, P = request.rows(0, 1)
    module = request.module
    return gpu.text(module.advance_on_gpu, (rows, P, *arguments(request, 0, 0)), module.RARE_ON_GPU)[0]


def run_on_cpu(request, rows, P):
    """The text that a card gets, as machine code of this processor: one thread, which takes all members."""
    text = text_of(request).replace("define ptx_kernel void", "define void")
    for name, value in gpu.REGISTERS_OF_THREAD.items():
        full = f"llvm.nvvm.read.ptx.sreg.{name}.x"
        text = re.sub(
            rf"declare i32 @{re.escape(full)}\(\)", f"define internal i32 @{name}() {{ ret i32 {value} }}", text
        )
        text = text.replace(f"@{full}(", f"@{name}(")
    run = ctypes.CFUNCTYPE(None)(cpu.load(cpu.build(text), ENTRY))
    given = []
    for array in (rows, P):
        given += [ctypes.c_void_p(array.ctypes.data), *map(ctypes.c_int64, array.shape)]
    for number in arguments(request, len(rows), request.steps):
        given.append(ctypes.c_double(number) if isinstance(number, float) else ctypes.c_int64(number))
    run.argtypes = [type(value) for value in given]
    run(*given)


def ends_of(request, run):
    rows, P = request.rows(0, request.plan.size)
    run(request, rows, P)
    assert (rows[:, request.module.STEPS_DONE] == request.steps).all()
    return rows


def on_cores(request, rows, P):
    Cores(threads=1).advance(request, rows, P, lambda steps: None)


@pytest.mark.parametrize(
    "make",
    [
        ball,
        pytest.param(belt, marks=slow),
        pytest.param(lambda: woodpecker("auto"), marks=slow, id="woodpecker auto"),
        pytest.param(lambda: woodpecker("gauss-seidel"), marks=slow, id="woodpecker gauss-seidel"),
        pytest.param(lambda: woodpecker("lemke"), marks=slow, id="woodpecker lemke"),
        pytest.param(sled, marks=slow),
        *(pytest.param(lambda law=law: falling_bar(law), marks=slow, id=str(law)) for law in LAWS),
    ],
)
def test_the_text_for_a_card_does_the_steps_of_the_cpu(make):
    """Parts out of line work on copies of their arrays; nothing of it may show."""
    request = make()
    assert np.array_equal(ends_of(request, run_on_cpu), ends_of(request, on_cores), equal_nan=True)


@slow
def test_sines_of_our_own_agree_to_rounding():
    request = crank()
    ends = [ends_of(request, run) for run in (run_on_cpu, on_cores)]
    assert np.allclose(*ends, rtol=1e-13, atol=1e-15, equal_nan=True)
    book = ends[0][:, request.module.BOOK_OF_MEMBER + request.module.IMPACTS :]
    assert book[:, :4].sum() >= 4.0  # pairs of corners


def counts_of(request):
    ptx = gpu.build(text_of(request), gpu.target(90))
    assert ".target sm_90" in ptx and f".entry {ENTRY}(" in ptx
    return {word: ptx.count(word) for word in ("mul.rn.f64", "mul.f64", "fma.rn", ".extern")}


def test_registers_follow_the_loops_that_a_card_has():
    """168 where lasting contacts have a loop on the card; a slider-crank has none there, and needs all 255."""
    assert woodpecker("auto").module.REGISTERS_ON_GPU == 168
    assert crank().module.REGISTERS_ON_GPU == 255


def test_ptx_of_a_ball_fuses_nothing():
    counts = counts_of(ball())
    assert counts["mul.rn.f64"] > 20  # with a rounding of their own: the driver may not fuse them either
    assert counts["mul.f64"] == counts["fma.rn"] == counts[".extern"] == 0


@slow
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_ptx_of_impact_laws(law):
    counts = counts_of(falling_bar(law))
    assert counts["mul.rn.f64"] > 20 and counts["mul.f64"] == counts["fma.rn"] == counts[".extern"] == 0


@slow
@pytest.mark.parametrize("name", [name for name in library.names() if name not in WITHOUT_CONTACTS])
def test_ptx_of_the_library(name):
    scenario = library.get(name)
    assert scenario.system.n_contacts
    vary = {scenario.system.coordinate_names[0]: [float(scenario.q0[0])]}
    counts = counts_of(request_of(scenario, vary, ["final"]))
    assert counts["mul.rn.f64"] > 20 and counts["mul.f64"] == counts["fma.rn"] == counts[".extern"] == 0


def test_what_a_card_has_not_is_one_line(monkeypatch):
    """Newton's method scales by powers of two and takes arrays whose size is known at run time alone."""

    class Fake:
        def kernel(self, kernel, samples, out_of_line, registers):
            assert registers <= 255
            return gpu.launched(kernel, samples, 90, out_of_line)

    monkeypatch.setattr(ensembles_gpu, "card", Fake)
    request = request_of(library.bouncing_ball(), {"restitution": [0.3]}, ["final"], solver="newton")
    with pytest.raises(
        ValueError, match=r"device 'gpu' cannot run 'bouncing_ball'.*on the CPU alone.*; use 'cpu'\.$"
    ) as told:
        Card().warm_up(request)
    assert "\n" not in str(told.value)


def test_without_bindings_it_says_what_to_install(monkeypatch):
    def missing():
        raise ImportError("No module named 'cuda'")

    monkeypatch.setattr(ensembles_gpu, "card", missing)
    assert "pip install 'stickslip[gpu]' brings cuda-bindings" in unavailable()


def test_without_a_driver_it_says_so(monkeypatch):
    def missing():
        raise RuntimeError("the driver\nfinds no card.")

    monkeypatch.setattr(ensembles_gpu, "card", missing)
    assert "finds no GPU to compute on (the driver finds no card); a driver has to be there" in unavailable()


@needs_card
@pytest.mark.parametrize(
    "make",
    [
        ball,
        belt,
        lambda: woodpecker("auto"),
        lambda: woodpecker("gauss-seidel"),
        *(lambda law=law: falling_bar(law) for law in LAWS[:3]),
    ],
)
def test_a_card_gives_the_bits_of_the_cpu(make):
    request = make()

    def on_card(request, rows, P):
        Card().advance(request, rows, P, lambda steps: None)

    assert np.array_equal(ends_of(request, on_card), ends_of(request, on_cores), equal_nan=True)


@slow
@pytest.mark.parametrize("name", WITHOUT_CONTACTS)
def test_a_system_without_contacts_has_ptx(name):
    scenario = library.get(name)
    assert not scenario.system.n_contacts
    vary = {scenario.system.coordinate_names[0]: [float(scenario.q0[0])]}
    assert counts_of(request_of(scenario, vary, ["final"]))["fma.rn"] == 0


@slow
def test_functions_of_the_user_in_the_kernel_language_go_to_the_card():
    system = ss.LagrangianSystem(mass=[[2.0]], force=lambda q, u, t, p: (-3.0 * q[0] * u[0],), name="drawn back")
    assert system.inject
    module = compiled_module(system, "members", "gauss-seidel", {"WATCHED": True})
    samples = (np.zeros((1, module.ROW_SIZE)), np.zeros((1, module.N_PARAMETERS)), 1, 1e-3, 1, 100, 1e-8, 1e-6)
    ptx = gpu.build(gpu.text(module.advance_on_gpu, samples, module.RARE_ON_GPU)[0], gpu.target(90))
    assert ptx.count("mul.rn.f64") > 10 and ".extern" not in ptx
