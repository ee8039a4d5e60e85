"""Texts that programs write into pages, each between two comments that say so."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Marked"]


@dataclass(frozen=True)
class Marked:
    """A place in a page.

    Attributes:
        name: of the place, one in the page.
        command: what writes it.
    """

    name: str
    command: str

    @property
    def begin(self) -> str:
        """The comment before the text."""
        return f"<!-- {self.name}: written by {self.command} -->"

    @property
    def end(self) -> str:
        """The comment behind it."""
        return f"<!-- {self.name}: end -->"

    def put(self, page: str, text: str) -> str:
        """The page with this text in the place; ValueError if the page has no such place."""
        before, begin, rest = page.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            raise ValueError(f"the page lacks {self.begin} or {self.end}")
        return f"{before}{self.begin}\n{text}\n{self.end}{after}"

    def serve(self, arguments: Sequence[str], page: Path, text: str) -> None:
        """What the command does with its arguments: without any print the text, with `--write` write it into the page.

        SystemExit for others.
        """
        if list(arguments) == ["--write"]:
            page.write_text(self.put(page.read_text("utf-8"), text), "utf-8")
        elif arguments:
            sys.exit(f"unknown argument {arguments[0]!r}; there is --write")
        else:
            print(text)
