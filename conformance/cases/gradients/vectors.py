"""Vectors and matrices that loops carry, rebuild, and subscript."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import sin, sqrt


@case(rules=["grad.loop", "grad.local"], params={"n": [0, 1, 2, 17]}, **BOUNDED)
def a_vector_rebuilt_from_its_own_components(qd, dtype, n):
    """v <- (v1 v2, v0 - v2, v0 / 2), n times."""
    x, y = real(qd, dtype, (2, 3)), real(qd, dtype, (2, 3))

    @qd.kernel
    def k(n: qd.i32):
        for i in range(2):
            v = qd.Vector([x[i, 0], x[i, 1], x[i, 2]])
            for _ in range(n):
                v = qd.Vector([v[1] * v[2], v[0] - v[2], v[0] * 0.5])
            for c in qd.static(range(3)):
                y[i, c] = v[c]

    def plain(x):
        out = [list(row) for row in x]
        for _ in range(n):
            out = [[b * c, a - c, a / 2] for a, b, c in out]
        return out

    return agrees(k, plain, {x: [[0.5, -0.75, 1.25], [1.5, 0.25, -0.5]]}, [y], args=(n,))


@case(rules=["grad.local"], params={"index": ["static", "dynamic"]}, **BOUNDED)
def a_carried_vector_with_subscripts(qd, dtype, index):
    """Components are read and written at static and at runtime indices."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def static():
        for i in x:
            v = qd.Vector([x[i], 0.5, x[i] * x[i]])
            for _ in range(3):
                for c in qd.static(range(3)):
                    v[c] = v[(c + 1) % 3] * 0.75 + v[c] * v[c] * 0.25
            y[i] = v[0] + 2.0 * v[1] - v[2]

    @qd.kernel
    def dynamic():
        for i in x:
            v = qd.Vector([x[i], 0.5, x[i] * x[i]])
            for _ in range(3):
                for c in range(3):
                    v[c] = v[(c + 1) % 3] * 0.75 + v[c] * v[c] * 0.25
            y[i] = v[0] + 2.0 * v[1] - v[2]

    def plain(x):
        out = []
        for a in x:
            v = [a, 0.5, a * a]
            for _ in range(3):
                for c in range(3):
                    v[c] = v[(c + 1) % 3] * 0.75 + v[c] * v[c] * 0.25
            out.append(v[0] + 2 * v[1] - v[2])
        return out

    return agrees(static if index == "static" else dynamic, plain, {x: [0.5, -0.75, 1.25]}, [y])


@case(rules=["grad.loop"], params={"n": [0, 1, 3]}, **BOUNDED)
def a_matrix_power_by_repeated_products(qd, dtype, n):
    """m <- m a + 1/8, n times, and a determinant at the end."""
    x, y = real(qd, dtype, (2, 2)), real(qd, dtype, ())

    @qd.kernel
    def k(n: qd.i32):
        for _ in range(1):
            a = qd.Matrix([[x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]]])
            m = a
            for _k in range(n):
                m = m @ a + 0.125
            y[None] = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0] + m[0, 1]

    def plain(x):
        m = x
        for _ in range(n):
            m = [[sum(m[i][p] * x[p][j] for p in range(2)) + 0.125 for j in range(2)] for i in range(2)]
        return m[0][0] * m[1][1] - m[0][1] * m[1][0] + m[0][1]

    return agrees(k, plain, {x: [[0.5, -0.75], [1.25, 0.25]]}, [y], args=(n,))


@case(rules=["grad.load", "grad.store"], **BOUNDED)
def fields_of_vectors_and_matrices(qd, dtype):
    """A rotation of vectors by matrices, and a normalisation."""
    a = qd.Matrix.field(2, 2, dtype, shape=2, needs_grad=True, needs_dual=True)
    v = qd.Vector.field(2, dtype, shape=2, needs_grad=True, needs_dual=True)
    y = qd.Vector.field(2, dtype, shape=2, needs_grad=True, needs_dual=True)

    @qd.kernel
    def k():
        for i in v:
            u = a[i] @ v[i]
            y[i] = u / u.norm() + v[i] * v[i].dot(u)

    def plain(v, a):
        out = []
        for m, (p, q) in zip(a, v):
            s, t = m[0][0] * p + m[0][1] * q, m[1][0] * p + m[1][1] * q
            size, dot = sqrt(s * s + t * t), p * s + q * t
            out.append([s / size + p * dot, t / size + q * dot])
        return out

    matrices = [[[0.5, -0.75], [1.25, 0.25]], [[1.0, 0.5], [-0.5, 2.0]]]
    return agrees(k, plain, {v: [[0.5, 1.25], [-0.75, 0.375]], a: matrices}, [y])


@case(rules=["grad.loop"], **BOUNDED)
def cross_products_in_a_loop(qd, dtype):
    """A carried vector turns around an axis that is differentiated as well."""
    x, w, y = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for _ in range(1):
            v = qd.Vector([x[0], x[1], x[2]])
            axis = qd.Vector([w[0], w[1], w[2]])
            for _k in range(4):
                v = v + 0.25 * axis.cross(v)
            for c in qd.static(range(3)):
                y[c] = v[c] * v.norm_sqr()

    def plain(x, w):
        v = x
        for _ in range(4):
            turned = [w[(c + 1) % 3] * v[(c + 2) % 3] - w[(c + 2) % 3] * v[(c + 1) % 3] for c in range(3)]
            v = [a + b / 4 for a, b in zip(v, turned)]
        size = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
        return [a * size for a in v]

    return agrees(k, plain, {x: [0.5, -0.75, 1.25], w: [0.25, 1.5, -0.5]}, [y])


@case(rules=["grad.loop", "grad.choice"], **BOUNDED)
def extremes_and_sums_of_a_carried_vector(qd, dtype):
    """The largest and the smallest component get what belongs to them."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in range(2):
            v = qd.Vector([x[0], x[1], x[2]]) * (i + 1.0)
            total = v.sum()
            for j in range(3):
                total += v.max() * v.min() + j
                v = qd.sin(v) + 0.25 * v
            y[i] = total

    def plain(x):
        out = []
        for i in range(2):
            v = [a * (i + 1) for a in x]
            total = v[0] + v[1] + v[2]
            for j in range(3):
                total = total + max(v) * min(v) + j
                v = [sin(a) + a / 4 for a in v]
            out.append(total)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25]}, [y])


@case(rules=["grad.local"], **BOUNDED)
def structs_with_members_of_both_kinds(qd, dtype):
    """A struct of a scalar, a vector and an integer, passed through a function in a loop."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.dataclass
    class Ball:
        mass: dtype
        at: qd.types.vector(2, dtype)
        hits: qd.i32

    @qd.func
    def moved(ball, dt):
        at = ball.at + dt * qd.Vector([ball.mass, -ball.at[0]])
        hits = ball.hits
        if at[1] < 0.0:
            at[1] = -at[1]
            hits += 1
        return Ball(mass=ball.mass, at=at, hits=hits)

    @qd.kernel
    def k():
        for i in x:
            ball = Ball(mass=x[i], at=qd.Vector([x[i] * x[i], 0.25]), hits=0)
            for _ in range(4):
                ball = moved(ball, 0.5)
            y[i] = ball.at[0] * ball.at[1] * ball.hits + ball.mass

    def plain(x):
        out = []
        for a in x:
            p, q, hits = a * a, 0.25, 0
            for _ in range(4):
                p, q = p + a / 2, q - p / 2
                if q < 0:
                    q, hits = -q, hits + 1
            out.append(p * q * hits + a)
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25]}, [y])
