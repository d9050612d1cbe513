"""The file of constants: each name once, no more than there were, and no numbers beside it that nobody knows of."""

import ast
from collections import Counter
from pathlib import Path

from stickslip.contact import constants

ROOM = Path(constants.__file__).parent
KNOWN = {
    # promises: what counts as solved, and what a method may be asked for
    "residual": {"ROUNDINGS", "MOST_ROUNDING", "RUNAWAY", "SPLIT", "VELOCITY", "NATURAL_MAP"},
    "solve": {"TOLERANCE"},
    "method": {"ENDLESS", "SILENT"},
    "enumeration": {"STARTS"},
    "pyramid": {"LARGEST", "PERTURBATIONS"},
    "alternating": {"INNER_LIMIT"},
    "on_bodies": {"IN_VAIN"},
    "wedged": {"EDGES"},
    # limits of double precision
    "blocks": {"SINGULAR"},
    "joints": {"RANK_TOLERANCE"},
    "problem": {"SMALLEST", "LIGHTEST"},
    "one_contact": {"SCAN", "NEWTON_STEPS", "FAR"},
    "spatial_contact": {"FLAT", "ANGLES", "DISC", "POLYGON", "POWER"},
    "any_section": {"_DIRECTIONS"},
    "two_contacts": {"ROUNDS", "NEARLY_SINGULAR", "ROUNDING", "ALL", "NORMALS", "FREE", "STICK", "UP", "DOWN"},
    # sizes and places
    "delassus": {"LARGEST_BLOCK", "COLUMNS_AT_ONCE"},
    "pool": {"SMALL", "SMALL_WHOLE", "SMALL_TRUTHS"},
    "gauss_seidel": {"F", "F_BEFORE", "G_BEFORE", "X"},
    "planar_lcp": {"NORMAL", "RIGHT", "LEFT"},
    "tree_laws": {"OPEN", "STICK", "SLIP"},
    "tree_problem": {"OUTSIDE"},
}
"""Numbers of the room that were not chosen by measuring, by file."""


def numbers(file: Path) -> list[str]:
    """Names at the top of a file that are given numbers, as often as they are."""
    found = []
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                found += [name.id for name, value in pairs if isinstance(name, ast.Name) and is_number(value)]
    return found


def is_number(value: ast.expr) -> bool:
    """Whether a value is made of numbers alone."""
    plain = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)
    words = [node for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return not words and all(isinstance(node, plain) for node in ast.walk(value))


def test_no_constant_has_the_name_of_another():
    """A second value under a name would reach those who mean the first."""
    assert [name for name, count in Counter(numbers(ROOM / "constants.py")).items() if count > 1] == []


def test_there_are_no_more_constants_than_before():
    """Fewer than 40 are wanted.  The number may fall."""
    assert len(numbers(ROOM / "constants.py")) <= 39


def test_numbers_chosen_by_measuring_stand_in_one_file():
    """Files of the room have numbers of their own only where these are known to be promises, limits or sizes."""
    files = [file for file in ROOM.glob("*.py") if file.stem not in ("constants", "rounding", "effort")]
    found = {file.stem: set(numbers(file)) for file in files}
    assert {stem: names for stem, names in found.items() if names} == KNOWN
