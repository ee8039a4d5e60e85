"""Vectors: elementwise operations, components, products and reductions."""

import numpy as np

from adstack.conformance.case import Raises, Run, case


@case(rules=["vector.elementwise"])
def operators_act_component_by_component(qd):
    a, b = qd.Vector.field(3, qd.f32, shape=()), qd.Vector.field(3, qd.f32, shape=())
    out = qd.Vector.field(3, qd.f32, shape=4)

    @qd.kernel
    def k():
        out[0] = a[None] + b[None] * 2
        out[1] = a[None] / b[None]
        out[2] = 1 - a[None]
        out[3] = qd.max(a[None], b[None])

    rows = [[9, -6, 4], [0.25, -0.5, 2], [0, -1, -1], [4, 2, 2]]
    return Run(k, given={a: [1, 2, 2], b: [4, -4, 1]}, expect={out: rows})


@case(rules=["vector.elementwise"])
def vectors_of_different_sizes_do_not_mix(qd):
    out = qd.Vector.field(3, qd.f32, shape=())

    @qd.kernel
    def k():
        out[None] = qd.Vector([1.0, 2.0, 3.0]) + qd.Vector([1.0, 2.0])

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["vector.copy"])
def assignment_copies(qd):
    out = qd.Vector.field(2, qd.i32, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            a = qd.Vector([1, 2])
            b = a
            b[0] = 10
            out[0] = a
            out[1] = b

    return Run(k, expect={out: [[1, 2], [10, 2]]})


@case(rules=["vector.index"])
def components_have_runtime_indices(qd):
    v, out = qd.Vector.field(4, qd.i32, shape=()), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in range(4):
            w = v[None]
            w[3 - i] = 100
            out[i] = w[i] + v[None][(i + 1) % 4]

    return Run(k, given={v: [1, 2, 3, 4]}, expect={out: [3, 5, 7, 5]})


@case(rules=["vector.index"])
def an_index_past_the_end_is_an_error(qd):
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return v[3]

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["vector.swizzle"])
def components_have_names(qd):
    out = qd.Vector.field(3, qd.f32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            v = qd.math.vec3(1, 2, 3)
            out[0] = v.zyx
            v.xy = v.yx
            out[1] = v
            v.z = v.r + v.g
            out[2] = v

    return Run(k, expect={out: [[3, 2, 1], [2, 1, 3], [2, 1, 3]]})


@case(rules=["vector.products"])
def inner_outer_and_cross_products(qd):
    a, b = qd.Vector.field(3, qd.f32, shape=()), qd.Vector.field(3, qd.f32, shape=())
    inner, cross = qd.field(qd.f32, shape=()), qd.Vector.field(3, qd.f32, shape=())
    outer = qd.Matrix.field(3, 3, qd.f32, shape=())

    @qd.kernel
    def k():
        inner[None] = a[None].dot(b[None])
        cross[None] = a[None].cross(b[None])
        outer[None] = a[None].outer_product(b[None])

    given = {a: [1, 2, 3], b: [4, -5, 6]}
    expect = {inner: 12, cross: [27, 6, -13], outer: [[4, -5, 6], [8, -10, 12], [12, -15, 18]]}
    return Run(k, given=given, expect=expect)


@case(rules=["vector.norm"], dtypes=["f32", "f64"])
def norms(qd, dtype):
    v = qd.Vector.field(4, dtype, shape=())
    out, unit = qd.field(dtype, shape=3), qd.Vector.field(4, dtype, shape=())

    @qd.kernel
    def k():
        out[0] = v[None].norm()
        out[1] = v[None].norm_sqr()
        out[2] = v[None].norm(12)
        unit[None] = v[None].normalized()

    return Run(k, given={v: [1, -1, 1, 1]}, expect={out: [2, 4, 4], unit: [0.5, -0.5, 0.5, 0.5]})


@case(rules=["vector.reductions"])
def reductions(qd):
    v, out = qd.Vector.field(4, qd.i32, shape=()), qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for _ in range(1):
            w = v[None]
            out[0] = w.sum()
            out[1] = w.max()
            out[2] = w.min()
            out[3] = (w > 0).any()
            out[4] = (w > 0).all()

    return Run(k, given={v: [3, -7, 12, 5]}, expect={out: [13, 12, -7, 1, 0]})


@case(rules=["vector.numpy"])
def arrays_of_numpy_are_vectors(qd):
    @qd.kernel
    def k(i: qd.i32, a: qd.f32) -> qd.f64:
        v = np.array([1.0, a, 4.0])
        m = np.asarray([[1, 2], [3, 4]], dtype=np.float64)
        v[i] += 0.5
        return v[i] + m[1, i] + qd.static(np.array([1, 2]).sum())

    return Run(k, args=(1, 2.0), returns=2.5 + 4 + 3)
