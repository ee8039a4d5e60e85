"""Assigning parts of vectors and matrices: slices, rows, columns, several at once, in locals and in memory."""

from adstack.conformance.case import Run, case


@case(rules=["vector.index"])
def slices_are_assigned(qd):
    out = qd.Vector.field(4, qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            v = qd.Vector([1, 2, 3, 4])
            v[0:2] = qd.Vector([10, 20])
            v[2:] += 1
            out[None] = v

    return Run(k, expect={out: [10, 20, 4, 5]})


@case(rules=["vector.index"])
def rows_and_columns_are_assigned(qd):
    out = qd.Matrix.field(2, 2, qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            m = qd.Matrix([[1, 2], [3, 4]])
            m[0, :] = qd.Vector([7, 8])
            m[:, 1] *= 2
            out[None] = m

    return Run(k, expect={out: [[7, 16], [3, 8]]})


@case(rules=["vector.copy"])
def components_swap(qd):
    out = qd.Vector.field(3, qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            v = qd.Vector([1, 2, 3])
            v[0], v[1], v[2] = v[1], v[2], v[0]
            out[None] = v

    return Run(k, expect={out: [2, 3, 1]})


@case(rules=["vector.copy", "memory.map"])
def vectors_in_memory_swap(qd):
    x = qd.Vector.field(2, qd.i32, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            x[0], x[1] = x[1], x[0]

    return Run(k, given={x: [[1, 2], [3, 4]]}, expect={x: [[3, 4], [1, 2]]})


@case(rules=["memory.augmented", "vector.elementwise"])
def whole_vectors_and_matrices_are_updated(qd):
    v, m = qd.Vector.field(2, qd.i32, shape=2), qd.Matrix.field(2, 2, qd.f32, shape=())

    @qd.kernel
    def k():
        for i in v:
            v[i] -= qd.Vector([1, i])
            v[i] *= 3
        for _ in range(1):
            m[None] += qd.Matrix([[1.0, 0.0], [0.0, 1.0]])
            m[None][0, 1] /= 4
            m[None] -= 0.5

    expect = {v: [[27, 30], [27, 27]], m: [[8.5, 1.5], [7.5, 8.5]]}
    return Run(k, given={v: 10, m: 8}, expect=expect)


@case(rules=["control.ternary"])
def a_ternary_of_vectors_selects(qd):
    out = qd.Vector.field(2, qd.i32, shape=2)

    @qd.kernel
    def k():
        for i in range(2):
            a, b = qd.Vector([1, 2]), qd.Vector([3, 4])
            out[i] = a if i == 0 else b

    return Run(k, expect={out: [[1, 2], [3, 4]]})


@case(rules=["vector.reductions", "control.field-loop"])
def conditions_on_whole_vectors(qd):
    x, near = qd.field(qd.i32, shape=(3, 3)), qd.field(qd.i32, shape=(3, 3))

    @qd.kernel
    def k():
        for index in qd.grouped(x):
            for d in qd.static([qd.Vector([0, 1]), qd.Vector([1, 0])]):
                other = index + d
                if all(other < 3):
                    near[index] += x[other]

    return Run(k, given={x: 1}, expect={near: [[2, 2, 1], [2, 2, 1], [1, 1, 0]]})
