"""The oracle does with adjoints what the specification says of memory and control.

Rules: grad.meaning, grad.load, grad.store, grad.atomic, grad.overwritten, grad.choice, grad.loop, grad.constant,
grad.connected, grad.integer, grad.precision, grad.returned, grad.local, grad.random
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from adstack.errors import AdstackArgumentError, AdstackOutOfBoundsError, InternalError
from adstack.interpreter import RunOptions, run
from adstack.ir.builder import Builder
from adstack.ir.ops import CALL, RANDOM
from adstack.ir.scalar_ops import EXP, MAX, MIN, POW, SIN
from adstack.ir.structure import Function, Kernel, Place, Region, Value
from adstack.ir.types import f16, f32, f64, i32, u1
from adstack.oracle.tape import gradient
from adstack.transforms.math.lower import lower_math
from adstack.transforms.tasks import tasks

X, Y, Z = (Place(name, f64, (4,)) for name in "xyz")
L, M = Place("l", f64), Place("m", f64)
AT = Place("at", i32, (4,))
NUMBERS = np.array([3.0, -0.5, 0.75, 2.0])


def kernel(write, *places, params=(), returns=()):
    """A kernel whose body `write(builder)` writes; what it gives is returned."""
    b = Builder()
    b.region.define(params)
    b.return_(*(write(b) or ()))
    return Kernel("k", b.region, {p.name: p for p in places}, tuple(returns))


def parallel(b, extent, write):
    """One loop over `extent` iterations."""
    body = Region([Value(i32, "i")])
    with b.into(body):
        write(body.args[0])
        b.yield_()
    b.parallel_for([(b.const(0, i32), b.const(extent, i32))], body)


def looped(write, *places):
    """A kernel of one parallel loop over the elements of `x`."""
    return kernel(lambda b: parallel(b, 4, lambda i: write(b, i)), *places)


def at(b, *numbers):
    return [b.const(n, i32) for n in numbers]


def arrays(**values):
    return {name: np.asarray(value, float) for name, value in values.items()}


def check(k, buffers, adjoints, **want):
    for precision in ("own", "f64"):
        got = gradient(k, buffers, (), adjoints, precision=precision)
        assert {name: got[name].tolist() for name in want} == {name: np.asarray(v).tolist() for name, v in want.items()}


# ---- memory


def test_a_load_accumulates():
    k = looped(lambda b, i: b.store(Y, [i], b.mul(b.load(X, [i]), b.load(X, [i]))), X, Y)
    check(
        k, arrays(x=NUMBERS, y=[0] * 4), arrays(x=[1] * 4, y=[1, 2, 3, 4]), x=1 + 2 * NUMBERS * [1, 2, 3, 4], y=[0] * 4
    )


def test_a_store_consumes_the_adjoint_of_what_it_overwrote():
    k = kernel(lambda b: b.store(Y, at(b, 2), b.const(7.0, f64)) and None, Y)
    check(k, arrays(y=NUMBERS), arrays(y=[1, 2, 3, 4]), y=[1, 2, 0, 4])


def test_of_two_stores_the_first_gives_nothing():
    def write(b):
        b.store(Y, at(b, 0), b.load(X, at(b, 0)))
        b.store(Y, at(b, 0), b.load(X, at(b, 1)))

    check(kernel(write, X, Y), arrays(x=NUMBERS, y=[0] * 4), arrays(x=[0] * 4, y=[5, 0, 0, 0]), x=[0, 5, 0, 0])


def test_a_square_in_place_at_3_gives_6():
    def write(b, i):
        v = b.load(X, [i])
        b.store(X, [i], b.mul(v, v))

    check(looped(write, X), arrays(x=[3, 1, 2, -1]), arrays(x=[1] * 4), x=[6, 2, 4, -2])


def test_a_value_read_back_passes_through_memory():
    def write(b, i):
        b.store(Y, [i], b.mul(b.load(X, [i]), b.const(3.0, f64)))
        b.store(Z, [i], b.mul(b.load(Y, [i]), b.load(Y, [i])))

    k = looped(write, X, Y, Z)
    grads = arrays(x=[0] * 4, y=[1] * 4, z=[1] * 4)
    check(k, arrays(x=NUMBERS, y=[0] * 4, z=[0] * 4), grads, x=3 + 18 * NUMBERS, y=[0] * 4, z=[0] * 4)


def test_an_atomic_addition_keeps_the_adjoint():
    k = looped(lambda b, i: b.atomic("add", L, [], b.mul(b.load(X, [i]), b.load(X, [i]))), X, L)
    check(k, arrays(x=NUMBERS, l=1.0), arrays(x=[0] * 4, l=0.5), x=NUMBERS, l=0.5)


def test_the_old_value_of_an_atomic_addition_carries_a_gradient_like_a_load():
    def write(b, i):
        old = b.atomic("add", Y, [i], b.load(X, [i]))
        b.store(Z, [i], b.mul(old, b.const(10.0, f64)))

    k = looped(write, X, Y, Z)
    check(
        k,
        arrays(x=NUMBERS, y=NUMBERS, z=[0] * 4),
        arrays(x=[0] * 4, y=[1] * 4, z=[1] * 4),
        x=[1] * 4,
        y=[11] * 4,
        z=[0] * 4,
    )


def test_old_values_of_a_chain_of_additions_see_the_additions_before_them():
    def write(b, i):
        b.store(Z, [i], b.atomic("add", L, [], b.load(X, [i])))

    k = looped(write, X, L, Z)
    check(
        k,
        arrays(x=NUMBERS, l=0, z=[0] * 4),
        arrays(x=[0] * 4, l=100.0, z=[1, 2, 3, 4]),
        x=[109, 107, 104, 100],
        l=110.0,
    )


@pytest.mark.parametrize(
    ("kind", "before", "x", "total"),
    [
        ("max", 0.0, [1, 0, 0, 0], 0),
        ("max", 9.0, [0, 0, 0, 0], 1),
        ("min", 9.0, [0, 1, 0, 0], 0),
        ("max", 3.0, [1, 0, 0, 0], 0),
        ("min", -0.5, [0, 1, 0, 0], 0),
        ("xchg", 9.0, [0, 0, 0, 1], 0),
    ],
)
def test_the_adjoint_of_an_atomic_choice_goes_to_the_value_that_won(kind, before, x, total):
    k = looped(lambda b, i: b.atomic(kind, L, [], b.load(X, [i])), X, L)
    check(k, arrays(x=NUMBERS, l=before), arrays(x=[0] * 4, l=1), x=x, l=total)


def test_of_equal_values_the_last_one_wins():
    k = looped(lambda b, i: b.atomic("max", L, [], b.load(X, [i])), X, L)
    check(k, arrays(x=[1, 5, 2, 5], l=0), arrays(x=[0] * 4, l=1), x=[0, 0, 0, 1], l=0)


def test_an_atomic_product_is_differentiated_by_all_its_factors():
    k = looped(lambda b, i: b.atomic("mul", L, [], b.load(X, [i])), X, L)
    check(k, arrays(x=[2, 3, 5, 0], l=7), arrays(x=[0] * 4, l=1), x=[0, 0, 0, 210], l=0)


def test_a_compare_and_swap_passes_what_it_wrote():
    def write(b, i):
        b.atomic("cas", Y, [i], b.const(1.0, f64), b.load(X, [i]))

    check(
        looped(write, X, Y),
        arrays(x=NUMBERS, y=[1, 2, 1, 2]),
        arrays(x=[0] * 4, y=[1, 2, 3, 4]),
        x=[1, 0, 3, 0],
        y=[0, 2, 0, 4],
    )


def test_lanes_that_read_one_element_add_to_it():
    k = looped(lambda b, i: b.store(Y, [i], b.load(X, [b.load(AT, [i])])), X, Y, AT)
    buffers = {**arrays(x=NUMBERS, y=[0] * 4), "at": np.array([2, 2, 0, 2], np.int32)}
    check(k, buffers, arrays(x=[0] * 4, y=[1, 2, 3, 4]), x=[3, 0, 7, 0])


def test_a_place_without_an_adjoint_is_constant():
    def write(b, i):
        b.store(Y, [i], b.load(X, [i]))
        b.store(Z, [i], b.mul(b.load(Y, [i]), b.load(X, [i])))

    k = looped(write, X, Y, Z)
    check(k, arrays(x=NUMBERS, y=[0] * 4, z=[0] * 4), arrays(x=[0] * 4, z=[1] * 4), x=NUMBERS, z=[0] * 4)


def test_local_arrays_hand_on_what_was_stored_last():
    def write(b, i):
        cells = b.array(f64, 2)
        b.array_store(cells, at(b, 0)[0], b.load(X, [i]))
        b.array_store(cells, at(b, 1)[0], b.const(5.0, f64))
        b.array_store(cells, at(b, 1)[0], b.array_load(cells, at(b, 0)[0]))
        b.array_store(cells, at(b, 0)[0], b.const(5.0, f64))
        b.store(Y, [i], b.mul(b.array_load(cells, at(b, 0)[0]), b.array_load(cells, at(b, 1)[0])))

    check(looped(write, X, Y), arrays(x=NUMBERS, y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4), x=[5] * 4)


def test_of_lanes_that_write_one_element_the_last_one_gets_its_adjoint():
    k = looped(lambda b, i: b.store(L, [], b.load(X, [i])), X, L)
    check(k, arrays(x=NUMBERS, l=0), arrays(x=[0] * 4, l=5), x=[0, 0, 0, 5], l=0)


# ---- what does not pass


def test_the_branch_not_taken_contributes_nothing():
    def write(b, i):
        v = b.load(X, [i])
        root = b.sqrt(v)
        then, orelse = Region(), Region()
        with b.into(then):
            b.yield_(root)
        with b.into(orelse):
            b.yield_(v)
        (r,) = b.if_(b.gt(v, b.const(0.0, f64)), then, orelse)
        b.store(Y, [i], r)
        b.store(Z, [i], b.select(b.gt(v, b.const(0.0, f64)), root, v))

    buffers, grads = arrays(x=[0, 4, 0, 16], y=[0] * 4, z=[0] * 4), arrays(x=[0] * 4, y=[1] * 4, z=[1] * 4)
    check(looped(write, X, Y, Z), buffers, grads, x=[2, 0.5, 2, 0.25])


def test_an_infinite_derivative_of_a_value_that_was_overwritten_is_no_nan():
    def write(b):
        b.store(Y, at(b, 0), b.sqrt(b.load(X, at(b, 0))))
        b.store(Y, at(b, 0), b.load(X, at(b, 1)))

    check(kernel(write, X, Y), arrays(x=[0, 1, 0, 0], y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4), x=[0, 1, 0, 0])


def test_zero_times_infinity_is_nan_where_it_is_connected():
    k = kernel(lambda b: b.store(L, [], b.mul(b.sqrt(b.load(M, [])), b.const(0.0, f64))) and None, L, M)
    assert math.isnan(gradient(k, arrays(l=0, m=0), (), arrays(l=1, m=0))["m"])


def test_integers_carry_nothing():
    def write(b, i):
        v = b.load(X, [i])
        b.store(Y, [i], b.mul(b.cast(b.cast(v, i32), f64), v))

    check(
        looped(write, X, Y), arrays(x=[3.7, -0.5, 0.75, 2.0], y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4), x=[3, 0, 0, 2]
    )


def test_random_numbers_are_those_of_the_forward_launch():
    k = looped(lambda b, i: b.store(Y, [i], b.mul(b.load(X, [i]), b.emit(RANDOM, to=f64))), X, Y)
    buffers = arrays(x=[1] * 4, y=[0] * 4)
    options = RunOptions(seed=5, launch=2)
    after = {name: array.copy() for name, array in buffers.items()}
    run(k, after, options=options)
    got = gradient(k, buffers, (), arrays(x=[0] * 4, y=[1] * 4), options=options)
    assert got["x"].tolist() == after["y"].tolist()


# ---- control


def power_kernel(loop):
    """y[i] = x[i] ** (i + 1), by a loop."""

    def write(b, i):
        v = b.load(X, [i])
        b.store(Y, [i], loop(b, i, v))

    return looped(write, X, Y)


def by_for(b, i, v):
    body = Region([Value(i32), Value(f64)])
    with b.into(body):
        b.yield_(b.mul(body.args[1], v))
    return b.for_(b.const(0, i32), i, [v], body)[0]


def by_while(b, i, v):
    condition, body = (Region([Value(i32), Value(f64)]) for _ in range(2))
    with b.into(condition):
        b.yield_(b.lt(condition.args[0], i), *condition.args)
    with b.into(body):
        b.yield_(b.add(body.args[0], b.const(1, i32)), b.mul(body.args[1], v))
    return b.while_([b.const(0, i32), v], condition, body)[1]


@pytest.mark.parametrize("loop", [by_for, by_while])
def test_lanes_leave_a_loop_when_theirs_is_over(loop):
    k = power_kernel(loop)
    buffers, grads = arrays(x=[2, 2, 3, 2], y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4)
    check(k, buffers, grads, x=[1, 4, 27, 32])
    one_by_one = gradient(k, buffers, (), grads, options=RunOptions(lanes=1))
    assert one_by_one["x"].tolist() == [1, 4, 27, 32]


def test_what_a_condition_region_computes_is_differentiated():
    def write(b, i):
        condition, body = (Region([Value(i32), Value(f64)]) for _ in range(2))
        with b.into(condition):
            n, v = condition.args
            b.yield_(b.lt(n, i), n, b.mul(v, v))
        with b.into(body):
            b.yield_(b.add(body.args[0], b.const(1, i32)), body.args[1])
        b.store(Y, [i], b.while_([b.const(0, i32), b.load(X, [i])], condition, body)[1])

    check(
        looped(write, X, Y), arrays(x=[2] * 4, y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4), x=[4, 32, 1024, 16 * 2.0**15]
    )


# ---- what a launch takes and gives


def scaled(b):
    b.store(Y, at(b, 1), b.mul(b.load(X, at(b, 0)), b.region.args[0]))
    return [b.mul(b.load(X, at(b, 2)), b.region.args[0])]


@pytest.mark.parametrize("split", [False, True])
def test_what_a_kernel_returns_has_an_adjoint(split):
    k = kernel(scaled, X, Y, params=[Value(f64, "a")], returns=[f64])
    program = tasks.split(k) if split else k
    got = gradient(program, arrays(x=NUMBERS, y=[0] * 4), [3.0], arrays(x=[0] * 4, y=[1] * 4), returned=[2.0])
    assert got["x"].tolist() == [3, 0, 6, 0]


def test_values_cross_tasks():
    def write(b):
        factor = b.mul(b.load(M, []), b.load(M, []))
        parallel(b, 4, lambda i: b.store(Y, [i], b.mul(b.load(X, [i]), factor)))

    one, two = (kernel(write, M, X, Y) for _ in range(2))
    buffers, grads = arrays(m=3, x=NUMBERS, y=[0] * 4), arrays(m=0, x=[0] * 4, y=[1] * 4)
    for program in (one, tasks.split(two)):
        check(program, buffers, grads, x=[9] * 4, m=6 * NUMBERS.sum())


def test_the_memory_given_stays_as_it_is():
    k = looped(lambda b, i: b.store(X, [i], b.mul(b.load(X, [i]), b.load(X, [i]))), X)
    buffers, grads = arrays(x=NUMBERS), arrays(x=[1] * 4)
    gradient(k, buffers, (), grads)
    assert buffers["x"].tolist() == NUMBERS.tolist()
    assert grads["x"].tolist() == [1] * 4


def test_a_library_function_counts_as_the_operation_it_implements():
    def write(b, i):
        v = b.load(X, [i])
        b.store(Y, [i], b.add(b.emit(SIN, v), b.emit(POW, b.emit(EXP, v), v)))

    plain, called = looped(write, X, Y), looped(write, X, Y)
    lower_math(called.body)
    assert "call" in {op.name for op in called.body.walk()}
    buffers, grads = arrays(x=NUMBERS, y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4)
    for precision in ("own", "f64"):
        one, two = (gradient(k, buffers, (), grads, precision=precision)["x"].tolist() for k in (plain, called))
        assert one == two


def test_any_other_function_is_what_its_body_does():
    b = Builder()
    b.region.define((Value(f64),))
    b.yield_(b.mul(b.region.args[0], b.region.args[0]))
    function = Function("square", b.region)

    def write(b, i):
        op = b.append(CALL, [b.load(X, [i])], [f64], {"function": function})
        b.store(Y, [i], op.result)

    check(looped(write, X, Y), arrays(x=NUMBERS, y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4), x=2 * NUMBERS)


# ---- precision


@pytest.mark.parametrize("dtype", [f16, f32])
def test_adjoints_have_the_type_of_their_primals_or_f64(dtype):
    x, y = Place("x", dtype, (4,)), Place("y", dtype, (4,))
    k = looped(lambda b, i: b.store(y, [i], b.div(b.const(1.0, dtype), b.load(x, [i]))), x, y)
    buffers = {"x": np.full(4, 3.0, dtype.numpy), "y": np.zeros(4, dtype.numpy)}
    grads = {"x": np.zeros(4, dtype.numpy), "y": np.ones(4, dtype.numpy)}
    own, wide = (gradient(k, buffers, (), grads, precision=p)["x"] for p in ("own", "f64"))
    assert own.dtype == dtype.numpy
    assert wide.dtype == np.float64
    assert wide.tolist() == [-(1.0 / 3.0) / 3.0] * 4
    assert own.tolist() != wide.tolist()


def test_f64_values_follow_the_path_of_the_kernels_own_run():
    """0.1 + 0.2 rounds to 0.3 in f32, so the f32 condition holds; in f64 it does not."""
    x, y = Place("x", f32, (4,)), Place("y", f32, (4,))

    def write(b, i):
        v = b.load(x, [i])
        total = b.add(b.const(0.2, f32), v)
        equal = b.eq(total, b.const(0.3, f32))
        b.store(y, [i], b.select(equal, b.mul(v, b.const(2.0, f32)), v))

    buffers = {"x": np.full(4, 0.1, np.float32), "y": np.zeros(4, np.float32)}
    grads = {"x": np.zeros(4, np.float32), "y": np.ones(4, np.float32)}
    k = looped(write, x, y)
    for precision in ("own", "f64"):
        assert gradient(k, buffers, (), grads, precision=precision)["x"].tolist() == [2.0] * 4


def sums_to_a_tie(write):
    """A kernel of a = 0.1 + 0.2 and b = 0.3: the same in f32, while in f64 a is less than b."""
    x, y = Place("x", f32, (4,)), Place("y", f32, (4,))

    def body(b, i):
        a = b.add(b.const(0.2, f32), b.load(x, [i]))
        b.store(y, [i], write(b, a, b.load(x, [b.const(1, i32)])))

    buffers = {"x": np.array([0.1, 0.3, 0.1, 0.1], np.float32), "y": np.zeros(4, np.float32)}
    grads = {"x": np.zeros(4, np.float32), "y": np.array([1, 0, 0, 0], np.float32)}
    return gradient(looped(body, x, y), buffers, (), grads, precision="f64")["x"].tolist()


LESS, MORE = float(np.float32(0.1)) + float(np.float32(0.2)), float(np.float32(0.3))


@pytest.mark.parametrize(
    ("write", "first", "second"),
    [
        (lambda b, a, c: b.mul(b.emit(MAX, c, a), b.emit(MAX, c, a)), 2 * LESS, 0),
        (lambda b, a, c: b.mul(b.emit(MIN, a, c), b.emit(MIN, a, c)), 0, 2 * MORE),
        (lambda b, a, c: b.mul(b.floor(b.div(a, c)), a), 1, 0),
        (lambda b, a, c: b.mul(b.abs(b.sub(a, c)), a), LESS - MORE, 0),
        (lambda b, a, c: b.abs(b.sub(a, c)), 0, 0),
    ],
)
def test_f64_values_are_decided_about_by_the_kernels_own(write, first, second):
    assert LESS < MORE
    assert sums_to_a_tie(write) == [first, second, 0, 0]


def test_casts_between_floats_pass_adjoints_on():
    y = Place("y", f32, (4,))
    k = looped(lambda b, i: b.store(y, [i], b.cast(b.load(X, [i]), f32)), X, y)
    buffers = {"x": NUMBERS, "y": np.zeros(4, np.float32)}
    check(k, buffers, {"x": np.zeros(4), "y": np.array([1, 2, 3, 4], np.float32)}, x=[1, 2, 3, 4])


# ---- errors


def test_a_place_without_floats_has_no_adjoint():
    k = looped(lambda b, i: b.store(Y, [i], b.load(X, [b.load(AT, [i])])), X, Y, AT)
    buffers = {**arrays(x=NUMBERS, y=[0] * 4), "at": np.zeros(4, np.int32)}
    for name in ("at", "w"):
        with pytest.raises(AdstackArgumentError, match="has no adjoint"):
            gradient(k, buffers, (), {name: np.zeros(4)})
    with pytest.raises(AdstackArgumentError, match="x has 4 elements, its adjoint 3"):
        gradient(k, buffers, (), {"x": np.zeros(3)})


def test_indices_are_checked():
    k = looped(lambda b, i: b.store(Y, [i], b.load(X, [b.load(AT, [i])])), X, Y, AT)
    buffers = {**arrays(x=NUMBERS, y=[0] * 4), "at": np.array([0, 0, 4, 0], np.int32)}
    with pytest.raises(AdstackOutOfBoundsError, match=r"field x at \(4\).*in iteration \(2\)"):
        gradient(k, buffers, (), arrays(x=[0] * 4))


def test_local_indices_are_checked():
    def write(b, i):
        b.array_store(b.array(f64, 3), i, b.load(X, [i]))

    with pytest.raises(AdstackOutOfBoundsError, match=r"the local array at \(3\)"):
        gradient(looped(write, X), arrays(x=NUMBERS), (), arrays(x=[0] * 4))


def test_adstack_operations_are_not_differentiated():
    k = looped(lambda b, i: b.pop(b.stack(f64, b.const(1, i32))), X)
    with pytest.raises(InternalError, match="belongs to differentiated kernels"):
        gradient(k, arrays(x=NUMBERS), (), arrays(x=[0] * 4))


def test_asserts_and_prints_are_silent(capsys):
    def write(b, i):
        b.assert_(b.const(False, u1), "no")  # noqa: PT009 - the op, not unittest's
        b.print_(["x\n"])
        b.store(Y, [i], b.load(X, [i]))

    check(looped(write, X, Y), arrays(x=NUMBERS, y=[0] * 4), arrays(x=[0] * 4, y=[1] * 4), x=[1] * 4)
    assert capsys.readouterr().out == ""
