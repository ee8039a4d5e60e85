"""Arrays in order: sorting networks, prefix sums, searches, histograms, intervals."""

from adstack.conformance.case import Run, case

VALUES = [(i * 7919 + 13) % 1009 - 500 for i in range(64)]


@case(rules=["memory.map", "parallel.tasks"], dtypes=["i32", "i64", "f32", "f64"])
def bitonic_sort(qd, dtype):
    x = qd.field(dtype, shape=64)

    @qd.kernel
    def exchange(size: qd.i32, stride: qd.i32):
        for i in x:
            j = i ^ stride
            if j > i and (x[i] > x[j]) == (i & size == 0):
                x[i], x[j] = x[j], x[i]

    def sort():
        size = 2
        while size <= 64:
            stride = size // 2
            while stride:
                exchange(size, stride)
                stride //= 2
            size *= 2

    return Run(sort, given={x: VALUES}, expect={x: sorted(VALUES)})


@case(rules=["parallel.tasks", "control.static"])
def odd_even_sort_unrolled_into_tasks(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def sort():
        for phase in qd.static(range(8)):
            for i in range(7):
                if i % 2 == phase % 2 and x[i] > x[i + 1]:
                    x[i], x[i + 1] = x[i + 1], x[i]

    return Run(sort, given={x: [5, 2, 8, 1, 9, 3, 7, 4]}, expect={x: [1, 2, 3, 4, 5, 7, 8, 9]})


@case(rules=["parallel.serial-inside", "control.break"])
def insertion_sort_of_every_row(qd):
    x = qd.field(qd.i32, shape=(4, 16))

    @qd.kernel
    def sort():
        for row in range(4):
            for i in range(1, 16):
                value = x[row, i]
                j = i
                while j > 0 and x[row, j - 1] > value:
                    x[row, j] = x[row, j - 1]
                    j -= 1
                x[row, j] = value

    rows = [VALUES[16 * i : 16 * i + 16] for i in range(4)]
    return Run(sort, given={x: rows}, expect={x: [sorted(row) for row in rows]})


@case(rules=["memory.map", "parallel.tasks"], dtypes=["i32", "i64", "f64"])
def prefix_sums_by_doubling_steps(qd, dtype):
    a, b = qd.field(dtype, shape=64), qd.field(dtype, shape=64)

    @qd.kernel
    def step(source: qd.template(), target: qd.template(), by: qd.i32):
        for i in source:
            if i >= by:
                target[i] = source[i] + source[i - by]
            else:
                target[i] = source[i]

    def scan():
        for n in range(6):
            step(*((b, a) if n % 2 else (a, b)), 2**n)

    return Run(scan, given={a: VALUES}, expect={a: [sum(VALUES[: i + 1]) for i in range(64)]})


@case(rules=["control.while", "arith.floordiv"])
def binary_search(qd):
    x, found = qd.field(qd.i32, shape=50), qd.field(qd.i32, shape=60)

    @qd.kernel
    def search():
        for q in found:
            lo, hi = 0, 50
            while lo < hi:
                middle = (lo + hi) // 2
                if x[middle] < 3 * q:
                    lo = middle + 1
                else:
                    hi = middle
            found[q] = lo

    squares = [i * i for i in range(50)]
    firsts = [sum(s < 3 * q for s in squares) for q in range(60)]
    return Run(search, given={x: squares}, expect={found: firsts})


@case(rules=["memory.augmented", "memory.atomic-order"])
def counting_sort(qd):
    x, counts, start, out = (qd.field(qd.i32, shape=n) for n in (64, 16, 16, 64))

    @qd.kernel
    def sort():
        for i in x:
            counts[x[i]] += 1
        for i in start:
            for j in range(i):
                start[i] += counts[j]
        for i in x:
            out[qd.atomic_add(start[x[i]], 1)] = x[i]

    digits = [v % 16 for v in VALUES]
    return Run(sort, given={x: digits}, expect={out: sorted(digits), counts: [digits.count(d) for d in range(16)]})


@case(rules=["memory.atomic", "control.while"])
def length_of_a_union_of_intervals(qd):
    begin, end, covered, length = (qd.field(qd.i32, shape=n) for n in (12, 12, 100, ()))

    @qd.kernel
    def union():
        for i in begin:
            for p in range(begin[i], end[i]):
                qd.atomic_or(covered[p], 1)
        for p in covered:
            length[None] += covered[p]

    starts = [(17 * i) % 90 for i in range(12)]
    ends = [min(s + 3 + i, 100) for i, s in enumerate(starts)]
    points = set().union(*(range(s, e) for s, e in zip(starts, ends, strict=True)))
    return Run(union, given={begin: starts, end: ends}, expect={length: len(points)})


@case(rules=["memory.atomic", "parallel.shared-local"])
def sum_smallest_and_largest_in_one_launch(qd):
    x = qd.field(qd.i32, shape=64)

    @qd.kernel
    def summary() -> (qd.i32, qd.i32, qd.i32):
        total, low, high = 0, 10**9, -(10**9)
        for i in x:
            total += x[i]
            qd.atomic_min(low, x[i])
            qd.atomic_max(high, x[i])
        return total, low, high

    return Run(summary, given={x: VALUES}, returns=(sum(VALUES), min(VALUES), max(VALUES)))


@case(rules=["memory.atomic", "control.range"])
def inversions_of_a_permutation(qd):
    x = qd.field(qd.i32, shape=64)

    @qd.kernel
    def count() -> qd.i32:
        inversions = 0
        for i in x:
            for j in range(i + 1, 64):
                if x[i] > x[j]:
                    inversions += 1
        return inversions

    return Run(count, given={x: VALUES}, returns=sum(a > b for i, a in enumerate(VALUES) for b in VALUES[i:]))


@case(rules=["memory.ndarray", "memory.index"])
def transposition_and_rotation_of_an_array(qd):
    import numpy as np

    a, turned = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros((4, 3), np.int32)

    @qd.kernel
    def rotate(x: qd.types.ndarray(dtype=qd.i32, ndim=2), y: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for i, j in x:
            y[j, x.shape[0] - 1 - i] = x[i, j]

    return Run(rotate, args=(a, turned), expect=[(turned, [[8, 4, 0], [9, 5, 1], [10, 6, 2], [11, 7, 3]])])
