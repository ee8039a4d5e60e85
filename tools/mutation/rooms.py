"""The rooms that are changed by operators, how many changes are drawn in each, and the tests that are to notice."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from .edits import BESIDE, Edit
from .operators import Operated, drawn, operated
from .run import ROOT

__all__ = ["ROOMS", "Room", "candidates", "room_edits", "room_of"]

_CASES: Final = "../../tools/mutation/"


@dataclass(frozen=True)
class Room:
    """Sources that belong together.

    Attributes:
        name: what results call it.
        files: patterns of paths, as edits name them.
        count: how many changes are drawn from all there could be.
        tests: files of tests, by patterns.
    """

    name: str
    files: tuple[str, ...]
    count: int
    tests: tuple[str, ...]


ROOMS: Final = (
    Room(
        "sizing",
        ("sizing/*.py",),
        60,
        (
            "sizing/test_*",
            "autodiff/test_journal",
            "runtime/test_adstack*",
            "runtime/test_sizes",
            f"{_CASES}cases_sized",
        ),
    ),
    Room(
        "heap layout",
        ("runtime/adstacks/*.py", "backends/cpu/adstacks.py"),
        60,
        (
            "runtime/test_adstack*",
            "runtime/test_budget",
            "runtime/test_heap",
            "backends/cpu/test_adstacks",
            "runtime/test_plans",
            "sizing/test_claims",
            f"{_CASES}cases_sized",
        ),
    ),
    Room(
        "launch record",
        ("gradients/launches/*.py",),
        60,
        (
            "gradients/test_records",
            "gradients/test_inputs",
            "gradients/test_tape",
            "gradients/test_returned",
            "kernels/test_gradient",
            "kernels/test_reverse_shortcut",
            "kernels/test_graph",
            "gradients/test_*",
            f"{_CASES}cases_launches",
        ),
    ),
    Room(
        "reverse mode",
        ("autodiff/reverse.py", "autodiff/emission/*.py", "autodiff/overwrite/*.py", "autodiff/checkpointing/*.py"),
        60,
        ("autodiff/test_*", "gradients/test_*", f"{_CASES}cases_reference"),
    ),
    Room(
        "planning",
        ("autodiff/planning/*.py", "autodiff/saving/*.py", "autodiff/activities/*.py", "transforms/tasks/gather*.py"),
        60,
        ("autodiff/test_*", "transforms/test_gather", "analysis/test_accumulation", f"{_CASES}cases_reference"),
    ),
    Room(
        "LLVM generator",
        ("backends/codegen_llvm/**/*.py",),
        60,
        (
            "backends/codegen_llvm/test_*",
            "backends/cpu/test_codegen",
            "backends/cuda/test_guards",
            "backends/cuda/test_threads",
            f"{_CASES}cases_cpu",
        ),
    ),
    Room(
        "SPIR-V generator",
        ("backends/codegen_spirv/**/*.py",),
        60,
        ("backends/codegen_spirv/test_*", f"{_CASES}cases_vulkan"),
    ),
)


def room_edits() -> list[Edit]:
    """The changes that are drawn, room by room."""
    return [edit for room in ROOMS for edit in drawn(_all_of(room), room.count)]


def candidates() -> Mapping[str, int]:
    """How many changes there could be in each room."""
    return {room.name: len(_all_of(room)) for room in ROOMS}


def room_of(row: str) -> Room:
    """The room of the file that a row of results begins with."""
    file = row.partition(" ")[0]
    patterns = ((room, pattern.replace("**/", "")) for room in ROOMS for pattern in room.files)
    return next(room for room, pattern in patterns if fnmatch.fnmatch(file, pattern))


@cache
def _all_of(room: Room) -> list[Operated]:
    changes: list[Operated] = []
    for pattern in room.files:
        base = ROOT if pattern.startswith(BESIDE) else ROOT / "reference"
        for path in sorted(base.glob(pattern)):
            changes += operated(path.read_text(), path.relative_to(base).as_posix())
    return changes
