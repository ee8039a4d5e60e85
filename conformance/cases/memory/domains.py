"""Where the elements of fields are: offsets, trees of axes, indices of every integer type, bounds."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["memory.offset", "control.field-loop"])
def an_offset_field_may_straddle_zero_on_every_axis(qd):
    x, visited = qd.field(qd.i32, shape=(2, 3), offset=(-1, -1)), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for index in qd.grouped(x):
            x[index] = 10 * index[0] + index[1]
            visited[None] += 1

    return Run(k, expect={x: [[-11, -10, -9], [-1, 0, 1]], visited: 6})


@case(rules=["memory.offset"])
def fields_with_and_without_offset_meet_in_a_loop(qd):
    x, y = qd.field(qd.i32, shape=4, offset=10), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            y[i - 10] = x[i] * i

    return Run(k, given={x: [1, 2, 3, 4]}, expect={y: [10, 22, 36, 52]})


@case(rules=["memory.offset", "memory.bounds"], options={"debug": True}, params={"index": [9, 14]})
def bounds_move_with_the_offset(qd, index):
    x = qd.field(qd.i32, shape=4, offset=10)

    @qd.kernel
    def k(i: qd.i32):
        x[i] = 1

    return [
        Run(k, args=(10,), expect={x: [1, 0, 0, 0]}),
        Run(k, args=(13,), expect={x: [1, 0, 0, 1]}),
        Run(k, args=(index,), raises=Raises("AssertionError", "Accessing field")),
    ]


@case(rules=["memory.offset"])
def the_host_uses_shifted_indices_too(qd):
    x = qd.field(qd.i32, shape=(2, 2), offset=(-3, 5))

    def use():
        x[-3, 5], x[-2, 6] = 4, 9
        return x[-3, 5] + 100 * x[-2, 6]

    return Run(use, returns=904, expect={x: [[4, 0], [0, 9]]})


@case(rules=["memory.offset"])
def an_offset_may_be_given_at_the_placement(qd):
    x = qd.field(qd.i32)
    qd.root.dense(qd.i, 3).place(x, offset=-1)

    @qd.kernel
    def k():
        for i in x:
            x[i] = i

    return Run(k, expect={x: [-1, 0, 1]})


@case(rules=["memory.field"])
def sizes_of_nested_nodes_multiply_per_axis(qd):
    x = qd.field(qd.i32)
    qd.root.dense(qd.i, 2).dense(qd.j, 3).dense(qd.ij, (2, 2)).place(x)

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] = 100 * i + j

    return Run(k, expect={x: [[100 * i + j for j in range(6)] for i in range(4)]})


@case(rules=["memory.field"])
def fields_of_one_node_are_apart(qd):
    a, b, c = qd.field(qd.i32), qd.field(qd.f32), qd.Vector.field(2, qd.i32)
    node = qd.root.dense(qd.i, 3)
    node.place(a, b)
    node.place(c)

    @qd.kernel
    def k():
        for i in a:
            a[i] = i
            b[i] = i + 0.5
            c[i] = [-i, 7]

    return Run(k, expect={a: [0, 1, 2], b: [0.5, 1.5, 2.5], c: [[0, 7], [-1, 7], [-2, 7]]})


@case(rules=["memory.field"])
def a_field_without_axes_is_one_element(qd):
    x, y = qd.field(qd.i32), qd.field(qd.f32, shape=())
    qd.root.place(x)

    @qd.kernel
    def k():
        x[None] = 3
        y[None] = x[None] + 0.25

    return Run(k, expect={x: 3, y: 3.25})


@case(rules=["memory.field"])
def four_axes(qd):
    x = qd.field(qd.i32, shape=(2, 3, 2, 2))

    @qd.kernel
    def k():
        for a, b, c, d in x:
            x[a, b, c, d] = 1000 * a + 100 * b + 10 * c + d

    face = [[0, 1], [10, 11]]
    box = [[[[1000 * a + 100 * b + v for v in row] for row in face] for b in range(3)] for a in range(2)]
    return Run(k, expect={x: box})


@case(rules=["memory.field"])
def an_unplaced_field_is_refused(qd):
    x = qd.field(qd.i32)

    @qd.kernel
    def k():
        x[0] = 1

    return Run(k, raises=Raises("Exception", "placed"))


@case(rules=["memory.index"], dtypes=["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def an_index_has_any_integer_type(qd, dtype):
    at, x = qd.field(dtype, shape=3), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in at:
            x[at[i]] = i + 1

    return Run(k, given={at: [3, 0, 2]}, expect={x: [2, 0, 3, 1]})


@case(rules=["memory.index"])
def indices_are_expressions_of_fields(qd):
    chain, out = qd.field(qd.i32, shape=5), qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in chain:
            out[i] = chain[chain[chain[i]]]

    return Run(k, given={chain: [3, 0, 4, 2, 1]}, expect={out: [4, 2, 0, 1, 3]})


@case(rules=["memory.bounds"], options={"debug": True}, params={"at": ["read", "write", "atomic", "axis"]})
def every_kind_of_access_is_checked(qd, at):
    x, y = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=(4, 2))

    @qd.kernel
    def read(n: qd.i32) -> qd.i32:
        return x[n]

    @qd.kernel
    def write(n: qd.i32):
        x[n] = 1

    @qd.kernel
    def atomic(n: qd.i32):
        x[n] += 1

    @qd.kernel
    def second(n: qd.i32):
        y[0, n] = 1

    kernel = {"read": read, "write": write, "atomic": atomic, "axis": second}[at]
    return Run(kernel, args=(4,), raises=Raises("AssertionError"))


@case(rules=["memory.bounds"], options={"debug": True})
def an_array_is_checked_against_its_own_extents(qd):
    a = qd.ndarray(qd.i32, shape=(2, 3))

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.i32, ndim=2), i: qd.i32, j: qd.i32):
        x[i, j] = 1

    return [
        Run(k, args=(a, 1, 2), expect={a: [[0, 0, 0], [0, 0, 1]]}),
        Run(k, args=(a, 2, 0), raises=Raises("AssertionError")),
        Run(k, args=(a, 0, -1), raises=Raises("AssertionError")),
    ]


@case(rules=["memory.bounds"], params={"index": [-1, 3]})
def the_host_is_always_checked(qd, index):
    x = qd.field(qd.i32, shape=3)
    return Run(lambda: x[index], raises=Raises("IndexError"))


@case(rules=["memory.bounds"], options={"debug": True})
def a_branch_not_taken_accesses_nothing(qd):
    x, out = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in out:
            if i < 3 and x[i] > 0:
                out[i] = x[i]
            else:
                out[i] = -1

    return Run(k, given={x: [5, 0, 7]}, expect={out: [5, -1, 7, -1, -1]})
