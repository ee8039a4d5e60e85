"""Source locations: every op, error and divergence report names one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loc:
    """A span of source text.

    Attributes:
        file: path as Python knows it.
        line: 1-based.
        col: 1-based column of the first character.
        end_line, end_col: 1-based position just past the last character, or 0 if unknown.
        caller: where the function that holds this text was inlined, or None.
    """

    file: str
    line: int
    col: int = 1
    end_line: int = 0
    end_col: int = 0
    caller: Loc | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


UNKNOWN = Loc("<unknown>", 0, 0)
