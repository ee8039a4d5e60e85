"""The pages of what is not as in Quadrants and Taichi: `python -m adstack.tools.differences [--write]`.

They are made of the tables in reference/absent.py and reference/differing.py. One tells, by reasons, what adstack has
not: reference/spec/differences.md. The other tells of every public name of Quadrants and Taichi what becomes of it:
docs/name_by_name.md. The names stand in files beside this one, as `dir()` of the installed packages lists them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adstack.absent import ABSENT
from adstack.absent_rows import Row
from adstack.differing import DIFFERENT, difference

from .check import ROOT

__all__ = ["NAMES", "PAGE", "by_name", "page", "peer_names", "state"]

PAGE: Final = ROOT / "reference" / "spec" / "differences.md"
NAMES: Final = ROOT / "docs" / "name_by_name.md"
_HERE: Final = Path(__file__).parent
_TOP: Final = """# What is different

Names that Quadrants, Taichi or another library has and adstack has not, why, and what to use instead. Programs that
use one of them are told the same by an `AdstackAttributeError`. Names that adstack has too, and that do not do exactly
the same, follow. [Name by name](../../docs/name_by_name.md) tells what becomes of every public name of both
libraries. The pages are written by `python -m adstack.tools.differences --write`.
"""
_TOP_OF_NAMES: Final = """# Name by name

Every public name of Quadrants {quadrants} and Taichi {taichi}, as `dir()` lists them, and what becomes of it:
it works; it works, with something that is not the same; or it is absent, and an `AdstackAttributeError` says what
stands here. [What is different](../reference/spec/differences.md) has the same by reasons, and [coming from Taichi or
Quadrants](from_taichi.md) has programs. Swizzles of matrices, which work, are left out.

"""


def page() -> str:
    """The text of the page by reasons."""
    absent = (part for owner, rows in ABSENT.items() for part in _table(f"not in {_code(owner)}", rows))
    different = (part for owner, rows in DIFFERENT.items() for part in _table(f"not the same in {_code(owner)}", rows))
    return "".join([_TOP, *absent, *different])


def _table(head: str, rows: tuple[Row, ...]) -> Iterator[str]:
    yield f"\n| {head} | why | instead |\n| --- | --- | --- |\n"
    for row in rows:
        names = " ".join(f"`{name}`" for name in row.names)
        yield f"| {names} | {_cell(row.why)} | {_cell(row.do)} |\n"


def peer_names(peer: str) -> tuple[str, dict[str, list[str]]]:
    """The version of a library, and whose names -> its public names.

    Args:
        peer: "quadrants" or "taichi".
    """
    head, *blocks = (_HERE / f"{peer}_names.txt").read_text("utf-8").split("\n== ")
    parts = (block.split("\n", 1) for block in blocks)
    return head.split(",")[0].split()[-1], {owner: text.split() for owner, text in parts}


def state(owner: str, name: str) -> tuple[str, str]:
    """What becomes of a name: "works", "differs" or "absent", and what is to be known about it.

    Args:
        owner: whose name it is, as in the tables.
        name: a public name of another library.
    """
    for row in ABSENT.get(owner, ()):
        if name in row.names:
            return "absent", _sentence(row)
    differs = difference(owner, name)
    return ("works", "") if differs is None else ("differs", _sentence(differs))


def _sentence(row: Row) -> str:
    return f"{row.why}: {row.do}" if row.do else row.why


def by_name() -> str:
    """The text of the page by names."""
    peers = {peer: peer_names(peer) for peer in ("quadrants", "taichi")}
    parts = [_TOP_OF_NAMES.format(**{peer: version for peer, (version, _) in peers.items()})]
    lists = {peer: names for peer, (_, names) in peers.items()}
    parts += _summary(lists)
    for owner in lists["quadrants"]:
        parts += _names_of(owner, {peer: names.get(owner, []) for peer, names in lists.items()})
    return "".join(parts)


def _summary(lists: dict[str, dict[str, list[str]]]) -> Iterator[str]:
    yield "| | works | differs | absent |\n| --- | --- | --- | --- |\n"
    for peer, names in lists.items():
        count = Counter(state(owner, name)[0] for owner, some in names.items() for name in some)
        yield f"| {peer.capitalize()} | {count['works']} | {count['differs']} | {count['absent']} |\n"


def _names_of(owner: str, lists: dict[str, list[str]]) -> Iterator[str]:
    yield f"\n## Names of {_code(owner)}\n\n| name | in | here | |\n| --- | --- | --- | --- |\n"
    for name in sorted({name for names in lists.values() for name in names}):
        peers = " and ".join(peer.capitalize() for peer, names in lists.items() if name in names)
        here, more = state(owner, name)
        yield f"| `{name}` | {peers} | {here} | {_cell(more)} |\n"


def _code(owner: str) -> str:
    return f"`{owner}`" if owner.isascii() and " " not in owner else owner


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: list[str]) -> None:
    """Prints the pages, or writes them."""
    if arguments == ["--write"]:
        PAGE.write_text(page(), "utf-8")
        NAMES.write_text(by_name(), "utf-8")
    elif arguments:
        sys.exit(f"unknown argument {arguments[0]!r}; there is --write")
    else:
        print(page())
        print(by_name())


if __name__ == "__main__":
    main(sys.argv[1:])
