"""Filling whole fields and arrays, from the host and in kernels."""

import numpy as np

from adstack.conformance.case import Run, case


@case(rules=["memory.field"])
def fill_in_a_kernel_acts_whenever_it_is_reached(qd):
    x, v = qd.field(qd.i32, shape=(2, 2)), qd.Vector.field(2, qd.f32, shape=2)

    @qd.kernel
    def k(n: qd.i32):
        for i, j in x:
            x[i, j] += i
        x.fill(n)
        v.fill(0.5)
        for i in v:
            v[i][0] += x[i, 0]

    return [
        Run(k, args=(3,), expect={x: 3, v: [[3.5, 0.5], [3.5, 0.5]]}),
        Run(k, args=(4,), expect={x: 4, v: [[4.5, 0.5], [4.5, 0.5]]}),
    ]


@case(rules=["memory.ndarray"])
def an_array_argument_is_filled_in_a_kernel(qd):
    a = np.zeros((2, 3), np.float32)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=2), value: qd.f32):
        x.fill(value)

    return Run(k, args=(a, 1.5), expect=[(a, 1.5)])


@case(rules=["memory.field"], dtypes=["i8", "u16", "i64", "f16", "f64"])
def the_host_fills_and_copies(qd, dtype):
    x, y = qd.field(dtype, shape=(2, 3)), qd.field(dtype, shape=(2, 3))

    def use():
        x.fill(7)
        y.copy_from(x)
        x[1, 2] = 9

    return Run(use, expect={x: [[7, 7, 7], [7, 7, 9]], y: 7})
