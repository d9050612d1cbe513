"""Projections, their Jacobians and residuals, and the set-valued maps Upr and Sgn [GS05] section 2."""

from __future__ import annotations

import dataclasses
import itertools
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stickslip import sets
from stickslip.jit import entry
from stickslip.sets import (
    ConvexSet,
    Disk,
    Ellipse,
    Interval,
    Orthant,
    SecondOrderCone,
    Sgn,
    Upr,
    decompose_sgn,
)
from tests.thinned import examples, thinned

FloatArray = NDArray[np.float64]

pytestmark = thinned
quick = settings(deadline=None, max_examples=examples(40, 500))  # no deadline: the first call compiles


def _ignore_tiny(value: float) -> float:
    """Squares of tests' numbers must not underflow; extreme scales have a test of their own."""
    return value if abs(value) > 1e-30 else 0.0


Numbers = st.SearchStrategy[float]
coordinate: Numbers = st.one_of(
    st.floats(-10.0, 10.0).map(_ignore_tiny),
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0]),
    st.builds(lambda m, e: m * 10.0**e, st.floats(-10.0, 10.0).map(_ignore_tiny), st.integers(-12, 12)),
)
length: Numbers = st.one_of(
    st.floats(0.01, 10.0),
    st.sampled_from([0.0, 1.0]),
    st.builds(lambda e: 10.0**e, st.integers(-8, 8)),
)


def vectors(n: int, entry: Numbers = coordinate) -> st.SearchStrategy[FloatArray]:
    return st.lists(entry, min_size=n, max_size=n).map(np.array)


@st.composite
def boxes(draw: st.DrawFn, n: int, bound: Numbers) -> Interval:
    bounds = np.sort([draw(vectors(n, bound)), draw(vectors(n, bound))], axis=0)
    lower = np.where(draw(st.lists(st.booleans(), min_size=n, max_size=n)), -np.inf, bounds[0])
    upper = np.where(draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.inf, bounds[1])
    return Interval(lower, upper)


@st.composite
def set_and_points(
    draw: st.DrawFn, points: int, entry: Numbers = coordinate, parameter: Numbers = length
) -> tuple[Any, ...]:
    """Every kind of set, degenerate ones among them, and points of its space."""
    n = draw(st.sampled_from([2, 2, 3, 4]))
    kinds: list[st.SearchStrategy[Any]] = [
        st.just(Orthant(n)),
        boxes(n, entry),
        st.builds(SecondOrderCone, st.one_of(parameter, st.just(np.inf))),
    ]
    if n == 2:
        kinds += [st.builds(Disk, parameter), st.builds(Ellipse, parameter, parameter)]
    return draw(st.one_of(kinds)), *(draw(vectors(n, entry)) for _ in range(points))


def size(*arrays: FloatArray) -> float:
    """Rounding errors are measured against the largest number in play."""
    return max(1e-300, *(float(np.abs(a).max()) for a in arrays))


# -- projection ---------------------------------------------------------------------------------------------


@quick
@given(set_and_points(1))
def test_projection_lies_in_the_set_and_is_idempotent(case: tuple[ConvexSet, FloatArray]) -> None:
    C, x = case
    Px = C.project(x)
    assert C.contains(Px, tol=1e-14 * size(x, Px))
    np.testing.assert_allclose(C.project(Px), Px, rtol=0, atol=1e-14 * size(x, Px))


@quick
@given(set_and_points(2))
def test_variational_inequality(case: tuple[ConvexSet, FloatArray, FloatArray]) -> None:
    """<x - Px, z - Px> <= 0 for every z in C: what makes Px the nearest point."""
    C, x, other = case
    Px, z = C.project(x), C.project(other)
    assert (x - Px) @ (z - Px) <= 1e-14 * size(x, Px) * size(x, z, Px)


@quick
@given(set_and_points(2))
def test_nonexpansive(case: tuple[ConvexSet, FloatArray, FloatArray]) -> None:
    C, x, z = case
    assert np.linalg.norm(C.project(x) - C.project(z)) <= np.linalg.norm(x - z) + 1e-14 * size(x, z)


@quick
@given(set_and_points(1))
def test_distance_and_contains_agree_with_the_projection(case: tuple[ConvexSet, FloatArray]) -> None:
    C, x = case
    d = np.linalg.norm(x - C.project(x))
    np.testing.assert_allclose(C.distance(x), d, rtol=1e-12, atol=1e-150)
    assert C.contains(x, tol=1.01 * d)
    assert not C.contains(x, tol=0.99 * d) or d < 1e-150


@quick
@given(set_and_points(2, parameter=st.sampled_from([0.0, 0.3, 1.0, 2.5])))
def test_support_function_bounds_the_set(case: tuple[ConvexSet, FloatArray, FloatArray]) -> None:
    """support(v) >= <v, z> on C, with equality at z if v in N_C(z); x - Px is a normal at Px."""
    C, x, other = case
    Px, z = C.project(x), C.project(other)
    assert C.support(other) >= other @ Px - 1e-13 * size(other) * size(Px)
    v = x - Px
    assume(np.isfinite(C.support(v)))  # inf by rounding, for v on the boundary of a polar cone
    np.testing.assert_allclose(C.support(v), v @ Px, rtol=1e-9, atol=1e-13 * size(x, Px) * size(x, z, Px))


@quick
@given(vectors(3), st.one_of(length, st.just(np.inf)))
def test_moreau_decomposition_of_cones(x: FloatArray, mu: float) -> None:
    """x = P_K(x) - P_K*(-x), with orthogonal parts."""
    cones: list[SecondOrderCone | Orthant] = [SecondOrderCone(mu), SecondOrderCone(mu).dual, Orthant(3)]
    for K in cones:
        primal, dual = K.project(x), K.dual.project(-x)
        np.testing.assert_allclose(primal - dual, x, rtol=0, atol=2e-15 * size(x))
        assert abs(primal @ dual) <= 2e-15 * size(x) ** 2


def test_dual_cone_of_the_ray_is_the_half_space() -> None:
    ray = SecondOrderCone(0.0)
    assert ray.dual.mu == np.inf
    np.testing.assert_array_equal(ray.dual.project([-2.0, 3.0, -1.0]), [0.0, 3.0, -1.0])
    assert ray.dual.dual == ray
    np.testing.assert_array_equal(ray.project([2.0, 3.0, -1.0]), [2.0, 0.0, 0.0])


@quick
@given(st.floats(0.0, 5.0), vectors(2), vectors(3), vectors(5))
def test_cone_in_several_dimensions_is_the_planar_one_turned(
    mu: float, r2: FloatArray, r3: FloatArray, r5: FloatArray
) -> None:
    K = SecondOrderCone(mu)
    for r in (r3, r5):
        norm_T = np.hypot.reduce(r[1:])
        p_N, p_T = K.project([r[0], norm_T])
        e = r[1:] / norm_T if norm_T > 0.0 else np.zeros(r.size - 1)
        np.testing.assert_allclose(K.project(r), np.r_[p_N, p_T * e], rtol=0, atol=1e-14 * size(r))
    mirrored = K.project(r2 * [1.0, -1.0]) * [1.0, -1.0]
    np.testing.assert_array_equal(mirrored, K.project(r2))


@pytest.mark.parametrize("scale", [1e-250, 1e-160, 1e150, 1e250])
def test_extreme_scales_neither_overflow_nor_underflow(scale: float) -> None:
    np.testing.assert_allclose(Disk(scale).project([3.0 * scale, 4.0 * scale]), [0.6 * scale, 0.8 * scale])
    np.testing.assert_allclose(SecondOrderCone(1.0).project([0.0, 2.0 * scale]), [scale, scale])
    expected = np.array(Ellipse(2.0, 1.0).project([3.0, 4.0])) * scale
    np.testing.assert_allclose(Ellipse(2.0 * scale, scale).project([3.0 * scale, 4.0 * scale]), expected)
    np.testing.assert_allclose(Disk(1.0).distance([0.6 + 3e-7, 0.8 + 4e-7]), 5e-7)


@pytest.mark.parametrize("mu", [1e-300, 1e-160, 1e160, 1e300])
def test_cone_with_extreme_opening(mu: float) -> None:
    p = SecondOrderCone(mu).project([-1.0, 1.0] if mu > 1.0 else [1.0, 1.0])
    np.testing.assert_allclose(p, [0.0, 1.0] if mu > 1.0 else [1.0, 0.0], atol=1e-150)


# -- ellipse ------------------------------------------------------------------------------------------------


def exact_foot(x: FloatArray, a: float, b: float) -> FloatArray:
    """Foot point outside an ellipse by bisection of the secular equation with 80 digits."""
    with localcontext() as context:
        context.prec = 80
        x1, x2, A, B = (Decimal(float(v)) for v in (abs(x[0]), abs(x[1]), a, b))
        low, high = Decimal(0), A * x1 + B * x2
        for _ in range(400):
            t = (low + high) / 2
            if (A * x1 / (A * A + t)) ** 2 + (B * x2 / (B * B + t)) ** 2 > 1:
                low = t
            else:
                high = t
        foot = [float(A * A * x1 / (A * A + low)), float(B * B * x2 / (B * B + low))]
    return np.copysign(foot, x)


AXES = [1e-8, 1e-5, 1e-2, 0.3, 1.0, 1.0 + 1e-9, 7.0]
OUTSIDE = [
    (3.0, 4.0),
    (1.0, 1e-9),
    (1.0 + 1e-7, -1e-8),
    (0.999999, 1e-3),
    (-1e-12, 2.0),
    (8.0, 0.0),
    (1e9, -1e5),
]


@pytest.mark.parametrize("b", AXES)
@pytest.mark.parametrize("swap", [False, True])
def test_ellipse_against_eighty_digits(b: float, swap: bool) -> None:
    for x in OUTSIDE:
        if np.hypot(x[0], x[1] / b) <= 1.0 + 1e-15:
            continue
        order = slice(None, None, -1 if swap else 1)
        exact = exact_foot(np.array(x), 1.0, b)
        found = Ellipse(*(1.0, b)[order]).project(x[order])[order]
        np.testing.assert_allclose(found, exact, rtol=0, atol=4e-16 * max(1.0, b))


@quick
@given(vectors(2), st.floats(1e-3, 10.0), st.floats(1e-3, 10.0))
def test_ellipse_against_brute_force_on_the_boundary(x: FloatArray, a: float, b: float) -> None:
    ellipse = Ellipse(a, b)
    assume(not ellipse.contains(x, tol=0.0))
    centre, width = 0.0, np.pi
    for _ in range(6):  # refine the grid of angles around the nearest one
        angle = centre + np.linspace(-width, width, 401)
        boundary = np.stack([a * np.cos(angle), b * np.sin(angle)], axis=-1)
        squares = np.hypot(*(boundary - x).T)
        centre, width = angle[squares.argmin()], 2.0 * width / 200.0
    assert ellipse.distance(x) <= squares.min() + 1e-14 * size(x, boundary)
    np.testing.assert_allclose(ellipse.distance(x), squares.min(), rtol=1e-9, atol=1e-9 * max(a, b))


@quick
@given(vectors(2), length)
def test_ellipse_with_equal_axes_is_the_disk(x: FloatArray, radius: float) -> None:
    ellipse, disk = Ellipse(radius, radius), Disk(radius)
    np.testing.assert_allclose(ellipse.project(x), disk.project(x), rtol=0, atol=4e-16 * radius)
    norm = np.hypot(*x)
    assume(radius == 0.0 or abs(norm - radius) > 1e-12 * radius)  # on the circle rounding chooses the side
    np.testing.assert_allclose(ellipse.jacobian(x), disk.jacobian(x), rtol=0, atol=1e-12)


def test_degenerate_ellipses() -> None:
    x = np.array([[3.0, 4.0], [-0.5, 4.0], [0.0, 0.0], [-3.0, 0.0]])
    np.testing.assert_array_equal(Ellipse(2.0, 0.0).project(x), [[2, 0], [-0.5, 0], [0, 0], [-2, 0]])
    np.testing.assert_array_equal(Ellipse(0.0, 2.0).project(x), [[0, 2], [0, 2], [0, 0], [0, 0]])
    np.testing.assert_array_equal(Ellipse(0.0, 0.0).project(x), np.zeros((4, 2)))
    np.testing.assert_array_equal(Ellipse(2.0, 1e-200).project(x), Ellipse(2.0, 0.0).project(x))
    np.testing.assert_array_equal(Ellipse(2.0, 1.0).project([0.0, 0.0]), [0.0, 0.0])
    np.testing.assert_array_equal(Ellipse(2.0, 0.0).jacobian(x[:2]), [np.zeros((2, 2)), np.diag([1.0, 0.0])])
    np.testing.assert_array_equal(Ellipse(0.0, 2.0).jacobian([5.0, 1.0]), np.diag([0.0, 1.0]))
    np.testing.assert_array_equal(Ellipse(0.0, 0.0).jacobian([0.0, 0.0]), np.zeros((2, 2)))


def test_ellipse_far_smaller_than_the_point_distance() -> None:
    far = Ellipse(2e-200, 1e-200).project([3.0, 4.0])
    np.testing.assert_allclose(far, np.array([12.0, 4.0]) / np.hypot(6.0, 4.0) * 1e-200, rtol=1e-14)


# -- Jacobian -----------------------------------------------------------------------------------------------


@quick
@given(set_and_points(1))
def test_jacobian_is_symmetric_with_eigenvalues_between_zero_and_one(
    case: tuple[ConvexSet, FloatArray],
) -> None:
    C, x = case
    J = C.jacobian(x)
    np.testing.assert_array_equal(J, J.T)
    eigenvalues = np.linalg.eigvalsh(J)
    assert eigenvalues.min() >= -1e-14 and eigenvalues.max() <= 1.0 + 1e-14


SMOOTH: list[tuple[ConvexSet, list[float]]] = [
    (Orthant(3), [1.0, -2.0, 0.3]),
    (Interval([-1.0, -np.inf, 2.0], [1.0, 5.0, 2.0]), [0.5, 7.0, 2.0]),
    (Disk(2.0), [1.0, 0.5]),
    (Disk(2.0), [3.0, -4.0]),
    (Disk(0.0), [3.0, -4.0]),
    (Ellipse(2.0, 0.5), [0.3, 0.1]),
    (Ellipse(2.0, 0.5), [1.5, -2.0]),
    (Ellipse(0.5, 2.0), [0.1, 2.5]),
    (Ellipse(1.0, 1e-3), [0.9, 0.4]),
    (Ellipse(1.0, 1e-8), [0.99, 1.0]),
    (Ellipse(2.0, 0.0), [1.5, -2.0]),
    (Ellipse(0.0, 2.0), [1.5, -3.0]),
    *((SecondOrderCone(0.7), [-0.1, *t]) for t in ([1.0], [-0.6, 0.8], [0.5, -1.0, 2.0])),
    *((SecondOrderCone(0.7), [1.1, *t]) for t in ([1.0], [-0.6, 0.8], [0.5, -1.0, 2.0])),
    (SecondOrderCone(0.7), [3.0, 1.0, 1.0]),
    (SecondOrderCone(0.7), [-3.0, 1.0, 1.0]),
    (SecondOrderCone(30.0), [-2.0, 1.0, 1.0]),
    (SecondOrderCone(0.0), [2.0, 1.0, 1.0]),
    (SecondOrderCone(0.0), [2.0, 0.0, 0.0]),
    (SecondOrderCone(np.inf), [-2.0, 0.0, 0.0]),
    (SecondOrderCone(np.inf), [2.0, 1.0, 0.0]),
]


@pytest.mark.parametrize("C, x", SMOOTH, ids=str)
def test_jacobian_against_central_differences(C: ConvexSet, x: list[float]) -> None:
    h = 1e-6
    steps = h * np.eye(len(x))
    differences = (C.project(x + steps) - C.project(x - steps)).T / (2.0 * h)
    np.testing.assert_allclose(C.jacobian(x), differences, rtol=0, atol=2e-9)


@quick
@given(set_and_points(1, st.integers(-40, 40).map(lambda k: k / 7), st.integers(0, 40).map(lambda k: k / 4)))
def test_jacobian_against_central_differences_away_from_kinks(case: tuple[ConvexSet, FloatArray]) -> None:
    """On a lattice a point is either on a kink or far from every kink."""
    C, x = case
    h = 1e-6
    steps = h * np.eye(x.size)
    J = C.jacobian(x)
    assume(np.abs(C.jacobian(x + np.concatenate([steps, -steps])) - J).max() < 1e-4)  # no kink here
    differences = (C.project(x + steps) - C.project(x - steps)).T / (2.0 * h)
    np.testing.assert_allclose(J, differences, rtol=0, atol=1e-7)


KINKS: list[tuple[ConvexSet, list[float], list[float]]] = [  # set, kink, direction of the limit
    (Orthant(2), [0.0, 0.0], [1.0, 1.0]),
    (Orthant(2), [0.0, -1.0], [1.0, 0.0]),
    (Interval([-1.0, 3.0], [2.0, 3.0]), [2.0, 3.0], [-1.0, 0.0]),
    (Disk(5.0), [3.0, 4.0], [-3.0, -4.0]),
    (Disk(0.0), [0.0, 0.0], [1.0, 0.0]),
    (Ellipse(3.0, 0.5), [-3.0, 0.0], [1.0, 0.0]),
    (Ellipse(3.0, 0.5), [0.0, 0.5], [0.0, -1.0]),
    (Ellipse(3.0, 0.0), [3.0, 1.0], [-1.0, 0.0]),
    (SecondOrderCone(0.5), [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
    (SecondOrderCone(0.5), [2.0, 0.0, 1.0], [1.0, 0.0, 0.0]),
    (SecondOrderCone(0.5), [-0.5, 0.0, 1.0], [-1.0, 0.0, 0.0]),
    (SecondOrderCone(1.0), [1.0, -1.0], [1.0, 0.0]),
    (SecondOrderCone(0.0), [0.0, 0.0, 0.0], [1.0, 0.5, 0.0]),
    (SecondOrderCone(0.0), [0.0, 3.0, 0.0], [1.0, 0.5, 0.0]),
    (SecondOrderCone(np.inf), [0.0, 3.0, 0.0], [1.0, 0.5, 0.0]),
]


@pytest.mark.parametrize("C, x, direction", KINKS, ids=str)
def test_jacobian_at_a_kink_is_a_limit_of_derivatives(C: ConvexSet, x: list[float], direction: list[float]) -> None:
    """An element of Clarke's Jacobian: the limit along a direction where the projection is differentiable."""
    point = np.array(x) + 1e-4 * np.array(direction)
    steps = 1e-7 * np.eye(len(x))
    derivative = (C.project(point + steps) - C.project(point - steps)).T / 2e-7
    J = C.jacobian(x)
    np.testing.assert_allclose(J, derivative, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(J, J.T)
    eigenvalues = np.linalg.eigvalsh(J)
    assert eigenvalues.min() >= 0.0 and eigenvalues.max() <= 1.0


@pytest.mark.parametrize("C, x, direction", KINKS, ids=str)
def test_semismooth_at_kinks(C: ConvexSet, x: list[float], direction: list[float]) -> None:
    """P(x + h) - P(x) - J(x + h) h = O(|h|^2) in every direction: what Newton's method lives on."""
    h = 1e-5 * np.random.default_rng(0).standard_normal((200, len(x)))
    error = C.project(x + h) - C.project(x) - np.einsum("kij,kj->ki", C.jacobian(x + h), h)
    assert np.abs(error).max() <= 20.0 * (h**2).sum(axis=-1).max()


# -- residual -----------------------------------------------------------------------------------------------


@quick
@given(set_and_points(1), st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_residual_vanishes_on_normals(case: tuple[ConvexSet, FloatArray], factor: float, rho: float) -> None:
    """-y = factor (z - Pz) is normal to C at Pz, whatever rho [FLG10] eqs. (42)-(43)."""
    C, z = case
    x = C.project(z)
    y = -factor * (z - x)
    np.testing.assert_allclose(C.residual(x, y, rho), 0.0, atol=1e-13 * rho * factor * size(z, x) + 1e-14 * size(x))


@quick
@given(set_and_points(2), st.floats(0.1, 10.0))
def test_residual_is_the_fixed_point_defect(case: tuple[ConvexSet, FloatArray, FloatArray], rho: float) -> None:
    C, x, y = case
    expected = x - C.project(x - rho * y)
    np.testing.assert_allclose(C.residual(x, y, rho), expected, rtol=0, atol=1e-14 * size(x, rho * y))


def test_residual_is_not_fooled_by_cancellation() -> None:
    """x - max(x - y, 0) in floating point is 0 for x = 1e20, y = 1; the pair is not complementary."""
    assert Orthant(1).residual([1e20], [1.0]) == 1.0
    assert Interval(0.0, np.inf).residual(1e20, 1.0) == 1.0
    assert Upr().residual(1e20, 1.0) == 1.0
    np.testing.assert_array_equal(Disk(1e30).residual([1e20, 0.0], [1.0, 0.0]), [1.0, 0.0])


def test_coulomb_friction_through_the_disk() -> None:
    """Sliding: the force opposes the slip on the edge of the disk; sticking: any force inside."""
    disk = Disk(0.3 * 10.0)
    slip = np.array([0.6, -0.8])
    np.testing.assert_allclose(disk.residual(-3.0 * slip, 2.0 * slip), 0.0, atol=1e-15)
    np.testing.assert_array_equal(disk.residual([1.0, 2.0], [0.0, 0.0]), [0.0, 0.0])
    assert np.linalg.norm(disk.residual(3.0 * slip, 2.0 * slip)) > 1.0


# -- Upr and Sgn --------------------------------------------------------------------------------------------

GRID = np.array([-2.0, -1.0 - 1e-9, -1.0, -1.0 + 1e-9, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 3.0])


def test_upr_is_one_complementarity_condition() -> None:
    for x, y in itertools.product(GRID, GRID):
        lower, upper = Upr().evaluate(x)
        member = lower <= -y <= upper
        assert member == (x >= 0.0 and y >= 0.0 and x * y == 0.0)  # [GS05] eq. (2)
        assert Upr().contains(x, -y, tol=0.0) == member
        for rho in (0.1, 1.0, 7.0):
            assert (Upr().residual(x, y, rho) == 0.0) == member
            assert (x == Interval(0.0, np.inf).project(x - rho * y)) == member  # x = prox(x - rho y)


def test_sgn_is_a_normal_cone_inclusion() -> None:
    interval = Interval(-1.0, 1.0)
    for x, y in itertools.product(GRID, GRID):
        lower, upper = Sgn().evaluate(x)
        member = lower <= -y <= upper
        assert Sgn().contains(x, -y, tol=0.0) == member
        for rho in (0.125, 1.0, 8.0):
            assert (Sgn().residual(x, y, rho) == 0.0) == member
            assert (-y == interval.project(-y + rho * x)) == member  # x in N_[-1,1](-y)
            np.testing.assert_array_equal(Sgn().residual(x, y, rho), interval.residual(y, x, rho))


def test_sgn_decomposition_is_equivalent_on_a_grid_with_kinks() -> None:
    """[GS05] eqs. (4)-(5): the inclusion holds iff the two complementarity conditions do."""
    x, y = np.meshgrid(GRID, GRID, indexing="ij")
    split = decompose_sgn(x, y)
    member = Sgn().contains(x, -y, tol=0.0)
    assert member.any() and not member.all()
    np.testing.assert_array_equal(split.holds(tol=0.0), member)
    by_hand = (
        (1 + y >= 0) & (split.x_R >= 0) & ((1 + y) * split.x_R == 0)
        & (1 - y >= 0) & (split.x_L >= 0) & ((1 - y) * split.x_L == 0)
        & (x == split.x_R - split.x_L)
    )  # fmt: skip
    np.testing.assert_array_equal(by_hand, member)
    # the inclusions of eq. (4): -y in +Upr(x_R) + 1 and -y in -Upr(x_L) - 1
    upr = Upr()
    np.testing.assert_array_equal(upr.contains(split.x_R, -y - 1, 0) & upr.contains(split.x_L, y - 1, 0), member)


def test_no_other_split_satisfies_a_relay() -> None:
    """From the complementarity conditions back to the inclusion, for arbitrary x_R and x_L."""
    for x_R, x_L, y in itertools.product(GRID, GRID, GRID):
        split = sets.SgnSplit(np.asarray(x_R), np.asarray(x_L), np.asarray(1.0 + y), np.asarray(1.0 - y))
        if split.holds(tol=0.0):
            x = x_R - x_L
            assert Sgn().contains(x, -y, tol=0.0)
            canonical = decompose_sgn(x, y)
            assert (canonical.x_R, canonical.x_L) == (x_R, x_L)


@quick
@given(coordinate, coordinate)
def test_sgn_split_round_trip_and_residual(x: float, y: float) -> None:
    split = decompose_sgn(x, y)
    x_back, y_back = split.compose()
    assert x_back == x
    np.testing.assert_allclose(y_back, y, rtol=0, atol=4e-16 * max(1.0, abs(y)))
    assert split.residual() == abs(Sgn().residual(x, y))


def test_split_with_inconsistent_pairs_does_not_hold() -> None:
    zero, one = np.zeros(()), np.ones(())
    assert sets.SgnSplit(zero, zero, one, one).holds()
    assert not sets.SgnSplit(zero, zero, one, 5.0 * one).holds()  # y_R + y_L must be 2


@quick
@given(coordinate, coordinate, st.floats(1e-9, 1.0))
def test_membership_within_tolerance_means_near_the_graph(x: float, minus_y: float, tol: float) -> None:
    """contains(tol): a point of the graph lies within tol in both coordinates; else none within tol / 2."""
    graphs = {
        Upr(): [(0.0, min(minus_y, 0.0)), (max(x, 0.0), 0.0)],
        Sgn(): [(0.0, np.clip(minus_y, -1, 1)), (max(x, 0.0), 1.0), (min(x, 0.0), -1.0)],
    }
    for law, nearest in graphs.items():
        d = min(max(abs(x - gx), abs(minus_y - gy)) for gx, gy in nearest)
        if law.contains(x, minus_y, tol):
            assert d <= tol * (1 + 1e-12) + 1e-15 * max(1.0, abs(minus_y))
        else:
            assert 2.0 * d > tol


def test_evaluation_as_intervals() -> None:
    lower, upper = Upr().evaluate([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(lower, [np.inf, -np.inf, 0.0])
    np.testing.assert_array_equal(upper, [-np.inf, 0.0, 0.0])  # empty, (-inf, 0], {0}
    lower, upper = Sgn().evaluate([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal([lower, upper], [[-1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])


# -- shapes, compiled use, errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "C, n",
    [
        (Orthant(3), 3),
        (Interval([-1.0, 0.0], [1.0, np.inf]), 2),
        (Disk(1.0), 2),
        (Ellipse(1.0, 2.0), 2),
        (SecondOrderCone(0.4), 3),
        (SecondOrderCone(0.4), 4),
    ],
    ids=str,
)
def test_leading_axes_are_independent_points(C: ConvexSet, n: int) -> None:
    x, y = np.random.default_rng(1).normal(scale=2.0, size=(2, 4, 5, n))
    results = [C.project(x), C.jacobian(x), C.distance(x), C.contains(x), C.support(x), C.residual(x, y, 2.0)]
    assert [r.shape for r in results] == [(4, 5, n), (4, 5, n, n), (4, 5), (4, 5), (4, 5), (4, 5, n)]
    for i in np.ndindex(4, 5):
        xi, yi = x[i], y[i]
        one = [
            C.project(xi),
            C.jacobian(xi),
            C.distance(xi),
            C.contains(xi),
            C.support(xi),
            C.residual(xi, yi, 2.0),
        ]
        for whole, single in zip(results, one, strict=True):
            np.testing.assert_array_equal(whole[i], single)
    assert C.project(np.empty((0, n))).shape == (0, n)


def test_one_set_per_point() -> None:
    x = np.random.default_rng(2).normal(scale=3.0, size=(3, 2))
    values = np.array([0.0, 0.5, 2.0])
    for many, single in [
        (Disk(values), [Disk(v) for v in values]),
        (Ellipse(values, 1.0), [Ellipse(v, 1.0) for v in values]),
        (SecondOrderCone(values), [SecondOrderCone(v) for v in values]),
        (Interval(-values[:, None], np.ones((3, 2))), [Interval([-v, -v], [1.0, 1.0]) for v in values]),
    ]:
        np.testing.assert_array_equal(many.project(x), [C.project(p) for C, p in zip(single, x, strict=True)])
        np.testing.assert_array_equal(many.jacobian(x), [C.jacobian(p) for C, p in zip(single, x, strict=True)])
        rho = np.array([1.0, 2.0, 4.0])
        expected = [C.residual(p, p[::-1], r) for C, p, r in zip(single, x, rho, strict=True)]
        np.testing.assert_array_equal(many.residual(x, x[:, ::-1], rho), expected)
    assert Disk(values).project([3.0, 4.0]).shape == (3, 2)
    np.testing.assert_array_equal(SecondOrderCone(values).dual.mu, [np.inf, 2.0, 0.5])


def test_scalar_interval_takes_numbers_and_arrays() -> None:
    C = Interval(-1.0, 2.0)
    assert C.project(5.0) == 2.0
    x = np.array([[-3.0, -1.0], [0.0, 7.0]])
    np.testing.assert_array_equal(C.project(x), [[-1.0, -1.0], [0.0, 2.0]])
    np.testing.assert_array_equal(C.jacobian(x), [[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(C.distance(x), [[2.0, 0.0], [0.0, 5.0]])
    np.testing.assert_array_equal(C.support([-1.0, 0.0, 3.0]), [1.0, 0.0, 6.0])
    assert Interval(0.0, np.inf).support(1.0) == np.inf
    assert Interval(0.0, np.inf).support(0.0) == 0.0


def test_empty_dimension() -> None:
    C, x = Orthant(0), np.empty(0)
    assert C.project(x).shape == (0,) and C.jacobian(x).shape == (0, 0) and C.residual(x, x).shape == (0,)
    assert C.distance(x) == 0.0 and C.support(x) == 0.0 and C.contains(x)


def test_sets_are_immutable_values() -> None:
    radii = np.array([1.0, 2.0])
    disk = Disk(radii)
    radii[0] = 5.0
    assert disk == Disk(np.array([1.0, 2.0])) and hash(disk) == hash(Disk(np.array([1.0, 2.0])))
    assert disk != Disk(1.0) and Ellipse(1.0, 1.0) != Disk(1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        disk.radius = 3.0
    with pytest.raises(ValueError, match="read-only"):
        disk.radius[0] = 3.0


@entry
def _sweep(r: FloatArray, out: FloatArray) -> float:
    out[0] = sets.project_interval(r[0], -1.0, 1.0)
    out[1], out[2] = sets.project_disk(r[0], r[1], 0.5)
    out[3], out[4] = sets.project_cone_2d(r[0], r[1], 0.5)
    out[5], out[6], out[7] = sets.project_cone_3d(r[0], r[1], r[2], 0.5)
    out[8], out[9] = sets.project_ellipse(r[0], r[1], 2.0, 0.5)
    return out[0]


def test_kernels_work_inside_other_kernels() -> None:
    r, out = np.array([1.5, -2.0, 0.5]), np.empty(10)
    assert _sweep(r, out) == 1.0
    np.testing.assert_array_equal(out[1:3], Disk(0.5).project(r[:2]))
    np.testing.assert_array_equal(out[3:5], SecondOrderCone(0.5).project(r[:2]))
    np.testing.assert_array_equal(out[5:8], SecondOrderCone(0.5).project(r))
    np.testing.assert_array_equal(out[8:10], Ellipse(2.0, 0.5).project(r[:2]))


def test_cone_kernel_may_write_in_place() -> None:
    for d in (2, 3, 5):
        r = np.linspace(1.0, 3.0, d)
        expected = SecondOrderCone(0.5).project(r)
        sets.project_cone(r, 0.5, r)
        np.testing.assert_array_equal(r, expected)


def test_kernels_hand_nan_on_instead_of_hiding_it() -> None:
    nan = np.nan
    results = [
        sets.project_interval(nan, -1.0, 1.0),
        sets.project_disk(nan, 1.0, 1.0),
        sets.project_disk(1.0, nan, 0.0),
        *(sets.project_ellipse(*x, *axes) for x in [(nan, 1.0), (5.0, nan)] for axes in [(2.0, 1.0), (2.0, 0.0)]),
        *(sets.project_cone_2d(*r, mu) for r in [(nan, 1.0), (1.0, nan)] for mu in (0.0, 0.5, np.inf)),
        *(sets.project_cone_3d(*r, mu) for r in [(nan, 0.0, 0.0), (1.0, 0.0, nan)] for mu in (0.0, 0.5, np.inf)),
    ]
    assert all(np.isnan(result).any() for result in results)


X = [1.0, 2.0]
ERRORS: list[tuple[Any, str]] = [
    (lambda: Disk(1.0).project([1.0, np.nan]), r"x must not contain NaN, got NaN at index \(1,\); look for"),
    (lambda: Disk(1.0).project([np.inf, 1.0]), r"x must be finite, got inf at index \(0,\); look for"),
    (lambda: Disk(1.0).residual(X, [0.0, np.nan]), "y must not contain NaN"),
    (lambda: Disk(1.0).support([np.nan, 0.0]), "v must not contain NaN"),
    (lambda: Disk(1.0).project([1.0, 2.0, 3.0]), r"x must have shape \(\.\.\., 2\), points .* got \(3,\)"),
    (lambda: Disk(1.0).project(1.0), r"x must have shape \(\.\.\., 2\), .*got \(\)"),
    (lambda: Disk(-1.0), "radius must be >= 0, got -1.0; 0 is allowed"),
    (lambda: Disk(np.nan), "radius must not contain NaN, got NaN; look for"),
    (lambda: Disk(np.inf), "radius must be finite, got inf"),
    (lambda: Disk([1.0, 2.0, 3.0]).project(np.ones((2, 2))), r"axes \(2,\) of x .* radius \(3,\); give one"),
    (lambda: Ellipse(1.0, -2.0), "b must be >= 0, got -2.0"),
    (lambda: Ellipse([1.0, 2.0], [1.0, 2.0, 3.0]), r"a, b must broadcast .* a \(2,\), b \(3,\); give one"),
    (lambda: SecondOrderCone(-0.1), "mu must be >= 0, got -0.1; 0 and inf"),
    (lambda: SecondOrderCone(0.1).project([1.0]), r"x must have shape .* d >= 2, normal first, got \(1,\)"),
    (lambda: Orthant(3).project(X), r"x must have shape \(\.\.\., 3\), points of the orthant, got \(2,\)"),
    (lambda: Orthant(-1), "n must be an integer >= 0, .* got -1"),
    (lambda: Orthant(2.0), "n must be an integer >= 0, .* got 2.0"),
    (lambda: Interval(1.0, 0.0), "lower must be <= upper, got lower = 1.0 and upper = 0.0; swap them"),
    (lambda: Interval([0.0, 3.0], [1.0, 2.0]), r"got lower = 3.0 and upper = 2.0 at index \(1,\)"),
    (lambda: Interval(np.inf, np.inf), "lower must be < inf and upper > -inf"),
    (lambda: Interval(np.nan, 1.0), "lower must not contain NaN"),
    (lambda: Interval([0.0, 0.0], [1.0, 1.0]).project([1.0] * 3), r"one coordinate per bound, got \(3,\)"),
    (lambda: Disk(1.0).residual(X, X, rho=0.0), "rho must be > 0, got 0.0; .* 1 will do"),
    (lambda: Disk(1.0).residual([X] * 3, X, rho=[1.0, 2.0]), r"must broadcast .* rho \(2,\), points \(3,\)"),
    (lambda: Disk(1.0).contains(X, tol=-1.0), "tol must be >= 0, got -1.0; it is an absolute distance"),
    (lambda: Disk(1.0).project(["a", "b"]), "x must be a real number or an array of real numbers, got texts"),
    (lambda: Disk(1.0).project(np.array([1j, 0.0])), "real numbers, got complex numbers"),
    (lambda: Upr().evaluate(np.nan), "x must not contain NaN"),
    (lambda: Upr().contains([1.0, 2.0], [1.0, 2.0, 3.0]), r"must broadcast .* x \(2,\), minus_y \(3,\)"),
    (lambda: Sgn().residual(0.0, np.nan), "y must not contain NaN"),
    (lambda: Sgn().residual(0.0, 0.0, rho=-1.0), "rho must be > 0, got -1.0"),
    (lambda: decompose_sgn(np.nan, 0.0), "x must not contain NaN"),
]  # fmt: skip


@pytest.mark.parametrize("call, message", ERRORS, ids=[message[:40] for _, message in ERRORS])
def test_bad_input_says_name_rule_what_came_and_what_helps(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
