"""Elementwise operations, products, norms and reductions, in every type."""

from fractions import Fraction

import numpy as np

from adstack.conformance.case import Raises, Run, case


@case(rules=["vector.elementwise"], dtypes=["i8", "i16", "i32", "i64", "f16", "f32", "f64"])
def arithmetic_in_every_type(qd, dtype):
    a, b, out = (
        qd.Vector.field(2, dtype, shape=()),
        qd.Vector.field(2, dtype, shape=()),
        qd.Vector.field(2, dtype, shape=6),
    )

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = a[None] + b[None]
            out[1] = a[None] - b[None]
            out[2] = a[None] * b[None]
            out[3] = a[None] // b[None]
            out[4] = a[None] % b[None]
            out[5] = -a[None] + 1

    rows = [[9, -5], [5, -9], [14, -14], [3, -4], [1, 1], [-6, 8]]
    return Run(k, given={a: [7, -7], b: [2, 2]}, expect={out: rows})


@case(rules=["vector.elementwise"])
def bits_shifts_and_comparisons(qd):
    out = qd.Vector.field(3, qd.i32, shape=7)

    @qd.kernel
    def k():
        for _ in range(1):
            a, b = qd.Vector([12, 5, -8]), qd.Vector([10, 5, 3])
            out[0] = a & b
            out[1] = a | b
            out[2] = a ^ 1
            out[3] = a << 2
            out[4] = a >> 1
            out[5] = a < b
            out[6] = qd.select(a == b, 100, a)

    rows = [[8, 5, 0], [14, 5, -5], [13, 4, -7], [48, 20, -32], [6, 2, -4], [0, 0, 1], [12, 100, -8]]
    return Run(k, expect={out: rows})


@case(rules=["vector.elementwise"])
def functions_act_on_every_component(qd):
    out = qd.Vector.field(3, qd.f32, shape=7)

    @qd.kernel
    def k():
        for _ in range(1):
            v = qd.Vector([4.0, 0.25, 2.25])
            out[0] = qd.sqrt(v)
            out[1] = qd.floor(-v)
            out[2] = qd.ceil(v)
            out[3] = abs(-v)
            out[4] = qd.max(v, 1.0)
            out[5] = qd.min(v, qd.Vector([1.0, 2.0, 3.0]))
            out[6] = qd.round(v)

    rows = [
        [2, 0.5, 1.5], [-4, -1, -3], [4, 1, 3], [4, 0.25, 2.25], [4, 1, 2.25], [1, 0.25, 2.25], [4, 0, 2],
    ]  # fmt: skip
    return Run(k, expect={out: rows})


@case(rules=["vector.elementwise", "types.promotion"])
def types_of_components_promote(qd):
    out = qd.Vector.field(2, qd.f64, shape=3)
    narrow, wide = qd.Vector.field(2, qd.i8, shape=()), qd.Vector.field(2, qd.i64, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = narrow[None] + narrow[None]
            out[1] = narrow[None] + wide[None]
            out[2] = wide[None] / 4

    given = {narrow: [100, -100], wide: [2**40, 6]}
    return Run(k, given=given, expect={out: [[-56, 56], [2**40 + 100, -94], [2**38, 1.5]]})


@case(rules=["vector.elementwise"], params={"op": ["add", "compare", "assign", "max"]})
def shapes_that_differ_are_an_error(qd, op):
    out = qd.Vector.field(3, qd.i32, shape=())

    @qd.kernel
    def add():
        out[None] = qd.Vector([1, 2, 3]) + qd.Vector([1, 2])

    @qd.kernel
    def compare():
        out[None] = qd.Vector([1, 2, 3]) < qd.Matrix([[1, 2, 3]])

    @qd.kernel
    def assign():
        out[None] = qd.Vector([1, 2])

    @qd.kernel
    def largest():
        out[None] = qd.max(qd.Vector([1, 2, 3]), qd.Vector([1, 2, 3, 4]))

    kernels = {"add": add, "compare": compare, "assign": assign, "max": largest}
    return Run(kernels[op], raises=Raises("CompilationError"))


@case(rules=["vector.products"], dtypes=["i32", "i64", "f32", "f64"])
def inner_products_sum_from_first_to_last(qd, dtype):
    a, b, out = qd.Vector.field(4, dtype, shape=()), qd.Vector.field(4, dtype, shape=()), qd.field(dtype, shape=())

    @qd.kernel
    def k():
        out[None] = a[None].dot(b[None])

    return Run(k, given={a: [1, -2, 3, 4], b: [5, 6, -7, 8]}, expect={out: 5 - 12 - 21 + 32})


@case(rules=["vector.products"])
def the_order_of_an_inner_product_shows_in_its_rounding(qd):
    """2^24 + 1 rounds to 2^24 in f32: from first to last the ones before it count, those after it don't."""
    a, out = qd.Vector.field(3, qd.f32, shape=2), qd.field(qd.f32, shape=2)

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i].dot(qd.Vector([1.0, 1.0, 1.0]))

    return Run(k, given={a: [[1, 1, 2**24], [2**24, 1, 1]]}, expect={out: [2**24 + 2, 2**24]})


@case(rules=["vector.products"])
def the_cross_product_of_the_plane_is_a_number(qd):
    @qd.kernel
    def k() -> qd.i32:
        return qd.Vector([3, 4]).cross(qd.Vector([5, 7]))

    return Run(k, returns=1)


@case(rules=["vector.products"])
def outer_products_need_not_be_square(qd):
    out = qd.Matrix.field(2, 3, qd.i32, shape=())

    @qd.kernel
    def k():
        out[None] = qd.Vector([2, -1]).outer_product(qd.Vector([1, 10, 100]))

    return Run(k, expect={out: [[2, 20, 200], [-1, -10, -100]]})


@case(rules=["vector.products"])
def a_vector_on_the_left_is_a_row(qd):
    out, inner = qd.Vector.field(3, qd.i32, shape=()), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        out[None] = qd.Vector([1, 2]) @ qd.Matrix([[1, 2, 3], [4, 5, 6]])
        inner[None] = qd.Vector([1, 2]) @ qd.Vector([3, 4])

    return Run(k, expect={out: [9, 12, 15], inner: 11})


@case(rules=["vector.norm"], dtypes=["f32", "f64"])
def norms_of_pythagorean_vectors(qd, dtype):
    v, out = qd.Vector.field(3, dtype, shape=2), qd.field(dtype, shape=(2, 3))

    @qd.kernel
    def k():
        for i in v:
            out[i, 0] = v[i].norm()
            out[i, 1] = v[i].norm_sqr()
            out[i, 2] = v[i].norm_inv()

    expect = {out: [[3, 9, Fraction(1, 3)], [0.5, 0.25, 2]]}
    return Run(k, given={v: [[1, 2, -2], [0, 0.5, 0]]}, expect=expect)


@case(rules=["vector.norm"])
def the_norm_of_a_matrix_counts_all_its_elements(qd):
    @qd.kernel
    def k() -> qd.f32:
        return qd.Matrix([[1.0, 4.0], [8.0, 0.0]]).norm() + qd.Vector([0.0, 0.0]).norm(0.25)

    return Run(k, returns=9.5)


@case(rules=["vector.norm"])
def normalized_has_length_one(qd):
    out = qd.Vector.field(2, qd.f32, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = qd.Vector([3.0, 4.0]).normalized()
            out[1] = qd.Vector([0.0, 0.0]).normalized(1.0)

    return Run(k, expect={out: [["0.6", "0.8"], [0, 0]]})


@case(rules=["vector.norm"])
def normalized_multiplies_by_the_rounded_reciprocal(qd):
    """1/37 is rounded to f32 first, then its product with 12: that is not the f32 nearest to 12/37."""
    out = qd.Vector.field(2, qd.f32, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = qd.Vector([12.0, 35.0]).normalized()
            out[1] = qd.Vector([3.0, 4.0]).normalized(3.0)

    reciprocal = Fraction(float(np.float32(1 / 37)))
    return Run(k, expect={out: [[12 * reciprocal, 35 * reciprocal], [0.375, 0.5]]})


@case(rules=["vector.reductions"], dtypes=["i8", "i16", "i32", "i64", "u8", "u32", "f16", "f32", "f64"])
def sums_and_extremes_in_every_type(qd, dtype):
    v, out = qd.Vector.field(4, dtype, shape=()), qd.field(dtype, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = v[None].sum()
            out[1] = v[None].max()
            out[2] = v[None].min()

    return Run(k, given={v: [3, 17, 12, 5]}, expect={out: [37, 17, 3]})


@case(rules=["vector.reductions"])
def reductions_of_a_matrix(qd):
    out = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for _ in range(1):
            m = qd.Matrix([[3, -1, 4], [-1, 5, 9]])
            out[0] = m.sum()
            out[1] = m.max()
            out[2] = m.min()
            out[3] = (m > 8).any()
            out[4] = (m > -1).all()

    return Run(k, expect={out: [19, 9, -1, 1, 0]})


@case(rules=["vector.reductions"])
def a_sum_rounds_from_the_first_component_on(qd):
    v, out = qd.Vector.field(3, qd.f32, shape=2), qd.field(qd.f32, shape=2)

    @qd.kernel
    def k():
        for i in v:
            out[i] = v[i].sum()

    return Run(k, given={v: [[1, 1, 2**24], [2**24, 1, 1]]}, expect={out: [2**24 + 2, 2**24]})
