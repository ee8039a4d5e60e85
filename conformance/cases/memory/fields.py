"""Fields: where elements are, and what they hold."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["memory.field"], dtypes=["u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"])
def a_field_of_every_type_is_zero_at_first_and_keeps_what_is_written(qd, dtype):
    x, y = qd.field(dtype, shape=3), qd.field(dtype, shape=3)

    @qd.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    return [Run(copy, expect={y: 0}), Run(copy, given={x: [1, 0, 1]}, expect={y: [1, 0, 1]})]


@case(rules=["memory.field"])
def placed_fields_have_the_shape_of_their_place(qd):
    x, y = qd.field(qd.i32), qd.field(qd.i32)
    qd.root.dense(qd.ij, (2, 2)).dense(qd.j, 2).place(x, y)

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] = 10 * i + j
        for i, j in y:
            y[i, j] = x[i, j] + 1

    rows = [[0, 1, 2, 3], [10, 11, 12, 13]]
    return Run(k, expect={x: rows, y: [[v + 1 for v in row] for row in rows]})


@case(rules=["memory.offset"])
def an_offset_shifts_the_domain(qd):
    x = qd.field(qd.i32, shape=(3, 2), offset=(-1, 10))

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] = 100 * i + j

    return Run(k, expect={x: [[-90, -89], [10, 11], [110, 111]]})


@case(rules=["memory.shape"])
def the_shape_of_a_field_is_known_in_a_kernel(qd):
    x = qd.field(qd.f32, shape=(3, 5))

    @qd.kernel
    def k() -> qd.i32:
        return x.shape[0] * 100 + x.shape[1]

    return Run(k, returns=305)


@case(rules=["memory.index"])
def vectors_and_integers_mix_in_an_index(qd):
    x, out = qd.field(qd.i32, shape=(2, 3, 4)), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i, j, l in x:
            x[i, j, l] = 100 * i + 10 * j + l
        for _ in range(1):
            p = qd.Vector([1, 2])
            out[0] = x[p, 3]
            out[1] = x[1, p]
            out[2] = x[qd.Vector([0, 1, 2])]

    return Run(k, expect={out: [123, 112, 12]})


@case(rules=["memory.index"], params={"wrong": ["few", "float"]})
def a_wrong_index_is_an_error(qd, wrong):
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def few():
        x[1] = 1

    @qd.kernel
    def float_():
        x[1, 0.5] = 1

    return Run({"few": few, "float": float_}[wrong], raises=Raises("CompilationError"))


@case(rules=["memory.bounds"], options={"debug": True}, params={"index": [-1, 3]})
def an_index_outside_the_domain_is_an_error_in_debug_mode(qd, index):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(i: qd.i32):
        x[i] = 1

    return Run(k, args=(index,), raises=Raises("AssertionError", "Accessing field"))
