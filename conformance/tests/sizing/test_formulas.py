"""Random formulas of depths: the code that computes them, and evaluation on the host, give what their nodes mean."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from adstack.interpreter import run
from adstack.ir.builder import Builder
from adstack.ir.location import UNKNOWN
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import i64
from adstack.ir.verify.verifier import verify
from adstack.sizing.emit import Emitter
from adstack.sizing.evaluate import evaluate
from adstack.sizing.expr import Const, Number, Plus, SizeExpr, SumOverRange, Times, Triangle, Trips
from adstack.transforms.pipeline import lower

PARAMS = (Value(i64, "n"), Value(i64, "m"))
OUT = Place("out", i64, ())


def formulas(known: tuple[Value, ...], depth: int) -> st.SearchStrategy[SizeExpr]:
    """Formulas of the values that are known, with nodes in nodes at most so deep."""
    value = st.sampled_from(known)
    leaves: list[st.SearchStrategy[SizeExpr]] = [
        st.builds(Const, st.integers(0, 3)),
        st.builds(Number, value),
        st.builds(Trips, value, value),
        st.builds(Triangle, value, value, st.integers(-4, 4)),
    ]
    if depth == 0:
        return st.one_of(leaves)
    inner = formulas(known, depth - 1)
    index = Value(i64, f"index{depth}")
    sums = st.builds(SumOverRange, st.just(index), value, value, formulas((*known, index), depth - 1), st.just(UNKNOWN))
    plus = st.builds(Plus, st.lists(inner, min_size=1, max_size=3).map(tuple))
    return st.one_of(*leaves, plus, st.builds(Times, inner, inner), sums)


def meaning(expr: SizeExpr, numbers: Mapping[Value, int]) -> int:
    """What the node's docstring says."""
    match expr:
        case Const(value):
            return value
        case Number(value):
            return max(0, numbers[value])
        case Trips(lo, hi):
            return len(range(numbers[lo], numbers[hi]))
        case Plus(terms):
            return sum(meaning(term, numbers) for term in terms)
        case Times(count, each):
            return meaning(count, numbers) * meaning(each, numbers)
        case Triangle(lo, hi, shift):
            return sum(max(0, k + shift) for k in range(numbers[lo], numbers[hi]))
        case SumOverRange(index, lo, hi, body):
            return sum(meaning(body, {**numbers, index: k}) for k in range(numbers[lo], numbers[hi]))
    raise AssertionError(expr)


def computed(expr: SizeExpr, numbers: tuple[int, ...]) -> int:
    """What the code gives that is emitted for a formula."""
    b = Builder(Region([Value(p.type, p.name) for p in PARAMS]))
    b.store(OUT, [], Emitter(b, dict(zip(PARAMS, b.region.args, strict=True))).size(expr))
    b.return_()
    kernel = Kernel("size", b.region, {OUT.name: OUT})
    verify(kernel)
    memory = {"out": np.full((), -1, np.int64)}
    run(lower(kernel), memory, numbers)
    return int(memory["out"])


@settings(max_examples=200)
@given(formulas(PARAMS, 2), st.tuples(st.integers(-3, 6), st.integers(-3, 6)))
def test_code_and_host_give_what_a_formula_means(expr: SizeExpr, numbers: tuple[int, ...]) -> None:
    wanted = meaning(expr, dict(zip(PARAMS, numbers, strict=True)))
    task = SimpleNamespace(kind="serial", body=Region(list(PARAMS)))
    size = SimpleNamespace(expr=expr, dependence=SimpleNamespace(task=task), number=0)
    assert evaluate(size, numbers, {}) == wanted  # type: ignore[arg-type]
    assert computed(expr, numbers) == wanted
