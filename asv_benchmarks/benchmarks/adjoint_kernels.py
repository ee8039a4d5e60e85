"""Kernels whose reverse modes add to memory that iterations share: each maker gives a `Work`.

Every kernel reads what other iterations read too (neighbours, all others, a table): its reverse mode adds to that.
"""

import numpy as np

from .particle_kernels import particles
from .work import Work


def stencil(qd, n, grads=True):
    """16 steps of a wave equation with a nonlinear term: five loads a cell."""
    steps = 16
    u = qd.field(qd.f32, shape=(steps + 1, n, n), needs_grad=grads)
    u.from_numpy(np.random.default_rng(0).random((steps + 1, n, n), dtype=np.float32))

    @qd.kernel
    def step(t: qd.i32):
        for i, j in qd.ndrange((1, n - 1), (1, n - 1)):
            c = u[t, i, j]
            around = u[t, i - 1, j] + u[t, i + 1, j] + u[t, i, j - 1] + u[t, i, j + 1]
            u[t + 1, i, j] = c + 0.2 * (around - 4.0 * c) - 0.01 * c * c * c

    def forward():
        for t in range(steps):
            step(t)

    def reverse():
        for t in reversed(range(steps)):
            step.grad(t)

    return Work(forward, reverse, step, (u.grad,), (0,))


def bodies(qd, n, grads=True):
    """Accelerations of n bodies, each from all others; how many there are stands in memory."""
    x = qd.Vector.field(3, qd.f32, shape=n, needs_grad=grads)
    a = qd.Vector.field(3, qd.f32, shape=n, needs_grad=grads)
    count = qd.field(qd.i32, shape=())
    count[None] = n
    x.from_numpy(np.random.default_rng(0).random((n, 3), dtype=np.float32))

    @qd.kernel
    def attract():
        for i in x:
            total = qd.Vector([0.0, 0.0, 0.0])
            for j in range(count[None]):
                d = x[j] - x[i]
                r = d.dot(d) + 0.01
                total += d / (r * qd.sqrt(r))
            a[i] = total

    return Work(attract, attract.grad, attract, (a.grad,))


def springs(qd, n, grads=True):
    """64 steps of masses on a grid, with springs to their eight neighbours."""
    steps = 64
    x = qd.Vector.field(2, qd.f32, shape=(steps + 1, n, n), needs_grad=grads)
    v = qd.Vector.field(2, qd.f32, shape=(steps + 1, n, n), needs_grad=grads)
    grid = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).astype(np.float32)
    draw = np.random.default_rng(0)
    x.from_numpy((grid + 0.1 * draw.random((steps + 1, n, n, 2))).astype(np.float32))

    @qd.kernel
    def step(t: qd.i32):
        for i, j in qd.ndrange(n, n):
            force = qd.Vector([0.0, 0.0])
            for di, dj in qd.static([(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]):
                if 0 <= i + di < n and 0 <= j + dj < n:
                    d = x[t, i + di, j + dj] - x[t, i, j]
                    length = qd.sqrt(d.dot(d) + 1e-6)
                    force += d * (length - (di * di + dj * dj) ** 0.5) / length
            v[t + 1, i, j] = 0.99 * v[t, i, j] + 0.01 * force
            x[t + 1, i, j] = x[t, i, j] + 0.01 * v[t + 1, i, j]

    def forward():
        for t in range(steps):
            step(t)

    def reverse():
        for t in reversed(range(steps)):
            step.grad(t)

    return Work(forward, reverse, step, (x.grad,), (0,))


def product(qd, n, grads=True):
    """The product of two matrices, as three loops, and its squared norm."""
    a, b, c = (qd.field(qd.f32, shape=(n, n), needs_grad=grads) for _ in range(3))
    norm = qd.field(qd.f32, shape=(), needs_grad=grads)
    draw = np.random.default_rng(0)
    a.from_numpy(draw.random((n, n), dtype=np.float32))
    b.from_numpy(draw.random((n, n), dtype=np.float32))

    @qd.kernel
    def multiply():
        for i, j in c:
            total = 0.0
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    @qd.kernel
    def square():
        for i, j in c:
            norm[None] += c[i, j] * c[i, j]

    def forward():
        multiply()
        square()

    def reverse():
        square.grad()
        multiply.grad()

    return Work(forward, reverse, multiply, (norm.grad,))


def newton(qd, n, grads=True):
    """Roots by Newton's method, 2 to 31 iterations an element, with a coefficient that all share."""
    x, root = (qd.field(qd.f32, shape=n, needs_grad=grads) for _ in range(2))
    trips = qd.field(qd.i32, shape=n)
    power = qd.field(qd.f32, shape=(), needs_grad=grads)
    draw = np.random.default_rng(0)
    x.from_numpy(1 + draw.random(n, dtype=np.float32))
    trips.from_numpy(draw.integers(2, 32, n).astype(np.int32))
    power[None] = 0.5

    @qd.kernel
    def solve():
        for i in x:
            r = 1.0
            for _ in range(trips[i]):
                r = r - power[None] * (r * r - x[i]) / r
            root[i] = r

    return Work(solve, solve.grad, solve, (root.grad,))


def table(qd, n, grads=True):
    """Elements gathered by a table, and scattered by another one."""
    size = 4096
    x = qd.field(qd.f32, shape=size, needs_grad=grads)
    y = qd.field(qd.f32, shape=size, needs_grad=grads)
    source, target = (qd.field(qd.i32, shape=n) for _ in range(2))
    draw = np.random.default_rng(0)
    x.from_numpy(draw.random(size, dtype=np.float32))
    source.from_numpy(draw.integers(0, size, n).astype(np.int32))
    target.from_numpy(draw.integers(0, size, n).astype(np.int32))

    @qd.kernel
    def gather():
        for i in source:
            y[target[i]] += qd.sin(x[source[i]])

    return Work(gather, gather.grad, gather, (y.grad,))


def sums(qd, n, grads=True):
    """Sums over the rows and over the columns of a matrix."""
    x = qd.field(qd.f32, shape=(n, n), needs_grad=grads)
    rows, columns = (qd.field(qd.f32, shape=n, needs_grad=grads) for _ in range(2))
    x.from_numpy(np.random.default_rng(0).random((n, n), dtype=np.float32))

    @qd.kernel
    def add():
        for i, j in x:
            rows[i] += x[i, j] * x[i, j]
            columns[j] += x[i, j]

    return Work(add, add.grad, add, (rows.grad, columns.grad))


def dense(qd, n, grads=True):
    """A dense layer of 256 by 256 with a rectifier, on a batch of n."""
    width = 256
    x, y = (qd.field(qd.f32, shape=(n, width), needs_grad=grads) for _ in range(2))
    weight = qd.field(qd.f32, shape=(width, width), needs_grad=grads)
    bias = qd.field(qd.f32, shape=width, needs_grad=grads)
    draw = np.random.default_rng(0)
    for field in (x, weight, bias):
        field.from_numpy(draw.standard_normal(field.shape, dtype=np.float32) / 16)

    @qd.kernel
    def layer():
        for i, j in y:
            total = bias[j]
            for k in range(width):
                total += x[i, k] * weight[k, j]
            y[i, j] = qd.max(total, 0.0)

    return Work(layer, layer.grad, layer, (y.grad,))


def histogram(qd, n, grads=True):
    """Weights, added up in 256 bins that the data choose."""
    bins = 256
    x = qd.field(qd.f32, shape=n, needs_grad=grads)
    height = qd.field(qd.f32, shape=bins, needs_grad=grads)
    which = qd.field(qd.i32, shape=n)
    draw = np.random.default_rng(0)
    x.from_numpy(draw.random(n, dtype=np.float32))
    which.from_numpy(draw.integers(0, bins, n).astype(np.int32))

    @qd.kernel
    def count():
        for i in x:
            height[which[i]] += x[i] * x[i]

    return Work(count, count.grad, count, (height.grad,))


WORKS = {
    "stencil": (stencil, 512),
    "bodies": (bodies, 1024),
    "springs": (springs, 128),
    "product": (product, 322),
    "newton": (newton, 65536),
    "table": (table, 1 << 20),
    "sums": (sums, 1024),
    "dense": (dense, 4096),
    "histogram": (histogram, 1 << 20),
    "particles": (particles, 32768),
}
"""By name: what makes the work, and its size."""

ON_DEVICES = {
    "stencil": 2048,
    "bodies": 16384,
    "springs": 1024,
    "product": 1024,
    "newton": 1 << 20,
    "table": 1 << 22,
    "sums": 4096,
    "dense": 16384,
    "histogram": 1 << 22,
    "particles": 131072,
}
"""By name: the size that keeps a device of its own busy."""
