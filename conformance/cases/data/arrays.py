"""Numpy arrays and ndarrays as arguments: every element type, every rank, vectors and matrices in the last axes."""

import numpy as np

from adstack.conformance.case import Raises, Run, case

NUMPY = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


@case(rules=["memory.ndarray", "types.scalars"], params={"name": list(NUMPY)})
def numpy_arrays_of_every_type_are_changed_in_place(qd, name):
    a = np.array([1, 2, 100], NUMPY[name])

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=getattr(qd, name), ndim=1)):
        for i in x:
            x[i] = x[i] + 20

    return Run(k, args=(a,), expect=[(a, [21, 22, 120])])


@case(rules=["memory.ndarray"], dtypes=["i32", "i64", "u8", "u64", "f32", "f64"], params={"ndim": [1, 2, 3, 4]})
def ndarrays_of_every_rank(qd, dtype, ndim):
    shape = (2, 3, 2, 2)[:ndim]
    a = qd.ndarray(dtype, shape=shape)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=dtype, ndim=ndim)):
        for index in qd.grouped(x):
            position = 0
            for d in qd.static(range(ndim)):
                position = position * x.shape[d] + index[d]
            x[index] += position

    return Run(k, args=(a,), given={a: 1}, expect={a: (1 + np.arange(np.prod(shape))).reshape(shape).tolist()})


@case(rules=["memory.ndarray"])
def one_kernel_takes_arrays_of_several_types_and_ranks(qd):
    a, b, c = np.zeros(3, np.int32), np.zeros((2, 2), np.float32), np.zeros(2, np.float64)

    @qd.kernel
    def k(x: qd.types.ndarray()):
        for index in qd.grouped(x):
            x[index] = index.sum() + 0.5

    return [
        Run(k, args=(b,), expect=[(b, [[0.5, 1.5], [1.5, 2.5]])]),
        Run(k, args=(c,), expect=[(c, [0.5, 1.5])]),
        Run(k, args=(b[0],), expect=[(b, [[0.5, 1.5], [1.5, 2.5]])]),
        Run(k, args=(a,), expect=[(a, [0, 1, 2])]),
    ]


@case(rules=["memory.ndarray"])
def an_array_in_fortran_order_is_written_too(qd):
    a = np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], np.int32))

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for i, j in x:
            x[i, j] = 10 * x[i, j] + x[1 - i, j] * 0 + j

    return Run(k, args=(a,), expect=[(a, [[10, 21, 32], [40, 51, 62]])])


@case(rules=["memory.ndarray"])
def the_trailing_axes_are_vectors(qd):
    a = np.arange(6, dtype=np.float32).reshape(3, 2)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.types.vector(2, qd.f32), ndim=1)):
        for i in x:
            x[i] = x[i].yx + i

    return Run(k, args=(a,), expect=[(a, [[1, 0], [4, 3], [7, 6]])])


@case(rules=["memory.ndarray"])
def the_trailing_axes_are_matrices(qd):
    a = np.arange(8, dtype=np.int32).reshape(2, 2, 2)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.types.matrix(2, 2, qd.i32), ndim=1)):
        for i in x:
            x[i] = x[i].transpose() * 2

    return Run(k, args=(a,), expect=[(a, [[[0, 4], [2, 6]], [[8, 12], [10, 14]]])])


@case(rules=["memory.ndarray"])
def ndarrays_of_vectors_and_matrices(qd):
    v, m = qd.Vector.ndarray(3, qd.i32, shape=2), qd.Matrix.ndarray(2, 2, qd.f32, shape=(2,))

    @qd.kernel
    def k(
        v: qd.types.ndarray(dtype=qd.types.vector(3, qd.i32), ndim=1),
        m: qd.types.ndarray(dtype=qd.types.matrix(2, 2, qd.f32), ndim=1),
    ):
        for i in v:
            v[i] = [i, i + 1, i + 2]
            m[i][0, 1] = v[i][2] / 2

    return Run(k, args=(v, m), expect={v: [[0, 1, 2], [1, 2, 3]], m: [[[0, 1], [0, 0]], [[0, 1.5], [0, 0]]]})


@case(rules=["memory.ndarray"], params={"wrong": ["type", "rank", "strides"]})
def an_array_that_does_not_fit_is_refused(qd, wrong):
    a = {"type": np.zeros(3), "rank": np.zeros((3, 1), np.float32), "strides": np.zeros(6, np.float32)[::2]}[wrong]

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in x:
            x[i] = 1.0

    return Run(k, args=(a,), raises=Raises("ValueError"))


@case(rules=["memory.ndarray"])
def two_arguments_of_one_kernel(qd):
    x, y = np.array([1, 2, 3], np.float64), qd.ndarray(qd.f64, shape=3)

    @qd.kernel
    def axpy(a: qd.f64, x: qd.types.ndarray(dtype=qd.f64, ndim=1), y: qd.types.ndarray(dtype=qd.f64, ndim=1)):
        for i in x:
            y[i] += a * x[i]

    return [
        Run(axpy, args=(0.5, x, y), given={y: 1}, expect={y: [1.5, 2, 2.5]}),
        Run(axpy, args=(-1.0, x, y), expect={y: [0.5, 0, -0.5]}),
    ]


@case(rules=["memory.shape"])
def a_loop_bound_from_a_shape(qd):
    short, long = np.ones((2, 5), np.int32), np.ones((4, 3), np.int32)

    @qd.kernel
    def total(x: qd.types.ndarray(dtype=qd.i32, ndim=2)) -> qd.i32:
        s = 0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                s += x[i, j] * (i + 1)
        return s

    return [Run(total, args=(short,), returns=15), Run(total, args=(long,), returns=30)]


@case(rules=["memory.ndarray"])
def arrays_are_passed_on_to_functions(qd):
    a = np.array([3, 1, 2], np.int32)

    @qd.func
    def swap(x: qd.template(), i, j):
        x[i], x[j] = x[j], x[i]

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for _ in range(1):
            swap(x, 0, 1)
            swap(x, 1, 2)

    return Run(k, args=(a,), expect=[(a, [1, 2, 3])])
