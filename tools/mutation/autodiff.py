"""The edits that are written by hand, and the tests that are to notice them.

They are about derivatives, reverse mode, the plan of sums, what is known of memory, and lanes that update it singly.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from .edits import Edit, StaleEditError, applied, located, read_edits
from .mutants import Mutant
from .patches import patch
from .rules import FILE, rules
from .run import ROOT, Wrong, file_of

__all__ = ["TESTS", "edits", "mutants_of", "order", "stale"]

REFERENCE: Final = ROOT / "reference"
TESTS: Final = (
    "ir/test_derivatives",
    "analysis/test_accumulation",
    "analysis/test_strides",
    "analysis/test_uniformity",
    "transforms/test_guard",
    "transforms/test_hold",
    "transforms/test_gather",
    "transforms/test_jam",
    "transforms/math/test_lower",
    "interpreter/test_ordered",
    "autodiff/test_*",
    "gradients/test_*",
    "kernels/test_gradient",
    "interpreter/test_tape*",
    "conformance/test_gradients",
    "runtime/test_rows",
    "runtime/test_watches",
    "runtime/test_overlaps",
    "backends/codegen_llvm/test_scattered",
    "backends/codegen_llvm/test_one_by_one",
    "backends/codegen_llvm/test_access",
    "backends/codegen_llvm/test_versioning",
    "backends/codegen_llvm/test_checks",
    "backends/codegen_llvm/test_deferred",
    "backends/codegen_spirv/test_unguarded",
    "backends/cuda/test_guards",
    "../../tools/mutation/cases",
)
LIKELY: Final = {
    "ir/scalar_ops.py*": ("ir/test_derivatives",),
    "derivative of *": ("ir/test_derivatives",),
    "analysis/accumulation.py*": ("analysis/test_accumulation",),
    "analysis/exclusivity.py*": ("analysis/test_accumulation",),
    "analysis/reductions.py*": ("analysis/test_accumulation",),
    "analysis/uniformity.py*": ("analysis/test_uniformity",),
    "analysis/strides.py*": ("analysis/test_strides",),
    "runtime/assume.py*": ("transforms/test_guard",),
    "backends/codegen_spirv/unguarded.py*": ("backends/codegen_spirv/test_unguarded",),
    "analysis/induction.py*": ("backends/codegen_spirv/test_unguarded",),
    "analysis/subscripts.py*": ("analysis/test_accumulation",),
    "transforms/loops/hold.py*": ("transforms/test_hold",),
    "transforms/tasks/gather*.py*": ("transforms/test_gather",),
    "transforms/tasks/jam.py*": ("transforms/test_jam",),
    "transforms/math/lower.py*": ("transforms/math/test_lower",),
    "interpreter/ordered.py*": ("interpreter/test_ordered",),
    "gradients/modes/apart.py*": ("gradients/test_apart",),
    "kernels/noted.py*": ("gradients/test_apart",),
    "runtime/memory/rows.py*": ("runtime/test_rows",),
    "runtime/memory/overlaps.py*": ("runtime/test_overlaps",),
    "runtime/memory/watches.py*": ("runtime/test_watches", "gradients/test_recomputed"),
    "runtime/memory/provenance.py*": ("gradients/test_recomputed",),
    "runtime/plans.py*": ("runtime/test_watches",),
    "backends/codegen_llvm/loops/*": ("backends/codegen_llvm/test_versioning",),
    "backends/codegen_llvm/*": ("backends/codegen_llvm/*",),
    "gradients/memory/undo.py*": ("gradients/test_undo",),
    "gradients/tapes/aliases.py*": ("gradients/test_memory_by_two_names",),
    "gradients/memory/needed.py*": ("gradients/test_undo",),
    "gradients/*": ("gradients/test_tape", "gradients/test_custom", "kernels/test_gradient"),
    "*/activity.py*": ("autodiff/test_activity",),
    "*/mincut.py*": ("autodiff/test_mincut",),
    "*/order.py*": ("autodiff/test_conflicts",),
    "*/conflicts.py*": ("autodiff/test_conflicts",),
    "*/replay.py*": ("autodiff/test_replay",),
    "*/repeat.py*": ("autodiff/test_locals", "autodiff/test_replay"),
    "*/versions.py*": ("autodiff/test_versions", "autodiff/test_locals"),
    "*/before.py*": ("autodiff/test_before",),
    "*/parts.py*": ("autodiff/test_parts",),
    "*/access.py*": ("autodiff/test_access", "gradients/test_access"),
    "*/updates.py*": ("autodiff/test_updates", "autodiff/test_journal"),
    "*/journal*.py*": ("autodiff/test_journal", "gradients/test_journal"),
    "*/seen.py*": ("autodiff/test_seen",),
    "*/origins.py*": ("autodiff/test_seen", "autodiff/test_needed"),
    "*/needed.py*": ("autodiff/test_needed",),
    "*/checkpointing/schedule.py*": ("autodiff/test_checkpoint_schedule",),
    "*/checkpointing/loops.py*": (
        "autodiff/test_checkpoint_state",
        "autodiff/test_checkpoint_plan",
        "autodiff/test_checkpoint_logs",
    ),
    "*/checkpointing/refusals.py*": ("autodiff/test_checkpoint_state",),
    "*/checkpointing/snapshots.py*": ("autodiff/test_checkpoint", "gradients/test_checkpointed"),
    "*/checkpointing/slabs.py*": ("autodiff/test_checkpoint_state",),
    "*/checkpointing/cells.py*": ("autodiff/test_checkpoint_state", "gradients/test_checkpointed"),
    "*/checkpointing/blocks.py*": (
        "autodiff/test_checkpoint",
        "autodiff/test_checkpoint_logs",
        "gradients/test_checkpointed",
    ),
    "*/planning/*": ("autodiff/test_reverse_plan", "autodiff/test_reverse"),
    "*": ("autodiff/test_plan", "autodiff/test_backward", "autodiff/test_reverse"),
}
"""Per row, the files of tests to try first."""


def edits(reference: Path = REFERENCE) -> list[Edit]:
    """All of them; those of derivatives follow the table."""
    texts = sorted(Path(__file__).with_name("wrong").glob("*.txt"))
    return [*rules((reference / FILE).read_text()), *(edit for text in texts for edit in read_edits(text))]


def stale(reference: Path = REFERENCE) -> list[str]:
    """What is wrong with edits: snippets that are gone, and edits of one row with one name."""
    all_edits = edits(reference)
    wrong = [problem for edit in all_edits if (problem := _problem(edit, reference))]
    names = [(edit.row, edit.change) for edit in all_edits]
    return wrong + [f"{row}: {change}: twice" for row, change in sorted({n for n in names if names.count(n) > 1})]


def _problem(edit: Edit, reference: Path) -> str:
    try:
        applied(located(edit.file, reference).read_text(), edit)
    except StaleEditError as error:
        return str(error)
    return ""


def mutants_of(edits: list[Edit]) -> list[Mutant]:
    """What makes the edits in a process."""
    return [Mutant(edit.row, edit.change, patch(edit, REFERENCE)) for edit in edits]


def order(hints: Mapping[tuple[str, str], str]) -> Callable[[pytest.Item, Wrong], int]:
    """Which tests to run first: what killed a change the last time, then those of what it changes."""

    def place(item: pytest.Item, mutant: Wrong) -> int:
        if item.nodeid == hints.get((mutant.row, mutant.change)):
            return 0
        return 1 if _is_likely(file_of(item), mutant.row) else 2

    return place


@cache
def _is_likely(file: str, row: str) -> bool:
    likely = next(tests for pattern, tests in LIKELY.items() if fnmatch.fnmatch(row, pattern))
    return any(fnmatch.fnmatch(file, pattern) for pattern in likely)
