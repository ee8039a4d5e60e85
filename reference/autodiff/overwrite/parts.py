"""A kernel as several, one per stretch of serial code and per parallel loop: `parts(kernel) -> list of kernels`.

Requires: a verified kernel.
Ensures: run one after the other with the kernel's arguments, they do what it does. The list is empty if the kernel
can't be parted: it returns something, draws random numbers, or a stretch needs what another computed from memory.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import RANDOM, RETURN
from ...ir.structure import Kernel, Op, Region, Value
from ...transforms.rewriting.rewrite import Renaming, clone_op
from ...transforms.tasks.crossing import Segment, segments

__all__ = ["parts"]


def parts(kernel: Kernel) -> list[Kernel]:
    """The kernels; empty if there can't be several."""
    stretches = segments(kernel.body)
    if len(stretches) < 2 or kernel.returns or any(op.opdef is RANDOM for op in kernel.body.walk()):
        return []
    if any(place.kind == "temp" for place in kernel.places.values()):
        return []
    makers = {v: op for op in kernel.body.ops for v in op.results}
    kernels = [_part(kernel, segment, makers) for segment in stretches]
    return [part for part in kernels if part is not None] if None not in kernels else []


def _part(kernel: Kernel, segment: Segment, makers: dict[Value, Op]) -> Kernel | None:
    """One stretch, behind what it needs of earlier ones; None if that is more than arithmetic on the arguments."""
    args = [Value(v.type, v.name) for v in kernel.params]
    renamed: Renaming = dict(zip(kernel.params, args, strict=True))
    body = Region(args)
    own = {v for op in segment.ops for v in op.results}
    for op in segment.walk():
        for value in op.operands:
            if value not in own and not _fetched(value, makers, renamed, body):
                return None
    body.ops += [clone_op(op, renamed) for op in segment.ops]
    body.ops.append(Op(RETURN, [], loc=kernel.body.terminator.loc))
    return replace(kernel, body=body, places=dict(kernel.places))


def _fetched(value: Value, makers: dict[Value, Op], renamed: Renaming, body: Region) -> bool:
    """Compute `value` again at the head of a part; False if it can't be."""
    maker = makers.get(value)
    if maker is None or value in renamed:
        return True
    if not maker.opdef.pure or maker.regions:
        return False
    if not all(_fetched(v, makers, renamed, body) for v in maker.operands):
        return False
    body.ops.append(clone_op(maker, renamed))
    return True
