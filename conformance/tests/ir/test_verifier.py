"""The verifier: broken programs are refused with a message that says which op, what came and what was expected.

adstack.adjoint: only stacks of floats have adjoints.
"""

from __future__ import annotations

import sys

import pytest

from adstack.conformance.fuzz.programs import random_kernel, sized_kernel
from adstack.errors import IRError
from adstack.ir.builder import Builder
from adstack.ir.location import Loc
from adstack.ir.opdef import OpDef
from adstack.ir.ops import ARRAY_ALLOC, ASSERT, FOR, IF, LOAD, PRINT, RETURN, TABLE, YIELD
from adstack.ir.scalar_ops import ADD, CONST
from adstack.ir.structure import Kernel, Op, Place, Program, Region, Task, Value
from adstack.ir.text.parser import parse_ir
from adstack.ir.types import ArrayType, StackType, f32, f64, i32, u1
from adstack.ir.verify.rules import RULES
from adstack.ir.verify.verifier import verify

GOOD = """
kernel @good(%a: f32, %n: i32, %c: u1) -> (f32) {
  place @x : f32[?] ndarray
  place @x.grad : f32[?] ndarray grad of @x
  place @m : i32[3, 4] field
  place @b : u1[2] field
BODY
  return %a
}
"""


def kernel(body):
    return parse_ir(GOOD.replace("BODY", body))


def refused(root):
    with pytest.raises(IRError) as caught:
        verify(root)
    return caught.value.message


TYPE_ERRORS = {
    "%y = add %a, %n : f32": "add: operand 1 must be one of f32, got i32 (rule: T T -> T)",
    "%y = add %a : f32": "add: expected 2 operands (T T -> T), got 1",
    "%y = add %a, %a : f64": "add: expected results of types (f32), got (f64)",
    "%y = div %n, %n : i32": "div: operand 0 must be one of f16 f32 f64, got i32",
    "%y = and %a, %a : f32": "and: operand 0 must be one of u1 i8 i16 i32 i64 u8 u16 u32 u64, got f32",
    "%y = not %a : f32": "not: operand 0 must be one of u1",
    "%y = select %n, %a, %a : f32": "select: operand 0 must be u1, got i32",
    "%y = lt %a, %a : f32": "lt: expected results of types (u1), got (f32)",
    "%y = popcnt %n : i64": "popcnt: expected results of types (i32), got (i64)",
    "%y = bitcast %a : i64": "bitcast: expected types of one width, got f32 (32 bits) to i64 (64 bits)",
    "%y = random : u1": "random: attribute 'to' must be a scalar type, got u1",
    "%y = shape @x, 1 : i32": "shape: attribute 'axis' must be an axis of @x (rank 1), got 1",
    "%y = shape @x, 0 : f32": "shape: attribute 'to' must be an integer type (not u1), got f32",
    "%y = load @x[] : f32": "load: expected 1 operands (1 indices of @x), got 0",
    "%y = load @m[%n] : i32": "load: expected 2 operands (2 indices of @m), got 1",
    "%y = load @x[%a] : f32": "load: operand 0 must be an integer (not u1), got f32",
    "%y = load @x[%c] : f32": "load: operand 0 must be an integer (not u1), got u1",
    "%y = load @x[%n] : f64": "load: expected results of types (f32), got (f64)",
    "store @x[%n], %n": "store: operand 1 must be f32, got i32",
    "store @x[%n]": "store: expected 2 operands (1 indices of @x, then the value), got 1",
    "%y = atomic and @x[%n], %a : f32": "atomic: and works on one of u1 i8 i16 i32 i64 u8 u16 u32 u64, got @x of f32",
    "%y = atomic add @b[%n], %c : u1": "atomic: add works on one of i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64, got @b",
    "%y = atomic cas @x[%n], %a : f32": "atomic: expected 3 operands (1 indices of @x, then 2 values), got 2",
    "%y = atomic frob @x[%n], %a : f32": "atomic: attribute 'kind' must be one of add mul min max",
    "%y = array.alloc : array<f32, 0>": "array.alloc: attribute 'length' must be a positive int, got 0",
    "%y = array.load %a, %n : f32": "array.load: operand 0 must be an array handle, got f32",
    "%y = array.alloc : array<f32, 4>\n array.store %y, %n, %n": "array.store: operand 2 must be f32, got i32",
    "%y = array.alloc : array<f32, 4>\n array.store %y, %a, %a": "array.store: operand 1 must be an integer (not u1),",
    "%y = array.alloc : array<f32, 4>\n %z = select %c, %y, %y : f32": "select: operand 1 must be one of u1 i8",
    "%s = stack.alloca %a : stack<f32>": "stack.alloca: operand 0 must be an integer (not u1), got f32",
    "%s = stack.alloca %n : stack<f32>\n stack.push %s, %n": "stack.push: operand 1 must be f32, got i32",
    "%s = stack.alloca %n : stack<f32>\n %y = stack.load_top %s : f64": "stack.load_top: expected results of",
    "stack.pop %n": "stack.pop: operand 0 must be a stack handle, got i32",
    "%s = stack.alloca %n : stack<i32>\n %y = stack.load_top_adj %s : i32": "stack.load_top_adj: operand 0 must be a s",
    "%s = stack.alloca %n : stack<i32>\n stack.acc_adjoint %s, %n": "stack.acc_adjoint: operand 0 must be a stack of f",
    "%y = array.alloc : array<f32, 4>\n print %y": "print: operand 0 (a value printed) must be a scalar, got array<f32",
    'assert %a, "no"': "assert: operand 0 must be u1, got f32",
    'assert %c, "{} {}", %a': "assert: expected 3 operands (condition, then one per {} of the message), got 2",
}


@pytest.mark.parametrize("body", TYPE_ERRORS)
def test_an_op_that_breaks_its_type_rule_is_refused(body):
    assert refused(kernel(body)).startswith(TYPE_ERRORS[body])


CONTROL_ERRORS = {
    "if %n {\n yield\n } else {\n yield\n }": "if: operand 0 must be u1, got i32",
    "%y = if %c -> (f32) {\n yield %a\n } else {\n yield %n\n }": "if: region 1 must yield (f32), got (i32)",
    "%y = if %c -> (f32) {\n yield %a\n } else {\n yield\n }": "if: region 1 must yield (f32), got ()",
    "if %c {\n } else {\n yield\n }": "if: a region is empty: expected it to end with yield",
    "if %c {\n return\n } else {\n yield\n }": "return: expected yield at the end of an inner region, got return",
    "if %c {\n yield\n yield\n } else {\n yield\n }": "yield: a terminator in the middle of a region",
    "for %i = %a to %a {\n yield\n }": "for: operand 0 must be an integer (not u1), got f32",
    "%k = cast %n : i64\n for %i = %n to %k {\n yield\n }": "for: operand 1 must be i32, got i64",
    "%r = for %i = %n to %n carry (%s = %a) {\n yield %i\n }": "for: region 0 must yield (f32), got (i32)",
    "%r = for %i = %n to %n carry (%s = %a) {\n yield\n }": "for: region 0 must yield (f32), got ()",
    "%r = while (%s = %a) {\n yield %s\n } do (%t) {\n yield %t\n }": "while: region 0 must yield (u1, f32), got (f32)",
    "%r = while (%s = %a) {\n yield %c, %s\n } do (%t) {\n yield\n }": "while: region 1 must yield (f32), got ()",
    "parallel_for (%i = %n to %n) {\n yield %i\n }": "parallel_for: region 0 must yield (), got (i32)",
    "parallel_for (%i = %a to %a) {\n yield\n }": "parallel_for: operand 0 must be an integer (not u1), got f32",
    "parallel_for () {\n yield\n }": "parallel_for: expected operands in pairs (lo, hi per axis), at least one, got 0",
    "if %c {\n parallel_for (%i = %n to %n) {\n yield\n }\n yield\n } else {\n yield\n }": "parallel_for: expected onl",
    "%h = array.alloc : array<f32, 4>\n %r = for %i = %n to %n carry (%s = %h) {\n yield %s\n }": "for: carried values",
    "yield": "yield: a terminator in the middle of a region: expected it at the end only",
    "return %a": "return: a terminator in the middle of a region",
}


@pytest.mark.parametrize("body", CONTROL_ERRORS)
def test_control_that_breaks_its_rule_is_refused(body):
    assert refused(kernel(body)).startswith(CONTROL_ERRORS[body])


def const(to, value, result=None):
    return Op(CONST, [], {"to": to, "value": value}, [Value(result or to)])


def body_of(*ops):
    return Kernel("k", Region([], [*ops, Op(RETURN, [])]))


X = Place("x", f32, (4,))
ZERO = const(i32, 0)


def load_from(place):
    index = const(i32, 0)
    return index, Op(LOAD, [index.result], {"place": place}, [Value(f32)])


def unary(name, operand, result, **attrs):
    return Op(TABLE[name], [operand], attrs, [Value(result)])


def used_outside():
    inner = const(i32, 1)
    condition = const(u1, True)
    regions = [Region([], [inner, Op(YIELD, [])]), Region([], [Op(YIELD, [])])]
    return body_of(condition, Op(IF, [condition.result], regions=regions), unary("neg", inner.result, i32))


def yielding(result):
    condition = const(u1, True)
    regions = [Region([], [Op(YIELD, [], results=[result])]), Region([], [Op(YIELD, [])])]
    return body_of(condition, Op(IF, [condition.result], regions=regions))


def disowned():
    first = const(i32, 1)
    first.result.owner = None
    return body_of(first)


def own_result_inside():
    condition, result = const(u1, True), Value(i32)
    regions = [Region([], [Op(YIELD, [result])]) for _ in range(2)]
    return body_of(condition, Op(IF, [condition.result], None, [result], regions))


def twice(thing):
    first, second = const(i32, 1), const(i32, 1)
    if thing == "value":
        second.results = first.results
    if thing == "attrs":
        second.attrs = first.attrs
    if thing == "op":
        second = first
    return body_of(first, second)


def no_value():
    first = const(i32, 1)
    second = unary("neg", first.result, i32)
    second.operands = (3,)
    return body_of(first, second)


def unlisted_use():
    first, other = const(i32, 1), const(i32, 2)
    second = unary("neg", first.result, i32)
    second.operands = (other.result,)
    return body_of(first, other, second)


def use_listed_once():
    first = const(i32, 1)
    both = Op(ADD, [first.result], {}, [Value(i32)])
    both.operands *= 2
    return body_of(first, both)


def stray_use():
    """An op that was left out, and not erased."""
    first = const(i32, 1)
    unary("neg", first.result, i32)
    return body_of(first)


def stray_use_inside():
    condition, one = const(u1, True), const(i32, 1)
    regions = [Region([], [unary("neg", one.result, i32), Op(YIELD, [])]) for _ in range(2)]
    regions[1].ops = regions[1].ops[1:]
    return body_of(condition, one, Op(IF, [condition.result], regions=regions))


def shared_region():
    condition, region = const(u1, True), Region([], [Op(YIELD, [])])
    return body_of(condition, Op(IF, [condition.result], regions=[region, region]))


def extra_attribute():
    op = const(i32, 1)
    op.attrs["extra"] = 3
    return body_of(op)


BUILT = {
    "const of the wrong Python type": (
        lambda: body_of(const(f32, 1)), "const: attribute 'value' must be a Python float for f32, got 1"),
    "const of a bool as an integer": (
        lambda: body_of(const(i32, True)), "const: attribute 'value' must be a Python int for i32, got True"),
    "const out of range": (lambda: body_of(const(i32, 2**31)), "const: attribute 'value' must be a value of i32, got"),
    "const that rounds": (lambda: body_of(const(f32, 0.1)), "const: attribute 'value' must be a value of f32, got 0.1"),
    "const without a type": (
        lambda: body_of(const("f32", 1.0, f32)), "const: attribute 'to' must be a scalar type, got 'f32'"),
    "use outside the region": (used_outside, "neg: operand 0 is used outside the region that defines it"),
    "use before definition": (
        lambda: body_of(unary("neg", Value(i32, "later"), i32)), "neg: operand 0 is used before it is defined: %later"),
    "a result used in its own region": (own_result_inside, "yield: operand 0 is used before it is defined"),
    "an operand that is no value": (no_value, "neg: operand 0 must be a Value, got 3"),
    "a use that is not listed": (unlisted_use, "neg: operand 0 does not list the op among its uses: %0x"),
    "a use that is listed once": (use_listed_once, "add: operand 0 does not list the op among its uses: %0x"),
    "a stray use": (stray_use, "neg: it is listed among the uses of a value, and is no part of the program: %0x"),
    "a stray use in a region": (stray_use_inside, "neg: it is listed among the uses of a value, and is no part of"),
    "a value defined twice": (lambda: twice("value"), "const: a value is defined a second time"),
    "a value that names no owner": (disowned, "const: a value does not name what defines it as its owner"),
    "an op that stands twice": (lambda: twice("op"), "const: its op object is used a second time; make a copy"),
    "attributes shared": (lambda: twice("attrs"), "const: its dict of attributes object is used a second time"),
    "a region that stands twice": (shared_region, "if: its region object is used a second time"),
    "a missing attribute": (
        lambda: body_of(Op(CONST, [], {"to": i32}, [Value(i32)])), "const: expected attributes (to, value),"),
    "an unknown attribute": (extra_attribute, "const: expected attributes (to, value), got (to, value, extra)"),
    "an op outside the table": (lambda: body_of(Op(OpDef("warp"), [])), "warp: is not an operation of the table"),
    "a region missing": (
        lambda: body_of(ZERO, Op(FOR, [ZERO.result, ZERO.result])), "for: expected 1 regions, got 0"),
    "a place that is not listed": (
        lambda: body_of(*load_from(X)), "load: @x must be listed among the kernel's places as Place(name='x'"),
    "a place that is not a place": (lambda: body_of(*load_from("x")), "load: attribute 'place' must be a Place, got '"),
    "an empty body": (lambda: Kernel("k", Region()), "k: the body is empty: expected it to end with return"),
    "a terminator with a result": (
        lambda: Kernel("k", Region([], [Op(RETURN, [], results=[Value(i32)])])), "return: expected results"),
    "an inner terminator with a result": (lambda: yielding(Value(i32)), "yield: expected results of types (), got (i"),
    "a body without return": (
        lambda: Kernel("k", Region([], [const(i32, 0)])), "const: expected return as the last op of the region, got c"),
    "a body that ends with yield": (
        lambda: Kernel("k", Region([], [Op(YIELD, [])])), "yield: expected return at the end of a kernel's o"),
    "a handle as parameter": (
        lambda: Kernel("k", Region([Value(StackType(f32))], [Op(RETURN, [])])), "k: expected scalar paramete"),
    "a return of the wrong type": (
        lambda: Kernel("k", Region([], [Op(RETURN, [])]), returns=(f32,)), "return: expected values of types"),
    "a print without parts": (
        lambda: body_of(Op(PRINT, [], {"parts": "x"})), "print: attribute 'parts' must be a tuple of str, F"),
    "an assert without text": (
        lambda: body_of(Op(ASSERT, [], {"message": 3})), "assert: attribute 'message' must be a str, got 3"),
    "an alloc of no type": (
        lambda: body_of(Op(ARRAY_ALLOC, [], {"dtype": 3, "length": 4}, [Value(ArrayType(f32, 4))])),
        "array.alloc: attribute 'dtype' must be a scalar type, got 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", BUILT)
def test_a_malformed_structure_is_refused(case):
    build, message = BUILT[case]
    assert refused(build()).startswith(message)


PLACES = {
    "another name": ("y", X, "k: places['y'] must be the place of that name, got @x"),
    "not a place": ("x", 3, "k: places['x'] must be a Place, got 3"),
    "no dtype": ("x", Place("x", int), "@x: expected a scalar type as dtype, got <class 'int'>"),
    "kind": (
        "x",
        Place("x", f32, kind="tmp"),
        "@x: expected one of field ndarray temp result depths as kind, got 'tmp'",
    ),
    "role": (
        "x",
        Place("x", f32, role="adjoint"),
        "@x: expected one of primal grad dual grad.dual as role, got 'adjoint'",
    ),
    "of": (
        "x",
        Place("x", f32, role="grad"),
        "@x: expected 'of' to name a primal for a grad or dual only, got grad of None",
    ),
    "extent": ("x", Place("x", f32, (-1,)), "@x: expected extents that are None or non-negative ints, got shape (-1,)"),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_malformed_place_is_refused(case):
    name, place, message = PLACES[case]
    assert refused(Kernel("k", body_of().body, {name: place})) == message


def test_a_gradient_must_look_like_its_primal():
    grad = Place("x.grad", f64, (4,), role="grad", of="x")
    assert "expected the type and shape of its primal @x" in refused(
        Kernel("k", body_of().body, {"x": X, "x.grad": grad})
    )


PROGRAM = """
program @p -> (f32) results (@r) {
  place @r : f32[] result
  task @first serial (%n: i32) {
    %0 = const 1.0 : f32
    store @r[], %0
    return
  }
  task @second parallel (%n: i32) {
    %0 = const 0 : i32
    parallel_for (%i = %0 to %n) {
      yield
    }
    return
  }
}
"""
PROGRAM_ERRORS = {
    (
        "task @first serial",
        "task @first parallel",
    ): "store: expected parallel_for before the return of the parallel task first",
    ("task @second parallel", "task @second serial"): "parallel_for: expected none in the serial task second",
    (
        "    parallel_for",
        "    store @r[], %f\n    parallel_for",
    ): "store: expected only effect-free ops before the parallel_for",
    (
        "    parallel_for",
        "    %h = array.alloc : array<f32, 2>\n    parallel_for",
    ): "array.alloc: expected only scalars before",
    (
        "parallel (%n: i32)",
        "parallel (%n: i32, %m: i32)",
    ): "second: expected the parameters of the first task, (i32), got (i32",
    ("@second", "@first"): "p: expected one task called first, got 2",
    ("results (@r)", ""): "p: expected 1 results, one per returned value, got 0 ()",
    ("results (@r)", "results (@q)"): "p: expected a result place @q of f32 without axes, got None",
    ("f32[] result", "f32[] temp"): "p: expected a result place @r of f32 without axes, got Place(",
    ("    store @r[], %0\n", ""): "p: expected a store to the result @r in some task, got none",
    ("    return\n  }\n  task", "    return %0\n  }\n  task"): "return: expected values of types (), got (f32)",
}


@pytest.mark.parametrize("change", PROGRAM_ERRORS)
def test_a_malformed_program_is_refused(change):
    text = PROGRAM.replace(*change)
    if "%f" in text:
        text = text.replace("    %0 = const 0 : i32", "    %f = const 0.0 : f32\n    %0 = const 0 : i32")
    assert text != PROGRAM
    assert refused(parse_ir(text)).startswith(PROGRAM_ERRORS[change])


def test_a_task_of_an_unknown_kind_is_refused():
    program = Program("p", [Task("t", body_of().body, "sideways")])
    assert refused(program) == "t: expected one of serial parallel as task kind, got 'sideways'"


def test_a_parallel_task_that_only_returns_is_refused():
    program = Program("p", [Task("t", body_of().body, "parallel")])
    assert "expected parallel_for before the return" in refused(program)


def test_well_formed_programs_pass():
    verify(parse_ir(PROGRAM))
    verify(kernel("%s = stack.alloca %n : stack<f32>\n stack.acc_adjoint %s, %a"))
    for seed in range(50):
        random_kernel(seed)  # verifies


def test_an_error_shows_the_line_the_op_came_from(tmp_path):
    source = tmp_path / "kernel.py"
    source.write_text("first\n    y = a + b\n")
    b = Builder(loc=Loc(str(source), 2, 9, 2, 14))
    b.append(ADD, [b.const(1, i32), b.const(1.0, f32)], [i32])
    b.return_()
    with pytest.raises(IRError) as caught:
        verify(Kernel("k", b.region))
    shown = str(caught.value).splitlines()
    assert shown[0].startswith(f"{source}:2:9: add: operand 1 must be one of i32, got f32")
    assert shown[1:] == ["    y = a + b", "        ^^^^^"]


def test_every_row_of_the_table_has_a_rule_and_every_rule_a_row():
    assert set(RULES) == set(TABLE.values())


def test_nesting_of_any_depth_is_walked():
    b = Builder()
    condition = b.const(True, u1)
    region = Region([], [Op(YIELD, [])])
    for _ in range(3000):
        inner = Op(IF, [condition], regions=[region, Region([], [Op(YIELD, [])])])
        region = Region([], [inner, Op(YIELD, [])])
    b.region.ops.append(region.ops[0])
    b.return_()
    verify(Kernel("deep", b.region))


def calls(root):
    """How many functions are called to verify: the same on every machine, however busy."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        verify(root)
    finally:
        sys.setprofile(None)
    return count


def test_work_grows_in_proportion_to_the_number_of_ops():
    small, large = calls(sized_kernel(1000)), calls(sized_kernel(10000))
    assert large < 12 * small
