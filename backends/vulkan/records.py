"""Memory for what the launches of a program report."""

from __future__ import annotations

from collections.abc import Callable

from adstack.backends.shared.outside import only_guards
from adstack.backends.shared.own_size import own_size
from adstack.backends.shared.reports import OVERFLOW, PRINT_WORDS
from adstack.backends.shared.sites import record_words
from adstack.ir.types import DType, i64, u64

from .executable import Executable
from .layout import Piece, mapped

__all__ = ["add_records"]


def add_records(
    executable: Executable, piece: Callable[[int, DType], Piece], watch: Callable[[Executable, Piece], None]
) -> None:
    """Give a program what it needs.

    Args:
        executable: the program.
        piece: gives so many zeroed elements that the host sees.
        watch: has a record looked at that belongs to no launch in particular, and gives its memory back when nobody
            looks any more.
    """
    context, kinds = executable.context, {site.kind for site in executable.emitted.sites}
    if executable.options.debug or kinds - {"print"}:
        executable.record = piece(OVERFLOW + record_words(executable.emitted.sites), u64)
        executable.words[context.own["overflow"]] = executable.record.address
        executable.words[context.own["errors"]] = executable.record.address + 8 * OVERFLOW
        guards = only_guards(executable.emitted.sites, debug=executable.options.debug)
        executable.unattended = guards and "stack" not in kinds and not context.heaps
        if executable.unattended:
            watch(executable, executable.record)
    if "print" in kinds:
        executable.prints = piece(2 + PRINT_WORDS, u64)
        executable.words[context.own["print"]] = executable.prints.address
        mapped(executable.prints)[1] = PRINT_WORDS
    for name, slot in context.depths.items():
        executable.sizes = piece(max(1, own_size(executable.program.places[name]) // 8), i64)
        executable.words[slot] = executable.sizes.address
