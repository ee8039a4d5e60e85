"""The kernels that are measured, made for a started adstack: `KERNELS[name](qd, size)` gives what a call of it does."""

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

STEPS = 64


def nop(qd, size=1):
    y = qd.field(qd.f32, shape=())

    @qd.kernel
    def store():
        y[None] = 1.0

    return store, ()


def args(qd, size=16):
    array = qd.ndarray(qd.f32, shape=(size,))

    @qd.kernel
    def store(a: qd.types.ndarray(dtype=qd.f32, ndim=1), s: qd.f32):
        a[0] = s

    return store, (array, 2.0)


def tape(qd, count):
    """A tape of so many small launches and one that sums up: what a call does is the tape and its gradients."""
    x, y = qd.field(qd.f32, shape=count + 1, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def step(t: qd.i32):
        x[t + 1] = x[t] * x[t]

    @qd.kernel
    def last():
        y[None] += x[count]

    def taped():
        with qd.ad.Tape(loss=y):
            for t in range(count):
                step(t)
            last()

    return taped


def recurrence(qd, size, **options):
    x, y = qd.field(qd.f32, shape=size, **options), qd.field(qd.f32, shape=(), **options)
    n = qd.field(qd.i32, shape=())
    x.from_numpy(np.linspace(0.0, 1.0, size).astype(np.float32))
    n[None] = STEPS

    @qd.kernel
    def forward():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v) * 0.9 + 0.1
            y[None] += v

    if options.get("needs_grad"):
        y.grad[None] = 1.0
    return forward, ()


def gather(qd, size, **options):
    x, z, w = (qd.field(qd.f32, shape=size, **options) for _ in range(3))
    deg, col = qd.field(qd.i32, shape=size), qd.field(qd.i32, shape=(size, 16))
    draw = np.random.default_rng(0)
    x.from_numpy(draw.random(size, dtype=np.float32))
    w.from_numpy(draw.random(size, dtype=np.float32))
    deg.from_numpy(draw.integers(0, 17, size).astype(np.int32))
    col.from_numpy(draw.integers(0, size, (size, 16)).astype(np.int32))

    @qd.kernel
    def forward():
        for i in x:
            acc = 0.0
            for j in range(deg[i]):
                acc += w[col[i, j]] * x[i]
            z[i] = acc

    if options.get("needs_grad"):
        z.grad.fill(1.0)
    return forward, ()


MANY = """
def make(qd, options):
    x, y = qd.field(qd.f32, shape=1024, **options), qd.field(qd.f32, shape=1024, **options)
    n = qd.field(qd.i32, shape=())
    n[None] = 3

    @qd.kernel
    def forward():
        for i in x:
{start}
            for _ in range(n[None]):
{steps}
            y[i] = v0

    if options.get("needs_grad"):
        y.grad.fill(1.0)
    return forward
"""


def many(qd, size, **options):
    """`size` variables carried round a loop; the source is written to a file, where compilers look for it."""
    start = "\n".join(f"            v{k} = x[i] + {k}.0" for k in range(size))
    steps = "\n".join(f"                v{k} = qd.sin(v{k}) * 0.9 + v{(k + 1) % size} * 0.1" for k in range(size))
    path = Path(tempfile.mkdtemp(prefix="many"), f"many{size}.py")
    path.write_text(MANY.format(start=start, steps=steps))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make(qd, options), ()


def ragged(qd, size, **options):
    """Loops in loops, of lengths that differ from thread to thread: what they keep is the true number of steps."""
    x, y = qd.field(qd.f32, shape=size, **options), qd.field(qd.f32, shape=(), **options)
    length = qd.field(qd.i32, shape=size)
    x.from_numpy(np.linspace(0.0, 1.0, size).astype(np.float32))
    length.from_numpy((np.arange(size) % STEPS).astype(np.int32))

    @qd.kernel
    def forward():
        for i in x:
            v = x[i]
            for j in range(length[i]):
                for _ in range(j):
                    v = qd.sin(v) * 0.9 + 0.1
            y[None] += v

    if options.get("needs_grad"):
        y.grad[None] = 1.0
    return forward, ()


KERNELS = {"nop": nop, "args": args, "recurrence": recurrence, "gather": gather, "many": many}
REVERSIBLE = {"recurrence": recurrence, "ragged": ragged, "many": many}
"""Those that take `needs_grad=True`: then their gradients can be had, and what they give counts once each."""


def elementwise(qd, function, dtype, n):
    """`y[i] = function(x[i])` over values from 0.1 to 0.9; the kernel and the values."""
    f, t = getattr(qd, function), getattr(qd, dtype)
    x, y = qd.field(t, shape=n), qd.field(t, shape=n)

    @qd.kernel
    def apply():
        for i in x:
            y[i] = f(x[i])

    values = np.linspace(0.1, 0.9, n).astype({"f32": np.float32, "f64": np.float64}[dtype])
    x.from_numpy(values)
    return apply, values
