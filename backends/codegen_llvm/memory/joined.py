"""Updates that threads side by side combine before one of them updates memory: those with `sums` "subgroup".

The plan says that neighbouring threads probably update the same element; here they look. Updates that follow each
other are combined at once: where all threads side by side have come, and each to the same elements, every thread gets
all sums, and the first of them update one element each. Elsewhere each update is a call of a function, in which the
threads that do update the same element find each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.analysis.combined_updates import addresses_to_compare, indices_of, run_of_updates
from adstack.ir.structure import Op
from adstack.ir.types import DType

from ..function.region import RegionEmitter
from ..safety.guards import guarded, is_inside
from ..text.writer import Writer, scalar_type
from .access import address_of

__all__ = ["Update", "join", "joins"]

Update = Callable[[RegionEmitter, str, str, DType, str], object]
"""Emits one thread's update of memory: of a kind, at a pointer, of a type, by a value."""


def joins(e: RegionEmitter, op: Op) -> bool:
    """Whether an update is one that threads side by side combine."""
    frame = e.frame
    return op.attrs.get("sums") == "subgroup" and frame.parallel and not frame.debug and bool(e.target.together)


def join(e: RegionEmitter, op: Op, update: Update) -> None:
    """Emit an update and those that follow it; these are marked as emitted."""
    run = _run(e, op)
    e.joined.update(run[1:])
    kind, dtype = op.attrs["kind"], op.attrs["place"].dtype
    addresses = [address_of(e, o.attrs["place"], indices_of(o), inbounds=False).name for o in run]
    e.settle()
    together, apart, after = e.label("whole"), e.label("apart"), e.label("joined")
    e.split(_agree(e, run, addresses), together, apart)
    e.enter(together)
    sums = e.target.totals(e, kind, dtype, [e.scalar(o.operands[-1]) for o in run])
    for start in range(0, len(run), e.target.together):
        end = start + e.target.together
        _one_each(e, lambda at, total: update(e, kind, at, dtype, total), dtype, addresses[start:end], sums[start:end])
    e.jump(after)
    e.enter(apart)
    for o, address in zip(run, addresses, strict=True):
        guarded(e, o, lambda o=o, address=address: _find_peers(e, o, address, update))  # type: ignore[misc]
    e.settle()
    e.jump(after)
    e.enter(after)


def _run(e: RegionEmitter, op: Op) -> list[Op]:
    """The updates that can be combined together with one; what they need is emitted."""
    if e.current is None:
        return [op]
    run, constants = run_of_updates(op, e.current.ops, lambda other: joins(e, other) and _alike(other) == _alike(op))
    for constant in constants:
        e.op(constant)
    return run


def _alike(op: Op) -> tuple[str, DType]:
    return op.attrs["kind"], op.attrs["place"].dtype


def _agree(e: RegionEmitter, run: Sequence[Op], addresses: Sequence[str]) -> str:
    """Whether all threads are here and inside, with the same elements."""
    inside = "true"
    for op in run:
        fine = is_inside(e, op)
        inside = fine if inside == "true" else inside if fine == "true" else e.w.let(f"and i1 {inside}, {fine}")
    words = list[str]()
    for number, wide in addresses_to_compare(run, e.is_constant):
        at = e.w.let(f"ptrtoint ptr {addresses[number]} to i64")
        words.append(e.w.let(f"trunc i64 {at} to i32"))
        if wide:
            words.append(e.w.let(f"trunc i64 {e.w.let(f'lshr i64 {at}, 32')} to i32"))
    return e.target.agree(e, words, inside)


def _one_each(
    e: RegionEmitter, act: Callable[[str, str], object], dtype: DType, addresses: Sequence[str], sums: Sequence[str]
) -> None:
    """Thread k updates element k."""
    lane, address, total = e.target.lane(e), addresses[0], sums[0]
    for k in range(1, len(addresses)):
        mine = e.w.let(f"icmp eq i32 {lane}, {k}")
        address = e.w.let(f"select i1 {mine}, ptr {addresses[k]}, ptr {address}")
        total = e.w.let(f"select i1 {mine}, {scalar_type(dtype)} {sums[k]}, {scalar_type(dtype)} {total}")
    speaks, after = e.label("speaks"), e.label("spoken")
    e.split(e.w.let(f"icmp ult i32 {lane}, {len(addresses)}"), speaks, after)
    e.enter(speaks)
    act(address, total)
    e.jump(after)
    e.enter(after)


def _find_peers(e: RegionEmitter, op: Op, address: str, update: Update) -> None:
    """Update one element of each thread, by a call of a function: it is needed where threads part, or rows end."""
    kind, dtype = _alike(op)
    symbol, ty = f'"{kind}.{dtype.name}.peers"', scalar_type(dtype)

    def write() -> tuple[str, str]:
        inner = RegionEmitter(e.module, Writer(), 1, set())
        inner.target, inner.task = e.target, e.task
        total, speaks = e.target.peers(inner, kind, dtype, "%pointer", "%value")
        one, after = inner.label("speaks"), inner.label("spoken")
        inner.split(speaks, one, after)
        inner.enter(one)
        update(inner, kind, "%pointer", dtype, total)
        inner.jump(after)
        inner.enter(after)
        inner.w.do("ret void")
        inner.module.take(inner.w)
        body = "\n".join(inner.w.lines)
        head = f"define internal void @{symbol}(ptr %pointer, {ty} %value) convergent"
        return head, f"{{\nentry:\n{body}\n}}\n"

    e.module.call(symbol, write, inline=False)
    e.w.do(f"call void @{symbol}(ptr {address}, {ty} {e.scalar(op.operands[-1])})")
