"""Sums that iterations share, in loops long enough for several threads: every addend counts once, in any order.

All numbers are small integers, so that every order of additions gives the same.
"""

from adstack.conformance.case import Gradient, Run, case

TYPES = ["i32", "f16", "f32", "f64"]
REALS = ["f16", "f32", "f64"]


def small(k):
    return k * 7 % 5 - 2


@case(rules=["memory.atomic", "parallel.unordered"], dtypes=TYPES, params={"n": [0, 1, 2, 3, 40, 700]})
def neighbours_in_a_row(qd, dtype, n):
    """Three updates an iteration, to the elements around its own; the bounds keep to the inside."""
    x, y = qd.field(dtype, shape=702), qd.field(dtype, shape=702)

    @qd.kernel
    def spread(n: qd.i32):
        for i in range(1, n + 1):
            y[i - 1] += x[i]
            y[i] += 2 * x[i]
            y[i + 1] -= x[i]

    given = [small(k) for k in range(702)]
    expect = [0] * 702
    for i in range(1, n + 1):
        for at, factor in ((i - 1, 1), (i, 2), (i + 1, -1)):
            expect[at] += factor * given[i]
    return Run(spread, args=(n,), given={x: given}, expect={y: expect})


@case(rules=["memory.atomic", "parallel.unordered"], dtypes=TYPES, params={"rows": [1, 5, 64, 150]})
def neighbours_on_a_grid_under_conditions(qd, dtype, rows):
    """Links to eight neighbours, where there are any and the number is not 0; two fields with one pattern."""
    columns = 37
    x, y, z = (qd.field(dtype, shape=(rows, columns)) for _ in range(3))

    @qd.kernel
    def links():
        for i, j in x:
            for di, dj in qd.static(qd.ndrange((-1, 2), (-1, 2))):
                if 0 <= i + di < rows and 0 <= j + dj < columns and x[i, j] != 0:
                    y[i + di, j + dj] += x[i, j]
                    z[i + di, j + dj] += 1

    given = [[small(i * columns + j) for j in range(columns)] for i in range(rows)]
    sums, counts = ([[0] * columns for _ in range(rows)] for _ in range(2))
    for i in range(rows):
        for j in range(columns):
            for a in range(max(0, i - 1), min(rows, i + 2)):
                for b in range(max(0, j - 1), min(columns, j + 2)):
                    sums[a][b] += given[i][j]
                    counts[a][b] += given[i][j] != 0
    return Run(links, given={x: given}, expect={y: sums, z: counts})


@case(rules=["memory.atomic", "parallel.unordered"], dtypes=TYPES, params={"size": [1, 10, 5000]})
def elements_that_a_table_names(qd, dtype, size):
    n = 20000
    at = qd.field(qd.i32, shape=n)
    total = qd.field(dtype, shape=size)
    flags = qd.field(qd.i32, shape=size)

    @qd.kernel
    def scatter():
        for i in at:
            if i % 5 == 0:
                total[at[i]] += 1 - i % 2 * 2
            flags[at[i]] |= 1 << i % 7

    table = [k * k % size for k in range(n)]
    totals, bits = [0] * size, [0] * size
    for i, k in enumerate(table):
        totals[k] += (1 - i % 2 * 2) * (i % 5 == 0)
        bits[k] |= 1 << i % 7
    return Run(scatter, given={at: table}, expect={total: totals, flags: bits})


@case(rules=["memory.atomic", "memory.guard"], params={"trips": [0, 1, 6]})
def an_inner_loop_that_adds_to_one_element(qd, trips):
    """Where the loop does not run, the element is not touched, though there is none of that number."""
    n = 3000
    x, at, y = qd.field(qd.i32, shape=n), qd.field(qd.i32, shape=n), qd.field(qd.i32, shape=10)

    @qd.kernel
    def inner(trips: qd.i32):
        for i in x:
            for k in range(trips):
                if (i + k) % 3 > 0:
                    y[at[i]] += x[i] + k

    table = [k % 10 if trips else 10**6 for k in range(n)]
    given = [small(k) for k in range(n)]
    expect = [0] * 10
    for i in range(n):
        expect[i % 10] += sum(given[i] + k for k in range(trips) if (i + k) % 3 > 0)
    return Run(inner, args=(trips,), given={x: given, at: table}, expect={y: expect})


@case(rules=["memory.atomic", "parallel.tasks"], dtypes=TYPES)
def elements_that_the_next_task_reads(qd, dtype):
    n = 2000
    x, y, z = qd.field(dtype, shape=n), qd.field(dtype, shape=n + 1), qd.field(dtype, shape=n)

    @qd.kernel
    def both():
        for i in x:
            y[i] += x[i]
            y[i + 1] += x[i]
        for i in x:
            z[i] = y[i + 1] - y[i]

    given = [small(k) for k in range(n)]
    around = [0, *given, 0]
    sums = [around[k] + around[k + 1] for k in range(n + 1)]
    return Run(both, given={x: given}, expect={y: sums, z: [sums[k + 1] - sums[k] for k in range(n)]})


@case(rules=["memory.atomic", "memory.ndarray"], dtypes=TYPES)
def two_arguments_that_are_one_array(qd, dtype):
    n = 1500
    a = qd.ndarray(dtype, shape=n + 2)

    @qd.kernel
    def add(x: qd.types.ndarray(dtype=dtype, ndim=1), y: qd.types.ndarray(dtype=dtype, ndim=1)):
        for i in range(n):
            x[i] += 1
            x[i + 2] += 1
            y[i + 1] += 2

    expect = [(k < n) + (k > 1) + 2 * (0 < k <= n) for k in range(n + 2)]
    return Run(add, args=(a, a), expect={a: expect})


@case(rules=["grad.load", "memory.atomic"], modes=["reverse"], dtypes=REALS, params={"n": [3, 64, 400]})
def the_gradient_of_a_stencil(qd, dtype, n):
    """The adjoint of reading neighbours is adding to them; the bounds of the loop cut the stencil off."""
    x, y = (qd.field(dtype, shape=(n, 9), needs_grad=True) for _ in range(2))

    @qd.kernel
    def stencil():
        for i, j in qd.ndrange((1, n - 1), (1, 8)):
            y[i, j] = 2 * x[i, j] + x[i - 1, j] - x[i + 1, j] + 4 * x[i, j - 1] + x[i, j + 1]

    seed = [[small(i * 9 + j) for j in range(9)] for i in range(n)]
    expect = [[0] * 9 for _ in range(n)]
    for i in range(1, n - 1):
        for j in range(1, 8):
            for a, b, factor in ((i, j, 2), (i - 1, j, 1), (i + 1, j, -1), (i, j - 1, 4), (i, j + 1, 1)):
                expect[a][b] += factor * seed[i][j]
    return Run(stencil, gradient=Gradient(seed={y: seed}, expect={x: expect}))


@case(rules=["grad.load", "memory.atomic"], dtypes=REALS, params={"size": [2, 3, 5], "n": [1, 70]})
def the_gradient_of_links_between_vectors(qd, dtype, size, n):
    """Neighbours of one step of several, each a vector; conditions cut the links off, and the step is an argument."""
    columns, steps = 11, 3
    x, y = (qd.Vector.field(size, dtype, shape=(steps, n, columns), needs_grad=True) for _ in range(2))

    @qd.kernel
    def links(t: qd.i32):
        for i, j in qd.ndrange(n, columns):
            total = x[t, i, j] * 3
            for di, dj in qd.static([(-1, 1), (0, -1), (1, 0)]):
                if 0 <= i + di < n and 0 <= j + dj < columns:
                    total += x[t, i + di, j + dj] * (di - 2 * dj)
            y[t + 1, i, j] = total

    given = [
        [[[small(t + i * 5 + j * 3 + k) for k in range(size)] for j in range(columns)] for i in range(n)]
        for t in range(steps)
    ]
    values, adjoints = (
        [[[[0] * size for _ in range(columns)] for _ in range(n)] for _ in range(steps)] for _ in range(2)
    )
    for i in range(n):
        for j in range(columns):
            for k in range(size):
                for di, dj, factor in ((0, 0, 3), (-1, 1, -3), (0, -1, 2), (1, 0, 1)):
                    if 0 <= i + di < n and 0 <= j + dj < columns:
                        values[2][i][j][k] += factor * given[1][i + di][j + dj][k]
                        adjoints[1][i + di][j + dj][k] += factor * given[0][i][j][k]
    seed = [given[1], given[2], given[0]]
    return Run(
        links, args=(1,), given={x: given}, expect={y: values}, gradient=Gradient(seed={y: seed}, expect={x: adjoints})
    )


@case(rules=["grad.load", "grad.loop"], modes=["reverse"], dtypes=["f32", "f64"])
def the_gradient_of_a_matrix_product(qd, dtype):
    n = 24
    a, b, c = (qd.field(dtype, shape=(n, n), needs_grad=True) for _ in range(3))

    @qd.kernel
    def multiply():
        for i, j in c:
            total = qd.cast(0, dtype)
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    left = [[small(i + 3 * k) for k in range(n)] for i in range(n)]
    right = [[small(2 * k + j) for j in range(n)] for k in range(n)]
    rows = [[sum(right[k]) for k in range(n)] for _ in range(n)]
    columns = [[sum(left[i][k] for i in range(n)) for _ in range(n)] for k in range(n)]
    return Run(multiply, given={a: left, b: right}, gradient=Gradient(seed={c: 1.0}, expect={a: rows, b: columns}))


@case(
    rules=["memory.atomic", "parallel.unordered"],
    dtypes=["i32", "i64", "f16", "f32", "f64"],
    params={"n": [1, 31, 33, 300], "trips": [0, 1, 7]},
)
def elements_that_an_inner_loop_names(qd, dtype, n, trips):
    """All iterations that run side by side update one element at a time, in two fields; the last ones are few."""
    x, y, z = qd.field(dtype, shape=n), qd.Vector.field(3, dtype, shape=7), qd.field(dtype, shape=(2, 7))

    @qd.kernel
    def inner(trips: qd.i32):
        for i in x:
            for k in range(trips):
                y[k] += qd.Vector([x[i], -x[i], x[i] * 2])
                z[1, k] += x[i]
                z[0, 6 - k] -= 1

    given = [small(k) for k in range(n)]
    total = sum(given)
    vectors = [[total, -total, 2 * total] if k < trips else [0, 0, 0] for k in range(7)]
    expect = [[-n if 6 - k < trips else 0 for k in range(7)], [total if k < trips else 0 for k in range(7)]]
    return Run(inner, args=(trips,), given={x: given}, expect={y: vectors, z: expect})


@case(rules=["memory.atomic", "parallel.unordered"], dtypes=TYPES, params={"n": [5, 64, 333]})
def elements_of_an_inner_loop_under_conditions(qd, dtype, n):
    """Some iterations update nothing, some make fewer turns, and some update another element."""
    x, y = qd.field(dtype, shape=n), qd.field(dtype, shape=9)

    @qd.kernel
    def inner():
        for i in x:
            for k in range(i % 5):
                if x[i] > 0:
                    y[k] += x[i]
                elif i % 3 == 0:
                    y[k + 1] += 1
            for k in range(2):
                y[k + i // 40 % 8] += 1

    given = [small(k) for k in range(n)]
    expect = [0] * 9
    for i in range(n):
        for k in range(i % 5):
            if given[i] > 0:
                expect[k] += given[i]
            elif i % 3 == 0:
                expect[k + 1] += 1
        for k in range(2):
            expect[k + i // 40 % 8] += 1
    return Run(inner, given={x: given}, expect={y: expect})


@case(rules=["memory.atomic", "parallel.unordered"], dtypes=TYPES, params={"columns": [1, 3, 32, 50, 97]})
def sums_of_rows_and_of_columns(qd, dtype, columns):
    """Iterations of a row update one element; where a row ends, those beside them another one."""
    rows = 13
    x = qd.field(dtype, shape=(rows, columns))
    total, least, most = (qd.field(dtype, shape=rows) for _ in range(3))
    down = qd.field(dtype, shape=columns)

    @qd.kernel
    def both():
        for i, j in x:
            total[i] += x[i, j]
            qd.atomic_min(least[i], x[i, j])
            qd.atomic_max(most[i], x[i, j] * 3)
            down[j] += x[i, j]

    given = [[small(i * columns + j) for j in range(columns)] for i in range(rows)]
    expect = {
        total: [sum(row) for row in given],
        least: [min(0, *row) for row in given],
        most: [max(0, *(3 * v for v in row)) for row in given],
        down: [sum(row[j] for row in given) for j in range(columns)],
    }
    return Run(both, given={x: given}, expect=expect)


@case(rules=["memory.atomic", "memory.ndarray"], dtypes=TYPES)
def arguments_that_are_one_array_in_an_inner_loop(qd, dtype):
    n = 100
    a = qd.ndarray(dtype, shape=8)

    @qd.kernel
    def add(x: qd.types.ndarray(dtype=dtype, ndim=1), y: qd.types.ndarray(dtype=dtype, ndim=1)):
        for i in range(n):
            for k in range(7):
                x[k] += 1
                y[k + 1] += 2
                x[7 - k] -= 1

    expect = [n * ((k < 7) + 2 * (k > 0) - (k > 0)) for k in range(8)]
    return Run(add, args=(a, a), expect={a: expect})


@case(rules=["memory.atomic", "parallel.unordered"], dtypes=TYPES)
def several_elements_that_all_iterations_share(qd, dtype):
    n = 500
    x, y = qd.field(dtype, shape=n), qd.field(dtype, shape=3)

    @qd.kernel
    def add():
        for i in x:
            y[0] += x[i]
            if i % 2 == 0:
                y[2] += 1
            y[0] -= 1

    given = [small(k) for k in range(n)]
    return Run(add, given={x: given}, expect={y: [sum(given) - n, 0, n // 2]})


@case(rules=["grad.load", "grad.loop"], dtypes=REALS, params={"n": [1, 40], "trips": [0, 1, 5]})
def the_gradient_of_what_all_iterations_read(qd, dtype, n, trips):
    """The adjoint of a weight that an inner loop names is a sum over all iterations."""
    w, x, y = qd.field(dtype, shape=5, needs_grad=True), qd.field(dtype, shape=n), qd.field(dtype, n, needs_grad=True)

    @qd.kernel
    def weigh(trips: qd.i32):
        for i in x:
            for k in range(trips):
                y[i] += w[k] * x[i]

    given = [small(k) for k in range(n)]
    total = sum(given)
    gradient = Gradient(seed={y: 1.0}, expect={w: [total if k < trips else 0 for k in range(5)]})
    return Run(weigh, args=(trips,), given={x: given, w: [1, 2, 1, 0, 2]}, gradient=gradient)
