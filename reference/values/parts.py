"""`frexp`: the mantissa and the exponent of a real number."""

from __future__ import annotations

import math
from typing import Final

from ..errors import AdstackTypeError
from ..ir.types import DType, f16, f32, f64, i32, i64
from .calling import takes
from .elements import Elements
from .functions import abs_, bit_cast, cast, select
from .kinds import Operand
from .scalars import check_number, plain

__all__ = ["frexp"]

_LAYOUTS: Final[dict[DType, tuple[DType, int, int]]] = {f32: (i32, 23, 127), f64: (i64, 52, 1023)}
"""Float type -> (integer type of its width, bits of its fraction, bias of its exponent)."""


@takes("frexp")
def frexp(x: Operand) -> tuple[Operand, Operand]:
    """The mantissa m and the exponent e, an i32, of a real number: `x = m * 2**e` with `0.5 <= |m| < 1`.

    Both are exact. Of 0, infinities and NaN m is x and e is 0. The derivative of m is 2**-e, that of e is 0. Of vectors
    and matrices it gives vectors and matrices.
    """
    if isinstance(x, Elements):
        pairs = [frexp(entry) for entry in x.entries]
        return Elements.over([m for m, _ in pairs], x.shape), Elements.over([e for _, e in pairs], x.shape)
    check_number("frexp", x)
    x = plain(x)
    if isinstance(x, (int, float)):
        return math.frexp(x)
    if not x.dtype.is_float:
        raise AdstackTypeError("frexp takes real numbers", note=f"this is {x.dtype}", do="cast it: f32(...)")
    if x.dtype is f16:
        m, e = frexp(cast(x, f32))
        return cast(m, f16), e
    return _parts(x)


def _parts(x: Operand) -> tuple[Operand, Operand]:
    """Fraction and exponent of a runtime value of f32 or f64.

    First x is brought near 1 by a power of 2, so that neither it nor the power that takes its exponent away is
    subnormal. Products with powers of 2 are exact, and have the derivative that m has.
    """
    word, digits, bias = _LAYOUTS[x.dtype]
    usual = (x != 0) & (abs_(x) < math.inf)
    shift = (bias + 1) // 2
    large = abs_(x) >= 1.0
    near = x * select(large, cast(2.0**-shift, x.dtype), cast(2.0**shift, x.dtype))
    exponent = ((bit_cast(near, word) >> digits) & (2 * bias + 1)) - (bias - 1)
    m = near * bit_cast((bias - exponent) << digits, x.dtype)
    e = cast(exponent + select(large, shift, -shift), i32)
    return select(usual, m, x), select(usual, e, 0)
