"""Every kind of atomic in every type it has: the old values, the last value, and nothing lost between iterations."""

from adstack.conformance.case import Raises, Run, case

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f16", "f32", "f64"]


@case(rules=["memory.atomic"], dtypes=[*INTS, *FLOATS])
def a_chain_of_arithmetic_atomics(qd, dtype):
    x, old = qd.field(dtype, shape=()), qd.field(dtype, shape=6)

    @qd.kernel
    def k():
        for _ in range(1):
            old[0] = qd.atomic_add(x[None], 20)
            old[1] = qd.atomic_sub(x[None], 5)
            old[2] = qd.atomic_mul(x[None], 4)
            old[3] = qd.atomic_min(x[None], 70)
            old[4] = qd.atomic_max(x[None], 90)
            old[5] = x[None]

    return Run(k, given={x: 10}, expect={old: [10, 30, 25, 100, 70, 90], x: 90})


@case(rules=["memory.atomic"], dtypes=INTS)
def a_chain_of_bitwise_atomics(qd, dtype):
    x, old = qd.field(dtype, shape=()), qd.field(dtype, shape=4)

    @qd.kernel
    def k():
        for _ in range(1):
            old[0] = qd.atomic_and(x[None], 0b0111100)
            old[1] = qd.atomic_or(x[None], 0b0000011)
            old[2] = qd.atomic_xor(x[None], 0b1111111)
            old[3] = x[None]

    given, after_and = 0b1010110, 0b1010110 & 0b0111100
    after_or = after_and | 0b0000011
    return Run(k, given={x: given}, expect={old: [given, after_and, after_or, after_or ^ 0b1111111]})


@case(rules=["memory.atomic"], dtypes=[*INTS, *FLOATS])
def exchange_hands_the_value_over(qd, dtype):
    x, old = qd.field(dtype, shape=()), qd.field(dtype, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            old[0] = qd.atomic_exchange(x[None], 7)
            old[1] = qd.atomic_exchange(x[None], 9)

    return Run(k, given={x: 5}, expect={old: [5, 7], x: 9})


@case(rules=["memory.atomic"], dtypes=["i32", "u32", "i64", "u64", "f32", "f64"])
def compare_and_swap_writes_only_where_it_finds_what_it_expects(qd, dtype):
    x, old = qd.field(dtype, shape=2), qd.field(dtype, shape=2)

    @qd.kernel
    def k():
        for i in x:
            old[i] = qd.atomic_cas(x[i], 5, 100)

    return Run(k, given={x: [5, 6]}, expect={old: [5, 6], x: [100, 6]})


@case(rules=["memory.atomic"], dtypes=["f32", "f64"])
def compare_and_swap_compares_bits(qd, dtype):
    x, old = qd.field(dtype, shape=()), qd.field(dtype, shape=())

    @qd.kernel
    def k(expected: dtype):
        old[None] = qd.atomic_cas(x[None], expected, 3.0)

    return [
        Run(k, args=(0.0,), given={x: -0.0}, expect={x: -0.0, old: -0.0}),
        Run(k, args=(-0.0,), expect={x: 3.0, old: -0.0}),
    ]


@case(rules=["memory.atomic"], params={"name": INTS})
def integer_additions_wrap(qd, name):
    total = qd.field(getattr(qd, name), shape=())

    @qd.kernel
    def k():
        for i in range(1000):
            qd.atomic_add(total[None], 97)

    bits = int(name[1:])
    low = -(2 ** (bits - 1)) if name[0] == "i" else 0
    return Run(k, expect={total: (97 * 1000 - low) % 2**bits + low})


@case(rules=["memory.atomic", "memory.atomic-order"], dtypes=["i32", "i64", "u32", "u64"])
def every_iteration_gets_a_ticket_of_its_own(qd, dtype):
    counter, taken = qd.field(dtype, shape=()), qd.field(qd.i32, shape=500)

    @qd.kernel
    def k():
        for _ in range(500):
            taken[qd.cast(qd.atomic_add(counter[None], 1), qd.i32)] += 1

    return Run(k, expect={counter: 500, taken: 1})


@case(rules=["memory.atomic"], dtypes=["i32", "i64", "u32", "u64"])
def a_set_of_bits_is_collected(qd, dtype):
    ones, toggled = qd.field(dtype, shape=()), qd.field(dtype, shape=())

    @qd.kernel
    def k():
        for i in range(30):
            qd.atomic_or(ones[None], qd.cast(1, dtype) << (i % 7 * 3))
            qd.atomic_xor(toggled[None], qd.cast(1, dtype) << (i % 4))

    return Run(k, expect={ones: sum(1 << (3 * j) for j in range(7)), toggled: 0b1100})


@case(rules=["memory.atomic"], dtypes=["f32", "f64"])
def extremes_ignore_nans(qd, dtype):
    x, high, low = qd.field(dtype, shape=4), qd.field(dtype, shape=()), qd.field(dtype, shape=())

    @qd.kernel
    def k():
        for i in x:
            qd.atomic_max(high[None], x[i])
            qd.atomic_min(low[None], x[i])

    return Run(k, given={x: ["nan", 3, -2, "nan"]}, expect={high: 3, low: -2})


@case(rules=["memory.atomic"])
def atomics_on_locals_give_old_values(qd):
    out = qd.field(qd.i32, shape=(4, 3))

    @qd.kernel
    def k():
        for i in range(4):
            v = 10 * i
            out[i, 0] = qd.atomic_add(v, 5)
            out[i, 1] = qd.atomic_max(v, 20)
            out[i, 2] = v

    return Run(k, expect={out: [[0, 5, 20], [10, 15, 20], [20, 25, 25], [30, 35, 35]]})


@case(rules=["memory.atomic"])
def atomics_on_components_of_vectors_and_matrices(qd):
    v, m = qd.Vector.field(3, qd.i32, shape=2), qd.Matrix.field(2, 2, qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(12):
            qd.atomic_add(v[i % 2][i % 3], i)
            m[None][i % 2, 0] += 1
            qd.atomic_max(m[None][i % 2, 1], i)

    sums = [[sum(i for i in range(12) if i % 2 == a and i % 3 == b) for b in range(3)] for a in range(2)]
    return Run(k, expect={v: sums, m: [[6, 10], [6, 11]]})


@case(rules=["memory.atomic"])
def a_whole_vector_is_added(qd):
    v, old = qd.Vector.field(2, qd.i32, shape=()), qd.Vector.field(2, qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(100):
            v[None] += qd.Vector([i, -1])
        for _ in range(1):
            old[None] = qd.atomic_add(v[None], qd.Vector([1, 2]))

    return Run(k, expect={v: [4951, -98], old: [4950, -100]})


@case(rules=["memory.augmented"], params={"name": ["i32", "u32", "i64", "f32", "f64"]})
def plus_and_minus_of_every_iteration_count(qd, name):
    dtype = getattr(qd, name)
    x = qd.field(dtype, shape=3)

    @qd.kernel
    def k():
        for i in range(300):
            x[i % 3] += 4
            x[i % 3] -= 1

    return Run(k, expect={x: 300})


@case(rules=["memory.augmented"])
def bitwise_updates_of_every_iteration_count(qd):
    x = qd.field(qd.u32, shape=3)

    @qd.kernel
    def k():
        for i in range(32):
            x[0] |= qd.u32(1) << i
            x[1] &= ~(qd.u32(1) << i)
            x[2] ^= qd.u32(1) << (i // 2)

    return Run(k, given={x: [0, 2**32 - 1, 5]}, expect={x: [2**32 - 1, 0, 5]})


@case(rules=["memory.atomic"])
def an_atomic_needs_a_place(qd):
    @qd.kernel
    def k() -> qd.i32:
        return qd.atomic_add(1 + 2, 3)

    return Run(k, raises=Raises("CompilationError"))
