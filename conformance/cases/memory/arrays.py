"""Array arguments share memory with what is passed."""

import numpy as np

from adstack.conformance.case import Raises, Run, case


@case(rules=["memory.ndarray"])
def a_numpy_array_is_written_in_place(qd):
    a = np.array([[1, 2, 3], [4, 5, 6]], np.int32)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for i, j in x:
            x[i, j] = 10 * x[i, j] + i

    return Run(k, args=(a,), expect=[(a, [[10, 20, 30], [41, 51, 61]])])


@case(rules=["memory.ndarray"])
def extents_are_those_of_the_launch(qd):
    short, long = np.zeros(2, np.float32), np.zeros(5, np.float32)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.i32:
        for i in x:
            x[i] = x.shape[0]
        return x.shape[0]

    return [
        Run(k, args=(short,), returns=2, expect=[(short, [2, 2])]),
        Run(k, args=(long,), returns=5, expect=[(long, 5)]),
    ]


@case(rules=["memory.shape"])
def the_shape_of_an_array_has_all_its_axes(qd):
    a = qd.ndarray(qd.f32, shape=(2, 3, 4))

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=3)) -> qd.i32:
        return 100 * x.shape[0] + 10 * x.shape[1] + x.shape[2]

    return Run(k, args=(a,), returns=234)


@case(rules=["memory.ndarray"])
def a_scalar_for_an_array_is_refused(qd):
    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in x:
            x[i] = 1.0

    return Run(k, args=(3.0,), raises=Raises("RuntimeTypeError", "for argument"))


@case(rules=["memory.map"])
def scalar_arguments_and_memory_make_the_result(qd):
    x = qd.field(qd.f32, shape=3)

    @qd.kernel
    def scale(a: qd.f32, n: qd.i32) -> qd.f32:
        for i in x:
            x[i] = a * x[i] + n
        return a + n

    return [
        Run(scale, args=(0.5, 1), given={x: [2, 4, 6]}, expect={x: [2, 3, 4]}, returns=1.5),
        Run(scale, args=(-1, 2), expect={x: [0, -1, -2]}, returns=1),
    ]


@case(rules=["memory.ndarray"])
def an_array_with_a_mask_is_refused(qd):
    """Kernels know nothing of masks: they would read and write what is masked."""
    a = np.ma.array(np.ones(3, np.float32), mask=[False, True, False])

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in x:
            x[i] += 1

    return [
        Run(k, args=(a,), raises=Raises("RuntimeTypeError", "has a mask")),
        Run(k, args=(a.data,), expect=[(a.data, [2, 2, 2])]),
    ]
