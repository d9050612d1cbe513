"""The certificate in words: what a reader judges a run by, in text, on the page, in files and in JSON."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.cli.run import report
from stickslip.page.payload import payload
from stickslip.trajectory import FORCES, MOTORS, Certificate

CLEAN = Certificate(tolerance=1e-10, energy_in_play=2.0)


def test_zeros_are_called_none() -> None:
    text = str(CLEAN)
    assert text == (
        "0 failed steps, worst residual none (tolerance 1e-10), deepest penetration none, energy gained at contacts "
        "none, by the steps none (of 2 J exchanged)"
    )


def test_gains_are_shares_of_the_energy_in_play() -> None:
    text = str(replace(CLEAN, max_energy_gain=0.04, integration_energy=-0.003))
    assert "energy gained at contacts 2 %" in text and "by the steps -0.15 % (of 2 J exchanged)" in text
    assert "none" in str(replace(CLEAN, integration_energy=1e-13)).split("by the steps")[1]  # rounding


def test_large_numbers_stay_readable() -> None:
    text = str(replace(CLEAN, integration_energy=2.0, energy_in_play=632.1))
    assert "by the steps 0.32 % (of 632 J exchanged)" in text
    assert "by the steps 100 % (of 2 J exchanged)" in str(replace(CLEAN, integration_energy=2.0))


def test_a_tolerance_is_not_rounded_up() -> None:
    text = str(replace(CLEAN, max_residual=1.7e-10, tolerance=1.5e-10))
    assert "worst residual 1.7e-10 (tolerance 1.5e-10, loosened from 1e-10)" in text


def test_a_rule_that_adds_energy_is_doubted(toy: ss.Trajectory) -> None:
    bad = replace(CLEAN, integration_energy=0.05)
    assert (
        CLEAN.doubts() == [] == replace(bad, forced=FORCES).doubts() == replace(bad, integration_energy=-1.0).doubts()
    )
    assert bad.doubts() == ["the steps put in 2.5 % of the energy in play, try a smaller dt"]
    assert payload(replace(toy, certificate=bad))["notes"] == bad.doubts()


def test_energy_of_shifts_is_in_the_line() -> None:
    text = str(replace(CLEAN, projections=3, projection_energy=0.4))
    assert "energy gained at contacts none, by shifts of positions 20 %, by the steps none (of 2 J exchanged)" in text
    assert "shifts" not in str(CLEAN)


def test_a_loosened_tolerance_says_so() -> None:
    text = str(replace(CLEAN, max_residual=9e-5, tolerance=1e-4))
    assert "worst residual 9.0e-05 (tolerance 1e-04, loosened from 1e-10)" in text


def test_work_of_forces_and_motors_is_not_called_an_error_of_the_rule() -> None:
    driven = replace(CLEAN, integration_energy=1.0, forced=FORCES | MOTORS)
    assert str(driven).endswith(
        "energy gained at contacts and motors none, work of applied forces and steps 1 J (2 J exchanged)"
    )
    assert "work of applied forces and steps unknown" in str(replace(driven, integration_energy=math.nan))
    assert math.isnan(driven.rule_share) and replace(driven, forced=MOTORS).rule_share == 0.5


def test_what_is_not_known_is_not_called_none() -> None:
    old = Certificate(max_energy_gain=1e-3, integration_energy=math.nan)  # as a file of an earlier version has it
    assert "tolerance" not in str(old) and "at contacts 1.0e-03 J, by the steps unknown" in str(old)
    assert "by the steps unknown" in str(replace(CLEAN, integration_energy=math.nan))


def test_a_gain_without_any_energy_in_play_is_shown() -> None:
    assert "by the steps 1.0e-03 J" in str(replace(CLEAN, energy_in_play=0.0, integration_energy=1e-3))


def test_worst_of_several_never_looks_better_than_one_of_them() -> None:
    a = replace(CLEAN, max_residual=1e-12, integration_energy=-0.5, energy_in_play=1.0, failed_steps=2)
    b = replace(CLEAN, max_residual=1e-11, integration_energy=0.1, energy_in_play=4.0, forced=FORCES, tolerance=1e-6)
    both = Certificate.worst([a, b])
    assert (both.failed_steps, both.max_residual, both.tolerance, both.forced) == (2, 1e-11, 1e-6, FORCES)
    assert (both.integration_energy, both.energy_in_play) == (-0.5, 1.0)
    assert math.isnan(Certificate.worst([a, replace(b, max_residual=math.nan)]).max_residual)


@pytest.fixture(scope="module")
def toy() -> ss.Trajectory:
    return ss.library.woodpecker().simulate(dt=1e-4, t_end=0.05)


def test_a_run_measures_the_energy_in_play(toy: ss.Trajectory) -> None:
    potential = toy.energy.potential
    expected = max(toy.energy.kinetic.max(), np.ptp(potential), abs(toy.certificate.contact_work))
    assert toy.certificate.energy_in_play == expected > 0.0
    assert toy.certificate.tolerance == 1e-10 and toy.certificate.forced == 0


def test_rest_is_not_called_an_error_of_the_rule() -> None:
    # All energies of a body at rest are round-off; one step of gravity is what they are compared with.
    box = ss.Scene(dim=3, gravity=9.81)
    box.add_static(ss.HalfSpace(normal=(0, 0, 1)), friction=0.5)
    box.add_body(ss.Box((1, 1, 1)), mass=2.0, position=(0, 0, 0.5))
    rest = box.simulate(dt=1e-2, t_end=0.02).certificate
    assert rest.energy_in_play == pytest.approx(0.5 * 2.0 * (9.81e-2) ** 2) and abs(rest.rule_share) < 1e-9
    ball = ss.library.bouncing_ball()
    lying = ball.simulate(dt=1e-2, t_end=0.02, q0=[0.0], engine="reference").certificate
    assert lying.energy_in_play == pytest.approx(0.5 * (9.81e-2) ** 2, rel=1e-6) and lying.rule_share == 0.0


def test_one_wording_everywhere(toy: ss.Trajectory, tmp_path) -> None:  # type: ignore[no-untyped-def]
    again = ss.load(toy.save(tmp_path / "run.nc"))
    assert again.certificate == toy.certificate and str(again.certificate) in repr(again)
    shown = json.loads(json.dumps(payload(toy, ss.library.woodpecker())))["numbers"]["proof"]
    assert [row["value"] for row in shown] == [entry.value for entry in toy.certificate.entries()]
    spoken = report(toy, ss.library.woodpecker(), 0.05)["certificate"]
    assert spoken["tolerance"] == 1e-10 and spoken["energy_in_play"] == toy.certificate.energy_in_play


def test_systems_know_what_does_work() -> None:
    known = {"woodpecker": False, "bouncing_ball": False, "impact_oscillator": True, "friction_oscillator": True}
    assert {name: ss.library.get(name).system.forced for name in known} == known


def test_scenes_know_what_does_work() -> None:
    scene = ss.Scene(dim=3, gravity=9.81)
    scene.add_static(ss.HalfSpace(normal=(0, 0, 1)))
    box = scene.add_body(ss.Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5))
    quiet = scene.copy()
    scene.add_force(box, (1.0, 0.0, 0.0))
    assert quiet.simulate(dt=1e-2, t_end=0.02).certificate.forced == 0
    assert scene.simulate(dt=1e-2, t_end=0.02).certificate.forced == FORCES


def heap(tol):
    """Sixteen boxes that fall into a bin."""
    scene = ss.Scene()
    for normal in ((0, 0, 1), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        at = -0.14 * np.array(normal) * (0.0 if normal[2] else 1.0)
        scene.add_static(ss.HalfSpace(normal), position=at, friction=0.5)
    for i in range(16):
        place = (-0.07 + 0.13 * (i % 2), -0.07 + 0.13 * (i // 2 % 2), 0.05 + 0.09 * (i // 4))
        scene.add_body(ss.Box((0.1, 0.08, 0.06)), density=1000.0, position=place, velocity=(0.3, -0.2, 0), friction=0.5)
    return scene.simulate(dt=1e-3, t_end=0.3, tol=tol).certificate


def test_sticking_contacts_that_creep_are_told():
    """Steps that are solved roughly let contacts slide that should stick; the bound has that, and the line tells."""
    rough, exact = heap(1e-2), heap(1e-6)
    assert exact.max_creep < 1e-7 and "creep" not in str(exact)
    assert rough.max_creep > 1e-6
    assert f"creep of sticking contacts at most {rough.max_creep:.1e} m" in str(rough)
    assert any(entry.name == "creep of sticking contacts" for entry in rough.entries())
    assert rough.to_dict()["max_creep"] == rough.max_creep


@pytest.mark.parametrize(("seed", "dt"), [(167, 5e-3), (197, 1e-3)])
def test_a_corner_that_carries_rounding_does_not_creep(seed, dt):
    """A hull comes to rest; one of its corners leaves the ground with 1e-31 N s, where other corners carry loads.

    The certificate said that sticking contacts crept by 2e-6 and 6e-6 m.
    """
    points = np.random.default_rng(seed).normal(size=(8, 3))
    scene = ss.Scene()
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.6)
    hull = ss.ConvexHull(0.1 * points / np.linalg.norm(points, axis=1)[:, None])
    scene.add_body(hull, mass=0.5, position=(0, 0, 0.12), friction=0.6)
    run = scene.simulate(dt=dt, t_end=0.6)
    assert run.complete and run.certificate.max_creep < 1e-10


def test_shares_of_load_that_no_law_gives_are_told():
    """A box that slides and turns on four corners is told; one that slides straight, or on three feet, is not."""

    def told(spin, feet=4):
        scene = ss.Scene()
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3)
        shape = ss.Box((0.3, 0.2, 0.1)) if feet == 4 else TRIPOD
        body = scene.add_body(
            shape, mass=1.0, position=(0, 0, 0.05), velocity=(2, 0.3, 0), angular_velocity=(0, 0, spin)
        )
        if feet == 3:
            body.position[2] = 0.025  # its centre of mass is a quarter of its height above the base
        return scene.simulate(dt=1e-3, t_end=0.02).certificate

    assert "shares of load open in 20 steps" in str(told(3.0))
    assert told(3.0).to_dict()["open_loads"] == 20
    assert told(0.0).open_loads == 0 and "shares" not in str(told(0.0))
    assert told(3.0, feet=3).open_loads == 0


def test_shares_of_several_faces_are_told():
    """Capsules across two belts, and boxes across two floors, where the share of load decides how they move.

    Four points of one line share a load in more than one way.  A box that slides straight from floor to floor turns,
    or does not, by what its corners on the rougher one carry; with floors of one kind it does not, whatever they carry.
    """

    def told(shape, turn, height, frictions, belts=((0, 0, 0), (0, 0, 0)), **motion):
        scene = ss.Scene()
        for x, friction, belt in zip((-1.0, 1.0), frictions, belts, strict=True):
            slab = {"friction": friction, "surface_velocity": belt}
            scene.add_static(ss.Box((2.0, 4.0, 0.2)), position=(x, 0, -0.1), **slab)
        scene.add_body(shape, mass=1.0, position=(0.02, 0, height), orientation=turn, friction=1.0, **motion)
        run = scene.simulate(dt=1e-3, t_end=0.01)
        assert run.certificate.failed_steps == 0
        return run.certificate.open_loads

    across, straight = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0), (1.0, 0.0, 0.0, 0.0)
    capsule, box = (ss.Capsule(0.05, 0.6), across, 0.05), (ss.Box((0.3, 0.2, 0.1)), straight, 0.05)
    assert told(*capsule, (0.16, 0.16), belts=((0, 1.0, 0), (0, -0.5, 0))) == 10
    assert told(*capsule, (0.16, 0.16), velocity=(0.3, 1.0, 0.0), angular_velocity=(0.0, 0.0, 2.0)) == 10
    assert told(*capsule, (0.16, 0.16)) == 0 and told(*capsule, (0.16, 0.16), velocity=(1.0, 0.0, 0.0)) == 0
    assert told(*box, (0.04, 0.36), velocity=(1.0, 0.0, 0.0)) == 10
    assert told(*box, (0.16, 0.16), velocity=(1.0, 0.0, 0.0)) == 0


TRIPOD = ss.ConvexHull([(0.1, 0.0, -0.025), (-0.05, 0.08, -0.025), (-0.05, -0.08, -0.025), (0.0, 0.0, 0.075)])
