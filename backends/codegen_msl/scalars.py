"""One emitter per scalar operation: texts of values in, the text of a value out.

The meanings are those of `adstack.ir.arithmetic`, to the bit. f16 is the language's own half, whose sums, products,
quotients and roots are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from adstack.ir import scalar_ops as ops
from adstack.ir.opdef import OpDef
from adstack.ir.types import DType, f32, i32, u32

from .spelling import literal, type_name

__all__ = ["EMITTERS", "emit"]


@dataclass(frozen=True)
class Site:
    """What an emitter works on: texts of the operands, their types, and the type of the result."""

    to: DType
    args: tuple[str, ...]
    dtypes: tuple[DType, ...]

    @property
    def dtype(self) -> DType:
        """The type of the first operand."""
        return self.dtypes[0]


Emitter = Callable[[Site], str]


def emit(row: OpDef, to: DType, args: Sequence[str], dtypes: Sequence[DType]) -> str:
    """The text of one pure scalar operation."""
    return EMITTERS[row](Site(to, tuple(args), tuple(dtypes)))


def _arithmetic(name: str, sign: str) -> Emitter:
    """Signed integers by a function; narrow ones are computed in 32 bits, where nothing is lost."""

    def emitter(s: Site) -> str:
        (a, b), dtype = s.args, s.dtype
        if dtype.kind == "i" and dtype.bits >= 32:
            return f"{name}({a}, {b})"
        if dtype.is_float or dtype.bits >= 32:
            return f"{a} {sign} {b}"
        if name == "mul" and dtype.bits == 16:
            return f"{type_name(dtype)}(uint({a}) * uint({b}))"
        return f"{type_name(dtype)}({a} {sign} {b})"

    return emitter


def _integers(name: str) -> Emitter:
    """By a function on 32 or 64 bits."""

    def emitter(s: Site) -> str:
        if s.dtype.bits >= 32:
            return f"{name}({', '.join(s.args)})"
        wide = type_name(i32 if s.dtype.kind == "i" else u32)
        return f"{type_name(s.to)}({name}({', '.join(f'{wide}({a})' for a in s.args)}))"

    return emitter


def _call(name: str) -> Emitter:
    return lambda s: f"{name}({', '.join(s.args)})"


def _compare(sign: str) -> Emitter:
    return lambda s: f"{s.args[0]} {sign} {s.args[1]}"


def _bitwise(sign: str) -> Emitter:
    def emitter(s: Site) -> str:
        text = f"{s.args[0]} {sign} {s.args[1]}"
        return text if s.dtype.bits >= 32 else f"{type_name(s.dtype)}({text})"

    return emitter


def _extreme(name: str) -> Emitter:
    """The emitter of min or max; false is less than true."""
    return lambda s: f"{name}<{type_name(s.dtype)}>({s.args[0]}, {s.args[1]})"


def _not(s: Site) -> str:
    return f"!{s.args[0]}" if s.dtype.is_bool else f"{type_name(s.dtype)}(~{s.args[0]})"


def _negate(s: Site) -> str:
    if s.dtype.is_float:
        return f"-{s.args[0]}"
    return _integers("neg")(s)


def _magnitude(s: Site) -> str:
    (x,) = s.args
    if s.dtype.is_float:
        return f"fabs({x})"
    return x if s.dtype.kind == "u" else f"{x} < 0 ? {_negate(s)} : {x}"


def _integer_power(s: Site) -> str:
    """A narrow power wraps where it is narrowed."""
    return _integers("ipow")(s)


def _cast(s: Site) -> str:
    source, to, (x,) = s.dtype, s.to, s.args
    if to is source:
        return x
    if to.is_bool:
        return f"{x} != 0"
    if source.is_float and to.is_integer:
        low, high = (literal(bound, f32) for bound in (float(to.min), float(to.max + 1)))
        return f"saturated<{type_name(to)}>({x}, {low}, {high}, {literal(to.min, to)}, {literal(to.max, to)})"
    # every integer in the range of f16 is an f32
    return f"half(float({x}))" if to.bits == 16 and to.is_float and source.is_integer else f"{type_name(to)}({x})"


EMITTERS: Final[dict[OpDef, Emitter]] = {
    ops.ADD: _arithmetic("add", "+"),
    ops.SUB: _arithmetic("sub", "-"),
    ops.MUL: _arithmetic("mul", "*"),
    ops.DIV: _compare("/"),
    ops.FLOORDIV: _integers("floordiv"),
    ops.MOD: _integers("mod"),
    ops.RAW_DIV: _integers("raw_div"),
    ops.RAW_MOD: _integers("raw_mod"),
    ops.IPOW: _integer_power,
    ops.MAX: _extreme("greatest"),
    ops.MIN: _extreme("least"),
    ops.NEG: _negate,
    ops.ABS: _magnitude,
    ops.FMA: _call("fma"),
    ops.SQRT: _call("precise::sqrt"),
    ops.FLOOR: _call("floor"),
    ops.CEIL: _call("ceil"),
    ops.TRUNC: _call("trunc"),
    ops.ROUND: _call("round"),
    ops.RINT: _call("rint"),
    ops.AND: _bitwise("&"),
    ops.OR: _bitwise("|"),
    ops.XOR: _bitwise("^"),
    ops.NOT: _not,
    ops.SHL: _call("shl"),
    ops.SHR: _call("shr"),
    ops.POPCNT: lambda s: f"int(popcount({s.args[0]}))",
    ops.CLZ: lambda s: f"int(clz({s.args[0]}))",
    ops.EQ: _compare("=="),
    ops.NE: _compare("!="),
    ops.LT: _compare("<"),
    ops.LE: _compare("<="),
    ops.GT: _compare(">"),
    ops.GE: _compare(">="),
    ops.SELECT: lambda s: f"{s.args[0]} ? {s.args[1]} : {s.args[2]}",
    ops.CAST: _cast,
    ops.BITCAST: lambda s: f"as_type<{type_name(s.to)}>({s.args[0]})",
}
