"""An adstack that is too small raises one error that says what would help; the next launch is like any other."""

from adstack.conformance.case import Raises, Run, case

SLOTS = 8


def chain(qd, threads):
    """s <- s * w[j], n times: the reverse pass needs every s. The adjoint of w[j] is y / w[j], of x it is 1 or -1."""
    x, y = qd.field(qd.f32, shape=threads, needs_grad=True), qd.field(qd.f32, shape=threads, needs_grad=True)
    w = qd.field(qd.f32, shape=64, needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                s = s * w[j]
            y[i] = s

    return x, y, w, k


def reversed_(launch, x, y, w, n):
    """A function that launches the kernel and its reverse pass."""

    def both():
        for field in (x, w):
            field.grad.fill(0)
        y.grad.fill(1)
        launch(n)
        launch.grad(n)

    return both


def adjoints(x, w, n, threads):
    """With x = 1 and w = -1: each product is (-1)^n, and each factor's adjoint (-1)^(n-1), summed over the threads."""
    of_factors = [threads * (-1) ** (n - 1)] * n + [0] * (64 - n)
    return {x.grad: [(-1) ** n] * threads, w.grad: of_factors}


@case(rules=["adstack.overflow"], options={"ad_stack_size": SLOTS})
def a1_overflow_is_an_exception(qd):
    """It tells the task, the variable, the capacity, the depth that was needed, and the remedy."""
    x, y, w, k = chain(qd, 3)
    run = reversed_(k, x, y, w, 20)
    phrases = ("Adstack overflow in", "capacity 8 was pushed 20 deep", "it keeps s", "raise ad_stack_size")
    return [Run(run, given={x: 1, w: -1}, raises=Raises("OverflowError", phrase)) for phrase in phrases]


@case(rules=["adstack.overflow"], options={"ad_stack_size": SLOTS})
def a1_exactly_full_is_no_overflow(qd):
    x, y, w, k = chain(qd, 3)
    return Run(reversed_(k, x, y, w, SLOTS), given={x: 1, w: -1}, expect=adjoints(x, w, SLOTS, 3))


@case(rules=["adstack.overflow"], options={"ad_stack_size": SLOTS})
def a1_memory_beside_is_left_alone(qd):
    """Fields before and after those that the kernel works on hold what they held."""
    before = qd.field(qd.f32, shape=4096)
    x, y, w, k = chain(qd, 1000)
    after = qd.field(qd.f32, shape=4096)
    run = reversed_(k, x, y, w, 64)
    given = {before: 3, x: 1, w: -1, after: 5}
    return Run(run, given=given, raises=Raises("OverflowError"), expect={before: 3, x: 1, w: -1, after: 5})


@case(rules=["adstack.overflow", "adstack.recovery"], options={"ad_stack_size": SLOTS}, params={"threads": [2, 20_000]})
def a2_many_threads_raise_once_then_clean(qd, threads):
    """All threads overflow: there is one error, then a launch that fits is right, then there is one error again."""
    x, y, w, k = chain(qd, threads)
    seen = qd.field(qd.i32, shape=())
    wait = getattr(qd, "sync", lambda: None)

    def deep():
        try:
            reversed_(k, x, y, w, 30)()
            wait()
        except OverflowError:
            seen[None] += 1
        wait()

    fits = Run(reversed_(k, x, y, w, 5), expect=adjoints(x, w, 5, threads))
    return [Run(deep, given={x: 1, w: -1}, expect={seen: 1}), fits, Run(deep, expect={seen: 2}), fits]


@case(rules=["adstack.recovery"], options={"ad_stack_size": SLOTS})
def a2_a_tape_may_overflow_and_be_used_again(qd):
    x, y, w, k = chain(qd, 3)
    loss = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    def recorded(n):
        def run():
            loss[None] = 0
            with qd.ad.Tape(loss):
                k(n)
                total()

        return run

    given = {x: 1, w: -1}
    too_deep = Run(recorded(9), given=given, raises=Raises("OverflowError", "capacity 8 was pushed 9 deep"))
    return [too_deep, Run(recorded(4), given=given, expect=adjoints(x, w, 4, 3)), too_deep]
