"""Operations of the language that are no rows of the table: the frontend makes ops of several rows of them.

They are told apart by identity, as rows are, so that a function of the language and an operator of it is always an
`OpDef`, whether the IR has it or not.
"""

from __future__ import annotations

from typing import Final

from ..ir.opdef import OpDef

__all__ = ["BIT_SHR", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "POS", "WITHIN"]

POS: Final = OpDef("pos", doc="the operand itself")
BIT_SHR: Final = OpDef("bit_shr", doc="a shift to the right as of an unsigned number")
LOGICAL_NOT: Final = OpDef("logical_not", doc="whether the operand is zero")
LOGICAL_AND: Final = OpDef("logical_and", doc="whether both operands are nonzero")
LOGICAL_OR: Final = OpDef("logical_or", doc="whether an operand is nonzero")
WITHIN: Final = OpDef("within", doc="an index, checked in debug mode against the length of its axis: see `bounds.py`")
