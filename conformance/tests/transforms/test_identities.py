"""Every row of the algebra is exact: all ops on all kinds of operands, over border values, before and after."""

from __future__ import annotations

import math

import numpy as np
import pytest
from interpreter_kit import same_bits

from adstack.interpreter import run
from adstack.ir.builder import Builder
from adstack.ir.ops import TABLE
from adstack.ir.scalar_ops import BITCAST, CAST
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import ALL, DType, by_name, f64, i32, u1
from adstack.ir.verify.verifier import verify
from adstack.transforms.rewriting.rewrite import clone_kernel
from adstack.transforms.scalar import identities
from adstack.transforms.scalar import simplify as simplify_module
from adstack.transforms.scalar.patterns import Rule
from adstack.transforms.scalar.simplify import simplify

TYPES = [by_name(name) for name in ("u1", "i8", "u8", "i32", "u64", "f16", "f32", "f64")]


def borders(to: DType) -> list[bool | int | float]:
    """Numbers at which algebra goes wrong."""
    if to.is_bool:
        return [False, True]
    if not to.is_float:
        return [*dict.fromkeys([to(0), to(1), to(2), to(-1), to.min, to.max, to(-7)])]
    info = np.finfo(to.numpy)
    least, tiny, large = float(info.smallest_subnormal), float(info.tiny), float(info.max)
    return [0.0, -0.0, 1.0, -1.0, 2.0, 0.25, 3.0, math.inf, -math.inf, math.nan, least, -tiny, large, 2.5]


def operands(b: Builder, to: DType, x: Value, y: Value, flag: Value) -> list[Value]:
    """Values, numbers, and what rules look into."""
    values = [x, y, *(b.const(n, to) for n in borders(to))]
    unary = ("neg", "abs", "not", "floor", "ceil", "trunc", "round", "rint")
    values += [b.emit(TABLE[name], v) for name in unary for v in (x, y) if to in TABLE[name].signature.classes["T"]]
    two = [b.const(to(3), to), x, y]
    for name in ("add", "mul", "and", "or", "xor", "sub"):
        if to in TABLE[name].signature.classes["T"]:
            values += [b.emit(TABLE[name], x, two[0]), b.emit(TABLE[name], y, x)]
    values += [b.cast(flag, to)] if to is not u1 else [b.eq(x, y), b.ne(x, y)]
    return values


def binary_expressions(b: Builder, to: DType, x: Value, y: Value, flag: Value) -> list[Value]:
    """Every op of one or two operands (and fma, select) over the operands."""
    pool = operands(b, to, x, y, flag)
    expressions = []
    for row in TABLE.values():
        if row.signature.line is None or not row.pure or row.transcendental or row.name in ("cast", "bitcast", "const"):
            continue
        if to not in row.signature.classes.get("T", ()):
            continue
        if row.name == "select":
            flags = [flag, b.not_(flag)]
            expressions += [b.select(c, p, q) for c in flags for p in pool[:6] for q in pool[:6]]
        elif row.name == "fma":
            expressions += [b.fma(p, q, r) for p in pool for q in (x, pool[4], pool[2], b.neg(y)) for r in pool[:6]]
        elif len(row.signature.inputs) == 1:
            expressions += [b.emit(row, p) for p in pool]
        else:
            expressions += [b.emit(row, p, q) for p in pool for q in pool]
    return expressions


def kernel_over(to: DType) -> tuple[Kernel, dict[str, np.ndarray]]:
    """A kernel that stores every expression for every pair of border values; its buffers."""
    numbers = borders(to)
    pairs = [(p, q) for p in numbers for q in numbers]
    b = Builder()
    zero, count = b.const(0, i32), b.const(len(pairs), i32)
    xs, ys = (Place(name, to, (len(pairs),)) for name in "xy")
    flags = Place("flags", u1, (len(pairs),))
    index = Value(i32, "i")
    body = Region([index])
    places = {p.name: p for p in (xs, ys, flags)}
    with b.into(body):
        x, y, flag = b.load(xs, [index]), b.load(ys, [index]), b.load(flags, [index])
        for number, value in enumerate(binary_expressions(b, to, x, y, flag)):
            place = places.setdefault(f"o{number}", Place(f"o{number}", value.dtype, (len(pairs),)))
            b.store(place, [index], value)
        b.yield_()
    b.parallel_for([(zero, count)], body)
    b.return_()
    kernel = Kernel("borders", b.region, places)
    verify(kernel)
    buffers = {p.name: np.zeros([n or 0 for n in p.shape], p.dtype.numpy) for p in places.values()}
    buffers["x"][:], buffers["y"][:] = np.array(pairs, to.numpy).T
    buffers["flags"][::2] = True
    return kernel, buffers


@pytest.mark.parametrize("to", TYPES, ids=str)
def test_no_bit_of_any_expression_changes(to):
    kernel, before = kernel_over(to)
    simplified = clone_kernel(kernel)
    simplify(simplified.body)
    verify(simplified)
    after = {name: array.copy() for name, array in before.items()}
    run(kernel, before)
    run(simplified, after)
    assert [name for name in before if not same_bits(before[name], after[name])] == []
    assert sum(1 for _ in simplified.body.walk()) < sum(1 for _ in kernel.body.walk())


def test_every_rule_is_met(monkeypatch):
    met: set[str] = set()

    def counted(key, rule):
        def outcome(maker, op, operands):
            value = rule.outcome(maker, op, operands)
            if value is not None:
                met.add(f"{key[0].name}: {rule.why}")
            return value

        return Rule(rule.pattern, outcome, rule.why)

    index = {key: [counted(key, rule) for rule in rules] for key, rules in identities.INDEX.items()}
    monkeypatch.setattr(simplify_module, "INDEX", index)
    for to in TYPES:
        simplify(kernel_over(to)[0].body)
    for text in (casts_of_casts(), bitcasts()):
        simplify(text.body)
    valid = {
        f"{row.name}: {rule.why}"
        for (row, to), rules in identities.INDEX.items()
        for rule in rules
        if to in TYPES and to in next(iter(row.signature.classes.values()))
    }
    assert valid - met == set()


def casts_of_casts() -> Kernel:
    """Every chain of two casts from f64, i32 and u1 values."""
    b = Builder()
    params = [Value(t) for t in ALL]
    b.region.define(params)
    out = [b.cast(b.cast(p, middle), to) for p in params for middle in ALL for to in ALL]
    out += [b.emit(CAST, p, to=p.dtype) for p in params]
    b.return_(*out)
    return Kernel("casts", b.region, {}, tuple(v.dtype for v in out))


def bitcasts() -> Kernel:
    """A chain of bitcasts, and one to the same type."""
    b = Builder()
    x = Value(i32)
    b.region.define((x,))
    f = b.bitcast(b.bitcast(x, by_name("u32")), by_name("f32"))
    out = [f, b.bitcast(f, i32), b.emit(BITCAST, x, to=i32)]
    b.return_(*out)
    return Kernel("bitcasts", b.region, {}, tuple(v.dtype for v in out))


@pytest.mark.parametrize("offset", range(14))
def test_no_chain_of_casts_changes(offset):
    kernel = casts_of_casts()
    simplified = clone_kernel(kernel)
    simplify(simplified.body)
    verify(simplified)
    values = [borders(t)[offset % len(borders(t))] for t in ALL]
    pairs = zip(run(kernel, {}, values), run(simplified, {}, values), kernel.returns, strict=True)
    with np.errstate(all="ignore"):
        assert all(same_bits(to.numpy.type(p), to.numpy.type(q)) for p, q, to in pairs)
    assert sum(1 for _ in simplified.body.walk()) < sum(1 for _ in kernel.body.walk())
    assert f64 in kernel.returns
