"""Functions of the language: on host numbers, on runtime values, and through vectors and matrices."""

import math

import numpy as np
import pytest
from symbolic import Term, recorded, value_of

from adstack.errors import AdstackTypeError
from adstack.ir.ops import TABLE
from adstack.ir.types import f32, i32, i64, u1
from adstack.values import functions as f
from adstack.values.matrices.matrix import Matrix, Vector
from adstack.values.parts import frexp
from adstack.values.protocol import current_emitter, emitting, is_expr

UNARY = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "cbrt": np.cbrt,
}


@pytest.fixture(autouse=True)
def empty_record():
    recorded()


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_host_numbers_are_computed_in_f64(name):
    # Both sides are within the budget of the table's row; the row's budget is in units in the last place.
    got, wanted = getattr(f, name)(0.375), float(UNARY[name](0.375))
    assert abs(got - wanted) <= 2 * max(TABLE[name].budget.f64, 1) * math.ulp(wanted)


def test_every_transcendental_row_of_the_table_has_a_function():
    missing = [n for n, row in TABLE.items() if row.transcendental and not callable(getattr(f, n, None))]
    assert missing == []


@pytest.mark.parametrize("name", ["sin", "floor", "abs", "round", "ceil", "trunc", "popcnt", "logical_not", "sqrt"])
def test_functions_hand_runtime_values_their_own_name(name):
    assert isinstance(getattr(f, name)(Term(4)), Term)
    assert recorded() == [name]


@pytest.mark.parametrize(
    "name", ["atan2", "hypot", "raw_div", "raw_mod", "bit_shr", "logical_and", "logical_or", "max", "min"]
)
def test_functions_of_two_keep_the_order_of_operands(name):
    assert getattr(f, name)(Term(12), 5).value == getattr(f, name)(12, 5)
    assert getattr(f, name)(12, Term(5)).value == getattr(f, name)(12, 5)
    assert recorded() == [name, name]


def test_a_function_of_plain_numbers_is_recorded_while_a_kernel_is_compiled():
    with emitting(Term(0)):
        assert current_emitter() is not None
        assert isinstance(f.sin(0.5), Term)
        with emitting(None):
            assert f.sin(0.5) == math.sin(0.5)
    assert current_emitter() is None
    assert recorded() == ["sin"]


def test_functions_go_through_vectors_and_matrices_element_by_element():
    assert f.abs(Vector([-1, 2])).to_list() == [1, 2]
    assert f.max(Matrix([[1, 5], [3, 0]]), 2).to_list() == [[2, 5], [3, 2]]
    assert f.atan2(Vector([0.0, 1.0]), Vector([1.0, 0.0])).to_list() == [0.0, math.atan2(1, 0)]
    assert f.floor([1.5, -1.5]).to_list() == [1.0, -2.0]
    assert f.sqrt(np.array([4.0, 9.0])).to_list() == [2.0, 3.0]


def test_numpy_scalars_are_numbers():
    assert f.max(np.float32(1.5), np.int64(2)) == 2
    assert type(f.max(np.float32(1.5), 1)) is float
    assert frexp(np.float32(3.0)) == frexp(np.float16(3.0)) == frexp(np.int32(3)) == (0.75, 2)


def test_shapes_must_agree():
    with pytest.raises(AdstackTypeError, match=r"operands of max must share a shape .got a 2-vector and a 3-vector"):
        f.max(Vector([1, 2]), Vector([1, 2, 3]))
    with pytest.raises(AdstackTypeError, match="got a 2-vector and a 2x1 matrix"):
        f.max(Vector([1, 2]), Matrix([[1], [2]]))


@pytest.mark.parametrize("wrong", ["x", None, object(), {}])
def test_an_argument_that_is_no_number_is_refused(wrong):
    with pytest.raises(AdstackTypeError, match="sin takes numbers, vectors and matrices"):
        f.sin(wrong)


def test_maximum_of_many_folds_to_the_right():
    recorded()
    f.max(Term(1), Term(2), Term(3))
    assert recorded() == ["max", "max"]
    nan = math.nan
    assert [f.max(nan, 1.0, nan), f.min(3, nan, 2), f.max(7)] == [1.0, 2, 7]
    calls = []

    class Spy(Term):
        def __adstack_emit__(self, row, args, /, **attrs):
            calls.append([value_of(a) for a in args])
            return Spy(max(calls[-1]))

    f.max(Spy(1), Spy(2), Spy(3))
    assert calls == [[2, 3], [1, 3]]


@pytest.mark.parametrize("name", ["max", "min"])
def test_maximum_of_nothing_is_refused(name):
    with pytest.raises(AdstackTypeError, match=f"{name} needs at least one argument"):
        getattr(f, name)()


def test_select_takes_vectors_of_conditions():
    assert f.select(Vector([1, 0]), Vector([1, 2]), 9).to_list() == [1, 9]
    assert f.select(Vector([1, 2]) == Vector([1, 3]), 5, 6).to_list() == [5, 6]


def test_cast_names_the_type_to_the_emitter():
    assert f.cast(Term(1.5), i32).dtype is i32
    assert f.cast(1.5, i64) == 1
    assert f.cast(Vector([0, 2]), u1).to_list() == [False, True]
    with pytest.raises(AdstackTypeError, match="is not a scalar type"):
        f.cast(1, "i32")


def test_rounding_functions_convert_if_a_type_is_given():
    assert f.floor(1.5, i32) == 1
    assert type(f.floor(1.5, i32)) is int
    assert f.round(Vector([1.5, 2.5]), i32).to_list() == [2, 3]


def test_bit_cast_of_the_host():
    assert f.bit_cast(1.0, i32) == 0x3F800000
    assert f.bit_cast(0x3F800000, f32) == 1.0


def test_pow_is_the_operator():
    assert f.pow(2, 10) == 1024
    assert f.pow(Vector([2, 3]), 2).to_list() == [4, 9]
    assert f.pow(Term(2), 3).value == 8
    assert recorded() == ["pow"]


def test_fma_rounds_once():
    a = 1 + 2.0**-30
    assert f.fma(a, a, -1 - 2.0**-29) == 2.0**-60


def test_zero_and_one_have_the_type_and_shape_of_their_argument():
    assert (f.zero(2.5), f.one(7)) == (0.0, 1)
    assert f.one(Matrix([[3, 4.5]])).to_list() == [[1, 1.0]]
    assert f.zero(Term(5, i64)).dtype is i64


def test_random_numbers_exist_in_kernels_only():
    with pytest.raises(AdstackTypeError, match="random is available in kernels only"):
        f.random()
    with emitting(Term(0)):
        assert f.random(f32).value == 0.25
        recorded()
        assert f.randn().value == math.sqrt(-2 * math.log(0.75)) * math.cos(6.283185307179586 * 0.25)
    assert recorded().count("random") == 2


def test_a_runtime_value_is_known_by_its_protocol():
    assert is_expr(Term(1))
    assert not is_expr(1)
    assert not is_expr(Vector([1]))
