"""Which updates of a parallel loop are carried out in one of the ways of the plan (`adstack.analysis.accumulation`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adstack.analysis.exclusivity import by_place, may_overlap
from adstack.analysis.manager import Analyses
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Place, Region

__all__ = ["alone", "gathered"]


def alone(body: Region, way: str, analyses: Analyses) -> Sequence[Op]:
    """The updates that are added up in a way, if no other memory that the body touches may be that of their place."""
    touching = analyses.get(by_place, body)
    places: list[Place] = [ops[0].attrs["place"] for ops in touching.values()]
    return [
        op
        for name, ops in touching.items()
        if not any(may_overlap(ops[0].attrs["place"], other) for other in places)
        for op in ops
        if op.attrs.get("sums") == way
    ]


def gathered(body: Region, analyses: Analyses) -> Iterator[tuple[Op, list[Op]]]:
    """The updates that each thread combines, and the constants of the body that are subscripts of each.

    Code in front of the loop needs these constants.
    """
    constants = {op.result: op for op in body.walk() if op.opdef is CONST}
    for op in alone(body, "uniform", analyses):
        yield op, [constants[value] for value in op.operands[: op.attrs["place"].rank] if value in constants]
