"""What the host writes between the launches of a Tape: where its gradients start, and where adjoints go."""

from adstack.conformance.case import Run, case

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
