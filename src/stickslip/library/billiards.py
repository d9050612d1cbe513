"""Billiards in space: a ball thrown at the first of three on a table, with contacts that hand spin back and forth."""

from __future__ import annotations

from stickslip.checks import whole_number
from stickslip.scenario import SceneScenario, require_positive
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import HalfSpace, Sphere

_FLIGHT = 0.05  # [s] from the start to the collision
_GRAVITY = 9.81  # [m/s^2]


def billiards(
    *,
    restitution: float = 0.9,
    restitution_tangential: float = 0.9,
    friction: float = 0.6,
    speed: float = 3.0,
    fall: float = 1.5,
    height: float = 0.002,
    spin: float = 0.0,
    balls: int = 3,
    offset: float = 0.006,
    clearance: float = 1e-3,
    mass: float = 0.17,
    radius: float = 0.03,
) -> SceneScenario:
    """Return a ball thrown at the first of three in a row on a table, in space.

    q per ball: centre and unit quaternion; u: velocity and angular velocity, world axes, z upwards.

    Elastic contacts send most of the momentum on to the third ball, and the thrown ball back with a strong spin.  With
    tangential restitution the spin changes from bounce to bounce, as the spin of a superball does; direction and speed
    of the bounces change, too.  A falling ball drags the back of ball 1 down.  So the front of ball 1 goes up, and
    friction at this front lifts ball 2.  In a longer row all balls of even number are lifted.

    Parameters
    ----------
    restitution, restitution_tangential, friction : coefficients eps_N, eps_T, mu of all contacts
    speed, fall : velocity of the thrown ball at the collision, forwards and downwards [m/s]
    height : of its centre over the centre of ball 1 at the collision, about [m]; with fall = height = 0 it comes along
        the table
    spin : of the thrown ball about y [rad/s]; speed/radius rolls
    balls : their number in the row
    offset : of its path to the side of the row [m]
    clearance : between neighbours of the row [m]
    mass, radius : of each ball [kg], [m]

    Reference: [S00] section 2.3, Fig. 2.3; sizes and speeds are ours.
    """
    values = {"speed": speed, "mass": mass, "radius": radius}
    require_positive(values, *values)
    require_positive({"clearance": clearance, "fall": fall}, "clearance", "fall", allow_zero=True)
    if not abs(offset) < 2.0 * radius:
        raise ValueError(
            f"offset must be less than two radii, {2.0 * radius:g} m, for the balls to meet, got {offset:g}."
        )
    balls = whole_number(balls, "balls")
    laws = {"friction": friction, "restitution": restitution, "restitution_tangential": restitution_tangential}
    scene = Scene(dim=3, gravity=_GRAVITY, name="billiards")
    scene.add_static(HalfSpace((0, 0, 1)), name="table", **laws)
    away = 2.0 * radius + speed * _FLIGHT
    above, rise = _start(height, fall)
    scene.add_body(
        Sphere(radius), mass=mass, position=(-away, -offset, radius + above), velocity=(speed, 0.0, rise),
        angular_velocity=(0.0, spin, 0.0), name="thrown", **laws,
    )  # fmt: skip
    for k in range(balls):
        place = (k * (2.0 * radius + clearance), 0.0, radius)
        scene.add_body(Sphere(radius), mass=mass, position=place, name=f"ball{k + 1}", **laws)
    return SceneScenario(
        scene=scene,
        dt=1e-4,
        t_end=0.7,
        title=f"Billiards: one ball thrown at {balls}",
        source="[S00] section 2.3, Fig. 2.3",
    )


def _start(height: float, fall: float) -> tuple[float, float]:
    """Height over the table and vertical velocity from which a ball in flight reaches `height` with `fall`."""
    if height == 0.0 and fall == 0.0:
        return 0.0, 0.0
    rise = _GRAVITY * _FLIGHT - fall
    above = height - rise * _FLIGHT + 0.5 * _GRAVITY * _FLIGHT**2
    if above < 0.0:
        raise ValueError(f"height and fall must let the ball come from above the table, got {height:g} and {fall:g}.")
    return above, rise
