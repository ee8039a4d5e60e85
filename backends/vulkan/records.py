"""Memory for what the launches of a program report."""

from __future__ import annotations

from collections.abc import Callable

from adstack.backends.codegen_spirv.context import own_size
from adstack.backends.shared.outside import only_guards
from adstack.backends.shared.sites import record_words
from adstack.ir.types import DType, i64, u64

from .executable import OVERFLOW, PRINT_WORDS, Executable
from .layout import Piece, mapped

__all__ = ["add_records"]


def add_records(
    made: Executable, piece: Callable[[int, DType], Piece], watch: Callable[[Executable, Piece], None]
) -> None:
    """Give a program what it needs.

    Args:
        made: the program.
        piece: gives so many zeroed elements that the host sees.
        watch: has a record looked at that belongs to no launch in particular, and gives its memory back when nobody
            looks any more.
    """
    context, kinds = made.context, {site.kind for site in made.emitted.sites}
    if made.options.debug or kinds - {"print"}:
        made.record = piece(OVERFLOW + record_words(made.emitted.sites), u64)
        made.words[context.own["overflow"]] = made.record.address
        made.words[context.own["errors"]] = made.record.address + 8 * OVERFLOW
        guards = only_guards(made.emitted.sites, debug=made.options.debug)
        made.unattended = guards and "stack" not in kinds and not context.heaps
        if made.unattended:
            watch(made, made.record)
    if "print" in kinds:
        made.prints = piece(2 + PRINT_WORDS, u64)
        made.words[context.own["print"]] = made.prints.address
        mapped(made.prints)[1] = PRINT_WORDS
    for name, slot in context.depths.items():
        made.sizes = piece(max(1, own_size(made.program.places[name]) // 8), i64)
        made.words[slot] = made.sizes.address
