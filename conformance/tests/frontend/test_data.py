"""Fields, array arguments, vectors, structs and locals: what is read and written where."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


def test_indices_mix_integers_vectors_and_tuples() -> None:
    g = qd.field(qd.i32, shape=(2, 3, 4))

    @qd.kernel
    def run(a: qd.i32):
        p = qd.Vector([1, 2])
        g[p, 3] = 1
        g[0, p] = 2
        g[(1, 1), a] = 3
        g[qd.Vector([0, 0, 1])] = 4
        t = (1, 0)
        g[t, 1] = 5
        for at in qd.grouped(qd.ndrange(2, 2)):
            g[at, 0] += 10

    run(2)
    expected = np.zeros((2, 3, 4), np.int32)
    expected[1, 2, 3], expected[0, 1, 2], expected[1, 1, 2], expected[0, 0, 1], expected[1, 0, 1] = 1, 2, 3, 4, 5
    expected[:2, :2, 0] += 10
    assert (g.to_numpy() == expected).all()


def test_offsets_shift_the_domain_of_constant_and_runtime_indices() -> None:
    x = qd.field(qd.i32, shape=4, offset=-2)

    @qd.kernel
    def run(a: qd.i32):
        x[-2] = 1
        x[a] = 2
        x[1] += 5

    run(-1)
    assert x.to_numpy().tolist() == [1, 2, 0, 5]


def test_elements_of_matrix_fields_are_read_and_written_in_place() -> None:
    v = qd.Vector.field(3, qd.f32, shape=2)
    m = qd.Matrix.field(2, 2, qd.f32, shape=())

    @qd.kernel
    def run(a: qd.i32):
        v[0] = qd.Vector([1, 2, 3])
        v[0][a] += 10
        v[0].z *= 2
        v[0].xy += 100
        v[1] = v[0].zyx
        v[1].yx = qd.Vector([7, 8])
        v[1][0:2] -= 1
        m[None] = qd.Matrix([[1, 2], [3, 4]])
        m[None][a, a] += 5
        m[None][0, :] = qd.Vector([9, 8])
        m[None] @= qd.Matrix([[0, 1], [1, 0]])
        v[0] /= 2
        v[1].fill(a) if qd.static(False) else v[1].fill(v[1][0])

    run(1)
    assert v.to_numpy().tolist() == [[50.5, 56, 3], [7, 7, 7]]
    assert m.to_numpy().tolist() == [[8, 9], [9, 3]]


@qd.kernel
def _arguments(a: qd.types.ndarray(), v: qd.types.ndarray(dtype=qd.math.vec2, ndim=1)) -> qd.i32:
    n, m = a.shape
    a[n - 1, m - 1] = n * 10 + m
    a[0, 0] = a.dtype is qd.f32
    v[0] = v[1] * 2
    v[1].x = 5
    return len(a.shape) * 100 + v.shape[0] * 10 + a.has_grad()


def test_array_arguments_know_their_shape_and_type() -> None:
    a, v = np.zeros((2, 3), np.float32), np.ones((2, 2), np.float32)
    assert _arguments(a, v) == 220
    assert a.tolist() == [[1, 0, 0], [0, 0, 23]]
    assert v.tolist() == [[2, 2], [5, 1]]


def test_gradients_are_arrays_too() -> None:
    x = qd.field(qd.f32, shape=2, needs_grad=True)
    a = qd.ndarray(qd.f32, shape=2, needs_grad=True)

    @qd.kernel
    def run(a: qd.types.ndarray()):
        for i in x:
            x.grad[i] = i + 1
            a.grad[i] = i + 5
            if qd.static(a.grad is not None):
                a[i] = 1

    run(a)
    assert x.grad.to_numpy().tolist() == [1, 2]
    assert a.grad.to_numpy().tolist() == [5, 6]
    assert a.to_numpy().tolist() == [1, 1]


@qd.kernel
def _updates(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    x[0] += 5
    x[1] -= 2
    x[2] *= 3
    x[3] //= 2
    x[4] %= 4
    x[5] **= 2
    x[6] <<= 2
    x[7] >>= 1
    x[8] &= 6
    x[9] |= 6
    x[10] ^= 6
    x[11] += 2.9
    x[12] /= 2


def test_augmented_assignment_of_elements() -> None:
    x = np.full(13, 7, np.int32)
    with pytest.warns(UserWarning, match=r"'x\[(11|12)\]' holds integers") as told:
        _updates(x)
    assert len(told) == 2
    assert x.tolist() == [12, 5, 21, 3, 3, 49, 28, 3, 6, 7, 1, 9, 3]


def test_additive_updates_of_places_are_atomic_and_others_are_not() -> None:
    x = np.zeros(13, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        text = next(iter(_updates.stages(x).values()))
    words = [line.split() for line in text.splitlines()]
    kinds = [w[3] for w in words if len(w) > 3 and w[2] == "atomic"]
    assert kinds == ["add", "add", "and", "or", "xor", "add"]
    assert sum(w[0] == "store" for w in words) == 7


@qd.kernel
def _atomics(x: qd.types.ndarray(dtype=qd.i32, ndim=1), v: qd.types.ndarray(dtype=qd.math.vec2, ndim=1)) -> qd.i32:
    total = qd.atomic_add(x[0], 5)
    total += qd.atomic_sub(x[1], 5) * 10
    qd.atomic_mul(x[2], 3)
    qd.atomic_min(x[3], 3)
    qd.atomic_max(x[4], 30)
    qd.atomic_and(x[5], 3)
    qd.atomic_or(x[6], 8)
    qd.atomic_xor(x[7], 1)
    total += qd.atomic_exchange(x[8], 50) * 100
    qd.atomic_cas(x[9], 7, 70)
    qd.atomic_cas(x[10], 8, 70)
    local = 1
    total += qd.atomic_exchange(local, 2) * 1000
    total += qd.atomic_cas(local, 2, 9) * 10000
    total += local * 100000
    old = qd.atomic_add(v[0], qd.Vector([1, 2]))
    qd.atomic_add(v[0].y, old.x)
    w = qd.Vector([1, 2])
    qd.atomic_add(w, 5)
    qd.atomic_add(w[0], 1)
    return total + w[0] * 1000000 + w[1] * 10000000


def test_atomics_change_places_and_locals_and_give_the_old_value() -> None:
    x, v = np.full(11, 7, np.int32), np.full((1, 2), 4, np.float32)
    assert _atomics(x, v) == 7 + 70 + 700 + 1000 + 20000 + 900000 + 7000000 + 70000000
    assert x.tolist() == [12, 2, 21, 3, 30, 3, 15, 6, 50, 70, 7]
    assert v.tolist() == [[5, 10]]


def test_a_bitwise_atomic_needs_integers_and_an_arithmetic_one_numbers() -> None:
    flags = qd.field(qd.u1, shape=2)

    @qd.kernel
    def bitwise():
        flags[0] |= True

    @qd.kernel
    def arithmetic():
        flags[0] += 1

    bitwise()
    assert flags[0] == 1
    with pytest.raises(qd.AdstackTypeError, match="an atomic add needs a number"):
        arithmetic()


@qd.kernel
def _local_vectors(a: qd.i32) -> qd.math.vec3:
    v = qd.Vector([1.0, 2.0, 3.0])
    w = v
    w[a] = 10
    v.x += w[a]
    w += v
    for i in range(3):
        for _ in range(2):
            w[i] += i
    v = w * 2
    v.zx = qd.Vector([1, a])
    return v


def test_locals_hold_vectors_by_value() -> None:
    assert _local_vectors(1).to_list() == [1.0, 28.0, 1.0]


@qd.kernel
def _large_local(n: qd.i32) -> qd.i32:
    total = 0
    for q in range(1):
        m = qd.Matrix([[0 for _ in range(5)] for _ in range(4)])
        for i, j in qd.ndrange(4, 5):
            m[i, j] = i * 10 + j
            if i == n:
                m[i, j] += 100
        for i in range(5):
            total += m[n, i]
        m[0, 0] = 1000
        total += m[0, 0]
        total += m.sum()
    return total


def test_large_locals_indexed_at_run_time_live_in_arrays() -> None:
    rows = [i * 10 + j + (100 if i == 2 else 0) for i in range(4) for j in range(5)]
    assert _large_local(2) == sum(rows[10:15]) + 1000 + sum(rows) + 1000
    text = next(iter(_large_local.stages(2).values()))
    assert "array" in text


@qd.kernel
def _shared_local(n: qd.i32) -> qd.i32:
    counts = qd.Vector([0 for _ in range(20)])
    table = qd.Vector([i * i for i in range(20)])
    for i in range(n):
        counts[i % 20] += table[i % 20]
    total = 0
    for i in range(20):
        total += counts[i] * (i + 1)
    return total


def test_vectors_of_the_kernel_are_shared_by_its_parallel_loops() -> None:
    expected = [0] * 20
    for i in range(30):
        expected[i % 20] += (i % 20) ** 2
    assert _shared_local(30) == sum(c * (i + 1) for i, c in enumerate(expected))


_Inner = qd.types.struct(a=qd.i32, v=qd.math.vec2)
_Outer = qd.types.struct(s=_Inner, w=qd.f32)


def test_structs_nest_in_fields_locals_arguments_and_results() -> None:
    f = _Outer.field(shape=3)

    @qd.kernel
    def run(p: _Outer) -> _Inner:
        for i in f:
            f[i] = p
            f[i].s.a += i
            f[i].s.v.y = i
            q = f[i]
            q.s.v *= 10
            q.w = q.s.v.sum()
            f[i].w = q.w
        for at in qd.grouped(f):
            f[at].s.v[0] += 1
        r = _Inner(a=1, v=[2, 3])
        r.v[0] = p.w
        other = r
        other.a = 50
        return _Inner(a=other.a, v=r.v)

    result = run(_Outer(s={"a": 5, "v": [1, 2]}, w=7))
    assert result.to_dict() == {"a": 50, "v": [7, 3]}
    assert f.s.a.to_numpy().tolist() == [5, 6, 7]
    assert f.s.v.to_numpy().tolist() == [[2, 0], [2, 1], [2, 2]]
    assert f.w.to_numpy().tolist() == [10, 20, 30]


def test_structs_are_assigned_as_a_whole_or_not_at_all() -> None:
    @qd.kernel
    def narrow(p: _Inner) -> qd.i32:
        q = p
        q = 3
        return q.a

    @qd.kernel
    def summed(p: _Inner) -> qd.i32:
        q = p
        q += 3
        return q.a

    with pytest.raises(qd.AdstackTypeError, match="a struct of a, v can't become a int"):
        narrow(_Inner(1, [2, 3]))
    with pytest.raises(qd.AdstackTypeError, match=r"does not say what \+ does") as caught:
        summed(_Inner(1, [2, 3]))
    assert "got a struct of a, v and 3" in str(caught.value)


def test_a_struct_is_named_after_its_type() -> None:
    @qd.dataclass
    class Ball:
        radius: qd.f32

    @qd.kernel
    def negated(radius: qd.f32) -> qd.f32:
        return -Ball(radius)

    with pytest.raises(qd.AdstackTypeError, match="got a struct of the type Ball"):
        negated(1.0)


@qd.kernel
def _names(a: qd.i32) -> qd.i32:
    b = c = a
    b, c = c + 1, b + 10
    (d, e), f = qd.Vector([1, 2]), 3
    g: qd.i32 = 2.75
    h: qd.f32 = 1
    h += 0.5
    k = 1
    k = 2.75
    lst = [a, 2]
    lst += [3]
    pair = (1, lst)
    info = {"x": a, "y": 5}
    name = "x"
    k += info[name] + pair[1][2] + lst[0:2][1]
    total = qd.static(0)
    for i in qd.static(range(3)):
        total += i
    low = b + c * 10 + d * 100 + e * 1000 + f * 10000
    return low + g * 100000 + qd.i32(h * 2) * 1000000 + k * 10000000 + total


def test_names_hold_values_tuples_lists_and_objects() -> None:
    a = 4
    k = 2 + a + 3 + 2
    with pytest.warns(UserWarning, match="'k' began as an integer"):
        result = _names(a)
    assert result == 5 + 140 + 100 + 2000 + 30000 + 200000 + 3000000 + k * 10000000 + 3


def test_an_alias_of_a_field_is_the_field() -> None:
    x = qd.field(qd.f32, shape=3)
    data = np.arange(3)

    @qd.kernel
    def run(fields: qd.template()):
        y = qd.static(x)
        z = fields[0]
        for i in y:
            y[i] = data[1] + i
            z[i] += data.shape[0]

    run((x,))
    assert x.to_numpy().tolist() == [4, 5, 6]


def test_printing_joins_text_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    @qd.kernel
    def run(a: qd.i32, v: qd.math.vec2):
        print("a", a, v, sep="|", end="!\n")
        print(f"{a} and {v.x + 1} {'text'!r} {7:03d}{a}", (a, [1, 2]), [1, 2], None)
        print(a, 2, sep="")
        print(qd.Matrix([[a, 1], [2, 3]]))
        print()

    run(3, [1, 2])
    assert capsys.readouterr().out.splitlines() == [
        *("a|3|[1.0, 2.0]!", "3 and 2.0 'text' 0073 [3, [1, 2]] [1, 2] None", "32", "[[3, 1], [2, 3]]", "")
    ]


@qd.kernel
def _slices(i: qd.i32, m: qd.types.ndarray(dtype=qd.math.mat2, ndim=1)) -> qd.f32:
    m[0][i, :] = qd.Vector([5, 6])
    m[0][:, 0] += 10
    row = m[0][i, :]
    row[0] = 100
    return m[0][i, :].sum() + row.sum()


def test_rows_at_runtime_indices_are_views() -> None:
    m = np.zeros((1, 2, 2), np.float32)
    assert _slices(1, m) == 15 + 6 + 106
    assert m.tolist() == [[[10, 0], [15, 6]]]


@qd.kernel
def _attributes_of_scalars(a: qd.i32) -> qd.i32:
    b = qd.i64(a)
    return qd.static(a.dtype is qd.i32) + qd.static(b.dtype is qd.i64) * 10


def test_scalars_know_their_type() -> None:
    assert _attributes_of_scalars(1) == 11


def test_structs_are_printed_by_member(capsys: pytest.CaptureFixture[str]) -> None:
    @qd.kernel
    def run(p: _Inner):
        q = p
        print(q, f"{q.v}")

    run(_Inner(1, [2, 3]))
    assert capsys.readouterr().out == "{'a': 1, 'v': [2.0, 3.0]} [2.0, 3.0]\n"
