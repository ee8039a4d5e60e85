"""A loop over the running lanes, for what has no vector form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .region import RegionEmitter

__all__ = ["each_lane"]

Body = Callable[[str, list[str]], list[str]]


def each_lane(e: RegionEmitter, body: Body, types: Sequence[str] = ()) -> list[str]:
    """Run `body(lane, carried) -> carried` for every running lane, in order; the carried values start as poison.

    Args:
        e: where to.
        body: emits the code for the lane whose number (i64) it is given; it may open blocks.
        types: LLVM types of the carried values.
    """
    if e.lanes == 1:
        return body("0", ["poison"] * len(types))
    head, test, inside, following, after = (e.label(h) for h in ("lanes", "lane", "one", "next", "after"))
    before = e.block
    e.jump(head)
    e.enter(head)
    lane, *carried = (e.w.let(f"phi {ty}") for ty in ("i64", *types))
    line = len(e.w.lines) - 1 - len(types)
    e.split(e.w.let(f"icmp ult i64 {lane}, {e.lanes}"), test, after)
    e.enter(test)
    if e.mask is None:
        e.jump(inside)
    else:
        e.split(e.w.let(f"extractelement {e.mask_type} {e.mask}, i64 {lane}"), inside, following)
    e.enter(inside)
    changed = body(lane, carried)
    last = e.block
    e.jump(following)
    e.enter(following)
    skipped = ["" if e.mask is None else f", [ {old}, %{test} ]" for old in carried]
    rows = zip(types, changed, skipped, strict=True)
    merged = [e.w.let(f"phi {ty} [ {new}, %{last} ]{skip}") for ty, new, skip in rows]
    step = e.w.let(f"add i64 {lane}, 1")
    for k, (start, end) in enumerate([("0", step), *(("poison", m) for m in merged)]):
        e.w.lines[line + k] += f" [ {start}, %{before} ], [ {end}, %{following} ]"
    e.jump(head)
    e.enter(after)
    return carried
