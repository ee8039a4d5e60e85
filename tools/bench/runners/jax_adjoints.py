"""The rows "adjoint-NAME" in JAX: the works of `asv_benchmarks/benchmarks/adjoint_kernels.py`, as arrays.

Each maker gives a scalar function, and the arrays by which it is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Jax: TypeAlias = Any
"""The module, or an array of it: it has no types here."""
Loss: TypeAlias = Callable[..., Jax]

MakeWork = Callable[[Jax, np.random.Generator], tuple[Loss, tuple[Jax, ...]]]


def _stencil(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    u = jax.numpy.asarray(draw.random((512, 512), dtype=np.float32))

    def step(u: Jax, _: Jax) -> Jax:
        c = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].set(c + 0.2 * (around - 4.0 * c) - 0.01 * c * c * c), None

    return lambda u: jax.numpy.sum(jax.lax.scan(step, u, None, length=16)[0]), (u,)


def _bodies(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    x = jax.numpy.asarray(draw.random((1024, 3), dtype=np.float32))

    def attract(x: Jax) -> Jax:
        d = x[None] - x[:, None]
        r = jax.numpy.sum(d * d, axis=-1) + 0.01
        return jax.numpy.sum(jax.numpy.sum(d / (r * jax.numpy.sqrt(r))[..., None], axis=1))

    return attract, (x,)


def _springs(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    n = 128
    grid = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).astype(np.float32)
    x = jax.numpy.asarray((grid + 0.1 * draw.random((n, n, 2))).astype(np.float32))
    links = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]

    def step(state: Jax, _: Jax) -> Jax:
        x, v = state
        force = jax.numpy.zeros_like(x)
        around = jax.numpy.pad(x, ((1, 1), (1, 1), (0, 0)))
        there = jax.numpy.pad(jax.numpy.ones((n, n, 1), np.float32), ((1, 1), (1, 1), (0, 0)))
        for di, dj in links:
            window = slice(1 + di, 1 + di + n), slice(1 + dj, 1 + dj + n)
            d = around[window] - x
            length = jax.numpy.sqrt(jax.numpy.sum(d * d, -1, keepdims=True) + 1e-6)
            force += there[window] * d * (length - (di * di + dj * dj) ** 0.5) / length
        v = 0.99 * v + 0.01 * force
        return (x + 0.01 * v, v), None

    def simulate(x: Jax, v: Jax) -> Jax:
        return jax.numpy.sum(jax.lax.scan(step, (x, v), None, length=64)[0][0])

    return simulate, (x, jax.numpy.zeros_like(x))


def _product(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    a, b = (jax.numpy.asarray(draw.random((322, 322), dtype=np.float32)) for _ in range(2))
    return lambda a, b: jax.numpy.sum((a @ b) ** 2), (a, b)


def _newton(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    x = jax.numpy.asarray(1 + draw.random(65536, dtype=np.float32))
    trips = jax.numpy.asarray(draw.integers(2, 32, 65536).astype(np.int32))

    def solve(x: Jax, power: Jax) -> Jax:
        def step(r: Jax, k: Jax) -> Jax:
            return jax.numpy.where(k < trips, r - power * (r * r - x) / r, r), None

        return jax.numpy.sum(jax.lax.scan(step, jax.numpy.ones_like(x), jax.numpy.arange(31))[0])

    return solve, (x, jax.numpy.float32(0.5))


def _table(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    x = jax.numpy.asarray(draw.random(4096, dtype=np.float32))
    source, target = (jax.numpy.asarray(draw.integers(0, 4096, 1 << 20).astype(np.int32)) for _ in range(2))
    zeros = jax.numpy.zeros(4096, np.float32)
    return lambda x: jax.numpy.sum(zeros.at[target].add(jax.numpy.sin(x[source]))), (x,)


def _sums(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    x = jax.numpy.asarray(draw.random((1024, 1024), dtype=np.float32))
    return lambda x: jax.numpy.sum(jax.numpy.sum(x * x, 1) + jax.numpy.sum(x, 0)), (x,)


def _dense(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    shapes = (4096, 256), (256, 256), (256,)
    arrays = tuple(jax.numpy.asarray(draw.standard_normal(shape, dtype=np.float32) / 16) for shape in shapes)
    return lambda x, weight, bias: jax.numpy.sum(jax.numpy.maximum(x @ weight + bias, 0.0)), arrays


def _histogram(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    x = jax.numpy.asarray(draw.random(1 << 20, dtype=np.float32))
    which = jax.numpy.asarray(draw.integers(0, 256, 1 << 20).astype(np.int32))
    zeros = jax.numpy.zeros(256, np.float32)
    return lambda x: jax.numpy.sum(zeros.at[which].add(x * x)), (x,)


def _particles(jax: Jax, draw: np.random.Generator) -> tuple[Loss, tuple[Jax, ...]]:
    n, cells, dt = 32768, 64, 1e-4
    dx, mass = 1.0 / cells, 1.0 / n
    offsets = jax.numpy.asarray(np.indices((3, 3, 3)).reshape(3, -1).T)  # [27, 3]
    x = jax.numpy.asarray((0.3 + 0.4 * draw.random((n, 3))).astype(np.float32))
    zeros = jax.numpy.zeros((n, 3), np.float32)
    start = (x, zeros, jax.numpy.zeros((n, 3, 3), np.float32), jax.numpy.ones(n, np.float32))
    empty = jax.numpy.zeros((cells, cells, cells, 4), np.float32)

    def step(state: Jax, _: Jax) -> Jax:
        x, v, affine, volume = state
        base = (x / dx - 0.5).astype(np.int32)
        at = x / dx - base
        w = jax.numpy.stack([0.5 * (1.5 - at) ** 2, 0.75 - (at - 1.0) ** 2, 0.5 * (at - 0.5) ** 2])  # [3, n, 3]
        share = w[offsets[:, 0], :, 0] * w[offsets[:, 1], :, 1] * w[offsets[:, 2], :, 2]  # [27, n]
        volume = volume * (1.0 + dt * jax.numpy.trace(affine, axis1=1, axis2=2))
        push = -dt * 4.0 / dx / dx * mass * 100.0 * (volume - 1.0)
        distance = (offsets[:, None] - at[None]) * dx  # [27, n, 3]
        turned = jax.numpy.einsum("nij,onj->oni", affine, distance)
        momentum = share[..., None] * (mass * v + mass * turned + push[None, :, None] * distance)
        i, j, k = jax.numpy.moveaxis(base[None] + offsets[:, None], -1, 0)
        grid = empty.at[i, j, k].add(jax.numpy.concatenate([momentum, (share * mass)[..., None]], -1))
        u = grid[..., :3] / (grid[..., 3:] + 1e-10) - dt * jax.numpy.asarray([0.0, 9.8, 0.0])
        low = (jax.numpy.arange(cells) < 3)[None, :, None] & (u[..., 1] < 0.0)
        u = u.at[..., 1].set(jax.numpy.where(low, 0.0, u[..., 1]))
        here = share[..., None] * u[i, j, k]
        v = jax.numpy.sum(here, 0)
        affine = 4.0 / dx * jax.numpy.einsum("oni,onj->nij", here, offsets[:, None] - at[None])
        return (x + dt * v, v, affine, volume), None

    return lambda *state: jax.numpy.sum(jax.lax.scan(step, state, None, length=4)[0][0]), start


WORKS: dict[str, MakeWork] = {
    "stencil": _stencil,
    "bodies": _bodies,
    "springs": _springs,
    "product": _product,
    "newton": _newton,
    "table": _table,
    "sums": _sums,
    "dense": _dense,
    "histogram": _histogram,
    "particles": _particles,
}


def prepare(jax: Jax, name: str) -> Callable[[], object]:
    """The work of a row, compiled: forward, or with "-both" behind the name the value and the gradient."""
    loss, arrays = WORKS[name.removesuffix("-both")](jax, np.random.default_rng(0))
    if name.endswith("-both"):
        both = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(len(arrays)))))
        return lambda: both(*arrays)
    forward = jax.jit(loss)
    return lambda: forward(*arrays)
