"""Shared by the passes: walking and rebuilding regions, replacing values, cloning.

Passes work in place. A definition stands before its uses in program order, so an op has its final operands when a walk
comes to it. An op that is not put into the region that is rebuilt has left the program, and must be erased.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.scalar_ops import CONST
from ...ir.structure import Constant, Kernel, Op, Region, Value

__all__ = [
    "CONST",
    "Renaming",
    "Rewriter",
    "clone_kernel",
    "clone_op",
    "clone_region",
    "constant_op",
    "rename_operands",
]

Renaming = dict[Value, Value]


class Rewriter:
    """Rebuilds a region op by op. A pass overrides `plain` (ops without regions) and `structured` (ops with).

    Attributes:
        out: the ops of the region being rebuilt, so far.
    """

    def __init__(self) -> None:
        self.out: list[Op] = []

    def run(self, region: Region) -> None:
        """Rebuild `region`: visit its ops in order; what they append becomes its new content."""
        outer, self.out = self.out, []
        self.visit_all(region.ops)
        region.ops, self.out = self.out, outer

    def visit_all(self, ops: Iterable[Op]) -> None:
        """Visit ops one after the other."""
        for op in ops:
            if op.regions:
                self.structured(op)
            else:
                self.plain(op)

    def plain(self, op: Op) -> None:
        """Handle an op without regions."""
        self.append(op)

    def structured(self, op: Op) -> None:
        """Handle an op with regions."""
        for region in op.regions:
            self.run(region)
        self.append(op)

    def append(self, op: Op) -> None:
        """Put `op` into the region being rebuilt."""
        self.out.append(op)

    def replace(self, op: Op, values: Iterable[Value]) -> None:
        """Put these values in the place of an op's results; the op leaves the program."""
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        op.erase()

    def inline(self, op: Op, region: Region, args: Iterable[Value], results_from: int = 0) -> None:
        """Put the ops of one of `op`'s regions in its place; what the region yields becomes the results."""
        for arg, value in zip(region.args, args, strict=True):
            arg.replace_all_uses_with(value)
        self.visit_all(region.ops[:-1])
        region.ops = region.ops[-1:]
        self.replace(op, region.terminator.operands[results_from:])


def constant_op(number: Constant, result: Value, like: Op) -> Op:
    """A `const` that defines `result`, at the location of `like`."""
    return Op(CONST, [], {"to": result.dtype, "value": number}, [result], [], like.loc)


def rename_operands(ops: Iterable[Op], renamed: Renaming) -> None:
    """Rename the operands of `ops` and of all inside them."""
    for op in Region(ops=list(ops)).walk():
        if not renamed.keys().isdisjoint(op.operands):
            op.set_operands([renamed.get(v, v) for v in op.operands])


def clone_op(op: Op, renamed: Renaming) -> Op:
    """A copy with values of its own; its operands, and in `renamed` its results, are mapped."""
    operands = [renamed.get(v, v) for v in op.operands]
    regions = [clone_region(region, renamed) for region in op.regions]
    return Op(op.opdef, operands, dict(op.attrs), [_fresh(v, renamed) for v in op.results], regions, op.loc)


def clone_region(region: Region, renamed: Renaming) -> Region:
    """A copy with values of its own, which are mapped in `renamed`."""
    args = [_fresh(v, renamed) for v in region.args]
    return Region(args, [clone_op(op, renamed) for op in region.ops])


def _fresh(value: Value, renamed: Renaming) -> Value:
    renamed[value] = copy = Value(value.type, value.name)
    return copy


def clone_kernel(kernel: Kernel) -> Kernel:
    """A kernel that shares nothing mutable with `kernel`."""
    return replace(kernel, body=clone_region(kernel.body, {}), places=dict(kernel.places))
