"""Splits the text form of IR into tokens that know where they stand."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from ...errors import AdstackSyntaxError
from ..location import Loc

__all__ = ["Source", "Token"]

_TOKEN: Final = re.compile(
    r"""
      (?P<space>    [ \t\r]+ | \#[^\n]* )
    | (?P<newline>  \n )
    | (?P<string>   "(?:[^"\\\n]|\\.)*" )
    | (?P<value>    %\w+ )
    | (?P<symbol>   @(?: [A-Za-z_$][\w.$]* | "(?:[^"\\\n]|\\.)*" ) )
    | (?P<number>   [-+]?(?: 0x[0-9a-fA-F]*\.?[0-9a-fA-F]*p[-+]?\d+ | 0x[0-9a-fA-F]+
                  | \d+\.?\d*(?:e[-+]?\d+)? | \.\d+(?:e[-+]?\d+)?
                  | (?:inf|nan)\b ) )
    | (?P<word>     [A-Za-z_][\w.]* )
    | (?P<mark>     -> | [][(){},:=?<>-] )
    """,
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class Token:
    """A piece of text; `kind` is a group of the pattern above, or "end"."""

    kind: str
    text: str
    start: int

    def __str__(self) -> str:
        return {"newline": "the end of the line", "end": "the end of the text"}.get(self.kind, self.text)


class Source:
    """A text and its tokens; errors in it show line, column and caret."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.tokens = list(self._split())

    def _split(self) -> Iterator[Token]:
        """All tokens; line ends within brackets and empty lines are dropped."""
        at, depth, fresh = 0, 0, True
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self.fail(at, 1, f"unexpected character {self.text[at]!r}")
            kind = str(match.lastgroup)
            if kind == "mark":
                depth += (match[0] in "([") - (match[0] in ")]")
            if kind != "space" and not (kind == "newline" and (fresh or depth > 0)):
                yield Token(kind, match[0], at)
                fresh = kind == "newline"
            at = match.end()
        yield Token("end", "", at)

    def fail(self, start: int, length: int, problem: str, note: str = "") -> NoReturn:
        """Raise AdstackSyntaxError for the text at `start`."""
        line = self.text.count("\n", 0, start) + 1
        col = start - (self.text.rfind("\n", 0, start) + 1) + 1
        # the text is no file: what tracebacks and carets are made from is told of it
        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(keepends=True), self.file)
        raise AdstackSyntaxError(problem, loc=Loc(self.file, line, col, line, col + max(length, 1)), note=note)
