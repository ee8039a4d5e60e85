"""The page of what other libraries have and adstack has not: `python -m adstack.tools.differences [--write]`.

It is made of the table in reference/absent.py, and printed, or written as reference/spec/differences.md.
"""

from __future__ import annotations

import sys
from typing import Final

from adstack.absent import ABSENT

from .check import ROOT

__all__ = ["PAGE", "page"]

PAGE: Final = ROOT / "reference" / "spec" / "differences.md"
_TOP: Final = """# What is different

Names that Quadrants, Taichi or another library has and adstack has not, why, and what to use instead. Programs that
use one of them are told the same by an `AdstackAttributeError`. The page is written by
`python -m adstack.tools.differences --write`.
"""


def page() -> str:
    """The text of the page."""
    parts = [_TOP]
    for owner, rows in ABSENT.items():
        parts += [f"\n| not in {_code(owner)} | why | instead |\n| --- | --- | --- |\n"]
        for row in rows:
            names = " ".join(f"`{name}`" for name in row.names)
            parts += [f"| {names} | {_cell(row.why)} | {_cell(row.do)} |\n"]
    return "".join(parts)


def _code(owner: str) -> str:
    return f"`{owner}`" if owner.isascii() and " " not in owner else owner


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: list[str]) -> None:
    """Prints the page, or writes it."""
    if arguments == ["--write"]:
        PAGE.write_text(page())
    elif arguments:
        sys.exit(f"unknown argument {arguments[0]!r}; there is --write")
    else:
        print(page())


if __name__ == "__main__":
    main(sys.argv[1:])
