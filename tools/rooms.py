"""The picture of the rooms and of what each imports, made from the sources: `python -m adstack.tools.rooms [--write]`.

It is printed, or written into reference/README.md between the two marks there; a test compares. Every import counts,
also those of types and those inside of functions. Arrows that follow from others are left out (transitive reduction).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from .check import BESIDE_REFERENCE, ROOT
from .marked import Marked

__all__ = ["PAGE", "PICTURE", "PUBLIC", "arrows", "imported", "picture", "reduced", "room_of", "rooms"]

PAGE: Final = ROOT / "reference" / "README.md"
PICTURE: Final = Marked("rooms", "python -m adstack.tools.rooms --write")
PUBLIC: Final = "adstack"
"""The room that `import adstack` opens: reference/__init__.py."""
HOUSES: Final = {"reference": "adstack", "backends": "adstack.backends"}
"""Folders whose packages are rooms; conformance and tools are a room each."""
Arrows = Mapping[str, frozenset[str]]


def rooms() -> dict[str, Path]:
    """Rooms by their dotted names, with their folders."""
    folders = {name: ROOT / name.split(".")[1] for name in ("adstack.conformance", "adstack.tools")}
    for house, name in HOUSES.items():
        for folder in sorted((ROOT / house).iterdir()):
            if (folder / "__init__.py").is_file():
                folders[f"{name}.{folder.name}"] = folder
    return folders


def imported(source: str, package: str) -> Iterator[str]:
    """The dotted names that a module imports, anywhere in it; `package` is the one that the module stands in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            stem = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def room_of(name: str, folders: Mapping[str, Path]) -> str | None:
    """The room in which a dotted name lives; None for what is of others, and for modules that stand in no room."""
    parts = name.split(".")
    if parts[0] != PUBLIC:
        return None
    for length in (3, 2):
        if ".".join(parts[:length]) in folders:
            return ".".join(parts[:length])
    is_module = parts[1:] and (parts[1] in BESIDE_REFERENCE or (ROOT / "reference" / f"{parts[1]}.py").is_file())
    return None if is_module else PUBLIC


def arrows() -> Arrows:
    """For each room those that it imports."""
    folders = rooms()
    imports: dict[str, set[str]] = {name: set() for name in (PUBLIC, *folders)}
    for name, folder in folders.items():
        for path in folder.rglob("*.py"):
            if ROOT / "conformance" / "tests" not in path.parents:
                package = ".".join([name, *path.parent.relative_to(folder).parts])
                imports[name].update(filter(None, (room_of(n, folders) for n in imported(path.read_text(), package))))
    public = (ROOT / "reference" / "__init__.py").read_text()
    imports[PUBLIC].update(filter(None, (room_of(name, folders) for name in imported(public, PUBLIC))))
    return {name: frozenset(to - {name}) for name, to in imports.items()}


def reached(start: str, graph: Arrows) -> frozenset[str]:
    """All rooms that one leads to."""
    seen: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        room = waiting.pop()
        if room not in seen:
            seen.add(room)
            waiting += graph[room]
    return frozenset(seen)


def reduced(graph: Arrows) -> Arrows:
    """The fewest arrows by which each room leads to the same rooms. The graph must have no circle."""
    beyond = {room: reached(room, graph) for room in graph}
    if circular := [room for room in graph if room in beyond[room]]:
        raise ValueError(f"these rooms import each other in a circle: {', '.join(sorted(circular))}")
    return {room: frozenset(to - {far for near in to for far in beyond[near]}) for room, to in graph.items()}


def picture(graph: Arrows) -> str:
    """The rooms and arrows in Mermaid's notation."""
    short = {room: room.rsplit(".", 1)[-1] for room in graph}
    inside = [room for room in graph if room.startswith(f"{HOUSES['backends']}.")]
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"    {short[room]}" for room in graph if room not in inside]
    lines += ["    subgraph backends", *(f"        {short[room]}" for room in inside), "    end"]
    lines += [f"    {short[room]} --> {short[to]}" for room in graph for to in sorted(reduced(graph)[room])]
    return "\n".join([*lines, "```"])


def main(arguments: list[str]) -> None:
    """Prints the picture, or writes it into the page."""
    PICTURE.serve(arguments, PAGE, picture(arrows()))


if __name__ == "__main__":
    main(sys.argv[1:])
