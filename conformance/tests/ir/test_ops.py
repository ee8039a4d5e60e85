"""The table of operations against its second telling: which types each takes, what it promises, what it must carry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adstack.errors import IRError
from adstack.ir.functions import builtin, evaluate
from adstack.ir.opdef import Budget, Signature
from adstack.ir.ops import ATOMICS, TABLE
from adstack.ir.types import ALL, FLOATS, INTS, f32, i32, u1

NUMERIC = (*INTS, *FLOATS)
BITS = (u1, *INTS)
TAKES = {
    "add sub mul max min": (2, NUMERIC),
    "neg abs": (1, NUMERIC),
    "div": (2, FLOATS),
    "sqrt floor ceil trunc round rint": (1, FLOATS),
    "fma": (3, FLOATS),
    "floordiv mod raw_div raw_mod ipow shl shr": (2, INTS),
    "and or xor": (2, BITS),
    "not": (1, BITS),
    "popcnt clz": (1, INTS),
    "eq ne lt le gt ge": (2, ALL),
    "sin cos tan asin acos atan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p rsqrt cbrt": (1, FLOATS),
    "pow atan2 hypot": (2, FLOATS),
}
UNIFORM = {name: rule for names, rule in TAKES.items() for name in names.split()}
RESULT = dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), u1) | dict.fromkeys(("popcnt", "clz"), i32)
LIBRARY = [name for names in list(TAKES)[-2:] for name in names.split()]
CONVERSIONS = ("cast", "bitcast")
MEANT = [*UNIFORM, "select", *CONVERSIONS]
EFFECTS = {
    "random": "reads writes",
    "load": "reads",
    "store": "writes",
    "atomic": "reads writes",
    "array.alloc": "",
    "array.load": "reads",
    "array.store": "writes",
    "stack.alloca": "",
    "stack.claim": "reads writes",
    "stack.push": "reads writes",
    "stack.pop": "reads writes",
    "stack.load_top": "reads",
    "stack.load_top_adj": "reads",
    "stack.acc_adjoint": "reads writes",
    "stack.put": "reads writes",
    "stack.get": "reads",
    "if": "",
    "for": "",
    "while": "",
    "parallel_for": "",
    "yield": "terminator",
    "return": "terminator",
    "assert": "writes",
    "print": "writes",
}
REGIONS = {"if": 2, "for": 1, "while": 2, "parallel_for": 1}
MUST_CARRY = {
    "const": {"to", "value"},
    "cast": {"to"},
    "bitcast": {"to"},
    "call": {"function"},
    "random": {"to"},
    "shape": {"place", "axis", "to"},
    "load": {"place"},
    "store": {"place"},
    "atomic": {"place", "kind"},
    "array.alloc": {"dtype", "length"},
    "stack.alloca": {"dtype", "around", "inside"},
    "assert": {"message"},
    "print": {"parts"},
}
COMMUTATIVE = {"add", "mul", "fma", "and", "or", "xor", "eq", "ne", "hypot"}
TRAPS = {"floordiv", "mod", "raw_div", "raw_mod", "ipow", "shl", "shr"}
ATOMIC_TYPES = {
    "add mul min max": NUMERIC,
    "and or xor": BITS,
    "xchg cas": ALL,
}


def taken(name, operands, **attrs):
    """The result types, or None where the row refuses these operands."""
    try:
        return TABLE[name].signature.infer(name, list(operands), attrs)
    except IRError:
        return None


@pytest.mark.parametrize("name", UNIFORM)
def test_a_row_takes_operands_of_its_types_and_of_no_other(name):
    count, types = UNIFORM[name]
    for dtype in ALL:
        wanted = [RESULT.get(name, dtype)] if dtype in types else None
        assert taken(name, [dtype] * count) == wanted, dtype


@pytest.mark.parametrize("name", [name for name in UNIFORM if UNIFORM[name][0] > 1])
def test_operands_of_a_row_share_one_type(name):
    count, types = UNIFORM[name]
    for one, other in itertools.permutations(types, 2):
        assert taken(name, [one] * (count - 1) + [other]) is None


@pytest.mark.parametrize("name", UNIFORM)
def test_a_row_takes_its_number_of_operands_alone(name):
    count, types = UNIFORM[name]
    assert taken(name, [types[0]] * (count + 1)) is None
    assert taken(name, [types[0]] * (count - 1)) is None


def test_a_selection_takes_a_u1_and_two_of_any_type():
    for dtype in ALL:
        assert taken("select", [u1, dtype, dtype]) == [dtype]
        assert (taken("select", [dtype, f32, f32]) is None) == (dtype is not u1)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_conversion_goes_from_any_type_to_the_type_it_names(name):
    for dtype, to in itertools.product(ALL, ALL):
        assert taken(name, [dtype], to=to) == [to]


def test_constants_are_of_any_type_and_random_numbers_of_any_but_u1():
    for to in ALL:
        assert taken("const", [], to=to) == [to]
        assert taken("random", [], to=to) == (None if to is u1 else [to])


def test_each_row_is_told_here():
    assert {*MEANT, *EFFECTS, "const", "call", "shape"} == set(TABLE)
    assert {name for name, row in TABLE.items() if row.meaning is not None} == set(MEANT)


def test_rows_promise_what_passes_rely_on():
    for name, row in TABLE.items():
        effects = {flag for flag in ("reads", "writes", "terminator") if getattr(row, flag)}
        assert effects == set(EFFECTS.get(name, "").split()), name
        assert row.pure == (name not in EFFECTS), name
        assert row.regions == REGIONS.get(name, 0), name
        assert set(row.attrs) == MUST_CARRY.get(name, set()), name
        assert (row.trap is not None) == (name in TRAPS), name


def test_the_rows_of_the_library_are_those_with_its_budgets():
    for name, row in TABLE.items():
        assert row.transcendental == (name in LIBRARY), name
        assert row.budget == (Budget(f16=1.0, f32=1.0, f64=1.0) if name in LIBRARY else Budget()), name


def borders(dtype):
    if dtype is u1:
        return [False, True]
    if dtype.is_float:
        return [0.0, -0.0, 1.0, -1.5, 3.0, 0.1, 1e-3, 6e4, np.inf, -np.inf, np.nan]
    return sorted({dtype.min, max(dtype.min, -1), 0, 1, 2, 3, 5, 7, dtype.max})


def bits_where_numbers(array):
    """The bits, those of every NaN made alike."""
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array).view(f"u{array.dtype.itemsize}")


@pytest.mark.parametrize("name", [name for name in UNIFORM if UNIFORM[name][0] > 1])
def test_a_row_is_commutative_just_if_no_bit_tells_the_first_two_operands_apart(name):
    count, types = UNIFORM[name]
    row, same = TABLE[name], True
    for dtype in types:
        grid = np.meshgrid(*[np.array(borders(dtype), dtype.numpy)] * count, indexing="ij")
        a, b, *rest = (axis.ravel() for axis in grid)
        to = RESULT.get(name, dtype)
        with np.errstate(all="ignore"):
            one, other = row.meaning(to, a, b, *rest), row.meaning(to, b, a, *rest)
        same &= np.array_equal(bits_where_numbers(one), bits_where_numbers(other))
    assert row.commutative == (name in COMMUTATIVE)
    assert row.commutative == same


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", LIBRARY)
def test_a_row_of_the_library_means_the_librarys_function_to_the_bit(name, dtype):
    values = np.array([*borders(dtype), 0.25, 0.7, -0.9, 12.0], dtype.numpy)
    count = UNIFORM[name][0]
    args = [axis.ravel() for axis in np.meshgrid(*[values] * count)]
    (wanted,) = evaluate(builtin(f"{name}.{dtype}"), args)
    got = TABLE[name].meaning(dtype, *args)
    assert got.dtype == dtype.numpy
    assert bits_where_numbers(got).tolist() == bits_where_numbers(wanted).tolist()


def test_atomics_take_the_types_that_their_kind_names():
    documented = {name: types for names, types in ATOMIC_TYPES.items() for name in names.split()}
    assert set(documented) == set(ATOMICS)
    for name, kind in ATOMICS.items():
        rule = Signature("T -> T", T=kind.over)
        assert set(rule.classes["T"]) == set(documented[name]), name
        assert kind.operands == (2 if name == "cas" else 1), name
