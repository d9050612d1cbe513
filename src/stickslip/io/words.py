"""Words and numbers of large texts, found in bulk: a file of 8 MB is read in some tenths of a second."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

CHUNK = 2_000_000
"""Bytes of a text that are looked at together, up to the end of a line."""
_LINE, _BLANK = 10, 32
_IS_BLANK = np.zeros(256, bool)
_IS_BLANK[[9, 10, 11, 12, 13, 32]] = True  # as bytes.split has it


class NoNumber(ValueError):
    """A word that is no number; `word` counts from the first one that was asked for."""

    def __init__(self, word: int) -> None:
        super().__init__(f"word {word} is no number")
        self.word = word


def chunks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, text) of pieces of whole lines; all line ends become \\n."""
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    begin, line = 0, 1
    while begin < len(content):
        end = content.find(b"\n", begin + CHUNK) + 1 or len(content)
        text = content[begin:end]
        yield line, text
        begin, line = end, line + text.count(b"\n")


def word_begins(text: np.ndarray) -> np.ndarray:
    """Where each word of a text begins."""
    word = ~_IS_BLANK[text]
    word[1:] &= _IS_BLANK[text[:-1]]
    return np.flatnonzero(word)


class Words:
    """Words of a text, between blanks.

    Attributes
    ----------
    text : its bytes; may be changed before words are read as numbers.
    begins : where each word begins.
    line : the line of each word, from 0.
    place : the place of each word in its line, from 0.
    first : for each line with words, the number of its first word.
    row : for each word, the number of its line among those with words.
    """

    def __init__(self, text: bytes, comment: str = "") -> None:
        self.text = np.frombuffer(text, np.uint8).copy()
        ends = self.text == _LINE
        if comment and comment.encode() in text:
            self._blank_comments(ord(comment), ends)
        word = ~_IS_BLANK[self.text]
        begins = word.copy()
        begins[1:] &= ~word[:-1]
        self._in_word, self._is_begin = word, begins
        self.begins = np.flatnonzero(begins)
        self.line = np.cumsum(ends, dtype=np.int32)[self.begins]
        new = np.ones(len(self.begins), bool)
        new[1:] = self.line[1:] != self.line[:-1]
        self.first = np.flatnonzero(new)
        self.row = np.cumsum(new, dtype=np.int32) - 1
        self.place = np.arange(len(self.begins)) - self.first[self.row]

    def _blank_comments(self, sign: int, ends: np.ndarray) -> None:
        """Overwrite what stands between the sign and the end of its line."""
        marks = np.flatnonzero((self.text == sign) | ends)
        begins = self.text[marks] == sign
        lasts = np.append(marks[1:], len(self.text))  # a sign reaches up to the next one, or to the end of its line
        step = np.zeros(len(self.text) + 1, np.int8)
        np.add.at(step, marks[begins], 1)
        np.add.at(step, lasts[begins], -1)
        self.text[np.cumsum(step[:-1], dtype=np.int8) > 0] = _BLANK

    def __len__(self) -> int:
        return len(self.begins)

    def is_word(self, words: np.ndarray, wanted: bytes) -> np.ndarray:
        """Whether each of these words is this one."""
        padded = np.append(self.text, np.full(len(wanted) + 1, _BLANK, np.uint8))
        found = np.ones(len(words), bool)
        for k, letter in enumerate(wanted):
            found &= padded[self.begins[words] + k] == letter
        return found & _IS_BLANK[padded[self.begins[words] + len(wanted)]]

    def of_byte(self) -> np.ndarray:
        """The word of each byte, or the last one before it; -1 before the first."""
        return np.cumsum(self._is_begin, dtype=np.int32) - 1

    def cut(self, sign: str) -> None:
        """Overwrite what stands in each word from this sign on."""
        marks = self.text == ord(sign)
        if np.any(marks):
            last = np.maximum.accumulate(np.where(marks, np.arange(len(marks), dtype=np.int32), -1))
            word = self.of_byte()
            inside = self._in_word & (last >= 0) & (last >= self.begins.astype(np.int32)[np.maximum(word, 0)])
            self.text[inside] = _BLANK

    def numbers(self, chosen: np.ndarray, kind: type = float) -> np.ndarray:
        """The numbers that the chosen words are, a mask of all words; NoNumber names the first that is none."""
        count = int(np.count_nonzero(chosen))
        if count == 0:
            return np.zeros(0, kind)
        if count == len(self):
            text = self.text
        else:
            keep = chosen[np.maximum(self.of_byte(), 0)] & self._in_word
            text = np.where(keep, self.text, np.uint8(_BLANK))
        return parsed(text, self.begins[chosen], kind)


def parsed(text: np.ndarray, begins: np.ndarray, kind: type = float) -> np.ndarray:
    """Numbers of a text of words that begin at these places; NoNumber names the first that is none."""
    found = _parsed(text.tobytes(), kind, len(begins))
    if found is not None:
        return found
    low, high = 0, len(begins)  # the first half that is wrong holds the first word that is wrong
    while high - low > 1:
        middle = (low + high) // 2
        piece = text[begins[low] : begins[middle]]
        low, high = (low, middle) if _parsed(piece.tobytes(), kind, middle - low) is None else (middle, high)
    raise NoNumber(low)


def _parsed(text: bytes, kind: type, count: int) -> np.ndarray | None:
    """So many numbers; None where the text has anything else."""
    if count == 0 or text.isspace():
        return np.zeros(0, kind) if count == 0 and (not text or text.isspace()) else None
    with warnings.catch_warnings():  # before NumPy 2.4 what is no number ends the text with a warning
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            found: np.ndarray = np.fromstring(text, kind, sep=" ")
        except ValueError:
            return None
    return found if len(found) == count else None
