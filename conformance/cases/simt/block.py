"""Blocks of threads: what the threads of a block share, and where they wait for each other."""

from adstack.conformance.case import Run, case
from adstack.conformance.gradients import EXACT, agrees, real


@case(rules=["simt.block", "simt.shared", "simt.sync", "simt.thread-index"], params={"n": [0, 3, 8, 10]})
def threads_read_what_others_have_shared(qd, n):
    """Blocks of 4: the last one has as many threads as are left, and elements that nobody has written are 0."""
    x, y, number = qd.field(qd.i32, shape=12), qd.field(qd.i32, shape=12), qd.field(qd.i32, shape=12)

    @qd.kernel
    def k(n: qd.i32):
        qd.loop_config(block_dim=4)
        for i in range(2, n + 2):
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(4, qd.i32)
            tile[t] = x[i]
            qd.simt.block.sync()
            y[i] = tile[3 - t]
            number[i] = 10 * qd.simt.block.global_thread_idx() + t

    values = [7, 5, 3, 9, 1, 2, 8, 6, 4, 11, 13, 12]
    blocks = [(values[2 : n + 2] + [0] * 4)[b : b + 4] for b in range(0, n, 4)]
    mirrored = [value for block in blocks for value in block[::-1]][:n]
    numbers = [10 * k + k % 4 for k in range(n)]
    tail = [0] * (10 - n)
    return Run(k, args=(n,), given={x: values}, expect={y: [0, 0, *mirrored, *tail], number: [0, 0, *numbers, *tail]})


@case(rules=["simt.sync", "simt.uniform"])
def a_tree_of_sums(qd):
    """A loop and a branch on whose conditions all threads agree may have threads wait in them."""
    x, sums = qd.field(qd.i32, shape=20), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(twice: qd.i32):
        qd.loop_config(block_dim=8)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray((8,), qd.i32)
            tile[t] = x[i]
            if twice > 0:
                tile[t] += x[i]
                qd.simt.block.sync()
            else:
                qd.simt.block.sync()
                tile[t] += 1
            qd.simt.block.sync()
            stride = 4
            while stride > 0:
                if t < stride:
                    tile[t] += tile[t + stride]
                qd.simt.block.sync()
                stride //= 2
            if t == 0:
                sums[i // 8] = tile[0]

    values = list(range(1, 21))
    totals = [sum(values[b : b + 8]) for b in (0, 8, 16)]
    return [
        Run(k, args=(1,), given={x: values}, expect={sums: [2 * total for total in totals]}),
        Run(k, args=(0,), given={x: values}, expect={sums: [totals[0] + 8, totals[1] + 8, totals[2] + 4]}),
    ]


@case(rules=["simt.block", "simt.shared"])
def a_tile_of_two_axes_holds_vectors(qd):
    a, b = qd.Vector.field(2, qd.f32, shape=(4, 2)), qd.Vector.field(2, qd.f32, shape=(4, 2))

    @qd.func
    def fill(tile, t, value):
        tile[t // 2, t % 2] = value
        qd.simt.block.sync()

    @qd.kernel
    def k():
        qd.loop_config(block_dim=4)
        for i, j in a:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray((2, 2), qd.math.vec2)
            own = a[i, j] + 0.5
            fill(tile, t, own)
            tile[1, 0][t % 2] += 1.0
            qd.simt.block.sync()
            b[i, j] = tile[t % 2, t // 2] * 2 - own

    start = [[[8 * i + 2 * j, 8 * i + 2 * j + 1] for j in range(2)] for i in range(4)]

    def tile(block):
        rows = [[[e + 0.5 for e in start[2 * block + i][j]] for j in range(2)] for i in range(2)]
        rows[1][0] = [e + 2 for e in rows[1][0]]
        return rows

    after = [
        [[2 * o - e - 0.5 for o, e in zip(tile(i // 2)[j][i % 2], start[i][j])] for j in range(2)] for i in range(4)
    ]
    return Run(k, given={a: start}, expect={b: after})


@case(rules=["simt.shared"], options={"debug": True})
def threads_count_atomically(qd):
    x, counts, before = qd.field(qd.i32, shape=12), qd.field(qd.i32, shape=(2, 3)), qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=6)
        for i in x:
            table = qd.simt.block.SharedArray(3, qd.i32)
            old = qd.atomic_add(table[x[i]], 1)
            qd.atomic_max(before[i // 6], old)
            qd.simt.block.sync()
            t = qd.simt.block.thread_idx()
            if t < 3:
                counts[i // 6, t] = table[t]

    return Run(
        k,
        given={x: [0, 1, 0, 0, 2, 1, 2, 2, 2, 2, 2, 2]},
        expect={counts: [[3, 2, 1], [0, 0, 6]], before: [2, 5]},
    )


@case(rules=["simt.shared", "simt.race"], params={"dtype": ["i32", "u32", "i64"]})
def threads_update_what_they_share(qd, dtype):
    """Counts, differences, extremes and bits of a block; the elements that threads set before are updated by others."""
    n, threads, to = 70, 32, getattr(qd, dtype)
    x, out = qd.field(to, shape=n), qd.field(to, shape=(3, 6, 4))

    @qd.kernel
    def k():
        qd.loop_config(block_dim=threads)
        for i in x:
            t = qd.simt.block.thread_idx()
            table = qd.simt.block.SharedArray((6, 4), to)
            if t < 4:
                table[1, t] = 100
                table[4, t] = 15
            qd.simt.block.sync()
            column = i % 4
            table[0, column] += x[i]
            table[1, 3 - column] -= x[i]
            qd.atomic_max(table[2, column], x[i])
            qd.atomic_or(table[3, column], x[i])
            qd.atomic_and(table[4, column], x[i] | 2)
            for bit in range(2):
                table[5, t // 8] ^= x[i] >> bit
            qd.simt.block.sync()
            if t < 4:
                for row in range(6):
                    out[i // threads, row, t] = table[row, t]

    values = [(5 * i) % 11 + 1 for i in range(n)]
    tables = []
    for first in range(0, n, threads):
        table = [[0] * 4, [100] * 4, [0] * 4, [0] * 4, [15] * 4, [0] * 4]
        for t, value in enumerate(values[first : first + threads]):
            column = (first + t) % 4
            table[0][column] += value
            table[1][3 - column] -= value
            table[2][column] = max(table[2][column], value)
            table[3][column] |= value
            table[4][column] &= value | 2
            table[5][t // 8] ^= value ^ (value >> 1)
        tables.append(table)
    return Run(k, given={x: values}, expect={out: tables})


@case(rules=["simt.sync"])
def what_a_thread_keeps_is_its_own(qd):
    """Numbers, vectors, and a list that is indexed at run time, from before a wait in a loop to after it."""
    x, y = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=6)

    @qd.kernel
    def k(rounds: qd.i32):
        qd.loop_config(block_dim=3)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(3, qd.i32)
            v = qd.Vector([x[i], 10 * x[i], t])
            total = 0
            for r in range(rounds):
                tile[t] = v[r % 3]
                qd.simt.block.sync()
                here = tile[(t + 1) % 3]
                total += here
                qd.simt.block.sync()
                v[r % 3] = here + r
                if r == 4:
                    break
            y[i] = total + v[0] - v[1]

    def plain(xs, rounds):
        out = []
        for b in (0, 3):
            v = [[xs[b + t], 10 * xs[b + t], t] for t in range(3)]
            total = [0] * 3
            for r in range(min(rounds, 5)):
                here = [v[(t + 1) % 3][r % 3] for t in range(3)]
                for t in range(3):
                    total[t] += here[t]
                    v[t][r % 3] = here[t] + r
            out += [total[t] + v[t][0] - v[t][1] for t in range(3)]
        return out

    values = [3, 1, 4, 1, 5, 9]
    return [Run(k, args=(n,), given={x: values}, expect={y: plain(values, n)}) for n in (0, 1, 4, 9)]


@case(rules=["simt.sync", "simt.shared"])
def what_a_thread_needs_between_two_waits_is_its_own(qd):
    """A list that is indexed at run time, made after one wait and not looked at after the next."""
    x, y = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k(rounds: qd.i32):
        qd.loop_config(block_dim=4)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(4, qd.i32)
            total = x[i]
            for r in range(rounds):
                tile[t] = total
                qd.simt.block.sync()
                own = qd.Vector.zero(qd.i32, 60)
                for j in range(60):
                    own[(j + t) % 60] += tile[(t + j) % 4] + j
                own[r % 60] *= 2
                total = own[total % 60] - own[(t + 1) % 60]
                qd.simt.block.sync()
            y[i] = total

    def plain(xs, rounds):
        out = []
        for b in (0, 4):
            tile = xs[b : b + 4]
            for r in range(rounds):
                totals = []
                for t in range(4):
                    own = [0] * 60
                    for j in range(60):
                        own[(j + t) % 60] += tile[(t + j) % 4] + j
                    own[r % 60] *= 2
                    totals.append(own[tile[t] % 60] - own[(t + 1) % 60])
                tile = totals
            out += tile
        return out

    values = [3, 1, 4, 1, 5, 9, 2, 6]
    return [Run(k, args=(n,), given={x: values}, expect={y: plain(values, n)}) for n in (0, 1, 3, 7)]


@case(rules=["simt.gradient", "simt.sync"], params={"n": [5, 6]}, **EXACT)
def a_stencil_through_shared_memory(qd, dtype, n):
    """y = left * right, then twice more: derivatives go through shared arrays as through any memory."""
    x, y = real(qd, dtype, n), real(qd, dtype, n)

    @qd.kernel
    def k(rounds: qd.i32):
        qd.loop_config(block_dim=3)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(3, dtype)
            tile[t] = x[i]
            qd.simt.block.sync()
            for _ in range(rounds):
                product = tile[(t + 1) % 3] * tile[(t + 2) % 3]
                qd.simt.block.sync()
                tile[t] += product
                qd.simt.block.sync()
            y[i] = tile[t]

    def plain(x):
        out = []
        for first in range(0, len(x), 3):
            own = x[first : first + 3]
            tile = [*own, *([0] * (3 - len(own)))]
            for _ in range(2):
                products = [tile[(t + 1) % 3] * tile[(t + 2) % 3] for t in range(3)]
                tile = [a + p if t < len(own) else a for t, (a, p) in enumerate(zip(tile, products))]
            out += tile[: len(own)]
        return out

    return agrees(k, plain, {x: [0.5, -1.0, 2.0, 1.5, 0.25, -0.5][:n]}, [y], args=(2,))


@case(rules=["simt.sync", "simt.shared", "simt.subgroup"], params={"size": [1, 24, 256]})
def sums_of_all_before_in_blocks(qd, size):
    """Phases in loops, elements that only their thread updates, lists of a thread's own; the last block is a part."""
    n = 300
    x, y = qd.field(qd.f32, shape=n), qd.field(qd.f32, shape=n)

    @qd.kernel
    def k(scale: qd.f32):
        qd.loop_config(block_dim=size)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(size, qd.f32)
            tile[t] = x[i]
            steps = qd.Vector([0, 0, 0])
            qd.simt.block.sync()
            step = 1
            while step < size:
                before = 0.0
                if t >= step:
                    before = tile[t - step]
                    steps[step % 3] += 1
                qd.simt.block.sync()
                tile[t] += before
                qd.simt.block.sync()
                step *= 2
            if scale > 0 and qd.simt.subgroup.any_true(steps[1] > 3):
                tile[t] *= scale
            y[i] = tile[t] + 1000 * steps[t % 3]

    def plain(values):
        out = []
        for first in range(0, n, size):
            tile = values[first : first + size]
            steps = [[0, 0, 0] for _ in tile]
            step = 1
            while step < size:
                for t in range(step, len(tile)):
                    steps[t][step % 3] += 1
                tile = [v + (tile[t - step] if t >= step else 0) for t, v in enumerate(tile)]
                step *= 2
            for part in range(0, len(tile), 32):
                if any(own[1] > 3 for own in steps[part : part + 32]):
                    tile[part : part + 32] = [v * 0.5 for v in tile[part : part + 32]]
            out += [v + 1000 * steps[t][t % 3] for t, v in enumerate(tile)]
        return out

    values = [float((7 * i) % 31 - 15) for i in range(n)]
    return Run(k, args=(0.5,), given={x: values}, expect={y: plain(values)})


@case(rules=["simt.sync", "simt.uniform"])
def one_array_by_two_names(qd):
    """What a thread reads by another name is what it has just written: it is not read ahead for the whole block."""
    x = qd.ndarray(qd.i32, shape=4)

    @qd.kernel
    def k(a: qd.types.ndarray(dtype=qd.i32, ndim=1), b: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        qd.loop_config(block_dim=1)
        for i in range(1):
            b[2] = 5
            b[1] = a[2] + 1
            qd.simt.block.sync()
            b[3] = a[1]

    return Run(k, args=(x, x), given={x: [3, 1, 2, 0]}, expect={x: [3, 6, 5, 6]})
