"""Model files of any content: an answer or one line within a second; and no text of theirs steers a terminal."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.io.models import scene as scene_files
from stickslip.io.models.file import model_from_text, read_model
from stickslip.io.models.imports import imported
from stickslip.io.models.toml_text import LARGEST_FILE, key_lines, parse_toml
from stickslip.io.models.xml_text import parse_xml
from stickslip.io.printable import printable
from tests.fuzz.targets import model_texts

BALL = model_texts()[0]
M = LARGEST_FILE - len(BALL) - 100
KINETIC = re.search(r'kinetic = "(.*)"', BALL)[1]
NAME = re.search(r"\[coordinates\]\n(\w+) =", BALL)[1]
SPEED = next(name for name in ("v", f"{NAME}_dot") if name in KINETIC)
SECOND = 1.5  # of the processor; what takes less than a second on an idle machine


def kinetic(expression):
    return BALL.replace(f'kinetic = "{KINETIC}"', f'kinetic = "{KINETIC} + {expression}"')


def factors(function, count):
    return "*".join(f"{function}({NAME}*{i} + 1)" for i in range(1, count + 1))


TEXTS = {
    "dotted key": (BALL + "\n" + ".".join(["a"] * 20_000) + " = 1", "a key may have 16 parts"),
    "dotted header": (BALL + "\n[" + ".".join(["a"] * 20_000) + "]", "a key may have 16 parts"),
    "quoted dotted key": (BALL + "\n" + ".".join(['"a"'] * 20_000) + " = 1", "a key may have 16 parts"),
    "many dotted keys": (BALL + "\n" + "\n".join(f"{'a.' * 14}k{i} = 1" for i in range(40_000)), "60000 keys"),
    "200,000 keys": (BALL + "\n[p2]\n" + "\n".join(f"k{i}=1" for i in range(160_000)), "a file may have 60000 keys"),
    "deep list": (BALL + "\nx = " + "[" * 20_000, "may be 64 deep"),
    "deep table": (BALL + "\nx = " + "{a=" * 20_000, "may be 64 deep"),
    "long list": (BALL + "\nx = [" + "1," * (M // 2) + "]", "50000 entries of lists"),
    "list of texts": (BALL + "\nx = [" + '"",' * (M // 3) + "]", "50000 entries of lists"),
    "list within limits": (BALL + "\nx = [" + ",".join(["1.25"] * 49_000) + "]", "unknown key 'x'"),
    "whole number": (BALL + "\nx = " + "9" * M, "a key or a number may have 400 characters"),
    "hexadecimal": (BALL + "\nx = 0x" + "f" * M, "a key or a number may have 400 characters"),
    "escapes": (BALL + '\nx = "' + "\\n" * (M // 2) + '"', "20000 escapes"),
    "text": (BALL + '\nx = "' + "a" * M + '"', "unknown key 'x'"),
    "text of lines": (BALL + '\nx = """' + "a\n" * (M // 2) + '"""', "unknown key 'x'"),
    "text without end": (BALL + '\nx = """' + 'a""' * (M // 3), "Unterminated|no TOML"),
    "quotes": (BALL + "\n" + '"' * M, "line"),
    "comments": (BALL + "#\n" * (M // 2), None),
    "empty lines": (BALL + "\n" * M, None),
    "long key": (BALL + '\n"' + "k" * M + '" = 1', "unknown key"),
    "parameters": (
        BALL.replace("[parameters]", "[parameters]\n" + "\n".join(f"k{i}=1" for i in range(15_000))),
        "1000",
    ),
    "59 factors": (kinetic(factors("erf", 59)), "derivatives would be too long"),
    "59 factors of a mass": (kinetic(f"{SPEED}**2*{factors('erf', 59)}"), "derivatives would be too long"),
    "factors within limits": (kinetic(factors("erf", 20)), None),
    "tower of exponentials": (kinetic(f"{SPEED}**2*{'exp(' * 20}{NAME}{')' * 20}"), "mass.*finite"),
    "sech of sech": (kinetic(f"{'sech(' * 24}{NAME}{')' * 24}"), "inside sech functions may stand 3 deep"),
    "sech of exponentials": (kinetic(f"sech({'exp(' * 8}{NAME}{')' * 8})"), "inside sech functions may stand 3 deep"),
    "sech of powers": (kinetic(f"sech((sech((sech({NAME}) + 2)**9) + {NAME})**9)"), "functions may stand 3 deep"),
    "sech within limits": (kinetic(f"sech(sqrt(exp(sin({NAME})))**3)"), None),
    "max of max": (kinetic(f"{f'max({NAME}, 2*' * 24}{NAME}{')' * 24}"), "inside max max and min may stand 3 deep"),
    "continued lines": (BALL + '\nx = """' + "\\\n" * (M // 2) + '"""', "20000 escapes"),
    "closing brackets": (BALL + "\n" + "]" * M, "Invalid statement"),
    "blanks that are none": (BALL + "\n" + "\x85" * (M // 2), "Invalid statement"),
    "8 MB": (BALL + "\n" * 8_000_000, "characters, a model file at most 2000000"),
    "vast exponential": (kinetic(f"{SPEED}**2*exp(exp(1e300*({NAME} + 1)))"), "mass.*finite|beyond double"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_an_answer_or_one_line_within_a_second(case):
    text, rule = TEXTS[case]
    begin = time.process_time()
    if rule is None:
        assert model_from_text(text, "any.toml").scenario.dt > 0
    else:
        with pytest.raises(ValueError, match=rule) as error:
            model_from_text(text, "any.toml")
        assert "\n" not in str(error.value) and len(str(error.value)) < 1500
    assert time.process_time() - begin < SECOND


def test_a_limit_is_told_with_its_line_and_strings_do_not_count():
    text = 'a = "[[[[.....,,,,====" # [[[[[.....\nb = """\n' + "[" * 500 + '\n"""\nc = \'' + "." * 100 + "'\n"
    assert set(parse_toml(text, "any.toml")) == {"a", "b", "c"}
    with pytest.raises(ValueError, match=r"any\.toml, line 6: lists and tables may be 64 deep"):
        parse_toml(text + "d = " + "[" * 100, "any.toml")
    assert key_lines(text) == {("a",): 1, ("b",): 2, ("c",): 5}


def test_robot_files_are_read_within_a_second():
    for content in (b"<a>" * 60_000, b"<a" + b" b='1'" * 60_000 + b"/>", b"<a>" + b"<b/>" * 100_000 + b"</a>"):
        begin = time.process_time()
        try:
            parse_xml(content, "any.xml")
        except ValueError as error:
            assert "\n" not in str(error)
        assert time.process_time() - begin < SECOND


BOX = '<geom type="box" size="1 1 1"/>'


def mjcf(inside, behind=""):
    return f"<mujoco><worldbody>{inside}</worldbody>{behind}</mujoco>"


def sdf(inside):
    return f'<sdf version="1.9"><model name="m">{inside}</model></sdf>'


def many(words, k):
    """One of many bodies, each in its place, with words for its shape."""
    return f'<body pos="{3 * k} 0 1"><freejoint/><geom type="box" size="1 1 1" {words}/></body>'


def tag_of(count):
    """A tag with this many attributes."""
    return "<b " + " ".join(f"a{i}='1'" for i in range(count)) + "/>"


FREE = f'<body name="a"><freejoint/>{BOX}</body>'
CONNECT, CLASSED = '<connect body1="a" anchor="0 0 0"/>', '<geom class="c59" size="1"/>'
ROBOTS = {
    "shapes of a body": (mjcf(f"<body>{BOX * 2001}</body>"), "2000 of a kind"),
    "joints that close loops": (
        mjcf(FREE, f"<equality>{CONNECT * 2001}</equality>"),
        "2000 of a kind",
    ),
    "tags": (mjcf(FREE + "<b/>" * 12_000), "12000 tags"),
    "attributes of classes": (
        "<mujoco><default>"
        + "".join(f"<default class='c{i}'><geom a{i}='1' b{i}='1'/>" for i in range(60))
        + "</default>" * 60
        + f"</default><worldbody><body>{CLASSED * 300}</body></worldbody></mujoco>",
        "100 attributes",
    ),
    "attributes of a tag": (mjcf(FREE + tag_of(150_000)), "100 attributes"),
    "attributes of a file": (mjcf(FREE + tag_of(100) * 700), "60000 attributes"),
    "pairs that pass": (mjcf(f"<body>{'<joint/>' * 300}{BOX}</body>"), "20000 pairs"),
    "shapes in one place": (mjcf(f"<body><freejoint/>{BOX * 10}</body>" * 60), None),
    "frictions of their own": (
        mjcf("".join(many(f'friction="{k}e-3"', k) for k in range(1, 1000))),
        "20000 pairs .* fric",
    ),
    "masks of their own": (mjcf("".join(many(f'contype="{2 * k + 1}"', k) for k in range(999))), None),
    "links that do not touch one another": (
        sdf("<self_collide>0</self_collide>" + "".join(f'<link name="l{i}"/>' for i in range(6000))),
        "at most 1000 links",
    ),
    "poses of one another": (
        sdf(
            "".join(f'<link name="l{i}"><pose relative_to="l{i + 1}">0 0 1 0 0 0</pose></link>' for i in range(150))
            + '<link name="l150"/>'
        ),
        None,
    ),
}


@pytest.mark.parametrize("case", ROBOTS)
def test_robots_are_imported_or_refused_within_a_second(case):
    """What took 2 s to minutes within the size of a file: many parts, their pairs, chains of classes and poses."""
    text, rule = ROBOTS[case]
    begin = time.process_time()
    if rule is None:
        assert imported(parse_xml(text.encode(), "any.xml")).text
    else:
        with pytest.raises(ValueError, match=rule) as error:
            imported(parse_xml(text.encode(), "any.xml"))
        assert "\n" not in str(error.value)
    assert time.process_time() - begin < SECOND


def test_formulas_of_a_scene_are_short_together():
    motion = "+".join(f"erf({k}*t)*sin({k}*t)" for k in range(1, 15))
    bodies = "".join(
        f'[[bodies]]\nname = "b{i}"\ntype = "driven"\nmotion = ["{motion}", "0"]\n'
        'shape = {type = "circle", radius = 1}\n'
        for i in range(130)
    )
    text = f'stickslip = 1\nkind = "scene"\nname = "s"\ndim = 2\n[run]\ndt = 1e-3\nt_end = 1.0\n{bodies}'
    with pytest.raises(ValueError, match="formulas of a scene may have 30000 characters together, got"):
        model_from_text(text, "any.toml")


def scene_of_hulls(count, corners):
    """A scene file of bodies that are different hulls, with corners on a sphere."""
    points = np.random.default_rng(1).normal(size=(count, corners, 3))
    points /= np.linalg.norm(points, axis=2)[:, :, None]
    bodies = "".join(
        f'[[bodies]]\nname = "b{i}"\nmass = 1.0\nposition = [{10 * i}.0, 0.0, 0.0]\n'
        f'shape = {{type = "convex-hull", points = {each.round(6).tolist()}}}\n'
        for i, each in enumerate(points)
    )
    return f'stickslip = 1\nkind = "scene"\nname = "s"\ndim = 3\n[run]\ndt = 1e-3\nt_end = 1.0\n{bodies}'


@pytest.mark.parametrize(
    ("count", "corners"),
    [(30, 160), *(pytest.param(*each, marks=pytest.mark.slow) for each in [(100, 160), (1000, 8)])],
)
def test_hulls_of_a_scene_are_made_within_a_second(count, corners):
    text = scene_of_hulls(count, corners)
    begin = time.process_time()
    assert len(model_from_text(text, "any.toml").scenario.scene.bodies) == count + 1
    assert time.process_time() - begin < SECOND


def test_equal_hulls_of_a_file_are_one_and_others_are_counted(monkeypatch):
    monkeypatch.setattr(scene_files, "MOST_HULLS", 2)
    bodies = model_from_text(
        scene_of_hulls(1, 8) + scene_of_hulls(1, 8).split("1.0\n", 1)[1].replace("b0", "b1"), "any"
    )
    assert bodies.scenario.scene.bodies[1].shape is bodies.scenario.scene.bodies[2].shape
    with pytest.raises(ValueError, match=r"bodies\[2\]: a file may have at most 2 different convex hulls"):
        model_from_text(scene_of_hulls(3, 8), "any.toml")


# -- what reaches a terminal -------------------------------------------------------------------------------------------

CONTROLS = ["\x1b]0;pwn\x07", "\x9b31m", "\x7f", "\u202e", "\u2066", "\u2028", "\u200f", "a\nb"]


@pytest.mark.parametrize("text", CONTROLS)
@pytest.mark.parametrize("key", ["name", "title", "source"])
def test_control_characters_in_texts_are_refused(text, key):
    escaped = "".join(f"\\u{ord(c):04x}" for c in text)
    changed = re.sub(rf"^{key} = .*$", "", BALL, count=1, flags=re.MULTILINE).replace(
        "stickslip = 1", f'stickslip = 1\n{key} = "{escaped}"', 1
    )
    with pytest.raises(ValueError, match=f"{key}: a text of visible characters is expected") as error:
        model_from_text(changed, "any.toml")
    assert str(error.value) == printable(str(error.value))


def test_control_characters_in_keys_and_file_names_are_escaped(tmp_path, capsys):
    with pytest.raises(ValueError, match=r"\\x1b") as error:
        model_from_text(BALL + '\n"\\u001b[31m" = 1\n', "any\x1b.toml")
    assert "\x1b" not in str(error.value)
    path = tmp_path / "\x1b]0;x\x07.toml"
    assert main(["check", str(path)]) == 2
    Path(path).write_text(BALL)
    assert read_model(path).scenario.dt > 0
    assert main(["check", str(path)]) == 0 and main(["show", str(path)]) == 0
    output = capsys.readouterr()
    assert "\\x1b]0;x\\x07.toml" in output.err and "\\x1b]0;x\\x07.toml" in output.out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", output.err + output.out)


def test_control_characters_in_robot_files_are_refused():
    for content in ("<mujoco><body name='a&#10;b'/></mujoco>", "<robot name='\u202ea'/>", "<robot name='\u009b'/>"):
        with pytest.raises(ValueError, match="name has the control character"):
            parse_xml(content.encode(), "any.xml")
    assert parse_xml("<robot name='Käfer φ'/>".encode(), "any.xml").text("name") == "Käfer φ"


def test_what_is_escaped():
    assert printable("δ < 0 \u2264 1, Käfer 🪲") == "δ < 0 \u2264 1, Käfer 🪲"
    assert printable("a\x1b[1m\u202e\n\ud800") == "a\\x1b[1m\\u202e\\n\\ud800"
