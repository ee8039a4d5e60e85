"""One emitter per scalar operation: operands in, LLVM text out, for one lane or a vector of them.

The meanings are those of `adstack.ir.arithmetic`, to the bit. What LLVM leaves undefined (division by zero, long
shifts, conversions out of range) is guarded by selects, never by branches, so that vectors work alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adstack.ir import scalar_ops as ops
from adstack.ir.opdef import OpDef
from adstack.ir.types import DType, f32, i32

from .writer import Writer, any_lane, mangled, type_text

__all__ = ["EMITTERS", "Site", "emit"]


@dataclass(frozen=True)
class Site:
    """Where an emitter writes: the writer, the lanes, the type of the result and of the operands, the operands."""

    w: Writer
    lanes: int
    to: DType
    types: tuple[DType, ...]
    args: tuple[str, ...]

    @property
    def ty(self) -> str:
        """The LLVM type of the first operand."""
        return type_text(self.types[0], self.lanes)

    def text(self, dtype: DType) -> str:
        """The LLVM type of a `dtype` per lane: a scalar for one lane, else a vector."""
        return type_text(dtype, self.lanes)

    def const(self, value: float) -> str:
        """A constant of the first operand's type."""
        return self.w.constant(value, self.types[0], self.lanes)

    def integer(self, k: int) -> int | None:
        """The value of an integer operand, if it is a constant."""
        text = self.args[k]
        text = text[:-1].rpartition(" ")[2] if text.startswith("splat (") else text
        return int(text) if text.lstrip("-").isdigit() else None

    @property
    def mask(self) -> str:
        """The LLVM type of a truth value per lane."""
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    def choose(self, condition: str, a: str, b: str) -> str:
        """`a` in the lanes in which the condition holds, else `b`, both of the type of the first operand."""
        return self.w.let(f"select {self.mask} {condition}, {self.ty} {a}, {self.ty} {b}")

    def call(self, name: str, *extra: tuple[str, str]) -> str:
        """An intrinsic of the operands' type, giving that type."""
        operands = [(self.ty, a) for a in self.args] + list(extra)
        return self.w.intrinsic(f"llvm.{name}.{mangled(self.types[0], self.lanes)}", self.ty, operands)


Emitter = Callable[[Site], str]


def emit(w: Writer, lanes: int, row: OpDef, to: DType, types: tuple[DType, ...], args: tuple[str, ...]) -> str:
    """Write one pure scalar operation; gives the name of its result."""
    return EMITTERS[row](Site(w, lanes, to, types, args))


def _two(for_floats: str, signed: str, unsigned: str = "") -> Emitter:
    """An instruction of two operands, by the kind of its type."""

    def emitter(s: Site) -> str:
        kind = s.types[0].kind
        word = for_floats if kind == "f" else signed if kind == "i" else unsigned or signed
        return s.w.let(f"{word} {s.ty} {s.args[0]}, {s.args[1]}")

    return emitter


def _compare(for_floats: str, signed: str, unsigned: str = "") -> Emitter:
    return _two(f"fcmp {for_floats}", f"icmp {signed}", f"icmp {unsigned or signed}")


def _intrinsic(name: str) -> Emitter:
    return lambda s: s.call(name)


def _safe_divisor(s: Site) -> tuple[str, str, str]:
    """The divisor with 0 (and -1, which may overflow) replaced by 1; where it was 0; where it was -1."""
    b = s.args[1]
    zero = s.w.let(f"icmp eq {s.ty} {b}, {s.const(0)}")
    if s.types[0].kind != "i":
        return s.choose(zero, s.const(1), b), zero, ""
    minus = s.w.let(f"icmp eq {s.ty} {b}, {s.const(-1)}")
    either = s.w.let(f"or {s.mask} {zero}, {minus}")
    return s.choose(either, s.const(1), b), zero, minus


def _divide(rounding_down: bool) -> Emitter:
    def emitter(s: Site) -> str:
        safe, zero, minus = _safe_divisor(s)
        a = s.args[0]
        if not minus:
            return s.choose(zero, s.const(0), s.w.let(f"udiv {s.ty} {a}, {safe}"))
        quotient = s.w.let(f"sdiv {s.ty} {a}, {safe}")
        if rounding_down:
            remainder = s.w.let(f"srem {s.ty} {a}, {safe}")
            down = _opposite_signs(s, remainder, safe)
            quotient = s.w.let(f"add {s.ty} {quotient}, {s.w.let(f'sext {s.mask} {down} to {s.ty}')}")
        negated = s.w.let(f"sub {s.ty} {s.const(0)}, {a}")
        return s.choose(zero, s.const(0), s.choose(minus, negated, quotient))

    return emitter


def _remainder(rounding_down: bool) -> Emitter:
    def emitter(s: Site) -> str:
        safe, zero, minus = _safe_divisor(s)
        a = s.args[0]
        if not minus:
            return s.choose(zero, s.const(0), s.w.let(f"urem {s.ty} {a}, {safe}"))
        remainder = s.w.let(f"srem {s.ty} {a}, {safe}")
        if rounding_down:
            down = _opposite_signs(s, remainder, safe)
            remainder = s.w.let(f"add {s.ty} {remainder}, {s.choose(down, safe, s.const(0))}")
        return s.choose(zero, s.const(0), remainder)

    return emitter


def _opposite_signs(s: Site, remainder: str, divisor: str) -> str:
    """Where a remainder is not zero and has another sign than the divisor."""
    some = s.w.let(f"icmp ne {s.ty} {remainder}, {s.const(0)}")
    differ = s.w.let(f"icmp slt {s.ty} {s.w.let(f'xor {s.ty} {remainder}, {divisor}')}, {s.const(0)}")
    return s.w.let(f"and {s.mask} {some}, {differ}")


def _shift(left: bool) -> Emitter:
    def emitter(s: Site) -> str:
        a, b = s.args
        word = "shl" if left else "ashr" if s.types[0].kind == "i" else "lshr"
        amount = s.integer(1)
        if amount is not None and 0 <= amount < s.types[0].bits:
            return s.w.let(f"{word} {s.ty} {a}, {b}")
        bad = s.w.let(f"icmp uge {s.ty} {b}, {s.const(s.types[0].bits)}")
        # not another select: LLVM's NVPTX takes the two for one shift, whose amount it cuts off after 32 bits
        safe = s.w.let(f"and {s.ty} {b}, {s.const(s.types[0].bits - 1)}")
        return s.choose(bad, s.const(0), s.w.let(f"{word} {s.ty} {a}, {safe}"))

    return emitter


def _extreme(ordered: str, signed: str, unsigned: str) -> Emitter:
    """max or min: the left operand where it wins or the right one is NaN, else the right one."""

    def emitter(s: Site) -> str:
        a, b = s.args
        kind = s.types[0].kind
        if kind != "f":
            return s.choose(s.w.let(f"icmp {signed if kind == 'i' else unsigned} {s.ty} {a}, {b}"), a, b)
        wins = s.w.let(f"fcmp {ordered} {s.ty} {a}, {b}")
        lost = s.w.let(f"fcmp uno {s.ty} {b}, {b}")
        return s.choose(s.w.let(f"or {s.mask} {wins}, {lost}"), a, b)

    return emitter


def _integer_power(s: Site) -> str:
    """By squaring, in a function of its own: the loop runs as often as the widest exponent wants."""
    w, ty, dtype = s.w, s.ty, s.types[0]
    name = f"adstack.ipow.{mangled(dtype, s.lanes)}"
    exponent = s.args[1]
    if dtype.kind == "i":
        negative = w.let(f"icmp slt {ty} {exponent}, {s.const(0)}")
        exponent = s.choose(negative, s.const(0), exponent)
    w.declare(name, _power_loop(s, name))
    power = w.let(f"call {ty} @{name}({ty} {s.args[0]}, {ty} {exponent})")
    return power if dtype.kind != "i" else s.choose(negative, _reciprocal_power(s), power)


def _reciprocal_power(s: Site) -> str:
    """To a negative exponent: 1 stays, -1 is 1 or -1 by parity, everything else is 0."""
    base, exponent = s.args
    odd = s.w.let(f"icmp ne {s.ty} {s.w.let(f'and {s.ty} {exponent}, {s.const(1)}')}, {s.const(0)}")
    minus = s.w.let(f"icmp eq {s.ty} {base}, {s.const(-1)}")
    one = s.w.let(f"icmp eq {s.ty} {base}, {s.const(1)}")
    return s.choose(one, s.const(1), s.choose(minus, s.choose(odd, s.const(-1), s.const(1)), s.const(0)))


def _power_loop(s: Site, name: str) -> str:
    """The text of a function that multiplies the squares of the base that the exponent, an unsigned one, selects."""
    w, ty = Writer(), s.ty
    w.label("entry")
    w.do("br label %loop")
    w.label("loop")
    result = w.let(f"phi {ty} [ {s.const(1)}, %entry ], [ %result, %loop ]")
    square = w.let(f"phi {ty} [ %base, %entry ], [ %square, %loop ]")
    rest = w.let(f"phi {ty} [ %exponent, %entry ], [ %rest, %loop ]")
    odd = w.let(f"icmp ne {ty} {w.let(f'and {ty} {rest}, {s.const(1)}')}, {s.const(0)}")
    w.do(f"%result = select {s.mask} {odd}, {ty} {w.let(f'mul {ty} {result}, {square}')}, {ty} {result}")
    w.do(f"%square = mul {ty} {square}, {square}")
    w.do(f"%rest = lshr {ty} {rest}, {s.const(1)}")
    more = w.let(f"icmp ne {ty} %rest, {s.const(0)}")
    w.do(f"br i1 {any_lane(w, s.lanes, more)}, label %loop, label %done")
    w.label("done")
    w.do(f"ret {ty} %result")
    for symbol, text in w.declarations.items():
        s.w.declare(symbol, text)
    return f"define internal {ty} @{name}({ty} %base, {ty} %exponent) {{\n" + "\n".join(w.lines) + "\n}"


def _negate(s: Site) -> str:
    if s.types[0].is_float:
        return s.w.let(f"fneg {s.ty} {s.args[0]}")
    return s.w.let(f"sub {s.ty} {s.const(0)}, {s.args[0]}")


def _magnitude(s: Site) -> str:
    kind = s.types[0].kind
    if kind == "u":
        return s.args[0]
    return s.call("fabs") if kind == "f" else s.call("abs", ("i1", "false"))


def _invert(s: Site) -> str:
    ones = s.const(1) if s.types[0].is_bool else s.const(-1)
    return s.w.let(f"xor {s.ty} {s.args[0]}, {ones}")


def _fma(s: Site) -> str:
    return _half_fma(s) if s.types[0].name == "f16" else s.call("fma")


def _half_fma(s: Site) -> str:
    """An f16 fma through f32: the product is exact, the sum is rounded to odd, so the last rounding is the only one.

    An f32 fma is no substitute: it rounds to f32 first, and then again. See `adstack.ir.fma`.
    """
    w, wide, bits = s.w, s.text(f32), s.text(i32)
    a, b, c = (w.let(f"fpext {s.ty} {x} to {wide}") for x in s.args)
    product = w.let(f"fmul {wide} {a}, {b}")
    total = w.let(f"fadd {wide} {product}, {c}")
    virtual = w.let(f"fsub {wide} {total}, {product}")
    rest = w.let(f"fsub {wide} {product}, {w.let(f'fsub {wide} {total}, {virtual}')}")
    error = w.let(f"fadd {wide} {rest}, {w.let(f'fsub {wide} {c}, {virtual}')}")
    one, zero = w.constant(1, i32, s.lanes), w.constant(0, i32, s.lanes)
    raw = w.let(f"bitcast {wide} {total} to {bits}")
    even = w.let(f"icmp eq {bits} {w.let(f'and {bits} {raw}, {one}')}, {zero}")
    inexact = w.let(f"fcmp one {wide} {error}, {w.constant(0, f32, s.lanes)}")
    fix = w.let(f"and {s.mask} {even}, {inexact}")
    differ = w.let(f"xor {bits} {raw}, {w.let(f'bitcast {wide} {error} to {bits}')}")
    inward = w.let(f"icmp slt {bits} {differ}, {zero}")
    step = w.let(f"select {s.mask} {inward}, {bits} {w.constant(-1, i32, s.lanes)}, {bits} {one}")
    moved = w.let(f"add {bits} {raw}, {w.let(f'select {s.mask} {fix}, {bits} {step}, {bits} {zero}')}")
    return w.let(f"fptrunc {wide} {w.let(f'bitcast {bits} {moved} to {wide}')} to {s.ty}")


def _bit_count(name: str, *extra: tuple[str, str]) -> Emitter:
    def emitter(s: Site) -> str:
        return _resize(s, s.call(name, *extra), s.types[0], i32)

    return emitter


def _resize(s: Site, value: str, source: DType, to: DType) -> str:
    """An integer made wider (by its sign) or narrower."""
    if source.bits == to.bits:
        return value
    word = "trunc" if source.bits > to.bits else "sext" if source.kind == "i" else "zext"
    return s.w.let(f"{word} {s.text(source)} {value} to {s.text(to)}")


def _select(s: Site) -> str:
    condition, a, b = s.args
    ty = s.text(s.to)
    return s.w.let(f"select {s.mask} {condition}, {ty} {a}, {ty} {b}")


def _cast(s: Site) -> str:
    source, to, x = s.types[0], s.to, s.args[0]
    if to is source:
        return x
    if to.is_bool:
        word = "fcmp une" if source.is_float else "icmp ne"
        return s.w.let(f"{word} {s.ty} {x}, {s.const(0)}")
    if source.is_integer and to.is_integer:
        return _resize(s, x, source, to)
    if source.is_float and to.is_float:
        return _to_float(s, x)
    return _saturate(s) if source.is_float else _from_integer(s, x)


def _to_float(s: Site, x: str) -> str:
    """Between float types. No target narrows f64 to f16 by itself: f32, rounded to odd, keeps what decides."""
    source, to = s.types[0], s.to
    if source.bits - to.bits != 48:
        word = "fptrunc" if source.bits > to.bits else "fpext"
        return s.w.let(f"{word} {s.ty} {x} to {s.text(to)}")
    w, single, bits = s.w, s.text(f32), s.text(i32)
    near = w.let(f"fptrunc {s.ty} {x} to {single}")
    back = w.let(f"fpext {single} {near} to {s.ty}")
    sizes = [w.intrinsic(f"llvm.fabs.{mangled(source, s.lanes)}", s.ty, [(s.ty, v)]) for v in (back, x)]
    outward = w.let(f"zext {s.mask} {w.let(f'fcmp ogt {s.ty} {sizes[0]}, {sizes[1]}')} to {bits}")
    inexact = w.let(f"zext {s.mask} {w.let(f'fcmp one {s.ty} {back}, {x}')} to {bits}")
    cut = w.let(f"sub {bits} {w.let(f'bitcast {single} {near} to {bits}')}, {outward}")
    odd = w.let(f"bitcast {bits} {w.let(f'or {bits} {cut}, {inexact}')} to {single}")
    return w.let(f"fptrunc {single} {odd} to {s.text(to)}")


def _from_integer(s: Site, x: str) -> str:
    """To f16 by way of f32, which holds every integer in the range of f16 exactly."""
    word = "sitofp" if s.types[0].kind == "i" else "uitofp"
    if s.to.bits > 16:
        return s.w.let(f"{word} {s.ty} {x} to {s.text(s.to)}")
    return s.w.let(f"fptrunc {s.text(f32)} {s.w.let(f'{word} {s.ty} {x} to {s.text(f32)}')} to {s.text(s.to)}")


def _saturate(s: Site) -> str:
    """From f16 by way of f32: where processors have instructions for f16, LLVM makes the least integer of its NaN."""
    word = "fptosi" if s.to.kind == "i" else "fptoui"
    source, ty, x = s.types[0], s.ty, s.args[0]
    if source.bits == 16:
        source, ty, x = f32, s.text(f32), s.w.let(f"fpext {ty} {x} to {s.text(f32)}")
    name = f"llvm.{word}.sat.{mangled(s.to, s.lanes)}.{mangled(source, s.lanes)}"
    return s.w.intrinsic(name, s.text(s.to), [(ty, x)])


def _bitcast(s: Site) -> str:
    ty = s.text(s.to)
    return s.args[0] if ty == s.ty else s.w.let(f"bitcast {s.ty} {s.args[0]} to {ty}")


EMITTERS: dict[OpDef, Emitter] = {
    ops.ADD: _two("fadd", "add"),
    ops.SUB: _two("fsub", "sub"),
    ops.MUL: _two("fmul", "mul"),
    ops.DIV: _two("fdiv", "fdiv"),
    ops.FLOORDIV: _divide(rounding_down=True),
    ops.MOD: _remainder(rounding_down=True),
    ops.RAW_DIV: _divide(rounding_down=False),
    ops.RAW_MOD: _remainder(rounding_down=False),
    ops.IPOW: _integer_power,
    ops.MAX: _extreme("ogt", "sgt", "ugt"),
    ops.MIN: _extreme("olt", "slt", "ult"),
    ops.NEG: _negate,
    ops.ABS: _magnitude,
    ops.FMA: _fma,
    ops.SQRT: _intrinsic("sqrt"),
    ops.FLOOR: _intrinsic("floor"),
    ops.CEIL: _intrinsic("ceil"),
    ops.TRUNC: _intrinsic("trunc"),
    ops.ROUND: _intrinsic("round"),
    ops.RINT: _intrinsic("roundeven"),
    ops.AND: _two("", "and"),
    ops.OR: _two("", "or"),
    ops.XOR: _two("", "xor"),
    ops.NOT: _invert,
    ops.SHL: _shift(left=True),
    ops.SHR: _shift(left=False),
    ops.POPCNT: _bit_count("ctpop"),
    ops.CLZ: _bit_count("ctlz", ("i1", "false")),
    ops.EQ: _compare("oeq", "eq"),
    ops.NE: _compare("une", "ne"),
    ops.LT: _compare("olt", "slt", "ult"),
    ops.LE: _compare("ole", "sle", "ule"),
    ops.GT: _compare("ogt", "sgt", "ugt"),
    ops.GE: _compare("oge", "sge", "uge"),
    ops.SELECT: _select,
    ops.CAST: _cast,
    ops.BITCAST: _bitcast,
}
