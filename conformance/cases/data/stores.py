"""What the host stores is converted as the elements' own type does, from arrays of any layout."""

import numpy as np

from adstack.conformance.case import Raises, Run, case


@case(rules=["memory.stores"], dtypes=["i8", "i32", "u16", "i64"])
def a_float_loses_its_fraction_in_an_integer_field(qd, dtype):
    x, v, whole = qd.field(dtype, shape=3), qd.Vector.field(2, dtype, shape=2), qd.field(dtype, shape=2)

    def use():
        x.fill(1.0)
        x[0] = 2.7
        x[2] = np.float32(100.5)
        v[0] = [1.5, 2.9]
        v[1][1] = 3.99
        whole.from_numpy(np.array([4.9, 0.1]))

    return Run(use, expect={x: [2, 1, 100], v: [[1, 2], [0, 3]], whole: [4, 0]})


@case(rules=["memory.stores"])
def a_negative_float_is_truncated_towards_zero(qd):
    x, y = qd.field(qd.i32, shape=2), qd.ndarray(qd.i64, shape=2)

    def use():
        x[0], x[1] = -2.7, -0.5
        y.from_numpy(np.array([-(2.0**40) - 0.5, -1.25], np.float64))

    return Run(use, expect={x: [-2, 0], y: [-(2**40), -1]})


@case(rules=["memory.stores"], params={"value": [3e9, -3e9, float("inf"), float("nan"), 2**31]})
def what_an_integer_field_can_not_hold_is_refused(qd, value):
    x = qd.field(qd.i32, shape=2)

    def use():
        x[1] = value

    def all_of_it():
        x.from_numpy(np.array([0, value]))

    return [
        Run(use, raises=Raises("ValueError"), expect={x: 0}),
        Run(all_of_it, raises=Raises("ValueError"), expect={x: 0}),
    ]


LAYOUTS = {
    "fortran": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "bytes swapped": lambda a: a.astype(">i4"),
    "float64": lambda a: a.astype(np.float64),
    "uint8": lambda a: a.astype(np.uint8),
    "lists": lambda a: a.tolist(),
}


@case(rules=["memory.stores"], params={"layout": list(LAYOUTS)}, dtypes=["f32", "i32"])
def arrays_of_any_layout_are_taken_over(qd, dtype, layout):
    x, y, v = qd.field(dtype, shape=(2, 3)), qd.ndarray(dtype, shape=(2, 3)), qd.Vector.field(3, dtype, shape=2)
    values = np.arange(6, dtype=np.int32).reshape(2, 3)

    def use():
        for each in (x, y, v):
            each.from_numpy(LAYOUTS[layout](values))

    return Run(use, expect={x: values, y: values, v: values})


@case(rules=["memory.lazy"])
def lazy_grad_covers_fields_made_with_their_shape(qd):
    x, y = qd.field(qd.f32, shape=3), qd.field(qd.f32, shape=())
    qd.root.lazy_grad()

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    def gradients():
        x.fill(2.0)
        x[1] = 5
        y.grad[None] = 1
        k()
        k.grad()

    return Run(gradients, expect={y: 33, x.grad: [4, 10, 4]})


@case(rules=["memory.lazy"])
def lazy_dual_covers_fields_made_with_their_shape(qd):
    x, y = qd.field(qd.f32, shape=()), qd.Vector.field(2, qd.f32, shape=())
    qd.root.lazy_dual()

    @qd.kernel
    def k():
        y[None] = [x[None] * x[None], 3 * x[None]]

    def slopes():
        x[None] = 4
        with qd.ad.FwdMode(loss=y, param=x):
            k()

    return Run(slopes, expect={y: [16, 12], y.dual: [8, 3]})
