"""What the host writes between the launches of a Tape: where its gradients start, and where adjoints go."""

import numpy as np

from adstack.conformance.case import Raises, Run, case

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}


@case(
    rules=["grad.linked", "grad.followed"], params={"by": ["copy", "store", "vector"], "clears": [True, False]}, **PLAIN
)
def gradients_of_ndarrays_that_only_the_host_writes_start_from_zero(qd, dtype, by, clears):
    """What an earlier Tape has left there is no adjoint of what the host copies; unless gradients are not cleared."""
    make = qd.Vector.ndarray if by == "vector" else qd.ndarray
    a, b = (make(*([2] if by == "vector" else []), dtype, 2, needs_grad=True) for _ in range(2))
    y = qd.field(dtype, shape=(), needs_grad=True)

    @qd.kernel
    def total(u: qd.types.ndarray()):
        for i in range(2):
            if qd.static(by == "vector"):
                y[None] += u[i].x + u[i].y
            else:
                y[None] += u[i]

    def write():
        if by == "copy":
            a.copy_from(b)
        elif by == "store":
            a[0] = 3.0 * b[1]
        else:
            a[1] = [b[0][0], 2.0 * b[1][1]]

    def program():
        for _ in range(3):
            with qd.ad.Tape(y):
                total(a)  # which leaves a gradient of 1 everywhere
            b.grad.fill(0.25)
            with qd.ad.Tape(y, clear_gradients=clears):
                write()
                total(b)
            direct = 1.0 if clears else 1.25
            expected = {
                "copy": [direct + (not clears)] * 2,
                "store": [direct, direct + 3.0 * (not clears)],
                "vector": [[direct + (not clears), direct], [direct, direct + 2.0 * (not clears)]],
            }
            assert b.grad.to_numpy().tolist() == expected[by]

    return Run(program)


@case(rules=["grad.linked"], params={"inside": ["launch", "host"]}, **PLAIN)
def gradients_of_ndarrays_that_a_replaced_function_uses_start_from_zero(qd, dtype, inside):
    a, b = (qd.ndarray(dtype, 2, needs_grad=True) for _ in range(2))
    y = qd.field(dtype, shape=(), needs_grad=True)

    @qd.kernel
    def total(u: qd.types.ndarray()):
        for i in range(2):
            y[None] += u[i]

    @qd.kernel
    def copy(u: qd.types.ndarray(), v: qd.types.ndarray()):
        for i in range(2):
            u[i] = v[i]

    @qd.ad.grad_replaced
    def replaced():
        if inside == "launch":
            copy(a, b)
        else:
            a.from_numpy(b.to_numpy())

    @qd.ad.grad_for(replaced)
    def gradient():
        for i in range(2):
            b.grad[i] += a.grad[i]
            a.grad[i] = 0.0

    def program():
        with qd.ad.Tape(y):
            total(a)
        b.grad.fill(0.25)
        with qd.ad.Tape(y):
            replaced()
            total(b)
        assert b.grad.to_numpy().tolist() == [1.0, 1.0]

    return Run(program, given={b: [0.5, 2.0]})


@case(
    rules=["grad.linked"],
    params={"of": ["field", "array", "matrix"], "by": ["store", "fill", "list"], "again": [False, True]},
    **PLAIN,
)
def plain_numbers_beside_linked_ones_are_inputs(qd, dtype, of, by, again):
    """A vector with one entry that was computed and one that was not: the gradient of the latter stays."""
    kind = qd.Matrix if of == "matrix" else qd.Vector
    n = [1, 2] if of == "matrix" else [2]
    v = (kind.ndarray if of == "array" else kind.field)(*n, dtype, shape=2, needs_grad=True)
    x, y = (qd.field(dtype, shape=(), needs_grad=True) for _ in range(2))

    @qd.kernel
    def twice() -> dtype:
        return x[None] * 2.0

    @qd.kernel
    def of_vectors(u: qd.template()):
        for i in range(2):
            y[None] += u[i][0] * 3.0 + u[i][1] * 5.0

    @qd.kernel
    def of_arrays(u: qd.types.ndarray()):
        for i in range(2):
            y[None] += u[i][0] * 3.0 + u[i][1] * 5.0

    @qd.kernel
    def of_matrices(u: qd.template()):
        for i in range(2):
            y[None] += u[i][0, 0] * 3.0 + u[i][0, 1] * 5.0

    total = {"field": of_vectors, "array": of_arrays, "matrix": of_matrices}[of]

    def write():
        value = [twice(), 0.5]
        value = [value] if of == "matrix" else value
        if by == "store":
            v[0] = value
        elif by == "fill":
            v.fill(kind(value))
        else:
            v.from_numpy([value, value])

    def program():
        with qd.ad.Tape(y):
            for _ in range(2 if again else 1):
                write()
                total(v)
        times = 2.0 if again else 1.0
        rows = [[0.0, 5.0 * times], [3.0 * times, 5.0 * times] if by == "store" else [0.0, 5.0 * times]]
        assert v.grad.to_numpy().reshape(2, 2).tolist() == rows
        assert x.grad[None] == (6.0 if by == "store" else 12.0) * times

    return Run(program, given={x: 0.25})


@case(
    rules=["grad.forward", "grad.linked"],
    params={"of": ["field", "array", "vector"], "by": ["fill", "element", "numpy", "copy"], "linked": [False, True]},
    **PLAIN,
)
def what_the_host_writes_to_the_parameter_is_an_input(qd, dtype, of, by, linked):
    """In both modes: the derivative by a value that a kernel has used up, and by the one that has come in its place."""
    both = {"needs_grad": True, "needs_dual": True}
    n, vector = ([2], True) if of == "vector" else ([], False)
    data = qd.Vector if vector else qd
    x = (data.ndarray if of == "array" else data.field)(*n, dtype, shape=2, **both)
    other = data.field(*n, dtype, shape=2, needs_grad=linked, needs_dual=linked)
    factor, y = (qd.field(dtype, shape=(), **both) for _ in range(2))

    @qd.kernel
    def triple(u: qd.Tensor):
        for i in range(2):
            u[i] = 3.0 * u[i]

    @qd.kernel
    def total(u: qd.Tensor):
        for i in range(2):
            if qd.static(vector):
                y[None] += u[i].x + u[i].y
            else:
                y[None] += u[i]

    @qd.kernel
    def get() -> dtype:
        return factor[None]

    def write():
        value = get() if linked else 0.5
        if by == "fill":
            x.fill(value)
        elif by == "element":
            x[0] = [value, 0.25] if vector else value
        elif by == "numpy":
            x.from_numpy([[value] * 2] * 2 if vector else [value, 0.25])
        else:
            x.copy_from(other)

    def run():
        total(x)
        triple(x)
        write()
        total(x)

    def program():
        size = 4 if vector else 2
        with qd.ad.FwdMode(loss=y, param=x, seed=[1.0] * size):
            run()
        with qd.ad.Tape(y):
            run()
        gradient = x.grad.to_numpy().sum()
        inputs = {"fill": 0, "element": int(vector), "numpy": int(not vector), "copy": 0}[by]  # beside linked ones
        kept = size // 2 if by == "element" else 0  # elements of before, three times
        inputs = inputs if linked else size - kept
        assert y.dual[None] == gradient == size + inputs + 3.0 * kept

    return Run(program, given={x: [[0.5, 2.0], [1.0, 4.0]] if vector else [0.5, 2.0]})


@case(
    rules=["grad.linked", "grad.unlinked"],
    params={"form": ["square", "reciprocal", "mod", "clip", "dtype", "array", "real", "lost"]},
    **PLAIN,
)
def functions_of_numpy_are_linked_or_refused(qd, dtype, form):
    """Of a number that a kernel has returned: none gives a constant without a word."""
    x, y = (qd.field(dtype, shape=(), needs_grad=True) for _ in range(2))
    forms = {
        "square": (np.square, 1.0),
        "reciprocal": (np.reciprocal, -4.0),
        "mod": (lambda v: np.mod(1.25, v), -2.0),
        "clip": (lambda v: np.clip(v, 0.0, 1.0), 1.0),
        "dtype": (lambda v: np.add(v, v, dtype=float), 2.0),
        "array": (lambda v: np.multiply(v, np.array(3.0)), 3.0),
        "real": (lambda v: v.real + v.conjugate(), 2.0),
        "lost": (lambda v: np.where(True, v, 0.0), None),
    }
    function, slope = forms[form]

    @qd.kernel
    def get() -> dtype:
        return x[None]

    def program():
        with qd.ad.Tape(y):
            y[None] = function(get())
        assert x.grad[None] == slope

    return Run(program, given={x: 0.5}, raises=Raises("RuntimeError", "can't be linked") if form == "lost" else None)


@case(
    rules=["grad.second", "grad.linked"],
    params={"of": ["field", "array"], "by": ["hvp", "hessian"], "copies": [False, True]},
    **PLAIN,
)
def second_derivatives_through_copies_of_the_host(qd, dtype, of, by, copies):
    """The host copies all elements: their tangents, their gradients and the tangents of these go with them."""
    both = {"needs_grad": True, "needs_dual": True}
    make = qd.field if of == "field" else qd.ndarray
    x, y, z = (make(dtype, shape=2, **both) for _ in range(3))
    loss = qd.field(dtype, shape=(), **both)

    @qd.kernel
    def square(u: qd.Tensor, v: qd.Tensor):
        for i in range(2):
            v[i] = u[i] * u[i]

    @qd.kernel
    def product(u: qd.Tensor):
        loss[None] += u[0] * u[1]

    @qd.kernel
    def copy(u: qd.Tensor, v: qd.Tensor):
        for i in range(2):
            u[i] = v[i]

    def function():
        square(x, y)
        for source in (y, x):
            if copies:
                z.copy_from(source)
            else:
                copy(z, source)
            product(z)

    def program():
        for _ in range(2):
            a, b = 0.5, 2.0  # of (a b)^2 + a b
            expected = np.array([[2 * b * b, 4 * a * b + 1], [4 * a * b + 1, 2 * a * a]])
            if by == "hvp":
                assert qd.ad.hvp(function, loss, x, [1.0, -2.0]).tolist() == (expected @ [1.0, -2.0]).tolist()
            else:
                assert qd.ad.hessian(function, loss, x).tolist() == expected.tolist()
            assert x.grad.to_numpy().tolist() == [2 * a * b * b + b, 2 * a * a * b + a]

    return Run(program, given={x: [0.5, 2.0]})
