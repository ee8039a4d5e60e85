"""Programs on grids and graphs: automata, stencils, distances, counting."""

from adstack.conformance.case import Run, case


@case(rules=["arith.mod", "parallel.tasks"])
def game_of_life(qd):
    """A glider on a torus of 8 x 8 is back, one cell further down and right, after four generations."""
    now, then = qd.field(qd.i32, shape=(8, 8)), qd.field(qd.i32, shape=(8, 8))

    @qd.kernel
    def generation():
        for i, j in now:
            near = 0
            for di, dj in qd.static(qd.ndrange((-1, 2), (-1, 2))):
                if qd.static(di != 0 or dj != 0):
                    near += now[(i + di) % 8, (j + dj) % 8]
            then[i, j] = near == 3 or (near == 2 and now[i, j] == 1)
        for i, j in now:
            now[i, j] = then[i, j]

    def four():
        for _ in range(4):
            generation()

    glider = {(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)}

    def board(by):
        return [[int(((i - by) % 8, (j - by) % 8) in glider) for j in range(8)] for i in range(8)]

    return [
        Run(four, given={now: board(0)}, expect={now: board(1)}),
        *(Run(four, expect={now: board(n)}) for n in (2, 3)),
    ]


@case(rules=["arith.bits", "arith.shift"], params={"rule": [30, 90, 110]})
def elementary_automata(qd, rule):
    cells = qd.field(qd.i32, shape=(16, 33))

    @qd.kernel
    def run(rule: qd.i32):
        for _ in range(1):
            cells[0, 16] = 1
            for t in range(1, 16):
                for i in range(33):
                    index = 4 * cells[t - 1, (i + 32) % 33] + 2 * cells[t - 1, i] + cells[t - 1, (i + 1) % 33]
                    cells[t, i] = rule >> index & 1

    rows = [[int(i == 16) for i in range(33)]]
    for _ in range(15):
        last = rows[-1]
        rows.append([rule >> (4 * last[i - 1] + 2 * last[i] + last[(i + 1) % 33]) & 1 for i in range(33)])
    return Run(run, args=(rule,), expect={cells: rows})


@case(rules=["arith.float", "parallel.tasks"], dtypes=["f32", "f64"])
def a_stencil_on_numbers_that_stay_exact(qd, dtype):
    """Halves and quarters of small integers: six steps lose no bit."""
    a, b = qd.field(dtype, shape=17), qd.field(dtype, shape=17)

    @qd.kernel
    def smooth(source: qd.template(), target: qd.template()):
        for i in range(1, 16):
            target[i] = 0.25 * source[i - 1] + 0.5 * source[i] + 0.25 * source[i + 1]

    def six():
        for n in range(6):
            smooth(*((b, a) if n % 2 else (a, b)))

    values = [0] * 17
    values[8] = 4096
    binomial = [1, 12, 66, 220, 495, 792, 924, 792, 495, 220, 66, 12, 1]
    return Run(six, given={a: values}, expect={a: [0, 0, *binomial, 0, 0]})


@case(rules=["arith.minmax", "parallel.serial-inside"])
def shortest_paths_between_all_pairs(qd):
    n = 10
    d = qd.field(qd.i32, shape=(n, n))

    @qd.kernel
    def relax(k: qd.i32):
        for i, j in d:
            if i != k and j != k:
                d[i, j] = qd.min(d[i, j], d[i, k] + d[k, j])

    def floyd_warshall():
        for k in range(n):
            relax(k)

    far = 10**6
    weights = [
        [0 if i == j else (i * 7 + j * 3) % 11 + 1 if (i + 2 * j) % 3 else far for j in range(n)] for i in range(n)
    ]
    paths = [row[:] for row in weights]
    for k in range(n):
        paths = [[min(paths[i][j], paths[i][k] + paths[k][j]) for j in range(n)] for i in range(n)]
    return Run(floyd_warshall, given={d: weights}, expect={d: paths})


@case(rules=["vector.index", "control.while", "control.break"])
def queens_that_do_not_attack_each_other(qd):
    """Solutions for 6 x 6, 7 x 7 and 8 x 8 boards, by backtracking with a stack in a vector."""
    out = qd.field(qd.i32, shape=3)

    @qd.func
    def safe(columns, row):
        good = True
        for r in range(row):
            apart = columns[r] - columns[row]
            good = good and apart != 0 and apart != row - r and apart != r - row
        return good

    @qd.kernel
    def count():
        for i in out:
            n = i + 6
            columns = qd.Vector([0, 0, 0, 0, 0, 0, 0, 0])
            row = 0
            while row >= 0:
                if columns[row] >= n:
                    row -= 1
                    if row >= 0:
                        columns[row] += 1
                elif not safe(columns, row):
                    columns[row] += 1
                elif row == n - 1:
                    out[i] += 1
                    columns[row] += 1
                else:
                    row += 1
                    columns[row] = 0

    return Run(count, expect={out: [4, 40, 92]})


@case(rules=["memory.augmented", "control.ndrange"])
def paths_through_a_lattice(qd):
    """Pascal's triangle, diagonal by diagonal: each diagonal is a parallel loop."""
    paths = qd.field(qd.i64, shape=(30, 30))

    @qd.kernel
    def diagonal(d: qd.i32):
        for i in range(d + 1):
            if i == 0 or i == d:
                paths[i, d - i] = 1
            else:
                paths[i, d - i] = paths[i - 1, d - i] + paths[i, d - i - 1]

    def fill():
        for d in range(30):
            diagonal(d)

    from math import comb

    rows = [[comb(i + j, i) if i + j < 30 else 0 for j in range(30)] for i in range(30)]
    return Run(fill, expect={paths: rows})


@case(rules=["control.while", "memory.index"])
def steps_out_of_a_chain_of_pointers(qd):
    follow, steps = qd.field(qd.i32, shape=40), qd.field(qd.i32, shape=40)

    @qd.kernel
    def walk():
        for i in steps:
            at = i
            while at != 0:
                at = follow[at]
                steps[i] += 1

    chain = [i * 3 // 7 for i in range(40)]

    def length(i):
        return 1 + length(chain[i]) if i else 0

    return Run(walk, given={follow: chain}, expect={steps: [length(i) for i in range(40)]})


@case(rules=["control.while", "arith.float"])
def points_that_stay_near_in_the_mandelbrot_set(qd):
    """On a grid of quarters four steps stay exact in f64, so that the counts are."""
    counts = qd.field(qd.i32, shape=(9, 13))

    @qd.kernel
    def iterate():
        for i, j in counts:
            c = qd.Vector([(j - 9) * 0.25, (i - 4) * 0.25], qd.f64)
            z, n = qd.Vector([0.0, 0.0], qd.f64), 0
            while n < 4 and z.norm_sqr() <= 4:
                z = qd.Vector([z[0] * z[0] - z[1] * z[1] + c[0], 2 * z[0] * z[1] + c[1]])
                n += 1
            counts[i, j] = n

    from fractions import Fraction

    def steps(x, y):
        a = b = Fraction(0)
        for n in range(4):
            if a * a + b * b > 4:
                return n
            a, b = a * a - b * b + x, 2 * a * b + y
        return 4

    rows = [[steps(Fraction(j - 9, 4), Fraction(i - 4, 4)) for j in range(13)] for i in range(9)]
    return Run(iterate, expect={counts: rows})


@case(rules=["arith.float", "arith.floordiv"], dtypes=["f32", "f64"])
def a_polynomial_by_horner_at_dyadic_points(qd, dtype):
    x, out = qd.field(dtype, shape=9), qd.field(dtype, shape=9)
    coefficients = [3, -1, 4, 1, -5]

    @qd.kernel
    def horner():
        for i in x:
            value = qd.cast(0, dtype)
            for c in qd.static(coefficients):
                value = value * x[i] + c
            out[i] = value

    points = [i / 4 for i in range(-4, 5)]
    return Run(horner, given={x: points}, expect={out: [((3 * p - 1) * p + 4) * p * p + p - 5 for p in points]})


@case(rules=["memory.atomic", "control.while"])
def connected_components_by_falling_labels(qd):
    """Every cell takes the least label of its neighbours, until nothing changes after 12 steps at most."""
    wall, label, changed = qd.field(qd.i32, shape=(6, 6)), qd.field(qd.i32, shape=(6, 6)), qd.field(qd.i32, shape=())

    @qd.kernel
    def begin():
        for i, j in label:
            label[i, j] = 6 * i + j if wall[i, j] == 0 else 99

    @qd.kernel
    def spread():
        for i, j in label:
            for d in qd.static([(0, 1), (1, 0), (0, -1), (-1, 0)]):
                p, q = i + d[0], j + d[1]
                if 0 <= p < 6 and 0 <= q < 6:
                    if wall[p, q] == 0:
                        changed[None] += qd.atomic_min(label[p, q], label[i, j]) > label[i, j]

    def label_all():
        begin()
        for _ in range(12):
            changed[None] = 0
            spread()

    walls = [[int(j == 3) for j in range(6)] for _ in range(5)] + [[1, 1, 1, 1, 0, 0]]
    rows = [[0, 0, 0, 99, 4, 4]] * 5 + [[99, 99, 99, 99, 4, 4]]
    return Run(label_all, given={wall: walls}, expect={label: rows, changed: 0})
