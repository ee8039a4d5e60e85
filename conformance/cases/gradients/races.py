"""Kernels whose iterations certainly race have no gradient; those whose iterations do not are never taken for such."""

from adstack.conformance.case import Gradient, Raises, Run, case
from adstack.conformance.gradients import EXACT, real

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
REFUSED = "iterations of a parallel loop race on field"


def refused(k, *args, phrase=REFUSED):
    """The launch is nobody's business without debug mode; its gradient is."""

    def both():
        k(*args)
        k.grad(*args)

    return Run(both, raises=Raises("AdstackDataAccessError", phrase))


@case(rules=["grad.race"], **PLAIN)
def a_gradient_of_neighbours_that_are_overwritten(qd, dtype):
    x = real(qd, dtype, 8)

    @qd.kernel
    def k():
        for i in range(7):
            x[i] = x[i + 1] * 2.0

    return refused(k)


@case(rules=["grad.race"], **PLAIN)
def a_gradient_of_an_element_that_all_store_to(qd, dtype):
    x, y = real(qd, dtype, 8), real(qd, dtype, 8)

    @qd.kernel
    def k():
        for i in range(8):
            for j in range(4):
                y[j] = x[i] * 2.0

    return refused(k)


@case(rules=["grad.race"], **PLAIN)
def a_gradient_of_a_sum_that_is_read_while_it_is_made(qd, dtype):
    x, y, total = real(qd, dtype, 8), real(qd, dtype, 8), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            total[None] += x[i]
            y[i] = total[None]

    return refused(k)


@case(rules=["grad.race"], **PLAIN)
def a_gradient_of_a_transposition_in_place(qd, dtype):
    x = real(qd, dtype, (4, 4))

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] = x[j, i]

    return refused(k)


@case(rules=["grad.race"], params={"form": ["wrapped", "stored", "shifted", "chosen"]}, **PLAIN)
def a_race_that_evaluation_finds(qd, dtype, form):
    """No equation between indices says so: there is a remainder, or a condition."""
    x, y, n = real(qd, dtype, 8), real(qd, dtype, 8), 8

    @qd.kernel
    def wrapped():
        for i in range(n):
            x[i] = x[(i + 1) % n] * 2.0

    @qd.kernel
    def stored():
        for i in range(n):
            y[i % 4] = x[i] * 2.0

    @qd.kernel
    def shifted():
        for i in range(n):
            x[i >> 1] = x[i] * 2.0

    @qd.kernel
    def chosen():
        for i in range(n - 1):
            if i != 3:
                x[i] = x[i + 1] * 2.0

    return refused({"wrapped": wrapped, "stored": stored, "shifted": shifted, "chosen": chosen}[form])


@case(rules=["grad.race"], params={"form": ["halves", "evens", "permuted"]}, **PLAIN)
def evaluation_takes_nothing_for_a_race_that_is_none(qd, dtype, form):
    x, n = real(qd, dtype, 8), 8

    @qd.kernel
    def halves():
        for i in range(n // 2):
            x[i] = x[(i + 4) % n] * 2.0

    @qd.kernel
    def evens():
        for i in range(n):
            if i % 2 == 0:
                x[i] = x[i + 1] * 2.0

    @qd.kernel
    def permuted():
        for i in range(n):
            x[(i * 3) % n] = x[(i * 3) % n] * 2.0

    kernel, sources = {
        "halves": (halves, {i: i + 4 for i in range(4)}),
        "evens": (evens, {i: i + 1 for i in range(0, 8, 2)}),
        "permuted": (permuted, {i: i for i in range(8)}),
    }[form]
    expect = [0.0 if i in sources else 1.0 for i in range(8)]
    for source in sources.values():
        expect[source] += 2.0
    return Run(kernel, gradient=Gradient(seed={x: 1.0}, expect={x: expect}))


@case(rules=["grad.race"], params={"n": [0, 1, 2, 5]}, **PLAIN)
def a_race_that_takes_two_iterations(qd, dtype, n):
    """How many there are is known when the kernel is launched."""
    x, y = real(qd, dtype, 8), real(qd, dtype, 8)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            y[0] = x[i] * 2.0

    if n > 1:
        return refused(k, n)
    gradient = Gradient(seed={y: 1.0}, expect={x: [2.0 * n] + [0.0] * 7, y: [1.0 - n] + [1.0] * 7})
    return Run(k, args=(n,), gradient=gradient)


@case(rules=["grad.race"], **PLAIN)
def a_race_of_two_arguments_that_are_one_array(qd, dtype):
    array = qd.types.ndarray(dtype=dtype, ndim=1, needs_grad=True)
    a, b = qd.ndarray(dtype, shape=8, needs_grad=True), qd.ndarray(dtype, shape=8, needs_grad=True)

    @qd.kernel
    def k(x: array, y: array):
        for i in range(7):
            y[i] = x[i + 1] * 2.0

    def both():
        for _ in range(3):
            k(a, b)
            k.grad(a, b)
        k(a, a)
        k.grad(a, a)

    return Run(both, raises=Raises("AdstackDataAccessError", "iterations of a parallel loop race on ndarray"))


@case(rules=["grad.race"], **PLAIN)
def a_race_on_a_tape(qd, dtype):
    x, loss = real(qd, dtype, 8), real(qd, dtype, ())

    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            x[i] = x[i + 1] * 2.0
            loss[None] += x[i]

    def taped():
        with qd.ad.Tape(loss):
            k(7)

    return Run(taped, raises=Raises("AdstackDataAccessError", REFUSED))


@case(rules=["grad.race", "grad.shared-local"], params={"how": ["grad", "tape"]}, **PLAIN)
def a_race_on_a_local(qd, dtype, how):
    """A local that iterations share, multiplied by all of them."""
    c, y = real(qd, dtype, ()), real(qd, dtype, ())

    @qd.kernel
    def k():
        a = 1.0
        for _ in range(4):
            a = a * c[None]
        y[None] += a

    def program():
        if how == "grad":
            k()
            k.grad()
        else:
            with qd.ad.Tape(y):
                k()

    return Run(program, given={c: 2.0}, raises=Raises("AdstackDataAccessError", "race on local a"))


@case(rules=["grad.race", "grad.shared-local"], **EXACT)
def a_local_that_no_derivative_flows_through_may_be_shared(qd, dtype):
    """What all iterations store is the same, and does not depend on the input."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        a = 0.0
        for i in range(4):
            a = 2.0
            y[i] = x[i] * a

    gradient = Gradient(
        seed={y: 1.0},
        expect={x: 2.0, y: 0.0},
        forward_seed={x: [1.0, 2.0, 3.0, 4.0]},
        forward_expect={y: [2.0, 4.0, 6.0, 8.0]},
    )
    return Run(k, given={x: [1.0, 2.0, 3.0, 4.0]}, expect={y: [2.0, 4.0, 6.0, 8.0]}, gradient=gradient)


@case(rules=["grad.race"], **PLAIN)
def a_race_in_forward_mode(qd, dtype):
    x = qd.field(dtype, shape=8, needs_dual=True)

    @qd.kernel
    def k():
        for i in range(7):
            x[i] = x[i + 1] * 2.0

    def forward():
        with qd.ad.FwdMode(loss=x, param=x, seed=[1.0] * 8):
            k()

    return Run(forward, raises=Raises("AdstackDataAccessError", REFUSED))


@case(rules=["grad.race", "parallel.race"], dtypes=["f64"], options={"default_fp": "dtype", "debug": True})
def a_race_on_a_tape_in_debug_mode(qd, dtype):
    """No condition hides it there, not even one on what memory holds."""
    x, loss = real(qd, dtype, 8), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in range(7):
            if x[i] > -99.0 and i != 3:
                x[i] = x[i + 1] * 2.0

    def taped():
        with qd.ad.Tape(loss):
            k()

    return Run(taped, raises=Raises("AdstackRaceError", "at (1): iteration (1) writes it here"))


@case(rules=["grad.race"], **EXACT)
def conditions_keep_iterations_apart(qd, dtype):
    """Odd elements are stored to, even ones are read."""
    x = real(qd, dtype, 6)

    @qd.kernel
    def k():
        for i in range(5):
            if i % 2 == 1:
                x[i] = x[i + 1] * 2.0

    gradient = Gradient(
        seed={x: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
        expect={x: [1.0, 0.0, 7.0, 0.0, 13.0, 6.0]},
        forward_seed={x: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
        forward_expect={x: [1.0, 6.0, 3.0, 10.0, 5.0, 6.0]},
    )
    return Run(k, given={x: 1.0}, expect={x: [1.0, 2.0, 1.0, 2.0, 1.0, 1.0]}, gradient=gradient)


@case(rules=["grad.race"], **EXACT)
def halves_of_a_field_are_apart(qd, dtype):
    """What is read begins where what is stored to ends; loops one after the other do not race either."""
    x = real(qd, dtype, 8)

    @qd.kernel
    def k():
        for i in range(4):
            x[i] = x[i + 4] * 2.0
        for i in range(4):
            x[i + 4] = x[0] * 0.5

    gradient = Gradient(
        seed={x: [1.0, 2.0, 3.0, 4.0, 1.0, 1.0, 1.0, 1.0]},
        expect={x: [0.0, 0.0, 0.0, 0.0, 6.0, 4.0, 6.0, 8.0]},
        forward_seed={x: [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]},
        forward_expect={x: [2.0, 4.0, 6.0, 8.0, 1.0, 1.0, 1.0, 1.0]},
    )
    return Run(k, given={x: 1.0}, expect={x: [2.0] * 4 + [1.0] * 4}, gradient=gradient)


@case(rules=["grad.race"], **EXACT)
def what_no_derivative_flows_through_may_be_shared(qd, dtype):
    """A constant that all iterations store, and a flag that all of them look at."""
    x, y, mode = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in x:
            mode[1] = 1.0
            scale = 2.0
            if mode[0] > 0.5:
                scale = 4.0
            y[i] = x[i] * scale

    gradient = Gradient(
        seed={y: 1.0},
        expect={x: 4.0, y: 0.0},
        forward_seed={x: [1.0, 2.0, 3.0, 4.0]},
        forward_expect={y: [4.0, 8.0, 12.0, 16.0]},
    )
    return Run(k, given={x: 1.0, mode: [1.0, 0.0]}, expect={y: 4.0, mode: 1.0}, gradient=gradient)


@case(rules=["grad.race"], **PLAIN)
def a_loop_that_runs_in_order_does_not_race(qd, dtype):
    x = real(qd, dtype, 4)

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i in range(3):
            x[i + 1] = x[i] * 2.0

    return Run(k, gradient=Gradient(seed={x: [0.0, 0.0, 0.0, 1.0]}, expect={x: [8.0, 0.0, 0.0, 0.0]}))
