"""Locals of the kernel that loops share, read and overwritten: every read is differentiated at its own time."""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import cos, sin

AGAIN = ["nested", "straight", "one-of-four", "swap", "updates", "tasks", "while", "branch", "index", "row"]
LOGGED = ["trips", "serial", "serial-while", "old-value"]
START = [0.5, 0.75, 1.25, 0.25]
OPTIONS = {"default_fp": "dtype"}
RULES = ["grad.shared-local", "grad.overwritten"]
REVERSE = {**BOUNDED, "modes": ("forward", "reverse"), "dtypes": ("f64",)}


def again(qd, x, y):
    """Kernels that the reverse pass differentiates by running loops again; what each adds to y[0]."""

    @qd.kernel
    def nested(n: qd.i32):
        v = x[0]
        for _ in range(1):
            for _ in range(n):
                v = qd.sin(v)
        y[0] += v

    @qd.kernel
    def straight(n: qd.i32):
        v = x[0]
        for _ in range(1):
            v = qd.sin(v) * x[1]
            v = v * v
        y[0] += v

    @qd.kernel
    def one_of_four(n: qd.i32):
        v = x[0]
        for i in range(4):
            if i == 2:
                v = qd.sin(v) * x[i]
                v = v * v
        y[0] += v

    kernels = {"nested": nested, "straight": straight, "one-of-four": one_of_four}
    return {**kernels, **several_again(qd, x, y), **deciding_again(qd, x, y)}


def several_again(qd, x, y):
    """The same, with several locals, or several loops."""

    @qd.kernel
    def swap(n: qd.i32):
        a = x[0]
        b = x[1]
        for _ in range(1):
            for _ in range(n):
                c = a
                a = qd.sin(b) * a
                b = c * b
        y[0] += a * b

    @qd.kernel
    def updates(n: qd.i32):
        a = x[0]
        for _ in range(1):
            for _ in range(n):
                a += qd.sin(a)
                a *= x[1]
        y[0] += a

    @qd.kernel
    def tasks(n: qd.i32):
        a = x[0]
        for _ in range(1):
            a = qd.sin(a)
        for _ in range(1):
            a = a * a
        for i in range(4):
            y[0] += a * x[i]
        a = a * a + x[1]
        for _ in range(1):
            a = qd.sin(a) * a
        y[0] += a

    return {"swap": swap, "updates": updates, "tasks": tasks}


def deciding_again(qd, x, y):
    """The same, with locals that decide branches, indices, and how often the loop runs that changes them."""

    @qd.kernel
    def while_loop(n: qd.i32):
        a = x[0]
        for _ in range(1):
            while a < 3.0:
                a = a * 1.5 + x[1]
        y[0] += a * a

    @qd.kernel
    def branch(n: qd.i32):
        a = x[0]
        k = 0
        for _ in range(1):
            if k == 0:
                a = qd.sin(a)
            k = k + n
            if k == 0:
                a = a * x[1]
            else:
                a = a * a
            k = 0
        y[0] += a

    @qd.kernel
    def index(n: qd.i32):
        k = 0
        for _ in range(1):
            for j in range(n):
                y[0] += x[k] * x[k] * (j + 1)
                k = k + 1

    @qd.kernel
    def row(n: qd.i32):
        a = qd.Vector([x[0], x[1], x[2], x[3]])
        for i in range(4):
            for j in range(n):
                a[i] = qd.sin(a[i]) * x[j]
            a[i] = a[i] * a[i]
        for i in range(4):
            a[i] = a[i] * a[i] + x[i]
            y[0] += a[i]

    return {"while": while_loop, "branch": branch, "index": index, "row": row}


def logged(qd, x, y):
    """Kernels whose launches log what shared locals were."""

    @qd.kernel
    def trips(n: qd.i32):
        a = x[0]
        k = 1
        for _ in range(1):
            for _ in range(n):
                k = k + 1
                for _ in range(k):
                    a = qd.sin(a)
        y[0] += a

    @qd.kernel
    def serial(n: qd.i32):
        s = 0.0
        for i in range(4):
            s += x[i]
        a = x[0]
        if n > 0:
            for _ in range(n):
                a = qd.sin(a) * s
                s = s * 0.5
        s = s * 3.0
        for i in range(4):
            y[0] += a * s * x[i]

    @qd.kernel
    def serial_while(n: qd.i32):
        s = 0.0
        for i in range(4):
            s += x[i]
        while s > 0.5:
            s = qd.cos(s) * s * 0.5
        y[0] += s

    @qd.kernel
    def old_value(n: qd.i32):
        s = x[0]
        for _ in range(1):
            old = qd.atomic_add(s, x[1])
            y[0] += old * old
        y[0] += s * s

    return dict(zip(LOGGED, [trips, serial, serial_while, old_value]))


def row_of(n, x):
    a = list(x)
    for i in range(4):
        for j in range(n):
            a[i] = sin(a[i]) * x[j]
        a[i] = a[i] * a[i]
    return sum((v * v + w for v, w in zip(a, x)), 0)


def tasks_of(x):
    a = sin(x[0]) ** 2
    b = a * a + x[1]
    return sum((a * w for w in x), 0) + sin(b) * b


def serial_of(n, x):
    a, s = x[0], sum(x, 0)
    for _ in range(n):
        a, s = sin(a) * s, s / 2
    return sum((a * s * 3 * w for w in x), 0)


def folded(step, start, n):
    for k in range(n):
        start = step(start, k)
    return start


def until(test, step, start):
    while not test(start):
        start = step(start)
    return start


def plain(form, n):
    """What a kernel adds, of x, as a function of x."""
    return {
        "nested": lambda x: folded(lambda v, _: sin(v), x[0], n),
        "straight": lambda x: (sin(x[0]) * x[1]) ** 2,
        "one-of-four": lambda x: (sin(x[0]) * x[2]) ** 2,
        "swap": lambda x: (lambda ab: ab[0] * ab[1])(
            folded(lambda ab, _: (sin(ab[1]) * ab[0], ab[0] * ab[1]), (x[0], x[1]), n)
        ),
        "updates": lambda x: folded(lambda a, _: (a + sin(a)) * x[1], x[0], n),
        "tasks": tasks_of,
        "while": lambda x: until(lambda a: a >= 3, lambda a: a * 1.5 + x[1], x[0]) ** 2,
        "branch": lambda x: sin(x[0]) ** 2 if n else sin(x[0]) * x[1],
        "index": lambda x: sum((x[j] * x[j] * (j + 1) for j in range(n)), 0),
        "row": lambda x: row_of(n, x),
        "trips": lambda x: folded(lambda a, _: sin(a), x[0], sum(range(2, n + 2))),
        "serial": lambda x: serial_of(n, x),
        "serial-while": lambda x: until(lambda s: s <= 0.5, lambda s: cos(s) * s / 2, sum(x, 0)),
        "old-value": lambda x: x[0] * x[0] + (x[0] + x[1]) ** 2,
    }[form]


@case(rules=RULES, params={"form": AGAIN, "n": [0, 3]}, **BOUNDED)
def shared_locals_that_are_overwritten(qd, dtype, form, n):
    """In loops of one iteration, in one iteration of four, in rows of which each iteration has its own element."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 1)
    of_x = plain(form, n)
    return agrees(again(qd, x, y)[form], lambda x, y: [y[0] + of_x(x)], {x: START, y: [0.5]}, [y], args=(n,))


@case(rules=[*RULES, "grad.kept"], params={"form": LOGGED}, **{**BOUNDED, "dtypes": ("f64",)})
def shared_locals_that_a_launch_logs(qd, dtype, form):
    """They decide how often loops run, are updated by serial loops before parallel ones, or give an old value."""
    return shared_locals_of_a_launch(qd, dtype, form)


@case(rules=[*RULES, "grad.log"], params={"form": [*AGAIN, *LOGGED]}, **REVERSE)
def shared_locals_on_a_tape(qd, dtype, form):
    x, y = real(qd, dtype, 4), real(qd, dtype, ())
    total = real(qd, dtype, 1)
    kernel = {**again(qd, x, total), **logged(qd, x, total)}[form]

    @qd.kernel
    def measure():
        y[None] += total[0] * total[0]

    def run():
        kernel(3)
        measure()

    of_x = plain(form, 3)
    return agrees(run, lambda x: of_x(x) ** 2, {x: START}, [y], loss=y)


@case(rules=RULES, params={"form": ["nested", "row", "trips"]}, **{**REVERSE, "options": {**OPTIONS, "debug": True}})
def shared_locals_in_debug_mode(qd, dtype, form):
    return shared_locals_of_a_launch(qd, dtype, form)


@case(
    rules=[*RULES, "grad.snapshot"],
    params={"form": ["nested", "row", "trips"]},
    **{**REVERSE, "options": {**OPTIONS, "ad_snapshot": True}},
)
def shared_locals_with_snapshots(qd, dtype, form):
    return shared_locals_of_a_launch(qd, dtype, form)


def shared_locals_of_a_launch(qd, dtype, form):
    x, y = real(qd, dtype, 4), real(qd, dtype, 1)
    of_x = plain(form, 3)
    kernel = {**again(qd, x, y), **logged(qd, x, y)}[form]
    return agrees(kernel, lambda x, y: [y[0] + of_x(x)], {x: START, y: [0.5]}, [y], args=(3,))


@case(rules=["grad.shared-local", "grad.refused"], params={"form": LOGGED}, modes=("reverse",))
def shared_locals_that_no_launch_has_logged(qd, form):
    """Without a launch there is no log, and the gradient is refused."""
    x, y = real(qd, qd.f64, 4), real(qd, qd.f64, 1)
    kernel = logged(qd, x, y)[form]

    def run():
        kernel.grad(3)

    return Run(run, given={x: START}, raises=Raises("DataAccessError", "Breaks the global data access rule"))


@case(rules=["grad.local", "grad.log"], params={"is_read_later": [False, True]}, **REVERSE)
def arrays_that_serial_loops_update_around_parallel_ones(qd, dtype, is_read_later):
    """More elements than registers hold: what the array contained before each loop is there when that is reversed."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k(n: qd.i32):
        v = qd.Vector([x[0], 0.5, 0.25, *[0.0] * 17], dt=dtype)
        qd.loop_config(serialize=True)
        for j in range(n):
            v[j % 3] = qd.sin(v[(j + 1) % 3]) * v[j % 3]
        x[0] = v[0]
        for i in range(1, 4):
            x[i] = x[0] * x[i] * x[i]
        qd.loop_config(serialize=True)
        for j in range(n):
            v[j % 3] = v[(j + 1) % 3] * v[j % 3]
        for i in range(1, 4):
            x[i] = x[i] * x[i]
        y[None] += x[0] * x[1] + x[2] * x[3]
        if qd.static(is_read_later):
            y[None] += v[0] * v[1]

    def plain(x):
        v = [x[0], 1 / 2, 1 / 4]
        for j in range(5):
            v[j % 3] = sin(v[(j + 1) % 3]) * v[j % 3]
        first = v[0]
        second, third, fourth = ((first * a * a) * (first * a * a) for a in x[1:])
        for j in range(5):
            v[j % 3] = v[(j + 1) % 3] * v[j % 3]
        total = first * second + third * fourth
        return total + v[0] * v[1] if is_read_later else total

    return agrees(k, plain, {x: START}, [y], loss=y, args=(5,))
