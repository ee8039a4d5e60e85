"""The changes after which the program does the same, each with the reason: what no test can notice.

They stand in text files, one paragraph each: the row and the change as the file of results names them, then the reason.

    @ sizing/expr.py fold: `a < b` to `a <= b`
    Where both are equal, either branch gives that number.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["equivalents"]

_FILE = Path(__file__).with_name("equivalent.txt")


@cache
def equivalents(file: Path = _FILE) -> dict[tuple[str, str], str]:
    """The reason by row and change.

    Raises:
        ValueError: a paragraph has no reason, or no change.
    """
    reasons: dict[tuple[str, str], str] = {}
    for paragraph in file.read_text().split("\n@ ")[1:]:
        title, _, reason = paragraph.partition("\n")
        row, colon, change = title.partition(": ")
        words = " ".join(line for line in reason.split("\n") if not line.startswith(("#", "=")))
        if not colon or not words.split():
            raise ValueError(f"{file.name}: {title!r} lacks a change or a reason")
        reasons[row, change] = " ".join(words.split())
    return reasons
