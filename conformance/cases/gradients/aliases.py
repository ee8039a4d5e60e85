"""One memory by two names: programs are computed, and derivatives of them refused rather than guessed."""

from adstack.conformance.case import Raises, Run, case

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
SHARED = Raises("DataAccessError", "share memory")
THROUGH = Raises("RuntimeError", "through a grad tensor")
HOW = ["grad", "tape"]


def arrays(qd, dtype, *values):
    for numbers in values:
        array = qd.ndarray(dtype, shape=len(numbers), needs_grad=True)
        for i, number in enumerate(numbers):
            array[i] = number
        yield array


def launched(qd, how, loss, kernel, *args):
    """A program that launches a kernel and differentiates it, outside of a tape or on one."""

    def program():
        if how == "tape":
            with qd.ad.Tape(loss):
                kernel(*args)
        else:
            kernel(*args)
            loss.grad[None] = 1.0
            kernel.grad(*args)

    return program


@case(rules=["grad.refused", "grad.overwritten"], params={"how": HOW, "written": ["argument", "captured"]}, **PLAIN)
def an_array_that_a_kernel_captures_is_passed_too(qd, dtype, how, written):
    """The square is read by one name, and overwritten by the other."""
    (a,) = arrays(qd, dtype, [3.0, 4.0])
    loss = qd.field(dtype, shape=(), needs_grad=True)

    @qd.kernel
    def by_argument(p: qd.types.ndarray()):
        for i in range(2):
            loss[None] += a[i] * a[i]
            p[i] = 10.0

    @qd.kernel
    def by_itself(p: qd.types.ndarray()):
        for i in range(2):
            loss[None] += p[i] * p[i]
            a[i] = 10.0

    kernel = by_argument if written == "argument" else by_itself
    return Run(launched(qd, how, loss, kernel, a), raises=SHARED)


@case(rules=["grad.refused"], params={"written": ["argument", "captured"]}, **PLAIN)
def another_array_than_the_kernel_captures_is_differentiated(qd, dtype, written):
    """The same kernel, with one call that is refused between two that are not."""
    a, b = arrays(qd, dtype, [3.0, 4.0], [1.0, 2.0])
    loss = qd.field(dtype, shape=(), needs_grad=True)

    @qd.kernel
    def by_argument(p: qd.types.ndarray()):
        for i in range(2):
            loss[None] += a[i] * a[i]
            p[i] = 10.0

    @qd.kernel
    def by_itself(p: qd.types.ndarray()):
        for i in range(2):
            loss[None] += p[i] * p[i]
            a[i] = 10.0

    kernel = by_argument if written == "argument" else by_itself
    read = a if written == "argument" else b

    def program():
        for turn in range(3):
            kernel(b)
            loss.grad[None] = 1.0
            kernel.grad(b)
            if turn == 1:
                kernel(a)
                try:
                    kernel.grad(a)
                except qd.AdstackDataAccessError:
                    continue
                raise AssertionError("the gradient of one array by two names was computed")

    first = [6.0, 8.0] if written == "argument" else [2.0, 4.0]
    if written == "captured":  # the call that is refused has overwritten nothing of b
        return Run(program, expect=[(read.grad, [3 * g for g in first])])
    return Run(program, expect=[(read.grad, [2 * first[0] + 20.0, 2 * first[1] + 20.0])])


@case(rules=["grad.refused"], params={"how": HOW, "taken": ["array", "template"]}, **PLAIN)
def the_gradient_of_an_argument_is_an_argument_too(qd, dtype, how, taken):
    """Adjoints would be added to what the kernel reads."""
    (a,) = arrays(qd, dtype, [1.0, 1.0])
    loss = qd.field(dtype, shape=(), needs_grad=True)

    @qd.kernel
    def of_arrays(p: qd.types.ndarray(), g: qd.types.ndarray()):
        for i in range(2):
            loss[None] += p[i] * g[1 - i]

    @qd.kernel
    def of_templates(p: qd.types.ndarray(), g: qd.template()):
        for i in range(2):
            loss[None] += p[i] * g[1 - i]

    kernel = of_arrays if taken == "array" else of_templates
    return Run(launched(qd, how, loss, kernel, a, a.grad), raises=THROUGH)


@case(rules=["grad.refused", "grad.forward"], **PLAIN)
def the_dual_of_an_argument_is_an_argument_too(qd, dtype):
    a = qd.ndarray(dtype, shape=2, needs_dual=True)
    y = qd.field(dtype, shape=2, needs_dual=True)

    @qd.kernel
    def k(p: qd.types.ndarray(), g: qd.types.ndarray()):
        for i in range(2):
            p[i] = p[i] * 3.0
            y[i] = p[i] * g[1 - i]

    def program():
        with qd.ad.FwdMode(loss=y, param=a, seed=[1.0, 2.0]):
            k(a, a.dual)

    return Run(program, raises=THROUGH)


@case(rules=["grad.refused"], **PLAIN)
def a_kernel_that_works_on_gradients_is_launched(qd, dtype):
    """A step of descent passes an array and its gradient, outside of what is differentiated."""
    (a,) = arrays(qd, dtype, [2.0, 3.0])
    loss = qd.field(dtype, shape=(), needs_grad=True)

    @qd.kernel
    def squares(p: qd.types.ndarray()):
        for i in range(2):
            loss[None] += p[i] * p[i]

    @qd.kernel
    def descend(p: qd.types.ndarray(), g: qd.types.ndarray()):
        for i in range(2):
            p[i] -= 0.25 * g[i]

    def program():
        for _ in range(2):
            with qd.ad.Tape(loss):
                squares(a)
            descend(a, a.grad)

    return Run(program, expect=[(a, [0.5, 0.75])])
