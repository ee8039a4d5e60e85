"""Formulas of depths, put together from parts."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from adstack.ir.location import UNKNOWN
from adstack.ir.ops import STORE
from adstack.ir.structure import Program, Value
from adstack.ir.text.parser import parse_ir
from adstack.ir.types import i64
from adstack.ir.verify.verifier import verify
from adstack.sizing.build import Builder, total
from adstack.sizing.dependence import Dependence
from adstack.sizing.evaluate import evaluate
from adstack.sizing.expr import Const, Number, Plus, SumOverRange, Triangle
from adstack.sizing.size import Size

N, M = Number(Value(i64)), Number(Value(i64))


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        ((), Const(0)),
        ((Const(0),), Const(0)),
        ((Const(2), Const(3)), Const(5)),
        ((N,), N),
        ((N, Const(0)), N),
        ((Const(0), N, M), Plus((N, M))),
        ((Const(2), N, Const(3)), Plus((N, Const(5)))),
        ((Plus((N, Const(4))), M, Const(1)), Plus((N, M, Const(5)))),
    ],
)
def test_a_sum_keeps_all_its_terms_and_has_one_constant(terms, wanted) -> None:
    assert total(*terms) == wanted


SUMMED = """
  program @k {{
    place @n : i64[2] field
    task @k.0 serial () {{
      %0 = const 0 : i64
      %1 = const 1 : i64
      %lo = load @n[%0]
      %hi = load @n[%1]
      %sum = for %j = %lo to %hi carry (%s = %0) {{
        %test = {test}
        %count = select %test, %j, %0
        %more = add %s, %count
        yield %more
      }}
      store @n[%0], %sum
      return
    }}
  }}
"""


@pytest.mark.parametrize(
    ("test", "closed"),
    [("gt %j, %0", True), ("lt %0, %j", True), ("le %j, %0", False), ("eq %j, %0", False), ("lt %j, %0", False)],
)
def test_only_what_is_above_zero_makes_a_triangle(test: str, closed: bool) -> None:
    program = parse_ir(textwrap.dedent(SUMMED.format(test=test)).strip() + "\n")
    verify(program)
    assert isinstance(program, Program)
    (task,) = program.tasks
    (store,) = [op for op in task.body.walk() if op.opdef is STORE]
    formula = Builder(Dependence(task)).size(store.operands[-1])
    assert isinstance(formula, Triangle if closed else SumOverRange)


BODIES = {
    "the index": ("%more = add %s, %j", 2 + 3 + 4),
    "a sum beside another value": (
        "%a, %more = for %k = %lo to %hi carry (%b = %j, %c = %s) {\n%d = add %c, %j\nyield %b, %d\n}",
        3 * (2 + 3 + 4),
    ),
    "a sum before another value": (
        "%more, %a = for %k = %lo to %hi carry (%c = %s, %b = %j) {\n%d = add %c, %j\nyield %d, %b\n}",
        3 * (2 + 3 + 4),
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_loops_add_up_has_a_formula(name: str) -> None:
    body, wanted = BODIES[name]
    lines = [line for line in SUMMED.format(test="").splitlines() if "%test" not in line]
    text = "\n".join(lines).replace("%more = add %s, %count", body)
    program = parse_ir(textwrap.dedent(text).strip() + "\n")
    verify(program)
    assert isinstance(program, Program)
    (task,) = program.tasks
    (store,) = [op for op in task.body.walk() if op.opdef is STORE]
    dependence = Dependence(task)
    size = Size(0, task.name, Builder(dependence).size(store.operands[-1]), dependence, UNKNOWN, serial=True)
    assert evaluate(size, (), {"n": np.array([2, 5])}) == wanted
