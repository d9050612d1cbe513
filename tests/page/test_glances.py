"""Pictures that a user of the page chooses from."""

import json

from stickslip import library
from stickslip.page.glances import glance
from stickslip.page.packing import floats


def test_a_glance_shows_the_start_without_contacts():
    seen = glance("woodpecker", library.woodpecker())
    assert seen["words"] == "3 coordinates, 3 contacts" and seen["title"] == library.woodpecker().title
    kinds = {shape["kind"] for shape in seen["motion"]["shapes"]}
    assert "group" in kinds and not kinds & {"marker", "ruler", "text"}
    assert all(shape["moving"] == [] for shape in seen["motion"]["shapes"])


def test_a_glance_of_a_scene_has_its_bodies_at_their_start():
    cube, card = library.get("thrown_cube"), glance("card_house", library.get("card_house"))
    seen = glance("thrown_cube", cube)
    assert seen["words"] == "1 body" and seen["motion"]["kind"] == "space"
    assert seen["motion"]["poses"] == floats([[cube.q0], [cube.q0]])
    assert all(shape["channel"] == -1 for shape in card["motion"]["shapes"]) and json.dumps(card)
