"""Cheap changes of known inputs: fast enough for millions, and close enough to what is valid to reach deep code."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NUMBERS = (b"0 -1 1e999 1e-320 1e308 nan inf 0x10 1_0 64 65 .5e -0.0 " + b"9" * 30).split()


def mutated(seeds: Sequence[bytes], words: Sequence[bytes], random_: random.Random, longest: int = 65_536) -> bytes:
    """A seed with one to six changes: bytes, words of the format, numbers, pieces of itself and of other seeds."""
    data = bytearray(random_.choice(seeds))
    for _ in range(1 + int(random_.expovariate(0.6))):
        _change(data, seeds, words, random_)
    return bytes(data[:longest])


def _change(data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes], random_: random.Random) -> None:
    place = random_.randint(0, len(data))
    kind = random_.randrange(9)
    if kind == 0 and place < len(data):
        data[place] ^= 1 << random_.randrange(8)
    elif kind == 1:
        data[place : place + random_.randint(0, 4)] = random_.randbytes(random_.randint(0, 4))
    elif kind in (2, 3) and words:
        data[place : place + random_.randint(0, 8)] = random_.choice(words)
    elif kind == 4:
        numbers = list(_NUMBER.finditer(data))
        if numbers:
            chosen = random_.choice(numbers)
            data[chosen.start() : chosen.end()] = random_.choice(NUMBERS)
    elif kind == 5:
        del data[place : place + random_.randint(1, 40)]
    elif kind == 6:
        piece = bytes(data[place : place + random_.randint(1, 60)])
        data[place:place] = piece * random_.choice((1, 1, 2, 40))
    elif kind == 7:
        other = random_.choice(seeds)
        begin = random_.randint(0, len(other))
        data[place : place + random_.randint(0, 60)] = other[begin : begin + random_.randint(0, 60)]
    else:
        del data[random_.randint(0, len(data)) :]
