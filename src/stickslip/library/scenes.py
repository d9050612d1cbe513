"""Ready-made scenes: stacks, houses of cards, arches, dominoes, chains, tops and piles.

Each function returns a `Scene`; `ENTRIES` add step size, end time and title, as `stickslip run NAME` needs them.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.checks import whole_number
from stickslip.scenario import SceneScenario
from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import Box, Capsule, Circle, Compound, HalfPlane, HalfSpace, Polygon, Sphere

__all__ = [
    "arch",
    "card_house",
    "cradle",
    "cube_on_ramp",
    "cube_stack",
    "domino_row",
    "granular_column",
    "hanging_chain",
    "heavy_on_light",
    "poured_spheres",
    "rolling_disc",
    "spoked_wheel",
    "thrown_cube",
    "tippe_top",
    "toothed_ratchet",
]


def cube_stack(cubes: int = 10, friction: float = 0.5) -> Scene:
    """A tower of `cubes` unit cubes of 1 kg each, at rest on a floor; `friction` is mu of all contacts."""
    scene = Scene(dim=3, name="cube stack")
    scene.add_static(HalfSpace((0, 0, 1)), friction=friction, name="floor")
    for k in range(cubes):
        scene.add_body(Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5 + k), friction=friction, name=f"cube{k + 1}")
    return scene


def heavy_on_light(ratio: float = 1000.0, friction: float = 0.5) -> Scene:
    """A unit cube of 1 kg on a floor that carries a unit cube of `ratio` kg, both at rest."""
    scene = Scene(dim=3, name="heavy on light")
    scene.add_static(HalfSpace((0, 0, 1)), friction=friction, name="floor")
    scene.add_body(Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5), friction=friction, name="light")
    scene.add_body(Box((1, 1, 1)), mass=ratio, position=(0, 0, 1.5), friction=friction, name="heavy")
    return scene


def thrown_cube(speed: float = 6.0, friction: float = 0.5) -> Scene:
    """A unit cube that slides flat over the floor with `speed` [m/s]; it stops after v^2 / (2 mu g)."""
    scene = Scene(dim=3, name="thrown cube")
    scene.add_static(HalfSpace((0, 0, 1)), friction=friction, name="floor")
    scene.add_body(Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5), velocity=(speed, 0, 0), name="cube")
    return scene


def cube_on_ramp(angle: float = 0.38, friction: float = 0.5) -> Scene:
    """A unit cube at rest on a ramp of `angle` [rad]; it slides with g (sin - mu cos) where tan(angle) > mu."""
    n = np.array([math.sin(angle), 0.0, math.cos(angle)])
    scene = Scene(dim=3, name="cube on ramp")
    scene.add_static(HalfSpace(tuple(n)), friction=friction, name="ramp")
    turn = (math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0)
    scene.add_body(Box((1, 1, 1)), mass=1.0, position=0.5 * n, orientation=turn, name="cube")
    return scene


def _standing(scene: Scene, vertices: Any, density: float, friction: float, name: str) -> Body:
    """Add a polygon to the scene whose vertices are given in world coordinates [m]; `density` in kg/m^2."""
    shape = Polygon(vertices)
    position = shape.mass_properties(2).centre[:2]
    return scene.add_body(shape, density=density, position=position, friction=friction, name=name)


def card_house(friction: float = 0.6) -> Scene:
    """Seven cards in two storeys, in the plane; their ends are mitred, so that they meet in faces."""
    scene = Scene(dim=2, name="card house")
    scene.add_static(HalfPlane((0, 1)), friction=friction, name="floor")
    width, height, thick = 0.3, 1.0, 0.06

    def pair(x: float, y: float, name: str) -> None:
        left = [(-width, 0.0), (-width + thick, 0.0), (0.0, height - 0.2), (0.0, height)]
        _standing(scene, [(x + a, y + b) for a, b in left], 1.0, friction, f"{name} left")
        _standing(scene, [(x - a, y + b) for a, b in left], 1.0, friction, f"{name} right")

    pair(-0.4, 0.0, "lower a")
    pair(0.4, 0.0, "lower b")
    roof = [(-0.75, height), (0.75, height), (0.75, height + thick), (-0.75, height + thick)]
    _standing(scene, roof, 1.0, friction, "roof")
    pair(0.0, height + thick, "upper")
    return scene


def arch(stones: int = 9, thickness: float = 0.3, friction: float = 0.7) -> Scene:
    """A half circle of wedges with inner radius 1 m and `thickness` [m], in the plane, held by its weight alone."""
    scene = Scene(dim=2, name="arch")
    scene.add_static(HalfPlane((0, 1)), friction=friction, name="floor")
    angles = np.linspace(0.0, math.pi, stones + 1)
    for k in range(stones):
        corners = []
        for radius, angle in (
            (1.0, angles[k]),
            (1.0 + thickness, angles[k]),
            (1.0 + thickness, angles[k + 1]),
            (1.0, angles[k + 1]),
        ):
            corners.append((radius * math.cos(angle), radius * math.sin(angle)))
        _standing(scene, corners, 1000.0, friction, f"stone{k + 1}")
    return scene


def domino_row(dominoes: int = 10, push: float = 1.5, friction: float = 0.3) -> Scene:
    """Dominoes 0.2 m x 1 m, 0.6 m apart, in the plane; the first turns with `push` [rad/s] about its lower corner."""
    scene = Scene(dim=2, name="domino row")
    scene.add_static(HalfPlane((0, 1)), friction=friction, name="floor")
    shape = Polygon.rectangle(0.2, 1.0)
    for k in range(dominoes):
        spin = -push if k == 0 else 0.0
        # velocity of the centre while the body turns about its corner at (0.1, -0.5)
        velocity = (-spin * 0.5, -spin * 0.1)
        scene.add_body(
            shape,
            density=100.0,
            position=(0.6 * k, 0.5),
            velocity=velocity,
            angular_velocity=spin,
            friction=friction,
            name=f"domino{k + 1}",
        )
    return scene


def cradle(balls: int = 5, speed: float = 1.0, gap: float = 2e-3) -> Scene:
    """Equal steel balls in a row without weight, `gap` [m] apart; the first has `speed` [m/s], the last one leaves."""
    scene = Scene(dim=3, gravity=0.0, name="cradle")
    for k in range(balls):
        scene.add_body(
            Sphere(0.01), mass=0.03, position=(k * (0.02 + gap), 0, 0), velocity=(speed if k == 0 else 0.0, 0, 0),
            restitution=1.0, friction=0.0, name=f"ball{k + 1}",
        )  # fmt: skip
    return scene


def hanging_chain(links: int = 20, span: float = 0.8) -> Scene:
    """Rods of total length 1 m in the plane, hinged together and at both ends, let go from a wedge `span` [m] wide."""
    if not 0.0 <= span < 1.0:
        raise ValueError(f"span must be at least 0 and less than the length of the chain, 1 m, got {span:g}.")
    scene = Scene(dim=2, name="hanging chain")
    length = 1.0 / links
    sag = math.sqrt(0.25 - 0.25 * span**2)
    knee = np.array([0.5 * span, -sag])
    points = [
        knee * (2.0 * k / links)
        if 2 * k <= links
        else np.array([span, 0.0]) + (knee - [span, 0.0]) * (2.0 - 2.0 * k / links)
        for k in range(links + 1)
    ]
    before = None
    for k in range(links):
        p, q = points[k], points[k + 1]
        angle = math.atan2(q[1] - p[1], q[0] - p[0])
        shape = Capsule(0.1 * length, 0.8 * length)
        rod = scene.add_body(
            shape, mass=length, inertia=length**3 / 12.0, position=0.5 * (p + q), orientation=angle, name=f"link{k + 1}"
        )
        scene.add_revolute(before, rod, at=p)
        before = rod
    assert before is not None
    scene.add_revolute(None, before, at=points[-1])
    for a in scene.bodies[1:]:
        for b in scene.bodies[1 : a.number]:
            scene.ignore(a, b)
    return scene


def rolling_disc(angle: float = 0.3, friction: float = 0.5, radius: float = 0.1) -> Scene:
    """A disc of `radius` [m] rolls down a slope of `angle` [rad], in the plane: 2/3 g sin(angle) while it sticks."""
    n = np.array([math.sin(angle), math.cos(angle)])
    scene = Scene(dim=2, name="rolling disc")
    scene.add_static(HalfPlane(tuple(n)), friction=friction, name="slope")
    scene.add_body(Circle(radius), mass=1.0, position=radius * n, name="disc")
    return scene


def tippe_top(spin: float = 500.0, friction: float = 0.3) -> Scene:
    """A ball, 15 mm and 6 g, whose centre of mass lies 3 mm below its middle, with much `spin` [rad/s].

    Under Coulomb's law at a point the top slips for 0.3 s, rises a little, and then rolls without slip: it does not
    turn over.  A real top pivots on a patch, whose friction against drilling and sliding is coupled: it slips on.
    Jellett's integral, the scalar product of the angular momentum and the vector to the contact point, is constant.

    I_1 = 131/350 m R^2, I_3 = 2/5 m R^2: the values of Ueda, Sasaki and Watanabe (2005), as quoted in the literature.
    """
    radius, offset, mass, tilt = 0.015, 0.003, 0.006, 0.3
    scene = Scene(dim=3, name="tippe top")
    scene.add_static(HalfSpace((0, 0, 1)), friction=friction, name="table")
    axis = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    inertia = mass * radius**2 * np.array([131 / 350, 131 / 350, 0.4])
    middle = np.array([0.0, 0.0, radius])
    scene.add_body(
        Sphere(radius), mass=mass, inertia=inertia, centre_of_mass=(0, 0, -offset), position=middle - offset * axis,
        orientation=(math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0), angular_velocity=spin * axis, name="top",
    )  # fmt: skip
    return scene


def granular_column(grains: int = 200, columns: int = 10, friction: float = 0.5, seed: int = 1) -> Scene:
    """A column of discs, in the plane, that collapses under its weight; radii of 9 to 11 mm."""
    scene = Scene(dim=2, name="granular column")
    scene.add_static(HalfPlane((0, 1)), friction=friction, name="floor")
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    for k in range(grains):
        row, column = divmod(k, columns)
        shift = 0.011 * (row % 2)
        position = (0.0225 * column + shift, 0.0115 + 0.0225 * row)
        grain = Circle(float(rng.uniform(0.009, 0.011)))
        scene.add_body(grain, density=2500.0, position=position, friction=friction, name=f"grain{k + 1}")
    return scene


def poured_spheres(spheres: int = 300, friction: float = 0.3, radius: float = 0.01, seed: int = 1) -> Scene:
    """Spheres of `radius` [m] in loose layers above an open box; settled, about twice as high as wide."""
    scene = Scene(dim=3, name="poured spheres")
    side = max(2, round((spheres / 2.0) ** (1.0 / 3.0)))
    pitch = 2.2 * radius
    width = side * pitch
    scene.add_static(HalfSpace((0, 0, 1)), friction=friction, name="floor")
    for name, normal, offset in (
        ("west", (1, 0, 0), 0.0), ("east", (-1, 0, 0), -width),
        ("south", (0, 1, 0), 0.0), ("north", (0, -1, 0), -width),
    ):  # fmt: skip
        scene.add_static(HalfSpace(normal, offset), friction=friction, name=name)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    for k in range(spheres):
        layer, rest = divmod(k, side * side)
        i, j = divmod(rest, side)
        position = pitch * (np.array([i, j, layer]) + 0.5) + rng.uniform(-0.04, 0.04, 3) * radius
        scene.add_body(Sphere(radius), density=2500.0, position=position, friction=friction, name=f"sphere{k + 1}")
    return scene


def spoked_wheel(spokes: int = 8, slope: float = math.radians(12.0), inertia: float = 0.25) -> Scene:
    """A wheel of spokes without a rim on a `slope` [rad], in the plane: the scene of the mechanism `rimless_wheel`.

    Its spokes are 1 m long, its mass is 1 kg, its `inertia` [kg m^2] counts about the hub.  The tips of the spokes are
    vertices of one compound body.  It starts right after an impact, 1.2 times as fast as in the cycle of one step, and
    the x-axis leads down the slope.
    """
    alpha, g, friction = math.pi / spokes, 9.81, 10.0
    eta = (inertia + math.cos(2.0 * alpha)) / (inertia + 1.0)
    cycle = math.sqrt(4.0 * g * math.sin(alpha) * math.sin(slope) / (inertia + 1.0) * eta**2 / (1.0 - eta**2))
    scene = Scene(dim=2, gravity=(g * math.sin(slope), -g * math.cos(slope)), name="spoked wheel")
    scene.add_static(HalfPlane((0, 1)), friction=friction, name="slope")
    parts = []
    for k in range(spokes):
        c, s = math.cos(2.0 * alpha * k), math.sin(2.0 * alpha * k)
        parts.append(Polygon([(c * x - s * y, s * x + c * y) for x, y in ((-0.03, 0.0), (0.0, -1.0), (0.03, 0.0))]))
    height, speed = math.cos(alpha), 1.2 * cycle
    scene.add_body(
        Compound(parts), mass=1.0, inertia=inertia, position=(0.0, height), orientation=alpha,
        velocity=(height * speed, math.sin(alpha) * speed), angular_velocity=-speed, friction=friction, name="wheel",
    )  # fmt: skip
    return scene


def toothed_ratchet(
    teeth: int = 12, pitch: float = 0.02, force: float = 3.0, frequency: float = 2.0, guide_friction: float = 1.0
) -> Scene:
    """A rack with saw teeth of a `pitch` [m], pulled to and fro, and a pawl that lets it go one way, in the plane.

    The rack weighs 0.5 kg.  It slides along x under a `force` [N] that changes as a sine with the `frequency` [Hz], and
    under the dry `guide_friction` [N] of its guide.  A torque presses the pawl on the teeth, which are 0.4 pitches
    high.  The rack advances by whole pitches, whatever the stroke.  `ss.Ratchet` is the limit of fine teeth.
    """
    scene = Scene(dim=2, name="toothed ratchet")
    height = 0.4 * pitch
    start = 0.025 * pitch - (teeth - 2) * pitch
    bar = [(0.0, -0.75 * pitch), (teeth * pitch, -0.75 * pitch), (teeth * pitch, 0.0), (0.0, 0.0)]
    saw = [Polygon([(k * pitch, 0.0), ((k + 1) * pitch, 0.0), (k * pitch, height)]) for k in range(teeth)]
    shape = Compound([Polygon(bar), *saw])
    centre = shape.mass_properties(2).centre[:2]
    rack = scene.add_body(shape, mass=0.5, position=(centre[0] + start, centre[1]), friction=0.1, name="rack")
    scene.add_prismatic(None, rack, (0, 0), (1, 0), friction=guide_friction)
    scene.add_force(rack, force=lambda t, x, v: (force * math.sin(2.0 * math.pi * frequency * t), 0.0))
    tip, length, lean = np.array([0.0, 0.02 * pitch]), 2.5 * pitch, 0.8
    along = np.array([-math.cos(lean), math.sin(lean)])
    across = np.array([along[1], -along[0]])
    hinge = tip + length * along
    outline = [
        tip,
        tip + length * (0.4 * along + 0.06 * across),
        tip + length * (1.1 * along + 0.08 * across),
        tip + length * (1.1 * along - 0.08 * across),
        tip + length * (0.4 * along - 0.06 * across),
    ]
    pawl = Polygon([tuple(point) for point in outline])
    middle = pawl.mass_properties(2).centre[:2]
    lever = scene.add_body(pawl, mass=0.05, position=middle, friction=0.1, name="pawl")
    scene.add_revolute(None, lever, tuple(hinge), damping=1e-3 * (pitch / 0.02) ** 2, torque=-0.05 * pitch / 0.02)
    return scene


def _ready(
    build: Callable[..., Scene], title: str, source: str, dt: float, t_end: float, **options: Any
) -> Callable[..., SceneScenario]:
    """Make a library entry from the function `build`: its scene with title, step size, end time and options of a run.

    dt, t_end : step size and end of the run [s]
    source : text about the scene; names of parameters in braces are replaced by their values
    options : further keywords of `Scene.simulate`
    """

    @functools.wraps(build)
    def entry(**parameters: Any) -> SceneScenario:
        defaults = {name: p.default for name, p in inspect.signature(build).parameters.items()}
        for name, value in parameters.items():
            if isinstance(defaults.get(name), int):
                whole_number(value, name, 0 if name == "seed" else 1)
        scene, values = build(**parameters), defaults | parameters
        return SceneScenario(scene, dt, t_end, title, source.format(**values), options)

    return entry


ENTRIES: dict[str, Callable[..., SceneScenario]] = {
    entry.__name__: entry
    for entry in (
        _ready(cube_stack, "Stack of cubes", "rests exactly", 1e-3, 10.0),
        _ready(heavy_on_light, "Heavy cube on a light one", "mass ratio {ratio:g}", 1e-3, 2.0),
        _ready(thrown_cube, "Cube thrown flat", "stops after v^2 / (2 mu g)", 1e-3, 2.0),
        _ready(cube_on_ramp, "Cube on a ramp", "sticks for tan(angle) <= mu", 1e-3, 1.0),
        _ready(card_house, "House of cards", "planar, mitred ends", 1e-3, 2.0),
        _ready(arch, "Arch of wedges", "planar, held by its weight", 1e-3, 2.0),
        _ready(domino_row, "Row of dominoes", "planar", 1e-3, 4.0, tol=1e-8),
        _ready(cradle, "Newton's cradle, balls with play", "hands on the speed", 1e-4, 0.05),
        _ready(hanging_chain, "Hanging chain", "planar, revolute joints", 1e-3, 3.0),
        _ready(rolling_disc, "Disc on a slope", "2/3 g sin(angle)", 1e-3, 1.0),
        _ready(tippe_top, "Tippe top", "Ueda, Sasaki, Watanabe 2005", 1e-4, 7.0),
        _ready(granular_column, "Collapse of a granular column", "planar", 1e-3, 1.0, tol=1e-5),
        _ready(spoked_wheel, "Wheel of spokes on a slope", "planar, [M90] section 2", 1e-3, 5.0),
        _ready(toothed_ratchet, "Rack with saw teeth and a pawl", "planar, [GS05] section 2", 2e-4, 2.5),
        _ready(poured_spheres, "Spheres poured into a box", "[GS05] 4: many contacts", 1e-3, 0.3, tol=1e-4),
    )
}
"""The scenes as entries of `stickslip.library`, by name."""
