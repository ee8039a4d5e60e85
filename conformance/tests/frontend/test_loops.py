"""for: parallel at the top, serial inside, unrolled over static; what it runs over."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


def _loops(kernel: qd.Kernel, *args: object) -> list[str]:
    """The kinds of the loops of a kernel as lowered, in order."""
    text = next(iter(kernel.stages(*args).values()))
    words = (line.split() for line in text.splitlines())
    kinds = ("parallel_for", "for", "while")
    return [w for line in words for w in (line[0], line[2] if len(line) > 2 else "") if w in kinds]


@qd.kernel
def _kinds(n: qd.i32):
    for _i in range(n):
        for _j in range(n):
            pass
    if n > 0:
        for _i in range(n):
            pass
    while n < 0:
        pass
    qd.loop_config(serialize=True)
    for _i in range(n):
        pass
    qd.loop_config(block_dim=128)
    for _i, _j in qd.ndrange(n, 2):
        pass


def test_outermost_loops_are_parallel_unless_serialized() -> None:
    assert _loops(_kinds, 3) == ["parallel_for", "for", "for", "while", "for", "parallel_for"]


@qd.kernel
def _domains(n: qd.i32, a: qd.types.ndarray(), out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in range(n):
        out[0] += i
    for i in range(2, n):
        out[1] += i
    for _ in range(n, 2):
        out[2] += 1
    for i, j in qd.ndrange(n, (1, 3)):
        out[3] += i * 10 + j
    for i, j in a:
        out[4] += i * 10 + j
    for at in qd.grouped(a):
        out[5] += at[0] * 10 + at[1]
    for at in qd.grouped(qd.ndrange(n, 3)):
        out[6] += at.sum()
    for (i,) in qd.ndrange(n):
        out[7] += i
    for i in qd.ndrange(n):
        out[8] += i


def test_loops_run_over_ranges_boxes_and_arrays() -> None:
    out = np.zeros(9, np.int32)
    _domains(4, np.zeros((2, 3), np.float32), out)
    box = [(i, j) for i in range(4) for j in (1, 2)]
    array = [(i, j) for i in range(2) for j in range(3)]
    points = sum(i + j for i in range(4) for j in range(3))
    over_array = sum(10 * i + j for i, j in array)
    assert out.tolist() == [6, 5, 0, sum(10 * i + j for i, j in box), over_array, over_array, points, 6, 6]


def test_a_field_is_looped_over_in_its_domain() -> None:
    x = qd.field(qd.i32, shape=(3, 2), offset=(-1, 5))
    total = qd.field(qd.i32, shape=())

    @qd.kernel
    def run():
        for i, j in x:
            x[i, j] = i * 100 + j
        for _q in range(1):
            for i, j in x:
                total[None] += x[i, j]
        for at in qd.grouped(x):
            x[at] += 1000

    run()
    assert x.to_numpy().tolist() == [[905, 906], [1005, 1006], [1105, 1106]]
    assert total[None] == 6 * 5 + 3


def test_a_field_of_rank_0_has_one_point() -> None:
    s = qd.field(qd.i32, shape=())

    @qd.kernel
    def run():
        for at in qd.grouped(s):
            s[at] += 1
        s[None] += 10

    run()
    assert s[None] == 11


@qd.kernel
def _wide(n: qd.i64) -> qd.i64:
    total = qd.i64(0)
    for i in range(n, n + 3):
        total += i
    return total


def test_bounds_of_64_bits_are_kept() -> None:
    assert _wide(2**40) == 3 * 2**40 + 3


@qd.kernel
def _of_a_bool(c: qd.u1) -> qd.i32:
    total = 0
    for i in range(c):
        total += i + 1
    return total


def test_a_bool_bound_counts_as_an_integer() -> None:
    assert _of_a_bool(True) == 1


@qd.kernel
def _reduction(n: qd.i32) -> qd.f32:
    total, most = 0.0, -1
    v = qd.Vector([0, 0])
    for i in range(n):
        total += i * 0.5
        qd.atomic_max(most, i)
        v += qd.Vector([1, i])
    return total + most + v[0] * 1000 + v[1] * 10000


def test_locals_updated_in_a_parallel_loop_are_reduced() -> None:
    assert _reduction(4) == 3.0 + 3 + 4000 + 60000


@qd.kernel
def _last(n: qd.i32) -> qd.i32:
    seen = 0
    count = 0
    for i in range(n):
        if i == 2:
            seen = 7
        count += 1
    for _ in range(n):
        count += seen
    return count


def test_a_local_stored_in_a_parallel_loop_is_seen_after_it() -> None:
    assert _last(5) == 5 + 5 * 7


@qd.kernel
def _unrolled(a: qd.i32) -> qd.i32:
    total = 0
    for i in qd.static(range(1, 7, 2)):
        total += i * a
    for i, c in qd.static(enumerate([a, 5])):
        total += i * c
    for c, d in qd.static(zip((1, 2), (a, 4), strict=False)):
        total += c * d
    for i, j in qd.static(qd.ndrange(2, (1, 3))):
        total += i * j * 100
    for at in qd.static(qd.grouped(qd.ndrange(2, 2))):
        total += at[0] * at[1] * 1000
    for i in qd.static(qd.ndrange(3)):
        total += i * 10000
    for (c, d), e in qd.static([((1, 2), 3)]):
        total += c * d * e * 100000
    for c in qd.static({1: 2, 3: 4}):
        total += c
    return total


def test_static_loops_are_unrolled_over_what_is_known() -> None:
    assert _unrolled(2) == 18 + 5 + (2 + 8) + 300 + 1000 + 30000 + 600000 + 4
    assert _loops(_unrolled, 2) == []


@qd.kernel
def _chosen(parallel: qd.template(), depth: qd.template(), n: qd.i32, out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in qd.static(range(3)) if qd.static(depth == 0) else (range(n) if qd.static(parallel) else out):
        out[i] += i + 1


def test_a_static_ternary_chooses_what_is_looped_over() -> None:
    for parallel, depth, kinds in ((True, 0, []), (True, 1, ["parallel_for"]), (False, 1, ["parallel_for"])):
        out = np.zeros(3, np.int32)
        _chosen(parallel, depth, 3, out)
        assert out.tolist() == [1, 2, 3]
        assert _loops(_chosen, parallel, depth, 3, out) == kinds


@qd.kernel
def _parallel_in_static(out: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for k in qd.static(range(2)):
        for i in out:
            out[i] += k + 1


def test_a_loop_in_a_static_loop_at_the_top_is_parallel() -> None:
    out = np.zeros(3, np.int32)
    _parallel_in_static(out)
    assert out.tolist() == [3, 3, 3]
    assert _loops(_parallel_in_static, out) == ["parallel_for", "parallel_for"]


@qd.func
def _fill(out: qd.template(), value):
    for i in out:
        out[i] = value


@qd.func
def _sum(out):
    total = 0
    for i in out:
        total = total * 2 + out[i]
    return total


@qd.kernel
def _through_funcs(out: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
    _fill(out, 3)
    if out[0] > 0:
        _fill(out, 1)
    return _sum(out)


def test_a_loop_at_the_top_of_a_func_called_as_a_statement_is_parallel() -> None:
    out = np.zeros(3, np.int32)
    assert _through_funcs(out) == 7
    assert _loops(_through_funcs, out) == ["parallel_for", "for", "for"]


def test_long_unrolled_loops_are_warned_about() -> None:
    qd.init(arch=qd.reference, unrolling_limit=4)

    @qd.kernel
    def run() -> qd.i32:
        total = 0
        for i in qd.static(range(5)):
            total += i
        return total

    with pytest.warns(UserWarning, match="unrolled 5 times"):
        assert run() == 10

    @qd.kernel
    def short() -> qd.i32:
        total = 0
        for i in qd.static(range(4)):
            total += i
        return total

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert short() == 6


@qd.kernel
def _underscores() -> qd.i32:
    total = 0
    for _ in range(2):
        for _ in range(3):
            total += 1
    return total


def test_underscores_may_be_nested() -> None:
    assert _underscores() == 6


@qd.kernel
def _breaks_and_cells(n: qd.i32) -> qd.i32:
    total = 0
    for _q in range(1):
        for i in range(n):
            for j in range(i, 100):
                if j > 2 * i:
                    break
                total += j
            if total > 50:
                break
            k = total
            while k > 10:
                k -= 7
                if k == 12:
                    break
            total += k
        total += 0
    return total


def _breaks_in_python(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(i, 100):
            if j > 2 * i:
                break
            total += j
        if total > 50:
            break
        k = total
        while k > 10:
            k -= 7
            if k == 12:
                break
        total += k
    return total


def test_loops_with_breaks_nest() -> None:
    for n in range(8):
        assert _breaks_and_cells(n) == _breaks_in_python(n)


def test_a_warning_that_is_an_error_is_raised_as_it_is() -> None:
    @qd.kernel
    def unrolled() -> qd.i32:
        s = 0
        for i in qd.static(range(40)):
            s += i
        return s

    qd.init(arch=qd.reference, unrolling_limit=32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="a static loop is unrolled 40 times"):
            unrolled()
    with pytest.warns(UserWarning, match="a static loop is unrolled 40 times"):
        assert unrolled() == 780
