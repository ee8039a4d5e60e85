"""Sums in the order of indices, to the bit: `init(deterministic=True)`.

Addends are of very different sizes, so that every other order gives other bits; what is expected is added up one after
another in Python, rounded each time.
"""

import numpy as np

from adstack.conformance.case import Gradient, Run, case

REALS = ["f16", "f32", "f64"]
ASKED = {"deterministic": True}
ALONE = {"deterministic": True, "cpu_max_num_threads": 1}
MANY = {"deterministic": True, "cpu_max_num_threads": 7}
HELD = {"deterministic": True, "ad_stack_heap_limit": 1 << 16}
RULES = ["parallel.deterministic", "memory.atomic-order"]
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def terms(n, dtype):
    """Numbers between 2^-12 and 2^6 in size, of either sign; they have that type."""
    draw = np.random.default_rng(n)
    return (draw.choice((-1, 1), n) * np.exp2(draw.uniform(-12, 6, n))).astype(NUMPY[str(dtype)])


def literals(array):
    return [float(number) for number in array]


def neighbours(qd, dtype, n):
    """Three updates of neighbours, and one of an element that a table names, in each iteration."""
    x, y = qd.field(dtype, shape=n), qd.field(dtype, shape=n + 2)
    at = qd.field(qd.i32, shape=n)

    @qd.kernel
    def spread():
        for i in x:
            y[i] += x[i]
            y[i + 2] -= x[i]
            y[at[i]] += x[i]
            y[i + 1] += x[i]

    given, table = terms(n, dtype), [k * k % (n + 2) for k in range(n)]
    sums = np.zeros(n + 2, NUMPY[str(dtype)])
    for i, term in enumerate(given):
        for k, addend in ((i, term), (i + 2, -term), (table[i], term), (i + 1, term)):
            sums[k] += addend
    return Run(spread, given={x: literals(given), at: table}, expect={y: literals(sums)})


@case(rules=RULES, dtypes=REALS, params={"n": [1, 100, 1500]}, options=ASKED)
def neighbours_and_a_table(qd, dtype, n):
    return neighbours(qd, dtype, n)


@case(rules=RULES, dtypes=["f32"], params={"n": [1500]}, options=ALONE)
def neighbours_and_a_table_by_one_thread(qd, dtype, n):
    return neighbours(qd, dtype, n)


@case(rules=RULES, dtypes=["f32"], params={"n": [1500]}, options=MANY)
def neighbours_and_a_table_by_several_threads(qd, dtype, n):
    return neighbours(qd, dtype, n)


@case(rules=RULES, dtypes=["f32"], params={"n": [600]}, options={**MANY, "debug": True})
def neighbours_and_a_table_in_debug_mode(qd, dtype, n):
    return neighbours(qd, dtype, n)


@case(rules=RULES, dtypes=REALS, params={"n": [1, 2, 100]}, options=ASKED)
def neighbours_alone(qd, dtype, n):
    """Updates of neighbours and of nothing else, which each element can collect; conditions keep to the inside."""
    x, y = qd.field(dtype, shape=n), qd.field(dtype, shape=n)

    @qd.kernel
    def spread():
        for i in x:
            if i > 0:
                y[i - 1] += x[i]
            y[i] -= x[i]
            if i < n - 1:
                y[i + 1] += x[i]

    given, sums = terms(n, dtype), np.zeros(n, NUMPY[str(dtype)])
    for i, term in enumerate(given):
        for k, addend in ((i - 1, term), (i, -term), (i + 1, term)):
            if 0 <= k < n:
                sums[k] += addend
    return Run(spread, given={x: literals(given)}, expect={y: literals(sums)})


@case(rules=RULES, dtypes=REALS, params={"rows": [1, 33]}, options=MANY)
def a_sum_over_a_grid(qd, dtype, rows):
    """One number, and one for each column; row by row."""
    columns = 29
    x, total, column = qd.field(dtype, shape=(rows, columns)), qd.field(dtype, shape=()), qd.field(dtype, shape=columns)

    @qd.kernel
    def add():
        for i, j in x:
            total[None] += x[i, j]
            column[j] += x[i, j]

    given = terms(rows * columns, dtype).reshape(rows, columns)
    whole, parts = NUMPY[str(dtype)](0), np.zeros(columns, NUMPY[str(dtype)])
    for row in given:
        for j, term in enumerate(row):
            whole += term
            parts[j] += term
    return Run(add, given={x: [literals(row) for row in given]}, expect={total: float(whole), column: literals(parts)})


@case(rules=RULES, dtypes=REALS, options=ASKED)
def an_inner_loop_that_adds_in_its_order(qd, dtype):
    """Its addends are not added up among themselves first."""
    n, trips = 200, 5
    x, at, y = qd.field(dtype, shape=n), qd.field(qd.i32, shape=n), qd.field(dtype, shape=7)

    @qd.kernel
    def inner():
        for i in x:
            for k in range(trips):
                y[at[i]] += x[(i + 31 * k) % n]

    given, table = terms(n, dtype), [k * 3 % 7 for k in range(n)]
    sums = np.zeros(7, NUMPY[str(dtype)])
    for i in range(n):
        for k in range(trips):
            sums[table[i]] += given[(i + 31 * k) % n]
    return Run(inner, given={x: literals(given), at: table}, expect={y: literals(sums)})


@case(rules=RULES, options=MANY)
def old_values(qd):
    """Every iteration sees what those before it have done."""
    n = 2000
    number, last = qd.field(qd.i32, shape=n), qd.field(qd.i32, shape=n)
    count, slot = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=())

    @qd.kernel
    def take():
        for i in number:
            if i % 3 > 0:
                number[i] = qd.atomic_add(count[None], i)
            last[i] = qd.atomic_exchange(slot[None], i)

    numbers, total = [0] * n, 0
    for i in range(n):
        if i % 3 > 0:
            numbers[i], total = total, total + i
    return Run(take, expect={number: numbers, last: [0, *range(n - 1)], count: total, slot: n - 1})


@case(rules=RULES, dtypes=["f32"], options=MANY)
def zeros_of_either_sign(qd, dtype):
    """Of equal numbers the later one is the least: 0 and -0 are equal."""
    n = 64
    x, least, sign = qd.field(dtype, shape=n), qd.field(dtype, shape=2), qd.field(dtype, shape=2)

    @qd.kernel
    def find():
        for i in x:
            qd.atomic_min(least[i % 2], x[i])

    @qd.kernel
    def run():
        for k in least:
            sign[k] = 1.0 / least[k]

    def both():
        find()
        run()

    given = [-0.0 if i % 4 < 2 else 0.0 for i in range(n)]
    return Run(both, given={x: given, least: [1.0, 1.0]}, expect={sign: [float("inf")] * 2})


@case(rules=RULES, dtypes=["f32"], options=MANY)
def arrays_that_may_be_one(qd, dtype):
    n = 300
    a = qd.ndarray(dtype, shape=n)

    @qd.kernel
    def add(x: qd.types.ndarray(dtype=dtype, ndim=1), y: qd.types.ndarray(dtype=dtype, ndim=1), shift: qd.i32):
        for i in range(n):
            x[i] += 0.1 * i
            y[(i + shift) % n] += 1000.1

    sums = np.zeros(n, np.float32)
    for i in range(n):
        sums[i] += np.float32(0.1) * np.float32(i)
        sums[(i + 7) % n] += np.float32(1000.1)
    return Run(add, args=(a, a, 7), expect={a: literals(sums)})


def scattered_gradient(qd, dtype):
    """The adjoint of reading neighbours, in loops that save what they need; iterations in the order of indices."""
    n = 150
    x, y = (qd.field(dtype, shape=n, needs_grad=True) for _ in range(2))
    trips = qd.field(qd.i32, shape=n)

    @qd.kernel
    def mix():
        for i in y:
            s = x[i]
            for k in range(trips[i]):
                s = s * x[(i + k * k) % n]
            y[i] = s

    real = NUMPY[str(dtype)]
    given, seed, counts = (np.exp2(terms(n, dtype) % 1)).astype(real), terms(n, dtype), [k * 7 % 4 for k in range(n)]
    grads = np.zeros(n, real)
    for i in range(n):
        before, s = [], given[i]
        for k in range(counts[i]):
            before.append(s)
            s = s * given[(i + k * k) % n]
        adjoint = seed[i]
        for k in reversed(range(counts[i])):
            grads[(i + k * k) % n] += adjoint * before[k]
            adjoint = adjoint * given[(i + k * k) % n]
        grads[i] += adjoint
    gradient = Gradient(seed={y: literals(seed)}, expect={x: literals(grads)})
    return Run(mix, given={x: literals(given), trips: counts}, gradient=gradient)


@case(rules=[*RULES, "grad.load"], dtypes=["f32", "f64"], modes=["reverse"], options=MANY)
def the_gradient_of_what_neighbours_read(qd, dtype):
    return scattered_gradient(qd, dtype)


@case(rules=[*RULES, "grad.load"], dtypes=["f32"], modes=["reverse"], options=HELD)
def the_gradient_of_what_neighbours_read_in_little_memory(qd, dtype):
    return scattered_gradient(qd, dtype)
