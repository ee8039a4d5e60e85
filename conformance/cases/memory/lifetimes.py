"""Fields, arrays and objects that come and go."""

from adstack.conformance.case import Run, case


@case(rules=["memory.lifetime"])
def fields_that_come_and_go_are_told_apart(qd):
    """Objects and memory are used again; what was compiled for the field before is not."""
    total = qd.field(qd.i32, ())

    @qd.kernel
    def add(x: qd.template(), n: qd.i32):
        for i in x:
            x[i] += n

    for n in range(1, 4):
        x = qd.field(qd.i32, 4)
        for _ in range(3):
            add(x, n)
        total[None] += x[3]
        del x
    y = qd.field(qd.i32, 4)
    return Run(add, args=(y, 5), expect={y: [5, 5, 5, 5], total: 18})


@case(rules=["memory.lifetime"])
def memory_of_dropped_arrays_is_not_given_out_while_launches_use_it(qd):
    total = qd.ndarray(qd.i32, 64)

    @qd.kernel
    def fill(x: qd.types.ndarray(qd.i32, 1), n: qd.i32):
        for i in x:
            x[i] = n

    @qd.kernel
    def collect(x: qd.types.ndarray(qd.i32, 1), total: qd.types.ndarray(qd.i32, 1)):
        for i in x:
            total[i] += x[i]

    for n in range(20):
        x = qd.ndarray(qd.i32, 64)
        fill(x, n)
        collect(x, total)
        del x
        fill(qd.ndarray(qd.i32, 64), -1)
    last = qd.ndarray(qd.i32, 64)
    last.fill(10)
    return Run(collect, args=(last, total), expect=[(total, 200)])


@case(rules=["memory.lifetime"])
def a_kernel_keeps_the_fields_that_it_names(qd):
    def counter():
        x = qd.field(qd.i32, 4)

        @qd.kernel
        def count() -> qd.i32:
            x[2] += 1
            return x[2]

        return count

    count = counter()
    others = [qd.field(qd.i32, 4) for _ in range(3)]
    for other in others:
        other.fill(7)
    return [Run(count, returns=n) for n in (1, 2, 3)]
