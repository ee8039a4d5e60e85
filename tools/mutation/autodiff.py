"""The edits of derivatives and of reverse mode, and the tests that are to notice them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from .edits import Edit, StaleEditError, applied, read_edits
from .mutants import Mutant
from .patches import patch
from .rules import FILE, rules
from .run import ROOT, Wrong

__all__ = ["TESTS", "edits", "mutants_of", "order", "stale"]

REFERENCE: Final = ROOT / "reference"
TESTS: Final = (
    "test_ir_derivatives",
    "test_transforms_autodiff_*",
    "test_lang_ad_*",
    "test_lang_gradient",
    "test_interpreter_tape*",
    "test_conformance_gradients",
    "../../tools/mutation/cases",
)
LIKELY: Final = {
    "ir/derivatives.py*": ("test_ir_derivatives",),
    "derivative of *": ("test_ir_derivatives",),
    "gradients/memory/undo.py*": ("test_lang_ad_undo",),
    "gradients/memory/guarded.py*": ("test_lang_ad_undo",),
    "gradients/*": ("test_lang_ad_tape", "test_lang_ad_custom", "test_lang_gradient"),
    "*/activity.py*": ("test_transforms_autodiff_activity",),
    "*/mincut.py*": ("test_transforms_autodiff_mincut",),
    "*/order.py*": ("test_transforms_autodiff_conflicts",),
    "*/conflicts.py*": ("test_transforms_autodiff_conflicts",),
    "*/replay.py*": ("test_transforms_autodiff_replay",),
    "*/repeat.py*": ("test_transforms_autodiff_locals", "test_transforms_autodiff_replay"),
    "*/versions.py*": ("test_transforms_autodiff_versions", "test_transforms_autodiff_locals"),
    "*/before.py*": ("test_transforms_autodiff_before",),
    "*/parts.py*": ("test_transforms_autodiff_parts",),
    "*/access.py*": ("test_transforms_autodiff_access", "test_lang_ad_access"),
    "*/updates.py*": ("test_transforms_autodiff_updates", "test_transforms_autodiff_journal"),
    "*/journal*.py*": ("test_transforms_autodiff_journal", "test_lang_ad_journal"),
    "*/seen.py*": ("test_transforms_autodiff_seen",),
    "*/origins.py*": ("test_transforms_autodiff_seen", "test_transforms_autodiff_needed"),
    "*/needed.py*": ("test_transforms_autodiff_needed",),
    "*/checkpointing/schedule.py*": ("test_transforms_autodiff_checkpoint_schedule",),
    "*/checkpointing/site.py*": (
        "test_transforms_autodiff_checkpoint_state",
        "test_transforms_autodiff_checkpoint_plan",
    ),
    "*/checkpointing/snapshots.py*": ("test_transforms_autodiff_checkpoint", "test_lang_checkpointed"),
    "*/checkpointing/cells.py*": ("test_transforms_autodiff_checkpoint_state", "test_lang_checkpointed"),
    "*/checkpointing/blocks.py*": ("test_transforms_autodiff_checkpoint", "test_lang_checkpointed"),
    "*": ("test_transforms_autodiff_plan", "test_transforms_autodiff_backward", "test_transforms_autodiff_reverse"),
}
"""Per row, the files of tests to try first."""


def edits(reference: Path = REFERENCE) -> list[Edit]:
    """All of them; those of derivatives follow the table."""
    texts = sorted(Path(__file__).with_name("wrong").glob("*.txt"))
    return [*rules((reference / FILE).read_text()), *(edit for text in texts for edit in read_edits(text))]


def stale(reference: Path = REFERENCE) -> list[str]:
    """What is wrong with edits: snippets that are gone, and edits of one row with one name."""
    found = edits(reference)
    wrong = [told for edit in found if (told := _problem(edit, reference))]
    names = [(edit.row, edit.change) for edit in found]
    return wrong + [f"{row}: {change}: twice" for row, change in sorted({n for n in names if names.count(n) > 1})]


def _problem(edit: Edit, reference: Path) -> str:
    try:
        applied((reference / edit.file).read_text(), edit)
    except StaleEditError as error:
        return str(error)
    return ""


def mutants_of(found: list[Edit]) -> list[Mutant]:
    """What makes the edits in a process."""
    return [Mutant(edit.row, edit.change, patch(edit, REFERENCE)) for edit in found]


def order(hints: Mapping[tuple[str, str], str]) -> Callable[[pytest.Item, Wrong], int]:
    """Which tests to run first: what killed a change the last time, then those of what it changes."""

    def place(item: pytest.Item, mutant: Wrong) -> int:
        if item.nodeid == hints.get((mutant.row, mutant.change)):
            return 0
        return 1 if _is_likely(item.path.stem, mutant.row) else 2

    return place


@cache
def _is_likely(file: str, row: str) -> bool:
    likely = next(tests for pattern, tests in LIKELY.items() if fnmatch.fnmatch(row, pattern))
    return any(fnmatch.fnmatch(file, pattern) for pattern in likely)
