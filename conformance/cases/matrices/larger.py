"""Determinants, inverses, systems and Cholesky factors of matrices beyond 4 x 4, with their derivatives."""

from adstack.conformance.case import Run, case

BIDIAGONAL = [[1 if i == j else 2 if j == i + 1 else 0 for j in range(5)] for i in range(5)]
"""Its inverse has (-2)**(j - i) on and above the diagonal."""
INVERSE = [[(-2) ** (j - i) if j >= i else 0 for j in range(5)] for i in range(5)]
TURNED = [BIDIAGONAL[4], *BIDIAGONAL[:4]]
"""The last row first: its determinant is that of a cycle of 5, which is even, and elimination exchanges rows."""


@case(rules=["matrix.elimination"], dtypes=["f32", "f64"])
def a_matrix_of_five_rows_is_inverted(qd, dtype):
    m, out = qd.Matrix.field(5, 5, dtype, shape=()), qd.Matrix.field(5, 5, qd.i32, shape=2)
    det = qd.field(dtype, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            out[0] = qd.cast(m[None].inverse(), qd.i32)
            out[1] = qd.cast(m[None] @ m[None].inverse(), qd.i32)
            det[None] = m[None].determinant()

    identity = [[int(i == j) for j in range(5)] for i in range(5)]
    inverse = [[row[4], *row[:4]] for row in INVERSE]
    return Run(k, given={m: TURNED}, expect={out: [inverse, identity], det: 1})


@case(rules=["matrix.elimination"], dtypes=["f32", "f64"])
def a_system_of_five_unknowns_is_solved_for_vectors_and_matrices(qd, dtype):
    m, x, y = (
        qd.Matrix.field(5, 5, qd.i32, shape=()),
        qd.Vector.field(5, dtype, shape=()),
        qd.Matrix.field(5, 2, dtype, shape=()),
    )

    @qd.kernel
    def k():
        for _ in range(1):
            a = qd.cast(m[None], dtype)
            x[None] = qd.solve(a, qd.Vector([7.0, 4.0, 6.0, 8.0, 10.0], dtype) + qd.Vector([-2.0, 1, 1, 1, 1], dtype))
            y[None] = qd.solve(a, qd.Matrix([[1.0, 0], [0, 1], [0, 0], [0, 0], [0, 0]], dtype))

    # rows: x4 = 5, then x_i + 2 x_(i+1) = 5, 7, 9, 11
    solution = [0, 0, 0, 0, 5]
    for i, right in ((3, 11), (2, 9), (1, 7), (0, 5)):
        solution[i] = right - 2 * solution[i + 1]
    columns = [[INVERSE[i][4], INVERSE[i][0]] for i in range(5)]
    return Run(k, given={m: TURNED}, expect={x: solution, y: columns})


@case(rules=["matrix.elimination"])
def the_derivative_of_a_determinant_is_the_matrix_of_cofactors(qd):
    m = qd.Matrix.field(5, 5, qd.f64, shape=(), needs_grad=True)
    det = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for _ in range(1):
            det[None] = m[None].determinant()

    def gradients():
        det.grad[None] = 1
        k()
        k.grad()

    # of a matrix of determinant 1 the cofactors are the transposed inverse
    inverse = [[row[4], *row[:4]] for row in INVERSE]
    return Run(gradients, given={m: TURNED}, expect={m.grad: [[inverse[j][i] for j in range(5)] for i in range(5)]})


@case(rules=["matrix.elimination"])
def the_derivative_of_a_solution(qd):
    m, b = (
        qd.Matrix.field(5, 5, qd.f64, shape=(), needs_grad=True),
        qd.Vector.field(5, qd.f64, shape=(), needs_grad=True),
    )
    total = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for _ in range(1):
            total[None] = qd.solve(m[None], b[None])[0]

    def gradients():
        b[None] = [0, 0, 0, 0, 1]
        total.grad[None] = 1
        k()
        k.grad()

    # x = A^-1 b; of x[0] the derivative by b is row 0 of A^-1, r, and by A it is -r[i] x[j]
    row, x = INVERSE[0], [INVERSE[i][4] for i in range(5)]
    return Run(
        gradients,
        given={m: BIDIAGONAL},
        expect={total: x[0], b.grad: row, m.grad: [[-row[i] * x[j] for j in range(5)] for i in range(5)]},
    )


@case(rules=["matrix.cholesky"], params={"n": [2, 6]})
def the_factor_of_cholesky_and_the_derivative_of_its_last_element(qd, n):
    m = qd.Matrix.field(n, n, qd.f64, shape=(), needs_grad=True)
    factor = qd.Matrix.field(n, n, qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for _ in range(1):
            factor[None] = qd.cholesky(m[None])

    def gradients():
        factor.grad[None][n - 1, n - 1] = 1
        k()
        k.grad()

    # L has 2 on its diagonal and 1 below it: A is 4 (at the corner) or 5 on the diagonal, 2 beside it
    product = [[(4 if i == 0 else 5) if i == j else 2 if abs(i - j) == 1 else 0 for j in range(n)] for i in range(n)]
    lower = [[2 if i == j else 1 if i == j + 1 else 0 for j in range(n)] for i in range(n)]
    # l = sqrt(a - w^T B^-1 w), where B is A without the last row w and column: dl = (da - 2 u dw + u^T dB u) / 2 l with
    # u = B^-1 w, which is (-1/2)^(n - 2 - i) / 2; the lower half of B has both of its halves
    u = [(-0.5) ** (n - 2 - i) / 2 for i in range(n - 1)]
    slopes = [[0.0] * n for _ in range(n)]
    for i in range(n - 1):
        slopes[n - 1][i] = -2 * u[i] / 4
        for j in range(i + 1):
            slopes[i][j] = u[i] * u[j] * (1 if i == j else 2) / 4
    slopes[n - 1][n - 1] = 0.25
    return Run(gradients, given={m: product}, expect={factor: lower, m.grad: slopes})
