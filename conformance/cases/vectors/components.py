"""Components: static and run-time indices, swizzles, slices, copies."""

from adstack.conformance.case import Gradient, Raises, Run, case


@case(rules=["vector.index"], dtypes=["i8", "i32", "i64", "u32", "f16", "f32", "f64"])
def run_time_indices_read_and_write(qd, dtype):
    v, out = qd.Vector.field(3, dtype, shape=()), qd.Vector.field(3, dtype, shape=3)

    @qd.kernel
    def k():
        for i in range(3):
            w = v[None]
            w[i] += w[(i + 1) % 3]
            w[(i + 2) % 3] = 0
            out[i] = w

    return Run(k, given={v: [1, 10, 100]}, expect={out: [[11, 10, 0], [0, 110, 100], [1, 0, 101]]})


@case(rules=["vector.index"])
def rows_columns_and_elements_at_run_time(qd):
    out, sums = qd.field(qd.i32, shape=(2, 3)), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            m = qd.Matrix([[1, 2, 3], [4, 5, 6]])
            for i, j in qd.ndrange(2, 3):
                out[i, j] = m[1 - i, 2 - j]
                sums[j] += m[i, j]

    return Run(k, expect={out: [[6, 5, 4], [3, 2, 1]], sums: [5, 7, 9]})


@case(rules=["vector.index"])
def run_time_indices_of_elements_in_memory(qd):
    v, m = qd.Vector.field(4, qd.i32, shape=2), qd.Matrix.field(2, 2, qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(8):
            v[i // 4][i % 4] = i
        for i in range(4):
            m[None][i // 2, i % 2] += v[1][3 - i]

    return Run(k, given={m: 100}, expect={v: [[0, 1, 2, 3], [4, 5, 6, 7]], m: [[107, 106], [105, 104]]})


@case(rules=["vector.index"])
def negative_static_indices_count_from_the_end(qd):
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return 10 * v[-1] + v[-3]

    return Run(k, returns=31)


@case(rules=["vector.index"], params={"index": [3, -4]})
def a_static_index_past_the_ends_is_a_compile_error(qd, index):
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return v[index]

    return Run(k, raises=Raises("IndexError"))


@case(rules=["vector.index"], options={"debug": True}, params={"index": [-1, 3], "how": ["local", "value", "write"]})
def a_run_time_index_past_the_ends_is_an_error_in_debug_mode(qd, index, how):
    @qd.kernel
    def local(i: qd.i32) -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return v[i]

    @qd.kernel
    def value(i: qd.i32) -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return (v + v)[i]

    @qd.kernel
    def write(i: qd.i32) -> qd.i32:
        v = qd.Vector([1, 2, 3])
        v[i] = 7
        return v.sum()

    kernel, within = {"local": (local, 2), "value": (value, 4), "write": (write, 11)}[how]
    return [
        Run(kernel, args=(1,), returns=within),
        Run(kernel, args=(index,), raises=Raises("AssertionError", "Accessing")),
    ]


@case(rules=["vector.index"], options={"debug": True})
def each_axis_of_a_matrix_is_checked(qd):
    @qd.kernel
    def k(i: qd.i32, j: qd.i32) -> qd.i32:
        m = qd.Matrix([[1, 2, 3], [4, 5, 6]])
        return m[i, j]

    return [Run(k, args=(1, 2), returns=6), Run(k, args=(0, 3), raises=Raises("AssertionError", "Accessing"))]


@case(rules=["vector.index"])
def slices_of_vectors_and_matrices(qd):
    v, m = qd.Vector.field(2, qd.i32, shape=2), qd.Matrix.field(2, 2, qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            a = qd.Vector([1, 2, 3, 4])
            b = qd.Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
            v[0] = a[1:3]
            v[1] = b[2, ::2]
            m[None] = b[0:2, 1:3]

    return Run(k, expect={v: [[2, 3], [7, 9]], m: [[2, 3], [5, 6]]})


@case(rules=["vector.swizzle"])
def swizzles_repeat_and_reorder(qd):
    out = qd.Vector.field(4, qd.i32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            v = qd.Vector([1, 2, 3, 4])
            out[0] = v.wzyx
            out[1] = v.xxyy
            out[2] = v.rgba + v.abgr

    return Run(k, expect={out: [[4, 3, 2, 1], [1, 1, 2, 2], [5, 5, 5, 5]]})


@case(rules=["vector.swizzle"])
def swizzles_are_assigned(qd):
    out = qd.Vector.field(4, qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in range(4):
            v = qd.Vector([1, 2, 3, 4])
            if i == 0:
                v.xy = v.yx
            elif i == 1:
                v.wz = [10, 20]
            elif i == 2:
                v.xyz += v.yzw
            else:
                v.stp = 7
            out[i] = v

    return Run(k, expect={out: [[2, 1, 3, 4], [1, 2, 20, 10], [3, 5, 7, 4], [7, 7, 7, 4]]})


@case(rules=["vector.swizzle"])
def swizzles_of_elements_in_memory(qd):
    x = qd.Vector.field(3, qd.f32, shape=2)

    @qd.kernel
    def k():
        for i in x:
            x[i].zx = x[i].xy
            x[i].y += 0.5

    return Run(k, given={x: [[1, 2, 3], [4, 5, 6]]}, expect={x: [[2, 2.5, 1], [5, 5.5, 4]]})


@case(rules=["vector.swizzle"])
def a_component_that_is_not_there_is_an_error(qd):
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2])
        return v.z

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["vector.copy"])
def a_field_keeps_its_element_when_a_copy_changes(qd):
    x, out = qd.Vector.field(2, qd.i32, shape=()), qd.Vector.field(2, qd.i32, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            v = x[None]
            v[0] = 100
            out[0] = v
            x[None][1] = 50
            out[1] = v

    return Run(k, given={x: [1, 2]}, expect={x: [1, 50], out: [[100, 2], [100, 2]]})


@case(rules=["vector.copy"])
def vectors_swap(qd):
    out = qd.Vector.field(2, qd.i32, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            a, b = qd.Vector([1, 2]), qd.Vector([3, 4])
            a, b = b, a
            out[0], out[1] = a, b

    return Run(k, expect={out: [[3, 4], [1, 2]]})


@case(rules=["vector.copy", "types.local"])
def a_vector_keeps_the_type_of_its_first_assignment(qd):
    out = qd.Vector.field(2, qd.f32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            v = qd.Vector([1, 2])
            v = qd.Vector([3.75, -4.75])
            v[1] = 9.5
            out[None] = v

    return Run(k, expect={out: [3, 9]})


@case(rules=["vector.index"])
def the_host_reads_and_writes_components(qd):
    x, m = qd.Vector.field(3, qd.f32, shape=2), qd.Matrix.field(2, 2, qd.i32, shape=())

    def use():
        x[1] = [1, 2, 3]
        x[0][2] = 0.5
        m[None][1, 0] = 7
        return x[1][0] + x[0][2] + m[None][1, 0]

    return Run(use, returns=8.5, expect={x: [[0, 0, 0.5], [1, 2, 3]], m: [[0, 0], [7, 0]]})


@case(rules=["vector.component-field"], modes=("forward", "reverse"))
def a_component_of_a_field_is_a_field(qd):
    v, s = qd.Vector.field(3, qd.f32, shape=4, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
    second = v.get_scalar_field(1)

    @qd.kernel
    def k():
        for i in second:
            s[None] += second[i] * second[i] * v[i][0]

    gradient = Gradient(seed={s: 1.0}, expect={v: [[(i + 1) ** 2, 4 * (i + 1), 0] for i in range(4)]})
    return Run(k, given={v: [[2, i + 1, 5] for i in range(4)]}, expect={s: 60}, gradient=gradient)


@case(rules=["vector.component-field"])
def kernels_and_the_host_write_a_component_of_a_field(qd):
    m = qd.Matrix.field(2, 2, qd.i32, shape=3)
    right = m.get_scalar_field(0, 1)

    @qd.kernel
    def k(to: qd.template()):
        for i in to:
            to[i] += i + right[i]

    def program():
        right[2] = 7
        k(right)
        right[0] = int(right[1]) + 4

    return Run(program, expect={m: [[[0, 5], [0, 0]], [[0, 1], [0, 0]], [[0, 16], [0, 0]]]})
