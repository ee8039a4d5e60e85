"""Without debug mode nothing outside is touched: accesses there give 0 or do nothing, and the launch is an error."""

import numpy as np

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

OUTSIDE = Raises("IndexError", "outside its extents")
PICKS = [0, 5, -1, 7, 8, 2, 2**31 - 1, -(2**31)]
INSIDE = [0 <= i < 8 for i in PICKS]


def seen(qd, expect):
    """What memory holds afterwards, looked at by a launch that is like any other."""
    done = qd.field(qd.i32, shape=())

    @qd.kernel
    def after():
        done[None] = 1

    return Run(after, expect={**expect, done: 1})


def launched(qd, kernel, *args):
    """A function that launches and waits."""

    def run():
        kernel(*args)
        qd.sync()

    return run


@case(rules=["memory.guard"], dtypes=["f32", "i64", "u8", "f16", "u1"])
def a_load_outside_gives_0(qd, dtype):
    x, out, pick = qd.field(dtype, shape=8), qd.field(dtype, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in pick:
            out[i] = x[pick[i]]

    given = {x: [1] * 8, out: [1] * 8, pick: PICKS}
    return [Run(launched(qd, k), given=given, raises=OUTSIDE), seen(qd, {out: INSIDE, x: [1] * 8})]


@case(rules=["memory.guard"])
def a_remainder_begins_again_at_0(qd):
    """Of numbers from 5 to 12 the remainders by 8 are not 5 and more: an index that counts on that is outside."""
    x, out = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            out[i] = x[(i + 5) % 8 - 5]

    after = seen(qd, {out: [1, 2, 3, 0, 0, 0, 0, 0]})
    return [Run(launched(qd, k), given={x: range(1, 9), out: [9] * 8}, raises=OUTSIDE), after]


@case(rules=["memory.guard"], params={"what": ["store", "add", "max", "exchange"]})
def nothing_is_written_outside(qd, what):
    """Neither by a store nor by an atomic, which gives 0."""
    x, old, pick = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def store():
        for i in pick:
            x[pick[i]] = 9

    @qd.kernel
    def add():
        for i in pick:
            old[i] = qd.atomic_add(x[pick[i]], 9)

    @qd.kernel
    def largest():
        for i in pick:
            old[i] = qd.atomic_max(x[pick[i]], 9)

    @qd.kernel
    def exchange():
        for i in pick:
            old[i] = qd.atomic_exchange(x[pick[i]], 9)

    kernel = {"store": store, "add": add, "max": largest, "exchange": exchange}[what]
    after = [9 + 3 * (what == "add") if i in (0, 2, 5, 7) else 3 for i in range(8)]
    olds = [0] * 8 if what == "store" else [3 * inside for inside in INSIDE]
    return [
        Run(launched(qd, kernel), given={x: 3, pick: PICKS}, raises=OUTSIDE),
        seen(qd, {x: after, old: olds}),
    ]


@case(rules=["memory.guard"], params={"n": [-1, 3, 100]})
def an_index_that_all_iterations_share(qd, n):
    """In serial code, and in an update that all iterations make to one element."""
    x, out = qd.ndarray(qd.i32, shape=(3,)), qd.field(qd.i32, shape=40)

    @qd.kernel
    def serial(x: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
        x[n] = 1

    @qd.kernel
    def together(x: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
        for i in out:
            x[n] += i

    @qd.kernel
    def each(x: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
        for i in out:
            out[i] = x[n] + i

    refused = [Run(launched(qd, k, x, n), given={x: 5}, raises=OUTSIDE) for k in (serial, together, each)]
    return [*refused, seen(qd, {x: [5, 5, 5], out: list(range(40))}), Run(each, args=(x, 1), expect={x: [5, 5, 5]})]


@case(rules=["memory.guard"], params={"size": [3, 37, 64]})
def neighbours_of_an_array_of_another_length(qd, size):
    """Side by side in lanes: only those that are inside read and write."""
    x, y = qd.ndarray(qd.f32, shape=(40,)), qd.ndarray(qd.f32, shape=(size,))

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in x:
            y[i] = x[i] + x[i + 1]

    values = [*map(float, range(40)), 0.0]
    after = [values[i] + values[i + 1] if i < 40 else 5.0 for i in range(size)]
    run = Run(launched(qd, k, x, y), given={x: values[:40], y: 5.0}, raises=OUTSIDE)
    return [run, seen(qd, {x: values[:40], y: after})]


@case(rules=["memory.guard"])
def the_other_axis_is_checked_for_itself(qd):
    """`x[1, -1]` is not `x[0, 2]`."""
    x, out = qd.field(qd.i32, shape=(3, 3)), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(n: qd.i32):
        for i in out:
            out[i] = x[i, n] + 1
            x[i, n] = 9

    return [
        Run(launched(qd, k, -1), given={x: 4}, raises=OUTSIDE),
        seen(qd, {x: [[4] * 3] * 3, out: [1, 1, 1]}),
        Run(k, args=(1,), expect={x: [[4, 9, 4]] * 3, out: [5, 5, 5]}),
    ]


@case(rules=["memory.guard", "vector.index"])
def an_array_inside_a_thread(qd):
    out = qd.field(qd.i32, shape=16)

    @qd.kernel
    def k(n: qd.i32):
        for i in out:
            a = qd.Vector([0 for _ in range(24)])
            for j in range(n):
                a[j] = j + i
            s = 0
            for j in range(24):
                s += a[j]
            out[i] = s

    after = [sum(range(24)) + 24 * i for i in range(16)]
    return [Run(launched(qd, k, 30), raises=OUTSIDE), seen(qd, {out: after})]


@case(rules=["memory.guard", "vector.index"], params={"n": [3, 24]})
def a_vector_that_a_parallel_loop_writes(qd, n):
    total = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(first: qd.i32):
        v = qd.Vector([0] * n)
        for i in range(3):
            v[first + i] += 5
        total[None] = v.sum()

    return [Run(launched(qd, k, n - 1), raises=OUTSIDE), seen(qd, {total: 5})]


@case(rules=["vector.index"], params={"index": [3, -1, 2**31 - 1, -(2**31)]})
def values_that_an_index_chooses_from(qd, index):
    """Nothing is written, and an element or 0 is read, all of which are 0; and it is no error."""
    read, total = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(index: qd.i32):
        for i in read:
            v, m = qd.Vector([0, 0, 0]), qd.Matrix([[0, 0], [0, 0]])
            v[index] = 7
            m[index, index] += 7
            read[i] = v[index] + m[index, index]
            total[i] = v.sum() + m.sum()

    return Run(launched(qd, k, index), given={read: [9] * 4, total: [9] * 4}, expect={read: [0] * 4, total: [0] * 4})


@case(rules=["memory.guard"], params={"of": ["an i8", "a u8", "an i64", "a u64", "a u32"]})
def an_index_of_any_type(qd, of):
    """A narrow one stays inside what its type can't leave."""
    dtype = {"an i8": qd.i8, "a u8": qd.u8, "an i64": qd.i64, "a u64": qd.u64, "a u32": qd.u32}[of]
    picks = {"an i8": [-128, 127], "a u8": [255, 200], "an i64": [-(2**63), 2**32 + 1], "a u64": [2**64 - 1, 2**63]}
    x, out, pick = qd.field(qd.i32, shape=200), qd.field(qd.i32, shape=4), qd.field(dtype, shape=4)

    @qd.kernel
    def k():
        for i in pick:
            out[i] = x[pick[i]]

    wrong = picks.get(of, [2**32 - 1, 2**31])
    after = [3 if 0 <= i < 200 else 0 for i in [100, *wrong, 0]]
    numbers = np.array([100, *wrong, 0], dtype={"a u64": np.uint64}.get(of, np.int64))
    return [Run(launched(qd, k), given={x: 3, pick: numbers.tolist()}, raises=OUTSIDE), seen(qd, {out: after})]


def backwards(qd, kernel, y):
    """A function that propagates adjoints of 1 back."""

    def run():
        y.grad.fill(1)
        kernel.grad()
        qd.sync()

    return run


ENDS = [1 + 2 * (j + 1) * (j in (0, 5, 7, 2)) for j in range(8)]
"""The adjoints of x where y[i] = 2 * x[pick[i]] ** 2 + x[i], with x[j] = (j + 1) / 2."""


@case(rules=["memory.guard"], dtypes=["f32", "f64"], params={"what": ["load", "store", "add"]})
def an_access_outside_adds_nothing_to_an_adjoint(qd, dtype, what):
    x, y, pick = real(qd, dtype, 8), real(qd, dtype, 8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def load():
        for i in pick:
            y[i] = 2 * x[pick[i]] * x[pick[i]] + x[i]

    @qd.kernel
    def store():
        for i in pick:
            y[pick[i]] = 3 * x[i]

    @qd.kernel
    def add():
        for i in pick:
            y[pick[i]] += 3 * x[i]

    of_x = ENDS if what == "load" else [3 * inside for inside in INSIDE]
    of_y = {"load": [0] * 8, "store": [int(j not in (0, 5, 7, 2)) for j in range(8)], "add": [1] * 8}[what]
    kernel = {"load": load, "store": store, "add": add}[what]
    given = {x: [(j + 1) / 2 for j in range(8)], pick: PICKS}
    return [
        Run(launched(qd, kernel), given=given, raises=OUTSIDE),
        Run(backwards(qd, kernel, y), raises=OUTSIDE),
        seen(qd, {x.grad: of_x, y.grad: of_y}),
    ]


@case(rules=["memory.guard"], dtypes=["f32"])
def an_access_outside_adds_nothing_to_a_tangent(qd, dtype):
    x, y, pick, tangents = real(qd, dtype, 8), real(qd, dtype, 8), qd.field(qd.i32, shape=8), qd.field(dtype, shape=8)

    @qd.kernel
    def k():
        for i in pick:
            y[i] = 2 * x[pick[i]] * x[pick[i]] + x[i]

    def run():
        with qd.ad.FwdMode(loss=y, param=x, seed=[1.0] * 8):
            try:
                k()
                qd.sync()
            except IndexError:
                tangents.from_numpy(y.dual.to_numpy())

    after = [1 + 2 * (i + 1) * inside for i, inside in zip(PICKS, INSIDE, strict=True)]
    return Run(run, given={x: [(j + 1) / 2 for j in range(8)], pick: PICKS}, expect={tangents: after})


@case(rules=["memory.guard", "grad.loop"])
def a_trip_count_that_is_outside_is_0(qd):
    """In the sizer, in the forward part and in the reverse part of a gradient alike."""
    x, y = real(qd, qd.f32, 8), real(qd, qd.f32, 8)
    trips, pick = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in pick:
            s = x[i]
            for _ in range(trips[pick[i]]):
                s = s * s
            y[i] = s

    return [
        Run(launched(qd, k), given={x: 1, trips: 3, pick: PICKS}, raises=OUTSIDE),
        Run(backwards(qd, k, y), raises=OUTSIDE),
        seen(qd, {y: 1, x.grad: [8 if inside else 1 for inside in INSIDE]}),
    ]


@case(rules=["memory.guard"])
def a_parallel_loop_whose_bound_is_outside_has_no_iterations(qd):
    x, trips, pick = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(trips[pick[None]]):
            x[i] = 1

    return [Run(launched(qd, k), given={trips: 8, pick: 4}, raises=OUTSIDE), seen(qd, {x: 0})]


@case(rules=["memory.guard"])
def one_error_and_then_none(qd):
    """However many threads were outside, and however many launches are like any other after that."""
    x, pick, errors = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=5000), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in pick:
            x[pick[i]] += 1

    def counted():
        found = 0
        pick.fill(8)
        for _ in range(3):
            try:
                k()
                qd.sync()
            except IndexError:
                found += 1
            pick.fill(3)
        errors[None] = found

    return Run(counted, expect={errors: 1, x: [0, 0, 0, 10000, 0, 0, 0, 0]})


SAID = ["Accessing field x at (8, 1)", "(8, 2), in iteration (7)", "guards.py:", "x[i + n, 1] = 1"]


@case(rules=["memory.guard"], params={"part": SAID})
def the_error_tells_what_and_where(qd, part):
    x, out = qd.field(qd.i32, shape=(8, 2), name="x"), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k(n: qd.i32):
        for i in out:
            x[i + n, 1] = 1

    return Run(launched(qd, k, 1), raises=Raises("IndexError", part))


@case(rules=["memory.guard"], options={"bounds": "off"})
def without_guards_what_is_inside_is_the_same(qd):
    x, out, pick = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in pick:
            out[i] = x[pick[i]]

    return Run(k, given={x: list(range(8)), pick: [7, 0, 3, 3, 1, 2, 6, 5]}, expect={out: [7, 0, 3, 3, 1, 2, 6, 5]})
