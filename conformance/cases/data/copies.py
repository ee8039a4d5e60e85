"""`copy` and `pickle`: an ndarray's copy has memory of its own, a field has none, kernels are what they are."""

import copy
import pickle

from adstack.conformance.case import Raises, Run, case

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda array: pickle.loads(pickle.dumps(array))}


@case(rules=["memory.copy"], params={"way": list(WAYS)}, dtypes=["i32", "f32"])
def copies_of_an_ndarray(qd, dtype, way):
    """What is written to one is not seen in the other, whoever writes it."""
    array, out = qd.ndarray(dtype, shape=(2, 2)), qd.ndarray(dtype, shape=(2, 2))
    array[0, 1], array[1, 0] = 5, 7

    @qd.kernel
    def double(values: qd.types.ndarray(dtype=dtype, ndim=2)):
        for i, j in values:
            values[i, j] *= 2

    def program():
        twin = WAYS[way](array)
        double(array)
        double(array)
        double(twin)
        twin[1, 1] = 3
        out.copy_from(twin)

    return Run(program, expect={array: [[0, 20], [28, 0]], out: [[0, 10], [14, 3]]})


@case(rules=["memory.copy"], params={"way": list(WAYS)})
def copies_have_gradients_of_their_own(qd, way):
    x, loss = qd.Vector.ndarray(2, qd.f32, 2, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x[0], x[1] = [1.0, 2.0], [3.0, 4.0]
    seen = qd.ndarray(qd.f32, shape=(2, 4))

    @qd.kernel
    def total(values: qd.types.ndarray(dtype=qd.types.vector(2, qd.f32), ndim=1)):
        for i in values:
            loss[None] += values[i][0] * values[i][1]

    def program():
        x.grad.fill(9.0)
        twin = WAYS[way](x)
        twin[0] = [5.0, 6.0]
        loss.grad[None] = 1.0
        total(twin)
        total.grad(twin)
        for k in range(2):
            for i in range(2):
                for j in range(2):
                    seen[k, 2 * i + j] = (x, twin)[k].grad[i][j]

    return Run(program, expect={x: [[1.0, 2.0], [3.0, 4.0]], seen: [[9.0] * 4, [15.0, 14.0, 13.0, 12.0]], loss: 42.0})


@case(rules=["memory.copy"], params={"way": ["deepcopy", "pickle"]})
def copies_of_objects_with_an_array_and_its_gradient(qd, way):
    """The gradient of the copied array is the copy of the gradient, in whatever order they are met."""
    x, good = qd.ndarray(qd.f32, 3, needs_grad=True), qd.field(qd.i32, ())

    def program():
        for parts in ({"x": x, "gradient": x.grad}, {"gradient": x.grad, "x": x}):
            twin = WAYS[way](parts)
            good[None] += int(twin["x"].grad is twin["gradient"] and twin["x"] is not x)

    return Run(program, expect={good: 2})


@case(rules=["memory.copy"], params={"way": ["deepcopy", "pickle"], "what": ["field", "vectors", "structs", "object"]})
def fields_have_no_copies(qd, way, what):
    """The error says so; neither another field nor a plain exception comes of it."""
    field = qd.field(qd.f32, shape=3)
    things = {
        "field": field,
        "vectors": qd.Vector.field(2, qd.f32, shape=3),
        "structs": qd.types.struct(a=qd.f32).field(shape=3),
        "object": {"state": [field]},
    }
    return Run(lambda: WAYS[way](things[what]), raises=Raises("RuntimeTypeError", "a field can't be"))


@case(rules=["memory.copy"])
def copies_of_kernels_and_fields_are_themselves(qd):
    x = qd.field(qd.i32, shape=2)

    @qd.func
    def next_of(a):
        return a + 1

    @qd.kernel
    def count():
        for i in x:
            x[i] = next_of(x[i])

    def program():
        count()
        copy.copy(count)()
        copy.deepcopy(count)()
        copy.copy(x)[1] = 7
        assert copy.deepcopy(next_of) is next_of

    return Run(program, expect={x: [3, 7]})
