"""Exported pages of scenes: Node runs the march of the file, and finds the bits of `simulate`."""


from page.test_simulating import in_node, inside, needs_node, require_bits, require_same
from stickslip import library
from stickslip.page.payload import payload


def compare(scenario, again, request, **options):
    """A run by the march of one scenario's page, against run and payload of another one by Python."""
    data = inside(scenario.simulate(**options), scenario)
    assert data.get("kernels"), data.get("recorded")
    run = again.simulate(**options)
    found, bits = in_node(data, **request)
    require_bits(bits, run)
    wanted = payload(run, again)
    for one in (found, wanted):
        one["method"].pop("wall_s")
        one["numbers"]["energy"].pop("unexplained")
        one["numbers"].pop("certificate")
        one.pop("motion")
    require_same(found, wanted)
    return data["kernels"]


@needs_node
def test_a_page_of_a_scene_simulates_with_the_bits_of_python():
    slower = library.get("thrown_cube", speed=4.0, friction=0.3)
    source = compare(library.get("thrown_cube"), slower, {"set": {"speed": 4.0, "friction": 0.3}}, t_end=0.5)
    assert [control["key"] for control in source["controls"]] == ["friction", "speed", "dt", "t_end"]
