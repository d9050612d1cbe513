"""Hook of MkDocs: formulas between dollar signs become MathML, which browsers draw without a script and offline.

In tables numbers such as 2e-4 are held together: a browser breaks a line after their hyphen. Names in code may break
behind their slashes, underlines, dots and brackets, and nowhere else.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAYED = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
_RELATION = re.compile("<mi>&#x(027C2|027FA);</mi>")  # perpendicular, equivalent: read as names of variables

_CELL = re.compile(r"<t([dh])\b.*?</t\1>", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])(\d[\d.]*e-\d+)(?!\w)(?![^<]*>)")
_CODE = re.compile(r"(?<=<code>)[^<]*(?=</code>)")
_JOINT = re.compile(r"[/_=]+|\((?!\))|(?<=[a-z]{3})\.(?=[A-Za-z_])")


def formula(latex: str, display: str) -> str:
    """A formula as MathML; `display` is `inline` or `block`."""
    try:
        drawn = convert(html.unescape(latex).strip(), display=display)
    except Exception as error:
        raise ValueError(f"a formula of the documentation cannot be drawn: {latex.strip()!r} ({error})") from error
    drawn = _RELATION.sub(r'<mo lspace="0.28em" rspace="0.28em">&#x\1;</mo>', drawn)
    return drawn if display == "inline" else f'<div class="formula">{drawn}</div>'


def cell(found: re.Match[str]) -> str:
    """A cell of a table whose numbers and names break in the right places."""
    broken = _CODE.sub(lambda code: _JOINT.sub(r"\g<0><wbr>", code[0]), found[0])
    return _NUMBER.sub(r'<span class="number">\1</span>', broken)


def on_page_content(content: str, **_: Any) -> str:
    """Formulas of a page, drawn, and its tables."""
    content = _CELL.sub(cell, content)
    content = _DISPLAYED.sub(lambda found: formula(found[1], "block"), content)
    return _INLINE.sub(lambda found: formula(found[1], "inline"), content)
