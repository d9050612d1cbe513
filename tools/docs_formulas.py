"""Hook of MkDocs: formulas between dollar signs become MathML, which browsers draw without a script and offline."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAYED = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
_RELATION = re.compile("<mi>&#x(027C2|027FA);</mi>")  # perpendicular, equivalent: read as names of variables


def formula(latex: str, display: str) -> str:
    """A formula as MathML; `display` is `inline` or `block`."""
    try:
        drawn = convert(html.unescape(latex).strip(), display=display)
    except Exception as error:
        raise ValueError(f"a formula of the documentation cannot be drawn: {latex.strip()!r} ({error})") from error
    drawn = _RELATION.sub(r'<mo lspace="0.28em" rspace="0.28em">&#x\1;</mo>', drawn)
    return drawn if display == "inline" else f'<div class="formula">{drawn}</div>'


def on_page_content(content: str, **_: Any) -> str:
    """Formulas of a page, drawn."""
    content = _DISPLAYED.sub(lambda found: formula(found[1], "block"), content)
    return _INLINE.sub(lambda found: formula(found[1], "inline"), content)
