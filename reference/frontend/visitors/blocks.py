"""Blocks of threads in kernels: `qd.simt.block`, `qd.simt.subgroup`, and the loops that they make of parallel loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.structure import Region, Value
from ...ir.types import i32, u32
from ...values import functions
from ...values.elements import Elements
from ...values.kinds import KernelObject, PythonFunction
from ...values.matrices.matrix_types import MatrixType
from ...values.scalars import resolve
from ...values.simt import block as blocks
from ...values.simt import subgroup
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe
from ..emission.shared import SharedArray
from ..emission.type_promotion import materialise, to_bool, typed
from ..variables import cells
from ..variables.blocks import LARGEST, MOST_SHARED, Block, wait
from ..variables.phases import loop_over_blocks

__all__ = ["TABLE", "block_of", "parallel_loop"]

Combine = Callable[[KernelObject, KernelObject], KernelObject]
"""Makes one value of two."""


@contextmanager
def block_of(context: Context, block_dim: object) -> Iterator[Block]:
    """While the body of a parallel loop is lowered: what its blocks are, if the body turns out to speak of them."""
    dim = block_dim if isinstance(block_dim, int) else None
    context.block = Block(dim, bool(context.option("debug", False)))
    try:
        yield context.block
    finally:
        context.block = None


def parallel_loop(
    context: Context, block: Block, bounds: Sequence[tuple[Value, Value]], body: Region, *, sparse: bool
) -> None:
    """Emit the parallel loop of a body; over blocks, if that speaks of them."""
    if block.first_use is None:
        context.builder.parallel_for(bounds, body)
        return
    if sparse:
        raise AdstackSyntaxError(
            "a loop over what is active of a sparse field has no blocks of threads",
            loc=block.first_use,
            do="loop over a range, and ask is_active(...)",
        )
    loop_over_blocks(context.builder, block, bounds, body)


def _block(context: Context, what: str) -> Block:
    """The blocks of the loop around, of which the program speaks here."""
    block = context.block
    if block is None:
        do = "write it in the outermost loop of a kernel, with qd.loop_config(block_dim=...) before the loop"
        context.fail(AdstackSyntaxError, f"{what} stands outside of a parallel loop", do=do)
    if block.dim is None or not 1 <= block.dim <= LARGEST:
        note = "the loop does not say how many" if block.dim is None else f"the loop has block_dim={block.dim}"
        do = f"write qd.loop_config(block_dim=...) before the loop, with a number from 1 to {LARGEST}"
        context.fail(AdstackSyntaxError, f"{what} needs a number of threads for each block", note=note, do=do)
    block.first_use = block.first_use or context.builder.loc
    return block


# ---- blocks


def _shared_array(context: Context, shape: KernelObject, dtype: KernelObject) -> SharedArray:
    block = _block(context, "SharedArray")
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not extents or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in extents):
        note = f"got {', '.join(describe(n) for n in extents) or 'none'}"
        do = "give positive integers that are known while compiling"
        context.fail(AdstackTypeError, "the extents of a SharedArray must be constants", note=note, do=do)
    element = dtype.shape if isinstance(dtype, MatrixType) else ()
    scalar = resolve(dtype.dtype if element else dtype, context.default_fp, context.default_ip)
    array = SharedArray(block, scalar, extents, element)
    block.shared_bytes += array.cell.size * scalar.size
    if block.shared_bytes > MOST_SHARED:
        note = f"with this one they take {block.shared_bytes} bytes"
        do = "share fewer elements, or of a smaller type"
        context.fail(AdstackTypeError, f"a block shares at most {MOST_SHARED} bytes", note=note, do=do)
    return array


def _sync(context: Context) -> None:
    _block(context, "sync()")
    wait(context.builder, "sync()", ends_phase=True)


def _thread(context: Context) -> Expr:
    return Expr(_block(context, "thread_idx()").thread)


def _global_thread(context: Context) -> KernelObject:
    block = _block(context, "global_thread_idx()")
    position = Expr(block.number) * block.threads + Expr(block.thread)
    return functions.cast(position, i32)


# ---- subgroups: through an array with an element for each thread


def _size(context: Context) -> int:
    return subgroup.SIZE


def _lane(context: Context) -> KernelObject:
    return Expr(_block(context, "invocation_id()").thread) % subgroup.SIZE


class _Told:
    """A value that each thread of a block has told the others; `first` is the first thread of the subgroup."""

    def __init__(self, context: Context, what: str, value: KernelObject) -> None:
        block = _block(context, what)
        if isinstance(value, Elements):
            do = "call it for each component"
            context.fail(AdstackTypeError, f"{what} takes a number", note=f"got {describe(value)}", do=do)
        self.b = context.builder
        self.block = block
        self.own = materialise(value)
        self.thread = Expr(block.thread)
        self.cell = cells.Cell("told", self.own.dtype, block.threads, in_memory=True)
        self.cell.team = "shared"
        block.shared.append(self.cell)
        cells.write(self.b, self.cell, self.own.value, block.thread)
        wait(self.b, what, ends_phase=False)
        self.first = self.thread - self.thread % subgroup.SIZE

    def of(self, lane: KernelObject) -> tuple[KernelObject, KernelObject]:
        """The value of a thread of the subgroup, and whether there is such a thread."""
        lane = functions.cast(lane, i32)
        position = self.first + lane
        there = (lane >= 0) & (lane < subgroup.SIZE) & (position < Expr(self.block.count))
        at = functions.select(there, position, self.thread)
        return Expr(cells.read(self.b, self.cell, at.value)), there

    def combined(self, combine: Combine) -> KernelObject:
        """The values of the subgroup's threads, combined in the order of their numbers."""
        total = cells.Cell("total", combine(self.own, self.own).dtype)
        cells.alloc(self.b, total, [typed(Expr(cells.read(self.b, self.cell, self.first.value)), total.dtype)])
        end = functions.min_(self.first + subgroup.SIZE, Expr(self.block.count))
        body = Region([Value(i32, "other")])
        with self.b.into(body):
            other = Expr(cells.read(self.b, self.cell, body.args[0]))
            cells.write(self.b, total, typed(combine(Expr(cells.read(self.b, total)), other), total.dtype))
            self.b.yield_()
        self.b.for_((self.first + 1).value, end.value, [], body)
        return Expr(cells.read(self.b, total))


def _shuffled(what: str, lane_of: Callable[[KernelObject, KernelObject], KernelObject]) -> PythonFunction:
    def call(context: Context, value: KernelObject, by: KernelObject) -> KernelObject:
        told = _Told(context, f"{what}()", value)
        other, there = told.of(lane_of(told.thread % subgroup.SIZE, by))
        return functions.select(there, other, told.own)

    return call


def _reduced(what: str, combine: Combine) -> PythonFunction:
    def call(context: Context, value: KernelObject) -> KernelObject:
        return _Told(context, f"{what}()", value).combined(combine)

    return call


def _voted(what: str, result: Callable[[KernelObject, int], KernelObject], combine: Combine) -> PythonFunction:
    reduced = _reduced(what, combine)

    def call(context: Context, condition: KernelObject) -> KernelObject:
        value = materialise(condition)
        return reduced(context, result(Expr(to_bool(value)), _lane(context)))

    return call


def _bit(condition: KernelObject, lane: KernelObject) -> KernelObject:
    return functions.cast(condition, u32) << functions.cast(lane, u32)


TABLE: Final[dict[KernelObject, PythonFunction]] = {
    blocks.SharedArray: _shared_array,
    blocks.sync: _sync,
    blocks.thread_idx: _thread,
    blocks.global_thread_idx: _global_thread,
    subgroup.group_size: _size,
    subgroup.invocation_id: _lane,
    subgroup.shuffle: _shuffled("shuffle", lambda own, lane: lane),
    subgroup.shuffle_up: _shuffled("shuffle_up", lambda own, by: own - by),
    subgroup.shuffle_down: _shuffled("shuffle_down", lambda own, by: own + by),
    subgroup.shuffle_xor: _shuffled("shuffle_xor", lambda own, mask: own ^ mask),
    subgroup.broadcast: _shuffled("broadcast", lambda own, lane: lane),
    subgroup.reduce_add: _reduced("reduce_add", lambda a, b: a + b),
    subgroup.reduce_min: _reduced("reduce_min", functions.min_),
    subgroup.reduce_max: _reduced("reduce_max", functions.max_),
    subgroup.any_true: _voted("any_true", lambda c, _: c, lambda a, b: a | b),
    subgroup.all_true: _voted("all_true", lambda c, _: c, lambda a, b: a & b),
    subgroup.ballot: _voted("ballot", _bit, lambda a, b: a | b),
}
"""What each function means in a kernel."""
