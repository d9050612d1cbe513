"""Drawings agree with the mechanics: a mark touches its obstacle exactly when the gap is zero."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stickslip import library
from stickslip.drawing.primitives import (
    STYLES,
    Circle,
    Drawing,
    Group,
    Marker,
    Placement,
    Polygon,
    Primitive,
    Ruler,
    Spring,
    Text,
    flat,
    line,
    markers,
    rectangle,
    smooth,
)
from stickslip.mechanisms.system import CONTACT, TANGENT


class _Scenarios(dict):
    """The systems of the library, each derived when a test asks for it: not by every worker that collects tests."""

    def __missing__(self, name):
        return self.setdefault(name, library.get(name))


SCENARIOS = _Scenarios()


def parameters(scenario):
    return dict(zip(scenario.system.parameter_names, scenario.system.parameter_values.tolist(), strict=True))


def marks(scenario, q, t=0.0):
    """Markers by contact number."""
    found = markers(scenario.drawing(q, t, parameters(scenario)))
    return {mark.contact: mark for mark in found}


def some_states(scenario, n=20):
    """Random states in the neighbourhood of the initial one, with times."""
    rng = np.random.default_rng(1)
    size = np.maximum(0.05, np.abs(scenario.q0))
    return [(scenario.q0 + size * rng.uniform(-1, 1, len(size)), rng.uniform(0, 1)) for _ in range(n)]


angle = st.floats(-0.6, 0.6)


@given(st.floats(-1.0, 1.0), angle, angle)
def test_woodpecker_marks_keep_the_distances_of_eq_15(y, phi_M, phi_S):
    scenario = SCENARIOS["woodpecker"]
    q, r_O = np.array([y, phi_M, phi_S]), parameters(scenario)["r_O"]
    gap = scenario.system.gap(q)
    for k, mark in marks(scenario, q).items():
        assert mark.point[0] - r_O == pytest.approx(gap[k], abs=1e-12)
        assert mark.normal == (1.0, 0.0)


def test_woodpecker_marks_move_up_the_pole_with_the_directions_of_eq_16():
    scenario = SCENARIOS["woodpecker"]
    _, W_T, _ = scenario.system.geometry(scenario.q0)
    for q, _ in some_states(scenario):
        for k, mark in marks(scenario, q).items():
            for i in range(3):
                step = np.eye(3)[i]
                moved = marks(scenario, q + step)[k]
                assert moved.point[1] - mark.point[1] == pytest.approx(W_T[k, i], abs=1e-12)


@pytest.mark.parametrize("changed", [{"l_S": 0.019}, {"h_S": 0.03}, {"l_G": 0.02, "l_M": 0.012}, {"r_O": 0.002}])
def test_woodpecker_is_drawn_to_other_dimensions(changed):
    scenario = library.get("woodpecker", **changed)
    q = np.array([-0.3, 0.02, -0.1])
    gap = scenario.system.gap(q)
    for k, mark in marks(scenario, q).items():
        assert mark.point[0] - parameters(scenario)["r_O"] == pytest.approx(gap[k], abs=1e-12)


def test_the_beak_is_part_of_the_bird():
    scenario = SCENARIOS["woodpecker"]
    shapes = scenario.drawing([0.0, 0.0, 0.1], 0.0, parameters(scenario))
    (bird,) = (shape for shape in shapes if isinstance(shape, Group) and shape.name == "bird")
    beaks = [
        shape for shape in bird if isinstance(shape, Polygon) and marks(scenario, [0, 0, 0.1])[0].point in shape.points
    ]
    assert len(beaks) == 1 and beaks[0].style == "body-dark"


@pytest.mark.parametrize("name", library.names())
def test_every_contact_has_one_mark(name):
    scenario = SCENARIOS[name]
    found = markers(scenario.drawing(scenario.q0, 0.0, parameters(scenario)))
    drawn = [k for k, kind in enumerate(scenario.system.contact_kinds) if kind < TANGENT]
    assert sorted(mark.contact for mark in found) == drawn
    assert all(math.hypot(*mark.normal) == pytest.approx(1.0) for mark in found)


BETWEEN_BODIES = {
    "newton_cradle",
    "two_balls",
    "chatterjee_rod",
}  # a mark moves with one of the two bodies, w_N with both


FROM_ABOVE = {"sliding_ball", "sliding_coin"}  # drawn from above: the normal points at the reader
MAGNIFIED = {"slider_crank", "four_bar", "angled_bar"}  # play is drawn larger than it is


@pytest.mark.parametrize(
    "name", [name for name in library.names() if name not in {"woodpecker"} | BETWEEN_BODIES | MAGNIFIED | FROM_ABOVE]
)
def test_marks_move_with_the_normal_directions(name):
    """normal . d(point)/dq is the row w_N; the pendulum's gap is measured at the bob, its mark is nearer."""
    scenario = SCENARIOS[name]
    system, h = scenario.system, 1e-6
    lever = 0.62 if name == "pendulum_against_stop" else 1.0
    for q, t in some_states(scenario, 5):
        W_N, _, _ = system.geometry(q, t)
        for k, kind in enumerate(system.contact_kinds):
            if kind != CONTACT:
                continue
            normal = np.array(marks(scenario, q, t)[k].normal)
            for i in range(system.n_dof):
                ahead, behind = (marks(scenario, q + s * h * np.eye(system.n_dof)[i], t)[k].point for s in (1, -1))
                velocity = (np.array(ahead) - behind) / (2 * h)
                assert normal @ velocity == pytest.approx(lever * W_N[k, i], abs=1e-7)


def test_corner_touches_the_drawn_guide_when_its_gap_closes():
    """Play is magnified 7.5 times at Table 1; turning is linear on the screen, a difference of b angle^2 / 2."""
    scenario = SCENARIOS["slider_crank"]
    for theta_1 in (0.0, 0.7, 2.0, 5.0):
        for tilt in (-0.015, 0.0, 0.008):
            q = np.array([theta_1, -math.asin(0.5 * math.sin(theta_1)) + 0.002, tilt])
            shapes = scenario.drawing(q, 0.0, parameters(scenario))
            lines = [shape.points for shape in flat(shapes) if getattr(shape, "style", "") == "edge"]
            upper, lower = (points[0][1] for points in lines[:2])
            gap, found = scenario.system.gap(q), marks(scenario, q)
            for k in range(4):
                assert found[k].normal == (0.0, -1.0 if k < 2 else 1.0)
                distance = upper - found[k].point[1] if k < 2 else found[k].point[1] - lower
                assert distance == pytest.approx(7.5 * gap[k], abs=7.5 * 0.025 * tilt**2 + 1e-12)


def test_pin_touches_the_drawn_bushing_when_its_gap_closes():
    scenario = SCENARIOS["four_bar"]
    for shift in ((0.0, 0.0), (1e-3, 0.0), (-0.5e-3, 1.5e-3)):
        q = scenario.q0 + shift
        shapes = flat(scenario.drawing(q, 0.0, parameters(scenario)))
        bore = next(shape for shape in shapes if isinstance(shape, Circle) and shape.style == "joint")
        pin = next(shape for shape in shapes if isinstance(shape, Circle) and shape.style == "body-dark")
        assert bore.radius - pin.radius - math.dist(bore.centre, pin.centre) == pytest.approx(
            12 * scenario.system.gap(q)[0], abs=1e-9
        )
        mark = marks(scenario, q)[0]
        assert math.dist(mark.point, pin.centre) == pytest.approx(pin.radius)


@pytest.mark.parametrize("name", ["bouncing_ball", "bouncing_ball_on_table"])
def test_ball_and_table(name):
    scenario = SCENARIOS[name]
    for q, t in some_states(scenario):
        shapes = scenario.drawing(q, t, parameters(scenario))
        top = next(shape for shape in flat(shapes) if getattr(shape, "style", "") == "edge").points[0][1]
        assert markers(shapes)[0].point[1] - top == pytest.approx(scenario.system.gap(q, t)[0], abs=1e-12)
        ball = next(shape for shape in flat(shapes) if isinstance(shape, Circle))
        assert ball.centre[1] - ball.radius == pytest.approx(q[0], abs=1e-12)


def test_bar_and_brick():
    for q, t in some_states(SCENARIOS["impacting_bar"]):
        mark = marks(SCENARIOS["impacting_bar"], q, t)[0]
        assert mark.point[1] == pytest.approx(SCENARIOS["impacting_bar"].system.gap(q)[0], abs=1e-12)
        assert mark.normal == pytest.approx((0.0, 1.0), abs=1e-12)
    for q, t in some_states(SCENARIOS["brick_on_ramp"]):
        mark = marks(SCENARIOS["brick_on_ramp"], q, t)[0]
        assert np.dot(mark.point, mark.normal) == pytest.approx(q[1], abs=1e-12)


def test_pendulum_gap_is_the_angle_between_rod_and_stop():
    scenario = SCENARIOS["pendulum_against_stop"]
    p = parameters(scenario)
    for q, t in some_states(scenario):
        shapes = scenario.drawing(q, t, p)
        rod, stop = (next(s for s in shapes if isinstance(s, Group) and s.name == n) for n in ("pendulum", "stop"))
        turned = math.atan2(rod.placement.s, rod.placement.c) - math.atan2(stop.placement.s, stop.placement.c)
        assert p["length"] * turned == pytest.approx(scenario.system.gap(q)[0], abs=1e-12)
    closed = scenario.drawing([p["stop_angle"]], 0.0, p)
    face = next(shape for shape in flat(closed) if getattr(shape, "style", "") == "edge" and shape.points[0][1] < -0.1)
    (x0, y0), (x1, y1) = face.points
    x, y = markers(closed)[0].point
    assert (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) == pytest.approx(0.0, abs=1e-12)


def test_gear_flanks_are_as_far_apart_as_the_gaps():
    scenario = SCENARIOS["gear_rattle"]

    def crossings(rack):
        """x of the flanks on the line of action."""
        points = np.array(rack.points)
        after = np.roll(points, -1, axis=0)
        cut = np.sign(points[:, 1]) * np.sign(after[:, 1]) < 0
        (x0, y0), (x1, y1) = points[cut].T, after[cut].T
        return x0 - y0 * (x1 - x0) / (y1 - y0)

    for q, t in some_states(scenario):
        q = 0.2 * q
        shapes = scenario.drawing(q, t, parameters(scenario))
        driven = next(shape for shape in flat(shapes) if getattr(shape, "style", "") == "wood")
        lead = scenario.system.gap(q, t)  # [lower, upper]
        mark = marks(scenario, q, t)
        flanks = crossings(driven)
        assert np.abs((mark[0].point[0] - flanks) - lead[0]).min() < 1e-12
        assert np.abs((flanks - mark[1].point[0]) - lead[1]).min() < 1e-12


@pytest.mark.parametrize("name", library.names())
def test_drawings_are_plain_values(name):
    scenario = SCENARIOS[name]
    frame = scenario.drawing.to_dict(scenario.q0, 0.0, parameters(scenario))
    assert json.loads(json.dumps(frame, allow_nan=False)) == frame
    assert {shape["kind"] for shape in frame["shapes"]} <= {
        "group",
        "polyline",
        "polygon",
        "circle",
        "spring",
        "text",
        "marker",
        "ruler",
    }

    def styles(shapes):
        for shape in shapes:
            if "style" in shape:
                yield shape["style"]
            yield from styles(shape.get("items", []))

    assert set(styles(frame["shapes"])) <= set(STYLES)


@pytest.mark.parametrize("name", library.names())
def test_rigid_parts_stay_the_same_while_they_move(name):
    """A page sends the items of a group once and only placements afterwards."""
    scenario = SCENARIOS[name]
    (q, t), (q_2, t_2), *_ = some_states(scenario)
    first, second = (scenario.drawing(*state, parameters(scenario)) for state in ((q, t), (q_2, t_2)))
    groups = [[shape for shape in frame if isinstance(shape, Group)] for frame in (first, second)]
    assert [group.name for group in groups[0]] == [group.name for group in groups[1]]
    for a, b in zip(*groups, strict=True):
        still = [[x for x in group.items if not isinstance(x, Marker)] for group in (a, b)]
        assert still[0] == still[1]


@pytest.mark.parametrize("name", library.names())
def test_fitted_view_holds_what_moves(name):
    scenario = SCENARIOS[name]
    q, t = np.array([scenario.q0]), np.zeros(1)
    x_min, x_max, y_min, y_max = scenario.drawing.fit(q, t, parameters(scenario))
    for mark in marks(scenario, scenario.q0).values():
        assert x_min <= mark.point[0] <= x_max and y_min <= mark.point[1] <= y_max


def test_smooth_outline_passes_through_its_points():
    corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    outline = smooth(corners, per_point=5)
    assert len(outline.points) == 20
    assert all(corner in outline.points for corner in corners)


@pytest.mark.parametrize("via", [None, (1.0, 1.0)])
def test_spring_begins_and_ends_where_it_should(via):
    wire = Spring((0.0, 0.0), (2.0, 0.0), width=0.2, coils=5, via=via).wire()
    assert wire[0] == pytest.approx((0.0, 0.0)) and wire[-1] == pytest.approx((2.0, 0.0))
    assert np.isfinite(wire).all() and np.ptp(wire[:, 1]) > 0.15


def test_placements():
    turned = Placement.rotation((1.0, 2.0), math.pi / 2)
    assert turned((1.0, 0.0)) == pytest.approx((1.0, 3.0)) and turned.turn((2.0, 0.0)) == pytest.approx((0.0, 1.0))
    assert Placement.linearised((0.0, 0.0), 0.1)((2.0, 3.0)) == pytest.approx((1.7, 3.2))
    group = Group("body", turned, (Circle((1.0, 0.0), 0.5), Text((0.0, 0.0), "a"), rectangle(0, 1, 0, 1)))
    circle, text, _ = group
    assert circle.centre == pytest.approx((1.0, 3.0)) and text.point == (1.0, 2.0)
    assert (0.5, 2.5) in [tuple(np.round(point, 12)) for point in group.corners()]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match=r"style must be one of ground, .*, got 'red'"):
        Circle((0.0, 0.0), 1.0, "red")
    with pytest.raises(ValueError, match="inside another group"):
        list(Group("outer", Placement(), (Group("inner", Placement(), ()),)))
    with pytest.raises(TypeError, match="abstract"):
        Primitive()


def test_fit_leaves_out_what_reaches_to_infinity():
    drawing = Drawing(
        lambda q, t, p: [rectangle(-9, 9, -9, 0, "ground"), line((-9, 0), (9, 0)), Circle((0, q[0]), 1.0)]
    )
    assert drawing.fit(np.array([[1.0], [3.0]]), np.zeros(2), {}, margin=0.25) == (-2.0, 2.0, -1.0, 5.0)


@pytest.mark.parametrize(("factor", "words"), [(1000.0, ["-20", "-10", "0", "10", "20 mm"]), (7.0, ["0.14"])])
def test_the_highest_number_of_a_ruler_has_its_unit(factor, words):
    texts = [shape.text for shape in Ruler(0.0, -0.02, 0.026, 0.005, factor) if isinstance(shape, Text)]
    texts = [text.replace("\N{MINUS SIGN}", "-") for text in texts]
    assert texts == words if factor == 1000.0 else texts[-1:] == words
