"""Determinants, inverses, products and decompositions on matrices whose results are exact."""

from adstack.conformance.case import Raises, Run, case

UNIMODULAR = {
    2: ([[2, 3], [1, 2]], [[2, -3], [-1, 2]]),
    3: ([[1, 2, 3], [0, 1, 4], [0, 0, 1]], [[1, -2, 5], [0, 1, -4], [0, 0, 1]]),
    4: (
        [[1, 1, 0, 0], [0, 1, 2, 0], [0, 0, 1, 3], [0, 0, 0, 1]],
        [[1, -1, 2, -6], [0, 1, -2, 6], [0, 0, 1, -3], [0, 0, 0, 1]],
    ),
}


def leibniz(m):
    """The determinant of a matrix of integers, by expansion along the first row."""
    if not m:
        return 1
    minors = ([row[:j] + row[j + 1 :] for row in m[1:]] for j in range(len(m)))
    return sum((-1) ** j * m[0][j] * leibniz(minor) for j, minor in enumerate(minors))


def sample(n):
    return [[(3 * i * i + 5 * j + i * j * 7) % 11 - 5 for j in range(n)] for i in range(n)]


@case(rules=["matrix.determinant"], dtypes=["f32", "f64"], params={"n": [2, 3, 4]})
def determinants_of_integer_matrices(qd, dtype, n):
    m, out = qd.Matrix.field(n, n, dtype, shape=()), qd.field(dtype, shape=())

    @qd.kernel
    def k():
        out[None] = m[None].determinant()

    return Run(k, given={m: sample(n)}, expect={out: leibniz(sample(n))})


@case(rules=["matrix.determinant"], dtypes=["f32", "f64"], params={"n": [2, 3, 4]})
def inverses_of_integer_matrices(qd, dtype, n):
    m, out = qd.Matrix.field(n, n, dtype, shape=()), qd.Matrix.field(n, n, qd.i32, shape=2)
    given, inverse = UNIMODULAR[n]

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = qd.cast(m[None].inverse(), qd.i32)
            out[1] = qd.cast(m[None].inverse() @ m[None], qd.i32)

    identity = [[int(i == j) for j in range(n)] for i in range(n)]
    return Run(k, given={m: given}, expect={out: [inverse, identity]})


@case(rules=["matrix.determinant"])
def transpose_and_trace(qd):
    turned, traces = qd.Matrix.field(3, 2, qd.i32, shape=()), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            turned[None] = qd.Matrix([[1, 2, 3], [4, 5, 6]]).transpose()
            traces[None] = qd.Matrix([[1, 9], [9, -5]]).trace()

    return Run(k, expect={turned: [[1, 4], [2, 5], [3, 6]], traces: -4})


@case(rules=["matrix.determinant"])
def a_determinant_needs_a_square(qd):
    @qd.kernel
    def k() -> qd.f32:
        return qd.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).determinant()

    return Run(k, raises=Raises("CompilationError"))


@case(
    rules=["vector.products"],
    dtypes=["i32", "i64", "f32", "f64"],
    params={"shape": ["2x2x2", "2x3x4", "4x2x3"]},
)
def products_of_every_shape(qd, dtype, shape):
    n, m, p = map(int, shape.split("x"))
    a, b = qd.Matrix.field(n, m, dtype, shape=()), qd.Matrix.field(m, p, dtype, shape=())
    out = qd.Matrix.field(n, p, dtype, shape=())

    @qd.kernel
    def k():
        out[None] = a[None] @ b[None]

    left = [[3 * i - 2 * j + 1 for j in range(m)] for i in range(n)]
    right = [[i * j - 4 for j in range(p)] for i in range(m)]
    product = [[sum(left[i][l] * right[l][j] for l in range(m)) for j in range(p)] for i in range(n)]
    return Run(k, given={a: left, b: right}, expect={out: product})


@case(rules=["vector.products", "matrix.determinant"])
def matrices_of_one_row_or_column(qd):
    out = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k(x: qd.i32):
        for _ in range(1):
            row, column = qd.Matrix([[x, x + 1, x + 2]]), qd.Matrix([[1], [10], [100]])
            out[0] = (row @ column)[0, 0]
            out[1] = (column @ row).sum()
            out[2] = (column @ row)[1, 2]
            out[3] = qd.Matrix([[x]]).determinant()
            out[4] = row.transpose()[2, 0]

    return Run(k, args=(3,), expect={out: [543, 12 * 111, 50, 3, 5]})


@case(rules=["vector.products"])
def shapes_that_do_not_fit_a_product_are_an_error(qd):
    out = qd.Matrix.field(2, 2, qd.i32, shape=())

    @qd.kernel
    def k():
        out[None] = qd.Matrix([[1, 2], [3, 4]]) @ qd.Matrix([[1, 2], [3, 4], [5, 6]])

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["vector.elementwise"])
def constructors_of_matrices(qd):
    out, row = qd.Matrix.field(2, 2, qd.i32, shape=6), qd.Vector.field(3, qd.i32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = qd.Matrix.identity(qd.i32, 2)
            out[1] = qd.Matrix.zero(qd.i32, 2, 2) - 1
            out[2] = qd.Matrix.one(qd.i32, 2, 2) * 3
            out[3] = qd.Matrix.diag(2, 7)
            out[4] = qd.Matrix.rows([qd.Vector([1, 2]), qd.Vector([3, 4])])
            out[5] = qd.Matrix.cols([qd.Vector([1, 2]), qd.Vector([3, 4])])
            row[0] = qd.Vector.zero(qd.i32, 3)
            row[1] = qd.Vector.one(qd.i32, 3)
            row[2] = qd.Vector.unit(3, 1)

    matrices = [
        [[1, 0], [0, 1]], [[-1, -1], [-1, -1]], [[3, 3], [3, 3]], [[7, 0], [0, 7]], [[1, 2], [3, 4]], [[1, 3], [2, 4]],
    ]  # fmt: skip
    return Run(k, expect={out: matrices, row: [[0, 0, 0], [1, 1, 1], [0, 1, 0]]})


@case(rules=["matrix.decompositions"], dtypes=["f32", "f64"])
def singular_values_of_a_diagonal_matrix(qd, dtype):
    m, product = qd.Matrix.field(2, 2, dtype, shape=()), qd.Matrix.field(2, 2, qd.i32, shape=())
    values = qd.field(dtype, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            u, s, v = qd.svd(m[None])
            product[None] = qd.cast(u @ s @ v.transpose() * 2, qd.i32)
            values[0] = s[0, 0]
            values[1] = s[1, 1]

    return Run(k, given={m: [[4, 0], [0, 0.5]]}, expect={product: [[8, 0], [0, 1]], values: [4, 0.5]})


@case(rules=["matrix.decompositions"], dtypes=["f32", "f64"])
def eigenvalues_of_a_diagonal_matrix_of_four_rows(qd, dtype):
    m, values = qd.Matrix.field(4, 4, dtype, shape=()), qd.field(dtype, shape=4)

    @qd.kernel
    def k():
        for _ in range(1):
            w, _v = qd.sym_eig(m[None])
            for i in qd.static(range(4)):
                values[i] = w[i]

    diagonal = [[[4, -2, 1, 8][i] if i == j else 0 for j in range(4)] for i in range(4)]
    return Run(k, given={m: diagonal}, expect={values: [-2, 1, 4, 8]})


@case(rules=["matrix.decompositions"], dtypes=["f32", "f64"], params={"n": [2, 3, 4]})
def the_polar_factors_of_a_stretch_are_itself_and_the_identity(qd, dtype, n):
    m = qd.Matrix.field(n, n, dtype, shape=())
    turn, stretch = qd.Matrix.field(n, n, qd.i32, shape=()), qd.Matrix.field(n, n, qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            u, p = qd.polar_decompose(m[None])
            turn[None] = qd.cast(u, qd.i32)
            stretch[None] = qd.cast(p, qd.i32)

    diagonal = [[2 ** (n - 1 - i) if i == j else 0 for j in range(n)] for i in range(n)]
    identity = [[int(i == j) for j in range(n)] for i in range(n)]
    return Run(k, given={m: diagonal}, expect={turn: identity, stretch: diagonal})


@case(rules=["matrix.eig"], dtypes=["f32", "f64"])
def eigenvalues_of_a_matrix_in_blocks(qd, dtype):
    """A turn by a right angle has i and -i, each with a vector; what stands on the diagonal alone is real."""
    m, values = qd.Matrix.field(4, 4, dtype, shape=()), qd.Matrix.field(4, 2, dtype, shape=())
    vectors = qd.Matrix.field(8, 4, qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            w, v = qd.eig(m[None])
            values[None] = w
            vectors[None] = qd.cast(qd.round(v * v * 4), qd.i32)

    blocks = [[2, 0, 0, 0], [0, 1, -2, 0], [0, 2, 1, 0], [0, 0, 0, -3]]
    squares = [[4, 0, 0, 0], [0] * 4, [0, 2, 2, 0], [0] * 4, [0] * 4, [0, 2, 2, 0], [0, 0, 0, 4], [0] * 4]
    return Run(k, given={m: blocks}, expect={values: [[2, 0], [1, 2], [1, -2], [-3, 0]], vectors: squares})
