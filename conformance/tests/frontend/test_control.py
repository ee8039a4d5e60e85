"""if, while, break, continue, scopes, return: what kernels do, and what IR they become."""

from __future__ import annotations

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


@qd.kernel
def _classify(a: qd.i32) -> qd.i32:
    r = 0
    if a > 10:
        r = 1
    elif a > 5:
        r = 2
        if a == 7:
            r = 3
    else:
        r -= a
    return r


def test_if_elif_else_chooses_one_branch() -> None:
    assert [_classify(a) for a in (11, 6, 7, 4)] == [1, 2, 3, -4]


@qd.kernel
def _collatz(a: qd.i32) -> qd.i32:
    steps, b = 0, a
    while b != 1:
        if b % 2 == 0:
            b //= 2
        else:
            b = 3 * b + 1
        steps += 1
    return steps


def test_while_runs_until_its_condition_fails() -> None:
    assert [_collatz(a) for a in (1, 6, 27)] == [0, 8, 111]


@qd.kernel
def _jumps(a: qd.i32, limit: qd.i32) -> qd.i32:
    total = 0
    i = 0
    while True:
        i += 1
        if i > limit:
            break
        if i % 3 == 0:
            continue
        if i % 5 == 0:
            if i % 2 == 0:
                total += 1000
                continue
            total += 100
        total += a
    return total


def _jumps_in_python(a: int, limit: int) -> int:
    total = 0
    for i in range(1, limit + 1):
        if i % 3 == 0:
            continue
        if i % 5 == 0:
            if i % 2 == 0:
                total += 1000
                continue
            total += 100
        total += a
    return total


def test_break_and_continue_leave_from_nested_ifs() -> None:
    for limit in (0, 1, 5, 14, 31):
        assert _jumps(7, limit) == _jumps_in_python(7, limit)


@qd.kernel
def _search(n: qd.i32, rows: qd.i32, cols: qd.i32) -> qd.i32:
    position = -1
    for _q in range(1):
        for i, j in qd.ndrange(rows, cols):
            if i * j == n:
                position = i * 100 + j
                break
            else:  # noqa: RET508 - the else is what is tested
                position -= 1
        position = position * 1
    return position


def test_break_leaves_all_axes_of_an_ndrange() -> None:
    assert _search(6, 5, 5) == 203
    assert _search(7, 3, 2) == -7


@qd.kernel
def _both_branches_jump(n: qd.i32) -> qd.i32:
    total = 0
    for _q in range(1):
        for i in range(n):
            total += 1
            if i > 3:
                total += 10
                break
            else:  # noqa: RET508 - the else is what is tested
                total += 100
                continue
            total += 100000
    return total


def test_statements_after_two_jumps_are_not_reached() -> None:
    assert _both_branches_jump(10) == 415
    assert _both_branches_jump(2) == 202


@qd.kernel
def _guarded_rest(n: qd.i32) -> qd.i32:
    total = 0
    for _q in range(1):
        for i in range(n):
            if i % 2 == 0:
                if i % 4 == 0:
                    continue
                total += 10
            total += 1
            if i == 6:
                break
            total += 100
    return total


def _guarded_rest_in_python(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 2 == 0:
            if i % 4 == 0:
                continue
            total += 10
        total += 1
        if i == 6:
            break
        total += 100
    return total


def test_the_rest_of_every_enclosing_block_is_skipped() -> None:
    for n in (0, 1, 4, 6, 7, 20):
        assert _guarded_rest(n) == _guarded_rest_in_python(n)


@qd.kernel
def _unconditional() -> qd.i32:
    total = 0
    while total < 100:
        total += 1
        break
        total += 1000
    for _q in range(1):
        for _i in range(5):
            total += 10
            continue
            total += 1000
    return total


def test_jumps_without_a_condition_end_the_block() -> None:
    assert _unconditional() == 51


@qd.kernel
def _continue_in_parallel(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in x:
        if i % 2:
            continue
        x[i] = i + 1


def test_continue_ends_an_iteration_of_a_parallel_loop() -> None:
    x = np.zeros(5, np.int32)
    _continue_in_parallel(x)
    assert x.tolist() == [1, 0, 3, 0, 5]


@qd.kernel
def _static_choice(flag: qd.template(), a: qd.i32) -> qd.i32:
    if qd.static(flag):
        return a + 1
    return name_that_does_not_exist  # noqa: F821


def test_the_dead_branch_of_a_static_if_is_not_read() -> None:
    assert _static_choice(True, 3) == 4
    with pytest.raises(qd.AdstackNameError, match="name_that_does_not_exist"):
        _static_choice(False, 3)


@qd.kernel
def _static_jumps(n: qd.i32) -> qd.i32:
    total = 0
    for i in qd.static(range(6)):
        if qd.static(i == 1):
            continue
        for j in range(n):
            if j == i:
                continue
            total += 1
        if qd.static(i > 3):
            break
    return total


def test_static_loops_jump_under_static_conditions() -> None:
    assert _static_jumps(3) == 2 + 2 + 3 + 3


@qd.func
def _first_positive(a: qd.template(), count: qd.template()):
    for i in qd.static(range(count)):
        if qd.static(a[i] > 0):
            return a[i]
    return -1


@qd.kernel
def _returning_from_a_static_loop() -> qd.i32:
    return _first_positive((0, -3, 7, 8), 4) * 100 + _first_positive((0, -1), 2)


def test_a_return_ends_a_static_loop() -> None:
    assert _returning_from_a_static_loop() == 699


@qd.kernel
def _walrus(n: qd.i32) -> qd.i32:
    total = 0
    i = 0
    while (half := i // 2) < n:
        total += half
        i += 1
    if n > 100 and (big := n * 2) > 0:
        total += big
    if (v := qd.Vector([n, 2])).sum() > 0:
        total += v[0]
    return total * 10 + half


def test_a_walrus_declares_in_the_block_of_its_statement() -> None:
    assert _walrus(3) == (0 + 0 + 1 + 1 + 2 + 2 + 3) * 10 + 3
    assert _walrus(0) == 0


@qd.kernel
def _ternaries(a: qd.i32, v: qd.math.vec2) -> qd.math.vec2:
    b = v if a > 0 else -v
    c = qd.Vector([1.0, 2.0]) if a > 1 else qd.Vector([3, 4])
    d = (v > 1.5) if True else v
    return (b + c) if qd.static(True) else (d, 1)


def test_a_ternary_of_vectors_selects() -> None:
    assert _ternaries(2, [1, 2]).to_list() == [2, 4]
    assert _ternaries(0, [1, 2]).to_list() == [2, 2]


@qd.kernel
def _vector_condition(v: qd.math.vec2) -> qd.math.vec2:
    w = v if v > 1.5 else v * 10
    return w if (v > 0) and (v > 1) else qd.Vector([0, 1]) if not (v > 1) else v


def test_a_vector_condition_selects_elementwise() -> None:
    assert _vector_condition([1, 2]).to_list() == [0.0, 2.0]


@qd.kernel
def _returns(a: qd.i32, v: qd.math.vec2) -> (qd.i32, qd.math.vec2, qd.f32):
    return a * 2, v + 1, 0.5


def test_several_values_are_returned_as_annotated() -> None:
    first, second, third = _returns(2, [1, 2])
    assert (first, second.to_list(), third) == (4, [2, 3], 0.5)


@qd.kernel
def _no_value():
    pass


def test_a_kernel_without_a_return_gives_none() -> None:
    assert _no_value() is None


@qd.kernel
def _checked(a: qd.i32, n: qd.template()) -> qd.i32:
    """Docstrings are statements too."""
    assert a > 0, f"a is {a}, not {{positive}}"
    assert n == 4
    assert a < 100
    return a


def test_assert_acts_in_debug_mode_alone() -> None:
    assert _checked(-1, 5) == -1
    qd.init(arch=qd.reference, debug=True)
    assert _checked(1, 4) == 1
    with pytest.raises(qd.AdstackAssertionError, match=r"a is -1, not {positive}"):
        _checked(-1, 4)
    with pytest.raises(qd.AdstackAssertionError, match="a < 100"):
        _checked(100, 4)
    with pytest.raises(qd.AdstackAssertionError, match="n == 4"):
        _checked(1, 5)


@qd.kernel
def _static_chain(a: qd.template(), b: qd.i32) -> qd.i32:
    r = 0
    if a is None:
        r = 1
    elif a in (1, 2):
        r = 2
    elif a is not None and not isinstance(a, int):
        r = 3
    if b is not None:
        r += 10
    return r


def test_comparisons_by_identity_are_decided_while_compiling() -> None:
    assert [_static_chain(a, 1) for a in (None, 2, 0.5, 7)] == [11, 12, 13, 10]


@qd.kernel
def _guarded_condition(x: qd.types.ndarray(dtype=qd.i32, ndim=1), stop: qd.i32) -> qd.i32:
    i = 0
    while x[i] > 0:
        if x[i] == stop:
            break
        i += 1
    return i


def test_a_broken_loop_does_not_evaluate_its_condition_again() -> None:
    qd.init(arch=qd.reference, debug=True)
    x = np.array([3, 2, 1, 0], np.int32)
    assert [_guarded_condition(x, stop) for stop in (3, 1, 9)] == [0, 2, 3]


@qd.kernel
def _logic_of_vectors(v: qd.math.vec2) -> qd.math.vec2:
    a = (v > 1) or (v < 0)
    return qd.math.vec2(0) if qd.static(False) else a + 0


def test_logic_of_vectors_is_elementwise() -> None:
    assert _logic_of_vectors([0.5, 2]).to_list() == [0.0, 1.0]
    assert _logic_of_vectors([-1, 1]).to_list() == [1.0, 0.0]


@qd.kernel
def _jump_beside_a_jump(n: qd.i32) -> qd.i32:
    total = 0
    for _ in range(1):
        for i in range(n):
            if i == 2:
                continue
            elif i % 2 == 1:  # noqa: RET507 - the else is what is tested
                total += 10
                if i == 5:
                    continue
            total += i
    return total


def test_a_jump_in_the_branch_that_goes_on_skips_the_rest_too() -> None:
    assert _jump_beside_a_jump(8) == 40 + 0 + 1 + 3 + 4 + 6 + 7
