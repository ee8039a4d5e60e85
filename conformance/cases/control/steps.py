"""Ranges with a step, and loop variables that the body assigns to."""

from adstack.conformance.case import Raises, Run, case

BOUNDS = [(4, 4, 3), (0, 10, 3), (0, 9, 3), (9, 0, -2), (9, 0, 2), (0, 10, -1), (3, 17, 7), (5, 5, 1), (5, 4, -3)]


def counted(*ranges):
    """How often each of 20 elements is in one of the ranges."""
    return [sum(k in r for r in ranges) for k in range(20)]


@case(rules=["control.range"], params={"order": ["parallel", "serial"]})
def a_range_with_a_step_known_at_run_time(qd, order):
    x = qd.field(qd.i32, shape=20)

    @qd.kernel
    def parallel(a: qd.i32, b: qd.i32, step: qd.i32):
        for i in range(a, b, step):
            x[i] += 1

    @qd.kernel
    def serial(a: qd.i32, b: qd.i32, step: qd.i32):
        for _ in range(1):
            for i in range(a, b, step):
                x[i] += 1

    k = {"parallel": parallel, "serial": serial}[order]
    return [Run(k, args=b, given={x: [0] * 20}, expect={x: counted(range(*b))}) for b in BOUNDS]


@case(rules=["control.range"])
def a_range_with_a_constant_step(qd):
    x = qd.field(qd.i32, shape=20)

    @qd.kernel
    def k(a: qd.i32, b: qd.u8):
        for i in range(0, 10, 3):
            x[i] += 1
        for i in range(9, 0, -2):
            x[i] += 1
        for i in range(a, 10, 3):
            x[i] += 1
        for i in range(b, a, -4):
            x[i] += 1
        for _ in range(1):
            for i in range(b, 2, -3):
                if i < 9:
                    break
                x[i] += 1

    ranges = range(0, 10, 3), range(9, 0, -2), range(1, 10, 3), range(19, 1, -4), range(19, 8, -3)
    return Run(k, args=(1, 19), expect={x: counted(*ranges)})


@case(rules=["control.range"], params={"name": ["i8", "u8", "i32", "i64", "u64"]})
def the_last_step_of_a_range_goes_beyond_its_type(qd, name):
    dtype = getattr(qd, name)
    bits = int(name[1:])
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    step = 2 ** (bits - 2) + 1

    @qd.kernel
    def sums(a: dtype, b: dtype, step: dtype) -> dtype:
        s = qd.cast(0, dtype)
        for _ in range(1):
            for i in range(a, b, step):
                s = qd.cast(s * 3 + i, dtype)
        return s

    def plain(numbers):
        s = 0
        for i in numbers:
            s = s * 3 + i
        return (s - low) % 2**bits + low

    runs = [(low, high, step), (low, high, high)]
    if name[0] == "i":
        runs += [(high, low, -step), (high, low, low)]
    return [Run(sums, args=args, returns=plain(range(*args))) for args in runs]


@case(rules=["control.range"], options={"debug": True})
def a_step_of_zero_in_debug_mode(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(step: qd.i32):
        for i in range(0, 3, step):
            x[i] = 1

    return Run(k, args=(0,), raises=Raises("AssertionError", "must not be zero"))


@case(rules=["control.range"])
def a_step_of_zero_gives_no_iteration(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(step: qd.i32):
        for i in range(0, 3, step):
            x[i] = 1

    return Run(k, args=(0,), expect={x: [0, 0, 0]})


@case(rules=["control.range"], params={"form": ["constant", "bounds", "signed"]})
def a_step_that_is_an_error(qd, form):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def constant(a: qd.i32):
        for i in range(0, 3, 0):
            x[i] = 1

    @qd.kernel
    def bounds(a: qd.i32):
        for i in range(0, a, 0):
            x[i] = 1

    @qd.kernel
    def signed(a: qd.i32):
        for i in range(qd.u32(0), qd.u32(3), a):
            x[i] = 1

    k = {"constant": constant, "bounds": bounds, "signed": signed}[form]
    return Run(k, args=(1,), raises=Raises("CompilationError"))


@case(rules=["control.scope"])
def a_loop_variable_that_is_assigned_changes_in_its_iteration_only(qd):
    x, y = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=12)
    z = qd.field(qd.i32, shape=(2, 2))

    @qd.kernel
    def k():
        for i in x:
            j = i
            i = i * 3 + 1
            if j == 2:
                i -= 100
            x[j] = i
        for _ in range(1):
            n = 0
            for a, b in qd.ndrange(2, 6):
                if a == 1:
                    b += 10
                while b > 3:
                    b -= 3
                y[n] = b
                n += 1

        for i in qd.grouped(z):
            i[0] = 1 - i[0]
            z[i] = i[0] + 2 * i[1]

    last = [b - 3 * max(0, (b - 1) // 3) for a in range(2) for b in range(10 * a, 10 * a + 6)]
    return Run(k, expect={x: [1, 4, -93, 10], y: last, z: [[0, 2], [1, 3]]})


@case(rules=["control.scope", "control.static"])
def the_variable_of_a_static_loop_may_be_assigned(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(n: qd.i32):
        for _ in range(1):
            for i in qd.static(range(3)):
                if n > 1:
                    i += 5
                x[i % 3] = i

    return [Run(k, args=(1,), expect={x: [0, 1, 2]}), Run(k, args=(2,), expect={x: [6, 7, 5]})]
