"""Text with values in it: what a print writes, and the message of an assert.

A text is a sequence of parts: a str stands for itself, None for the next value as Python prints it, a `Format` for the
next value as Python formats it. In a text that is one string, as the message of an assert, `{}` and `{:spec}` stand for
values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, Union

__all__ = ["Format", "Part", "as_message", "count", "escaped", "local_array", "parts_of"]


@dataclass(frozen=True)
class Format:
    """A value among the parts of a text.

    Attributes:
        spec: a format specification of Python, like ".3f"; without braces.
    """

    spec: str

    @property
    def keeps_digits(self) -> bool:
        """Whether it leaves the digits of a float as they are, and says only how to place them."""
        return _DIGITS.search(self.spec) is None


Part: TypeAlias = Union[str, Format, None]  # noqa: UP007 - an alias is evaluated, in Python 3.10 too

_DIGITS: Final = re.compile(r"\.\d|[eEfFgGn%]$")
_HOLE: Final = re.compile(r"\{(?::([^{}]+))?\}")


def parts_of(message: str) -> tuple[Part, ...]:
    """The parts of a text that is one string."""
    parts: list[Part] = []
    at = 0
    for hole in _HOLE.finditer(message):
        parts += [message[at : hole.start()], Format(hole[1]) if hole[1] else None]
        at = hole.end()
    return tuple(part for part in (*parts, message[at:]) if part != "")


def as_message(parts: Iterable[Part]) -> str:
    """The text as one string."""
    return "".join(escaped(p) if isinstance(p, str) else "{}" if p is None else f"{{:{p.spec}}}" for p in parts)


def escaped(text: str) -> str:
    """Text without what would stand for a value."""
    return _HOLE.sub(lambda hole: "{ " + hole[0][1:], text)


def local_array(name: str) -> str:
    """What messages call an array inside of a thread."""
    return f"a local array ({name})" if name else "a local array"


def count(parts: Iterable[Part]) -> int:
    """How many values the parts of a text stand for."""
    return sum(not isinstance(part, str) for part in parts)
