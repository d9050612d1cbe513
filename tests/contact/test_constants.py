"""The file of constants: each name once, and a comment that says what it was measured on or why it was chosen."""

import ast
from collections import Counter
from pathlib import Path

from stickslip.contact import constants


def names() -> list[str]:
    """Names that the file assigns, as often as it does."""
    tree, found = ast.parse(Path(constants.__file__).read_text()), []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                found += [part.id for part in parts if isinstance(part, ast.Name)]
    return found


def test_no_constant_has_the_name_of_another():
    """A second value under a name would reach those who mean the first."""
    assert [name for name, count in Counter(names()).items() if count > 1] == []


def test_there_are_no_more_constants_than_before():
    """Fewer than 40 are wanted.  The number may fall."""
    assert len(names()) <= 67
