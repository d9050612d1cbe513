"""Many contacts at once: sweeps on body velocities, and the scenes that need them."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.library import scenes
from stickslip.run import records
from stickslip.scenes import engine as scene_engine
from stickslip.scenes import open_step, rescue
from stickslip.scenes.islands import piles as scene_pile


def poured(spheres, t_end, **options):
    scene = scenes.poured_spheres(spheres)
    return scene, scene.simulate(dt=1e-3, t_end=t_end, tol=1e-4, every=10, **options)


def check_pile(scene, run, layers):
    """Solved in every step, inside the box, no energy from nowhere, hardly any overlap."""
    assert run.complete and run.certificate.failed_steps == 0
    assert run.certificate.max_residual <= 1e-4
    assert run.certificate.max_penetration < 0.05 * 0.01
    assert np.all(np.diff(run.energy.total) < 1e-6 * np.ptp(run.energy.potential))
    x = run.q[-1].reshape(-1, 7)[:, :3]
    width = -scene.bodies[3].shape.offset
    assert x[:, 2].min() > 0.0099 and x[:, :2].min() > 0.0099 and x[:, :2].max() < width - 0.0099
    assert x[:, 2].max() < layers * 0.022


@pytest.mark.parametrize("spheres", [48, *(pytest.param(n, marks=pytest.mark.slow) for n in (120, 250))])
def test_a_few_hundred_spheres_fill_a_box(spheres):
    scene, run = poured(spheres, 0.2)
    check_pile(scene, run, 10)


def test_patches_solve_what_sweeps_leave(monkeypatch):
    """With hardly any sweeps before the first patch, Newton on patches has to do the work; every step is solved."""
    sizes, held = [], []

    class Watched(scene_pile.Pile):
        def solve_patch(self, rings):
            inside, before = self.patch(rings), self.impulses()
            problem, _ = self.problem_of(self.order[inside])
            super().solve_patch(rings)
            sizes.append((inside.sum(), len(inside)))
            held.append(np.array_equal(before[~inside], self.impulses()[~inside]))
            # the velocities of the part are those of the whole pile
            self.measure()
            u = problem.velocity(self.active.r[self.order[inside]].ravel() * scale(self, inside))
            assert u == pytest.approx(contact_velocities(self, inside), abs=1e-9 * abs(u).max())

    def scale(pile, inside):
        return np.repeat(np.sqrt(pile.active.mobility[pile.order[inside]]), 3)

    def contact_velocities(pile, inside):
        return pile.problem_of(pile.order[inside])[0].velocity(
            pile.active.r[pile.order[inside]].ravel() * scale(pile, inside)
        )

    monkeypatch.setattr(rescue, "Pile", Watched)
    monkeypatch.setattr(scene_engine, "NEWTON_CONTACTS", 0)
    for name, value in {"SWEEPS": 10, "GOES": 0, "TURN": 10, "TURNS": 2, "SPREAD": 10}.items():
        monkeypatch.setattr(scene_pile, name, value)
    _, run = poured(250, 0.09)
    assert run.certificate.failed_steps == 0 and run.certificate.max_residual <= 1e-4
    assert len(sizes) > 3 and any(part < whole for part, whole in sizes)
    assert all(held)


def heap(dim):
    """Spheres and boxes (in the plane: discs and squares) in layers that fall onto the floor, in a narrow box."""
    scene = ss.Scene(dim=dim)
    plane = ss.HalfSpace if dim == 3 else ss.HalfPlane
    axes = np.eye(dim)
    scene.add_static(plane(axes[-1]), friction=0.5)
    for axis in axes[:-1]:
        scene.add_static(plane(axis), friction=0.5)
        scene.add_static(plane(-axis, offset=-0.1), friction=0.5)
    random = np.random.default_rng(1)
    for place in np.ndindex(*(4,) * (dim - 1), 5 if dim == 3 else 15):
        middle = 0.0125 + 0.025 * np.array(place) + random.uniform(-1e-3, 1e-3, dim)
        box = ss.Box((0.018,) * 3) if dim == 3 else ss.Polygon(0.009 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]))
        shape = box if sum(place) % 3 == 0 else ss.Sphere(0.01) if dim == 3 else ss.Circle(0.01)
        scene.add_body(shape, density=1000.0, position=middle, friction=0.5)
    return scene


@pytest.fixture
def watched(monkeypatch):
    """Piles from 30 contacts on; what their sweeps said of the residual, and what it was; contacts of each kind."""
    said, was, kinds = [], [], []

    class Watched(scene_pile.Pile):
        def measure(self):
            super().measure()
            said.append(answers[-1][1] if answers else math.inf)
            was.append(self.residual)
            groups = np.diff(self.sorted[1])
            kinds.append((groups[::2].sum(), groups[1::2].sum()))

    answers = []
    sweeps = scene_pile.solve_pile

    def answering(*arguments):
        answers.append(sweeps(*arguments))
        return answers[-1]

    monkeypatch.setattr(scene_pile, "solve_pile", answering)
    monkeypatch.setattr(rescue, "Pile", Watched)
    monkeypatch.setattr(open_step, "PILE_CONTACTS", 30)
    monkeypatch.setattr(scene_engine, "NEWTON_CONTACTS", 0)
    return said, was, kinds


@pytest.mark.parametrize("dim", [2, 3])
def test_spheres_and_boxes_are_swept_side_by_side(watched, dim):
    said, was, kinds = watched
    run = heap(dim=dim).simulate(dt=1e-3, t_end=0.12, every=10, tol=1e-5)
    assert run.certificate.failed_steps == 0 and run.certificate.max_residual <= 1e-5
    spheres, others = np.array(kinds).T
    assert spheres.max() > 10 and others.max() > 10
    # both kinds of contact measure their residual as islands do; those count the rounding of loads, too
    assert np.all(np.array(was) <= np.array(said) * (1.0 + 1e-6) + 1e-12)
    assert np.median(np.array(was) / said) > 0.99
    assert np.all(np.diff(run.energy.total) < 1e-6 * np.ptp(run.energy.potential))


def test_a_pile_of_spheres_moves_as_contacts_of_any_shape_make_it(monkeypatch):
    """Both kinds of sweep, to a sharp tolerance, while the spheres still fall onto the floor: one motion."""
    monkeypatch.setattr(open_step, "PILE_CONTACTS", 20)
    monkeypatch.setattr(scene_engine, "NEWTON_CONTACTS", 0)
    piles = []

    def pour():
        return scenes.poured_spheres(60).simulate(dt=1e-3, t_end=0.09, every=5, tol=1e-9)

    fast = pour()
    ordered = scene_pile.slabs_of

    def all_others(*arguments):
        chosen, begins, members, place = ordered(*arguments)
        piles.append(np.diff(begins)[::2].sum())
        begins[1::2] = begins[:-1:2]
        return chosen, begins, members, place

    monkeypatch.setattr(scene_pile, "slabs_of", all_others)
    slow = pour()
    assert fast.certificate.max_residual <= 1e-9 and slow.certificate.max_residual <= 1e-9
    assert len(piles) > 5 and max(piles) > 60 and np.ptp(fast.u) > 0.5
    assert fast.q == pytest.approx(slow.q, abs=1e-7) and fast.u == pytest.approx(slow.u, abs=1e-5)


@pytest.mark.parametrize(
    ("extra", "spheres"),
    [
        ({"friction": 0.5}, True),
        ({"friction": (0.3, 0.6)}, False),
        ({"friction": 0.5, "centre_of_mass": (1e-3, 1e-3, 1e-3), "inertia": (4e-8,) * 3}, False),
        ({"friction": 0.5, "inertia": (4e-8, 4e-8, 3e-8)}, False),
    ],
    ids=["spheres", "elliptic friction", "eccentric", "not round"],
)
def test_which_contacts_count_as_those_of_spheres(watched, extra, spheres):
    scene = ss.Scene(dim=3)
    scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5)
    for place in np.ndindex(5, 5, 2):
        position = 0.01 + 0.02 * np.array(place) + extra.get("centre_of_mass", np.zeros(3))
        scene.add_body(ss.Sphere(0.01), mass=1e-3, position=position, **extra)
    run = scene.simulate(dt=1e-3, t_end=0.003, tol=1e-6)
    assert run.certificate.max_residual <= 1e-6
    of_spheres, others = np.array(watched[2]).T
    assert np.all(others == 0) if spheres else np.all(of_spheres == 0)


def test_an_interrupted_run_keeps_the_steps_that_were_done(monkeypatch, tmp_path):
    """Ctrl-C while a step of a pile is solved; the run that goes on has every record and the same end."""
    monkeypatch.setattr(scene_engine, "NEWTON_CONTACTS", 0)
    options = {"dt": 1e-3, "t_end": 0.09, "tol": 1e-4}
    scene, solve, solved = scenes.poured_spheres(120), scene_engine.SceneEngine._solve, []
    full = scene.simulate(**options)

    def interrupted(self, rescue):
        solved.append(self)
        if len(solved) == 15:
            raise KeyboardInterrupt
        return solve(self, rescue)

    monkeypatch.setattr(scene_engine.SceneEngine, "_solve", interrupted)
    part = scene.simulate(**options, out=tmp_path / "run.nc")
    # how many steps a piece has, and so how many are dropped, depends on the load of the machine
    assert not part.complete and part.status == f"interrupted at t = {part.t[-1]:.9g} s" and len(part) > 1
    whole = scene.simulate(**options, out=tmp_path / "run.nc", resume=True)
    assert whole.complete and np.array_equal(whole.t, full.t) and np.array_equal(whole.q, full.q)


@pytest.mark.parametrize(
    ("tol", "t_end"), [(1e-4, 0.15), *(pytest.param(tol, 0.3, marks=pytest.mark.slow) for tol in (1e-4, 1e-10))]
)
def test_sixty_spheres_are_poured_without_a_failed_step(tol, t_end):
    run = scenes.poured_spheres(60).simulate(dt=1e-3, t_end=t_end, every=10, tol=tol)
    assert run.complete and run.certificate.failed_steps == 0
    assert run.certificate.max_residual <= tol


@pytest.mark.slow
def test_memory_does_not_grow_with_the_frames_of_a_file(tmp_path, monkeypatch):
    """Nothing moves in these steps: contacts that come take memory, and longer pieces.

    Runs of 3,000 frames were seen to differ by 31 MB; 12,000 frames (1.6 GB) took no more than these.
    """
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(records, "COPY_BYTES", 2**24)
    peaks, out = [], tmp_path / "flight.nc"
    for frames in (1500, 1500, 6000):
        run = scenes.poured_spheres(1000).simulate(dt=1e-7, t_end=frames * 1e-7, tol=1e-4, out=out, overwrite=True)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)
    assert run.complete and f"all records are in {out}" in run.status
    assert out.stat().st_size > 700e6  # twelve times as large as what the memory may have grown by
    assert peaks[2] - peaks[1] < 60.0


@pytest.mark.slow
def test_five_thousand_spheres_fill_a_box():
    scene, run = poured(5000, 0.5, threads=2)
    check_pile(scene, run, 27)
    assert run.energy.kinetic[-1] < 1e-2 * run.energy.kinetic.max()


@pytest.mark.slow
def test_threads_change_nothing_in_a_pile():
    one, two = (poured(400, 0.15, threads=threads)[1] for threads in (1, 2))
    assert np.array_equal(one.q, two.q) and np.array_equal(one.u, two.u)
    assert one.certificate == two.certificate


@pytest.mark.slow
def test_a_high_column_spreads_far():
    scene = scenes.granular_column(grains=400, columns=10)
    run = scene.simulate(dt=1e-3, t_end=1.0, every=20, tol=1e-5)
    x = run.q.reshape(len(run), 400, 3)
    assert run.certificate.failed_steps == 0
    assert np.ptp(x[-1, :, 0]) > 3.0 * np.ptp(x[0, :, 0])
    assert x[-1, :, 1].max() < 0.5 * x[0, :, 1].max()
    assert np.all(np.diff(run.energy.total) < 1e-9)
