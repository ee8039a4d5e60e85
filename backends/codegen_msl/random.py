"""Random numbers: the generator of `adstack.interpreter.philox`, to the bit."""

from __future__ import annotations

from adstack.ir.ops import RANDOM
from adstack.ir.structure import Op
from adstack.ir.types import DType

from .region import RegionEmitter, handles
from .spelling import type_name

__all__: list[str] = []

_FRACTION_BITS = {16: 11, 32: 24}


@handles(RANDOM)
def _random(e: RegionEmitter, op: Op) -> None:
    """One block of Philox4x32-10 per number drawn."""
    frame = e.frame
    keys = f"{frame.section}u, uint(launch.seed), uint(launch.number)"
    block = e.w.typed("ulong", f"philox({frame.counter}++, {frame.iteration}, {keys})")
    e.let(op.result, _value(op.result.dtype, block))


def _value(to: DType, block: str) -> str:
    """The words as a number of the type drawn."""
    if not to.is_float:
        return f"{type_name(to)}({block if to.bits == 64 else f'uint({block})'})"
    kept = _FRACTION_BITS.get(to.bits, 0)
    # exact: the integer has no more bits than the significand, and the factor is a power of two
    number = f"float(uint({block}) >> {32 - kept}) * {2.0**-kept!r}f"
    return f"{type_name(to)}({number})"
