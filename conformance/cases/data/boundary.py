"""Array arguments whose indices outside mean the nearest ones inside."""

import numpy as np

from adstack.conformance.case import Raises, Run, case


@case(rules=["memory.boundary"], dtypes=["i8", "u32", "i64"])
def indices_outside_mean_the_nearest_inside(qd, dtype):
    at = qd.field(dtype, shape=4)
    a, out = np.arange(6, dtype=np.int32).reshape(2, 3), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.i32, ndim=2, boundary="clamp")):
        for i in out:
            out[i] = x[at[i], 7] * 10 + x[1, at[i] - 1]
        x[-5, 100] = 9

    # the least of dtype's numbers minus 1 wraps where dtype has no sign, so that the last column is meant
    column = 5 if dtype.name == "u32" else 3
    expect = {out: [20 + column, 50 + 3, 50 + 4, 50 + 5]}
    return Run(k, args=(a,), given={at: [0, 1, 2, 100]}, expect=[*expect.items(), (a, [[0, 1, 9], [3, 4, 5]])])


@case(rules=["memory.boundary"])
def the_gradient_of_a_stencil_with_clamped_indices(qd):
    v2 = qd.types.vector(2, qd.f32)
    x, y = qd.Vector.ndarray(2, qd.f32, 4, needs_grad=True), qd.field(qd.f32, shape=4, needs_grad=True)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=v2, ndim=1, boundary="clamp")):
        for i in y:
            y[i] = x[i - 1][0] * x[i + 1][1]

    def gradients():
        for i in range(4):
            x[i], y.grad[i] = [i + 1, 10 * i], 1
        k(x)
        k.grad(x)

    # y = x[0][0] x[1][1], x[0][0] x[2][1], x[1][0] x[3][1], x[2][0] x[3][1]
    return Run(gradients, expect={y: [10, 20, 60, 90], x.grad: [[30, 0], [30, 1], [30, 1], [0, 5]]})


@case(rules=["memory.boundary"])
def an_unknown_boundary_is_refused(qd):
    return Run(
        lambda: qd.types.ndarray(dtype=qd.f32, boundary="wrap"), raises=Raises("TypeError", "none of unsafe, clamp")
    )
