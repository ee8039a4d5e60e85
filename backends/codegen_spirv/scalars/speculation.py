"""Speculation: the fast path of a function notes where its result may be wrong, and asks for that once, at its end."""

from __future__ import annotations

from typing import Final

from adstack.ir.ops import TABLE
from adstack.ir.scalar_ops import SIN, SINH
from adstack.ir.types import DType, f32, i64, u1, u32, u64

from ..assembly.code import Code, Num
from ..assembly.opcodes import Op

__all__ = ["ORDINARY", "Speculation"]

ORDINARY: Final = {
    **{f"{row.name}.f32": row.ordinary for row in TABLE.values() if row.ordinary is not None},
    "sincos.f32": SIN.ordinary or (0.0, 0.0),
    "sinhcosh.f32": SINH.ordinary or (0.0, 0.0),
}
"""Functions that take no cold path, and whose multiply-adds meet no subnormal number, and lose none, where the size of
the argument is 0 or between these: adstack.tools.accuracy.ordinary goes through every argument.
"""


class Speculation:
    """Whether anything in a function was doubtful.

    Numbers are brought into a form in which the doubtful ones are the least there are, and the least is noted: that
    is fewer instructions than a comparison of each.

    Attributes:
        builtin: whether it is a function of the library, where the second side of an `if` is a cold path.
        ordinary: whether no number is subnormal, and no `if` takes its second side, where nothing else is doubtful.
    """

    def __init__(self, code: Code, builtin: bool) -> None:
        self.builtin, self.ordinary = builtin, False
        self.code = code
        self._kept: dict[str, tuple[DType, int]] = {}
        code.fast = self

    @property
    def can_reject(self) -> bool:
        """Whether anything can be doubtful."""
        return bool(self._kept)

    def require_ordinary(self, x: Num, least: float, most: float) -> None:
        """An argument is doubtful if it is not ordinary."""
        c, size = self.code, x.bits(u32) & 0x7FFFFFFF
        low, high = (c.const(bound, f32).bits(u32) for bound in (least, most))
        self.ordinary = True
        self.reject(size.ne(0) & (size - low > high - low))

    def expect(self, condition: Num) -> None:
        """The second side of an `if` of the library is doubtful."""
        if not self.ordinary:
            self.reject(~condition)

    def reject(self, doubtful: Num) -> None:
        """Something holds where a result may be wrong."""
        self._keep("flag", doubtful, False)

    def reject_midpoint(self, total: Num) -> None:
        """A sum of f64 is doubtful if it is half way between two f32: of its last 29 bits, only the first is set."""
        self._keep("middle", (total.bits(u64) << 35).signed(i64), i64.max)

    def reject_subnormal(self, result: Num) -> None:
        """An f32 is doubtful if it is subnormal."""
        if not self.ordinary:
            self._keep("small", (result.bits(u32) << 1) - 1, u32.max)

    def rejected(self) -> Num:
        """Whether anything was doubtful, up to here."""
        c, doubtful = self.code, self.code.const(False, u1)
        for name, (dtype, variable) in self._kept.items():
            least = c.let(Op.Load, dtype, variable)
            doubtful = doubtful | (
                least if dtype is u1 else least.eq(i64.min) if name == "middle" else least < 0xFFFFFF
            )
        return doubtful

    def _keep(self, name: str, number: Num, start: int) -> None:
        c, dtype = self.code, number.dtype
        if name not in self._kept:
            self._kept[name] = dtype, c.local(c.m.type(dtype), c.const(start, dtype))
        _, variable = self._kept[name]
        before = c.let(Op.Load, dtype, variable)
        after = before | number if dtype is u1 else c.std("SMin" if dtype is i64 else "UMin", dtype, before, number)
        c.do(Op.Store, variable, after.id)
