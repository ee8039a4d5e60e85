"""Matrices: products, determinants, inverses, decompositions."""

from adstack.conformance.case import Run, case


@case(rules=["vector.products"])
def matrix_products(qd):
    a, b = qd.Matrix.field(2, 3, qd.f32, shape=()), qd.Matrix.field(3, 2, qd.f32, shape=())
    v = qd.Vector.field(3, qd.f32, shape=())
    out, image = qd.Matrix.field(2, 2, qd.f32, shape=()), qd.Vector.field(2, qd.f32, shape=())

    @qd.kernel
    def k():
        out[None] = a[None] @ b[None]
        image[None] = a[None] @ v[None]

    given = {a: [[1, 2, 3], [4, 5, 6]], b: [[1, 0], [0, 1], [2, -1]], v: [1, 0, -1]}
    return Run(k, given=given, expect={out: [[7, -1], [16, -1]], image: [-2, -2]})


@case(rules=["matrix.determinant"])
def determinant_trace_and_transpose(qd):
    m = qd.Matrix.field(3, 3, qd.f32, shape=())
    det, trace, turned = qd.field(qd.f32, shape=()), qd.field(qd.f32, shape=()), qd.Matrix.field(3, 3, qd.f32, shape=())

    @qd.kernel
    def k():
        det[None] = m[None].determinant()
        trace[None] = m[None].trace()
        turned[None] = m[None].transpose()

    given = {m: [[2, 0, 1], [1, 3, 2], [1, 1, 4]]}
    return Run(k, given=given, expect={det: 18, trace: 9, turned: [[2, 1, 1], [0, 3, 1], [1, 2, 4]]})


@case(rules=["matrix.determinant"])
def inverse(qd):
    """Determinants that are powers of two make every step exact."""
    a, b = qd.Matrix.field(2, 2, qd.f32, shape=()), qd.Matrix.field(3, 3, qd.f32, shape=())
    out2, out3 = qd.Matrix.field(2, 2, qd.f32, shape=()), qd.Matrix.field(3, 3, qd.f32, shape=())

    @qd.kernel
    def k():
        out2[None] = a[None].inverse()
        out3[None] = b[None].inverse()

    given = {a: [[3, 1], [2, 2]], b: [[1, 1, 1], [1, 2, 3], [1, 3, 7]]}
    expect = {out2: [[0.5, -0.25], [-0.5, 0.75]], out3: [[2.5, -2, 0.5], [-2, 3, -1], [0.5, -1, 0.5]]}
    return Run(k, given=given, expect=expect)


@case(rules=["matrix.decompositions"])
def the_polar_decomposition_of_a_rotated_scaling(qd):
    """A quarter turn after a scaling by 2: both factors are exact."""
    m, turn, stretch = (qd.Matrix.field(2, 2, qd.f32, shape=()) for _ in range(3))

    @qd.kernel
    def k():
        u, p = qd.polar_decompose(m[None])
        turn[None] = u
        stretch[None] = p

    given = {m: [[0, -2], [2, 0]]}
    return Run(k, given=given, expect={turn: [[0, -1], [1, 0]], stretch: [[2, 0], [0, 2]]})
