"""The ways to ask for derivatives, and to leave something out of them."""

import numpy as np

from adstack.conformance.case import Gradient, Raises, Run, case
from adstack.conformance.gradients import EXACT, agrees, real

TYPES = ["f32", "f64"]


def ran(run, given, expect):
    """A run that differentiates by itself; what gradients hold afterwards is compared."""
    return Run(run, given=given, expect=expect)


@case(rules=["grad.meaning"], dtypes=TYPES)
def gradients_add_up_over_calls(qd, dtype):
    """The gradient of what is only read starts from what it was; that of the output is consumed by the first call."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[i]

    def run():
        k()
        for weight in (1.0, 4.0):
            y.grad.fill(weight)
            k.grad()
        k.grad()

    return ran(run, {x: [0.5, -1.0, 3.0]}, [(x.grad, [5.0, -10.0, 30.0]), (y.grad, 0.0)])


@case(rules=["grad.store"], dtypes=TYPES)
def two_launches_for_one_output(qd, dtype):
    """`y = f(x)` called twice gives the gradient of the last call only."""
    x, y, loss = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k(a: dtype):
        for i in x:
            y[i] = a * x[i]

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i] * y[i]

    def run():
        with qd.ad.Tape(loss):
            k(8.0)
            k(2.0)
            total()

    return ran(run, {x: [0.5, -1.0, 3.0]}, [(x.grad, [4.0, -8.0, 24.0]), (y.grad, 0.0), (loss, 41.0)])


@case(rules=["grad.meaning"], dtypes=TYPES)
def a_tape_starts_from_zero_and_seeds_the_loss(qd, dtype):
    """What gradients and the loss held before does not matter."""
    x, loss = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            loss[None] += x[i] * x[i] * (i + 1)

    def run():
        x.grad.fill(100.0)
        loss.grad.fill(7.0)
        with qd.ad.Tape(loss=loss):
            k()

    return ran(run, {x: [0.5, -1.0, 3.0], loss: 50.0}, [(x.grad, [1.0, -4.0, 18.0]), (loss, 29.25), (loss.grad, 1.0)])


@case(rules=["grad.meaning"], dtypes=TYPES)
def a_tape_keeps_gradients_if_asked(qd, dtype):
    """With clear_gradients=False they add up."""
    x, loss = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            loss[None] += x[i] * x[i] * (i + 1)

    def run():
        for _ in range(2):
            with qd.ad.Tape(loss=loss, clear_gradients=False):
                k()

    return ran(run, {x: [0.5, -1.0, 3.0]}, [(x.grad, [2.0, -8.0, 36.0])])


@case(rules=["grad.overwritten"], dtypes=TYPES)
def memory_is_as_the_launches_left_it_after_a_tape(qd, dtype):
    """The tape winds memory back to differentiate, and puts the final state back."""
    x, loss = real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def step():
        for i in x:
            x[i] = x[i] * x[i] + 1.0

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def run():
        with qd.ad.Tape(loss):
            step()
            step()
            total()

    # 2 -> 5 -> 26: 2 * 5 * 2 * 2 = 40; -1 -> 2 -> 5: 2 * 2 * 2 * -1 = -8
    return ran(run, {x: [2.0, -1.0]}, [(x, [26.0, 5.0]), (loss, 31.0), (x.grad, [40.0, -8.0])])


@case(rules=["grad.overwritten"], dtypes=TYPES)
def what_the_host_writes_inside_a_tape_counts(qd, dtype):
    """Between two launches the host overwrites the input: each is differentiated at its own."""
    x, w, loss = real(qd, dtype, ()), real(qd, dtype, ()), real(qd, dtype, ())

    @qd.kernel
    def k():
        for _ in range(1):
            loss[None] += w[None] * x[None]

    def run():
        with qd.ad.Tape(loss):
            k()
            x[None] = 10.0
            k()

    return ran(run, {x: 3.0, w: 2.0}, [(w.grad, 13.0), (loss, 26.0), (x, 10.0)])


@case(rules=["grad.overwritten"], params={"form": ["store", "atomic"]})
def validation_names_what_was_read_and_overwritten(qd, form):
    """A launch that reads an element and overwrites it breaks the rule."""
    x, loss = real(qd, qd.f32, 3), real(qd, qd.f32, ())

    @qd.kernel
    def store():
        for i in x:
            loss[None] += x[i] * x[i]
            x[i] = 1.0

    @qd.kernel
    def atomic():
        for i in x:
            loss[None] += x[i] * x[i]
            x[i] += 1.0

    def run():
        with qd.ad.Tape(loss, validation=True):
            (store if form == "store" else atomic)()

    return Run(run, given={x: 2.0}, raises=Raises("AssertionError", "Breaks the global data access rule"))


@case(rules=["grad.load"], dtypes=TYPES)
def validation_lets_correct_programs_pass(qd, dtype):
    """Reading what the same launch wrote before is no offence."""
    x, t, loss = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            t[i] = x[i] * x[i]
            loss[None] += t[i] * 2.0

    def run():
        with qd.ad.Tape(loss, validation=True):
            k()

    return ran(run, {x: [0.5, -1.0, 3.0]}, [(x.grad, [2.0, -4.0, 12.0])])


@case(rules=["grad.meaning"], dtypes=TYPES)
def a_gradient_that_the_user_writes(qd, dtype):
    """grad_replaced and grad_for: the tape calls the user's function instead."""
    x, y, loss = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def copy(a: dtype):
        for i in x:
            y[i] = a * x[i]

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i] * y[i]

    @qd.ad.grad_replaced
    def forward(a):
        copy(a)

    @qd.ad.grad_for(forward)
    def backward(a):
        for i in range(3):
            x.grad[i] = 16.0 * a * y.grad[i]

    def run():
        with qd.ad.Tape(loss):
            forward(2.0)
            total()

    return ran(run, {x: [0.5, -1.0, 3.0]}, [(x.grad, [64.0, -128.0, 384.0])])


@case(rules=["grad.constant"], dtypes=TYPES)
def a_function_without_gradient(qd, dtype):
    """no_grad: what it launches counts as constant."""
    x, y, loss = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def copy():
        for i in x:
            y[i] = 4.0 * x[i]

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i] * x[i]

    @qd.ad.no_grad
    def constant():
        copy()

    def run():
        with qd.ad.Tape(loss):
            constant()
            total()

    return ran(run, {x: [0.5, -1.0, 3.0]}, [(x.grad, [2.0, -4.0, 12.0]), (loss, 41.0)])


@case(rules=["grad.constant"], **EXACT)
def a_field_whose_gradient_is_stopped(qd, dtype):
    """stop_grad: loads of the field in that loop are constants, in the next loop they are not."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            qd.ad.stop_grad(x)
            y[i] += x[i] * x[i]
        for i in x:
            y[i] += 8.0 * x[i]

    gradient = Gradient(
        seed={y: [1.0, -2.0, 0.5]},
        expect={x: [8.0, -16.0, 4.0], y: [1.0, -2.0, 0.5]},
        forward_seed={x: [1.0, 3.0, -0.5]},
        forward_expect={y: [8.0, 24.0, -4.0]},
    )
    return Run(k, given={x: [0.5, -1.0, 3.0]}, expect={y: [4.25, -7.0, 33.0]}, gradient=gradient)


@case(rules=["grad.meaning"], dtypes=TYPES)
def all_gradients_are_cleared_at_once(qd, dtype):
    """clear_all_gradients sets every gradient to zero."""
    x, y = real(qd, dtype, 3), qd.Vector.field(2, dtype, shape=2, needs_grad=True)

    def run():
        x.grad.fill(3.0)
        y.grad.fill(4.0)
        qd.ad.clear_all_gradients()

    return ran(run, {}, [(x.grad, 0.0), (y.grad, 0.0)])


@case(rules=["grad.meaning"], dtypes=TYPES)
def several_losses_in_forward_mode(qd, dtype):
    """FwdMode takes several outputs; a second parameter is constant meanwhile."""
    x, w, y, z = real(qd, dtype, 3), real(qd, dtype, ()), real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[i] * w[None]
            z[None] += x[i]

    def run():
        with qd.ad.FwdMode(loss=[y, z], param=x, seed=[1.0, 2.0, -0.5]):
            k()

    expect = [(y.dual, [3.0, -12.0, -9.0]), (z.dual, 2.5)]
    return ran(run, {x: [0.5, -1.0, 3.0], w: 3.0}, expect)


@case(rules=["grad.store"], dtypes=TYPES)
def a_store_replaces_the_dual(qd, dtype):
    """In forward mode an overwritten element has the derivative of the last store."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = 8.0 * x[i]
            y[i] = 2.0 * x[i]

    def run():
        with qd.ad.FwdMode(loss=y, param=x, seed=[1.0, 2.0, -0.5]):
            k()
            k()

    return ran(run, {x: [0.5, -1.0, 3.0]}, [(y.dual, [2.0, 4.0, -1.0])])


@case(rules=["grad.load"], dtypes=TYPES, params={"kind": ["ndarray", "numpy"]})
def gradients_of_array_arguments(qd, dtype, kind):
    """Arrays passed to the kernel have gradients like fields; those of numpy arrays are constant."""
    x = qd.ndarray(dtype, shape=(3,), needs_grad=True)
    w, loss = np.array([1.0, 2.0, 3.0], x.to_numpy().dtype), real(qd, dtype, ())

    @qd.kernel
    def k(a: qd.types.ndarray(), b: qd.types.ndarray(), n: qd.i32):
        for i in range(3):
            s = a[i]
            for _ in range(n):
                s = s * s * b[i]
            loss[None] += s

    def run():
        with qd.ad.Tape(loss):
            k(x, w if kind == "numpy" else x, 2)

    # numpy: (a^2 b)^2 b = a^4 b^3; ndarray: a^7
    slopes = [4.0 * 0.125, -4.0 * 8, 4 * 8.0 * 27]
    if kind == "ndarray":
        slopes = [7 * 0.5**6, 7.0, 7 * 2.0**6]
    return ran(run, {x: [0.5, -1.0, 2.0]}, [(x.grad, slopes)])


@case(rules=["grad.forward"], dtypes=TYPES)
def duals_of_array_arguments(qd, dtype):
    """Ndarrays have duals; numpy arrays beside them are constant, and so is what the host writes."""
    x, m, loss = (qd.ndarray(dtype, shape=n, needs_dual=True) for n in (3, 3, 1))
    w = np.array([1.0, 2.0, 3.0], x.to_numpy().dtype)

    @qd.kernel
    def scale(a: qd.types.ndarray(), b: qd.types.ndarray(), c: qd.types.ndarray()):
        for i in a:
            c[i] = a[i] * a[i] * b[i]

    @qd.kernel
    def total(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[0] += a[i] * (i + 1)

    def run():
        with qd.ad.FwdMode(loss=[loss, m], param=x, seed=[1.0, -0.5, 2.0]):
            scale(x, w, m)
            m[1] = 4.0
            total(m, loss)

    return ran(run, {x: [0.5, -1.0, 2.0]}, [(m.dual, [1.0, 0.0, 24.0]), (loss.dual, 73.0), (x.dual, 0.0)])


@case(rules=["grad.forward"], dtypes=TYPES)
def a_parameter_that_is_changed_in_place(qd, dtype):
    """The parameter is one of the losses: its dual is that of what it holds in the end."""
    x = real(qd, dtype, 3)

    @qd.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    def run():
        with qd.ad.FwdMode(loss=x, param=x, seed=[1.0, -0.5, 2.0]):
            square()
            square()

    return ran(run, {x: [0.5, -1.0, 2.0]}, [(x.dual, [0.5, 2.0, 64.0]), (x, [0.0625, 1.0, 16.0])])


@case(rules=["grad.meaning"], dtypes=TYPES)
def kernels_of_an_object_on_a_tape(qd, dtype):
    """Methods are recorded with their object; attributes are the values of the launch."""
    loss = real(qd, dtype, ())

    @qd.data_oriented
    class Model:
        def __init__(self):
            self.x = real(qd, dtype, 3)
            self.factor = 2

        @qd.kernel
        def add(self, a: dtype):
            for i in self.x:
                loss[None] += self.factor * a * self.x[i] * self.x[i]

    model = Model()

    def run():
        with qd.ad.Tape(loss):
            model.add(1.0)
            model.add(0.5)

    return ran(run, {model.x: [0.5, -1.0, 3.0]}, [(model.x.grad, [3.0, -6.0, 18.0])])


@case(rules=["grad.meaning"], options={"default_fp": "f64"}, params={"right": [True, False]})
def gradients_are_checked_against_differences(qd, right):
    """grad_check compares with finite differences: a wrong gradient of the user's is found."""
    x, y, loss = real(qd, qd.f64, 3), real(qd, qd.f64, 3), real(qd, qd.f64, ())

    @qd.kernel
    def cube():
        for i in x:
            y[i] = x[i] * x[i] * x[i]

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    @qd.ad.grad_replaced
    def forward():
        cube()

    @qd.ad.grad_for(forward)
    def backward():
        for i in range(3):
            x.grad[i] = (3.0 if right else 2.0) * x[i] * x[i] * y.grad[i]

    def run():
        with qd.ad.Tape(loss, grad_check=[x]):
            forward()
            total()

    given = {x: [0.5, -1.0, 3.0]}
    return (
        ran(run, given, [(x.grad, [0.75, 3.0, 27.0])])
        if right
        else Run(run, given=given, raises=Raises("AssertionError"))
    )


@case(rules=["grad.constant"], params={"form": ["integer", "no-storage"]}, modes=("reverse",))
def nothing_to_differentiate_is_an_error(qd, form):
    """A kernel none of whose inputs has a gradient is not differentiated silently."""
    dtype = qd.i32 if form == "integer" else qd.f32
    x, y = qd.field(dtype, shape=3), real(qd, qd.f32, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * 2.0

    def run():
        k()
        k.grad()

    if form == "integer":  # nothing real is read: the adjoint of y is consumed, and that is all
        return Run(run, gradient=None)
    return Run(run, raises=Raises("RuntimeError", "gradient"))


@case(rules=["grad.loop"], **EXACT)
def a_function_with_parameters_by_reference(qd, dtype):
    """template() parameters of a func are the caller's locals; their gradients are too."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.func
    def double(s: qd.template(), n):
        for _ in range(n):
            s = 2.0 * s + 0.5

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            double(s, i)
            y[i] = s * 0.25

    def plain(x):
        out = []
        for i, s in enumerate(x):
            for _ in range(i):
                s = 2 * s + 0.5
            out.append(s / 4)
        return out

    return agrees(k, plain, {x: [0.5, -1.0, 3.0]}, [y])
