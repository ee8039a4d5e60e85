"""One expression, twice: on host numbers, and on runtime values in an f64 kernel. Both must have the same bits."""

import numpy as np
import pytest

import adstack as qd
from adstack.values.elements import Elements

A = [[2.0, -1.0, 0.5], [0.25, 3.0, 1.0], [-0.75, 1.5, 4.0]]
B = [[1.0, 0.5, -2.0], [3.0, 0.125, 1.0], [0.5, 2.5, -1.5]]
V = [0.5, -2.0, 1.25]
W = [3.0, 0.75, -1.0]

OF_MATRICES = {
    "sum, difference, products": lambda a, b: a + b * 2 - a @ b / 4,
    "reflected scalars": lambda a, b: 1 - a * 0.5 + 2 / b,
    "floored quotient and remainder": lambda a, b: a // b + a % b,
    "extremes": lambda a, b: qd.max(a, b, 0.5) - qd.min(a, b),
    "selection": lambda a, b: qd.select(a < b, a, -b),
    "transpose": lambda a, b: a.transpose() - b,
    "inverse": lambda a, b: a.inverse() @ b,
    "solve": qd.solve,
    "rows and columns": lambda a, b: qd.Matrix.rows([a[0, :], b[1, :], a[:, 2]]),
    "parts": lambda a, b: a[0:2, 1:] @ b[1:, 0:2],
    "diagonal": lambda a, b: qd.Matrix.diag(3, a[0, :]) @ b,
    "roots": lambda a, b: qd.sqrt(abs(a)) + qd.floor(b),
    "singular values": lambda a, b: qd.svd(a)[0] + qd.svd(a)[1] @ qd.svd(b)[2],
    "polar factors": lambda a, b: qd.polar_decompose(a)[0] - qd.polar_decompose(b)[1],
    "eigenvectors": lambda a, b: qd.sym_eig(a + a.transpose())[1],
    "complex eigenvectors": lambda a, b: qd.eig(a - b)[1],
    "clamping": lambda a, b: qd.math.clamp(a, -0.5, b),
    "mixing and smooth steps": lambda a, b: qd.math.mix(a, b, 0.25) + qd.math.smoothstep(-1.0, 2.0, a),
    "signs and fractions": lambda a, b: qd.math.sign(a) * qd.math.fract(b) + qd.math.mod(a, b),
}
OF_VECTORS = {
    "dot": lambda v, w: v.dot(w),
    "cross": lambda v, w: v.cross(w),
    "outer product": lambda v, w: v.outer_product(w),
    "norms": lambda v, w: v.norm() + w.norm(0.5) * v.norm_inv() - w.norm_sqr(),
    "normalized": lambda v, w: v.normalized() + w.normalized(0.5),
    "swizzles": lambda v, w: v.zyx * w.xxy,
    "reductions": lambda v, w: v.sum() + w.max() - v.min(),
    "conditions": lambda v, w: qd.select((v < w).any(), 1.0, 2.0) + qd.select((v < w).all(), 1.0, 2.0),
    "reflection": lambda v, w: qd.math.reflect(v, w.normalized()),
    "refraction": lambda v, w: qd.math.refract(v.normalized(), w.normalized(), 0.5),
    "distance": qd.math.distance,
    "complex numbers": lambda v, w: qd.math.cdiv(qd.math.cmul(v.xy, w.xy), v.yz),
    "plane eigenvectors": lambda v, w: qd.eig(qd.Matrix([[v.x, v.y], [w.x, w.y]]))[1],
    "plane singular values": lambda v, w: qd.svd(qd.Matrix([[v.x, v.y], [w.x, w.y]]))[1],
    "components of one type": lambda v, w: qd.math.vec4(v.xy, w.z, 1),
}


def elements(value):
    return list(value.entries) if isinstance(value, Elements) else [value]


def in_kernel(expression, first, second):
    """What the expression gives in a kernel, as a flat list; `first` and `second` are runtime values there."""
    qd.init(qd.reference, default_fp=qd.f64)
    kind = qd.Matrix if isinstance(first[0], list) else qd.Vector
    x, y = (kind.field(*np.shape(e), qd.f64, shape=()) for e in (first, second))
    x[None], y[None] = first, second
    count = len(elements(expression(kind(first), kind(second))))
    out = qd.field(qd.f64, shape=count)

    @qd.kernel
    def run():
        flat = elements(expression(x[None], y[None]))
        for k in qd.static(range(count)):
            out[k] = flat[k]

    run()
    return out.to_numpy().tolist()


@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices_mean_the_same_on_the_host_and_in_kernels(name):
    expression = OF_MATRICES[name]
    assert in_kernel(expression, A, B) == elements(expression(qd.Matrix(A), qd.Matrix(B)))


@pytest.mark.parametrize("name", OF_VECTORS)
def test_vectors_mean_the_same_on_the_host_and_in_kernels(name):
    expression = OF_VECTORS[name]
    assert in_kernel(expression, V, W) == elements(expression(qd.Vector(V), qd.Vector(W)))


def test_runtime_indices_reach_elements_rows_and_columns():
    qd.init(qd.reference)
    out = qd.Matrix.field(2, 3, qd.i32, shape=2)
    sums = qd.field(qd.i32, shape=3)

    @qd.kernel
    def run():
        for i in range(2):
            m = qd.Matrix([[1, 2, 3], [4, 5, 6]])
            for j in range(3):
                m[i, j] += 10 * m[1 - i, j]
                sums[j] = m[:, j].sum()
            m[1 - i, :] = 0
            out[i] = m

    run()
    assert out.to_numpy().tolist() == [[[41, 52, 63], [0, 0, 0]], [[0, 0, 0], [14, 25, 36]]]


def test_an_assigned_vector_is_a_copy_and_a_component_of_a_field_is_the_field():
    qd.init(qd.reference)
    x = qd.Vector.field(3, qd.f32, shape=1)

    @qd.kernel
    def run():
        for i in range(1):
            v = qd.Vector([1.0, 2.0, 3.0])
            w = v
            w.x = 9.0
            x[i] = v
            x[i].zy = x[i].xz
            x[i].y += w.x

    run()
    assert x.to_numpy().tolist() == [[1.0, 12.0, 1.0]]


@qd.dataclass
class Ball:
    radius: qd.f32
    at: qd.math.vec2

    def move(self, by):
        self.at += by
        return self.at.norm()

    def area(self):
        return 3 * self.radius**2

    @qd.func
    def clipped(self, limit):
        result = self.area()
        for _ in range(3):
            if result > limit:
                result -= limit
        return result

    @staticmethod
    def unit():
        return Ball(radius=1, at=0)


def test_structs_and_their_functions_in_kernels():
    qd.init(qd.reference)
    balls = Ball.field(shape=2)
    out = qd.field(qd.f32, shape=(2, 3))

    @qd.kernel
    def run(start: Ball):
        for i in range(2):
            ball = start
            ball.radius += i
            out[i, 0] = ball.move(qd.math.vec2(2.0, 3.0))
            out[i, 1] = ball.area()
            balls[i] = ball
            balls[i].at.x -= 1.0
            out[i, 2] = balls[i].at.x

    run(Ball(1, [1, 1]))
    assert out.to_numpy().tolist() == [[5.0, 3.0, 2.0], [5.0, 12.0, 2.0]]
    assert balls[1].to_dict() == {"radius": 2.0, "at": [2.0, 4.0]}


def test_functions_of_structs_run_in_kernels_and_on_the_host_alike():
    qd.init(qd.reference)
    out = qd.field(qd.f32, shape=2)

    @qd.kernel
    def run():
        ball = Ball(radius=2, at=1)
        out[0] = ball.clipped(5.0)
        out[1] = Ball.unit().clipped(5.0)

    run()
    assert out.to_numpy().tolist() == [Ball(2, 1).clipped(5.0), Ball.unit().clipped(5.0)] == [2.0, 3.0]


def test_vectors_matrices_and_structs_are_arguments_and_results():
    qd.init(qd.reference)

    @qd.kernel
    def scaled(m: qd.types.matrix(2, 2, qd.f32), v: qd.math.vec2, by: qd.i32) -> qd.math.vec2:
        return m @ v * by

    @qd.kernel
    def grown(ball: Ball) -> Ball:
        return Ball(radius=ball.radius * 2, at=ball.at + 1)

    assert scaled([[1, 2], [3, 4]], [1, 1], 2).to_list() == [6.0, 14.0]
    assert grown(Ball(1.5, [1, 2])).to_dict() == {"radius": 3.0, "at": [2.0, 3.0]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda v: v + qd.Vector([1, 2, 3]), "operands of add must share a shape"),
        (lambda v: v.z, "a 2-vector has no component 'z'"),
        (lambda v: v[2], "index 2 is out of range for axis 0 of a 2-vector"),
        (lambda v: v @ qd.Vector([1, 2, 3]), "operands of @ must be matrices or vectors"),
        (lambda v: v.determinant(), "determinant is defined for square matrices"),
        (qd.math.vec3, r"types.vector\(3, float\) takes 3 elements, got 2"),
        (lambda v: qd.sin("x"), "sin takes numbers, vectors and matrices"),
        (lambda v: Ball(x=v), "Ball has no member 'x'"),
    ],
)
def test_mistakes_in_kernels_are_shown_where_they_are_made(body, message):
    qd.init(qd.reference)

    @qd.kernel
    def run():
        v = qd.Vector([1.0, 2.0])
        body(v)

    with pytest.raises(qd.QuadrantsCompilationError, match=message) as caught:
        run()
    assert "test_kernels.py:" in str(caught.value)
    assert "body(v)\n" in str(caught.value)


@pytest.mark.parametrize("name", ["svd", "sym_eig", "polar_decompose", "eig"])
def test_decompositions_compute_in_the_type_that_is_asked_for(name):
    decompose = getattr(qd, name)
    matrix = [[2.0, 1.0], [1.0, 0.375]]

    def results(kernel_type, dt):
        out = qd.field(qd.f64, shape=4)

        @qd.kernel
        def k():
            m = qd.Matrix(matrix, kernel_type)
            parts = decompose(m) if qd.static(dt is None) else decompose(m, dt)
            for i, j in qd.static(qd.ndrange(2, 2)):
                out[2 * i + j] = parts[-1][i, j]

        k()
        return out.to_numpy().tolist()

    qd.init(arch=qd.reference)
    narrow, wide = results(qd.f32, None), results(qd.f32, qd.f64)
    assert wide != narrow
    assert (results(qd.f64, None), results(qd.f64, qd.f32)) == (wide, narrow)
