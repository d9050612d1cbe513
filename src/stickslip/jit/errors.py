"""What the translator says of a kernel that is not in the language."""

from __future__ import annotations


class KernelError(Exception):
    """A kernel cannot be translated: file, line and source of the place, the rule, and what helps."""

    def __init__(self, rule: str, place: str = "") -> None:
        super().__init__(f"{place}: {rule}" if place else rule)
        self.rule, self.place = rule, place
