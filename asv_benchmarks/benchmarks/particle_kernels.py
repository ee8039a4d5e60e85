"""Material points in three dimensions (MLS-MPM: Hu et al. 2018), as kernels: particles add to a grid, and read it."""

import numpy as np

from .work import Work

STEPS, CELLS = 4, 64
DX, DT = 1.0 / CELLS, 1e-4
STIFFNESS = 100.0


def particles(qd, n, grads=True):
    """Four steps of n points of a fluid that resists a change of volume, in a grid of 64^3."""
    points, grid = (STEPS + 1, n), (STEPS, CELLS, CELLS, CELLS)
    x, v = (qd.Vector.field(3, qd.f32, shape=points, needs_grad=grads) for _ in range(2))
    affine = qd.Matrix.field(3, 3, qd.f32, shape=points, needs_grad=grads)
    volume = qd.field(qd.f32, shape=points, needs_grad=grads)
    momentum, moving = (qd.Vector.field(3, qd.f32, shape=grid, needs_grad=grads) for _ in range(2))
    mass = qd.field(qd.f32, shape=grid, needs_grad=grads)
    x.from_numpy((0.3 + 0.4 * np.random.default_rng(0).random((*points, 3))).astype(np.float32))
    volume.fill(1.0)
    kernels = (
        _to_grid(qd, n, x, v, affine, volume, momentum, mass),
        _on_grid(qd, momentum, mass, moving),
        _from_grid(qd, n, x, v, affine, moving),
    )

    def forward():
        for t in range(STEPS):
            for kernel in kernels:
                kernel(t)

    def reverse():
        for t in reversed(range(STEPS)):
            for kernel in reversed(kernels):
                kernel.grad(t)

    return Work(forward, reverse, kernels[0], (x.grad,), (0,))


def _weights(qd):
    """Quadratic B-splines: of the cells below, at and above a place in units of cells."""

    @qd.func
    def weights(at):
        return 0.5 * (1.5 - at) ** 2, 0.75 - (at - 1.0) ** 2, 0.5 * (at - 0.5) ** 2

    return weights


def _to_grid(qd, n, x, v, affine, volume, momentum, mass):
    """Momentum and mass of the particles, added to the grid."""
    weights, each = _weights(qd), 1.0 / n

    @qd.kernel
    def to_grid(t: qd.i32):
        for p in range(n):
            base = qd.cast(x[t, p] / DX - 0.5, qd.i32)
            at = x[t, p] / DX - qd.cast(base, qd.f32)
            w = weights(at)
            trace = affine[t, p][0, 0] + affine[t, p][1, 1] + affine[t, p][2, 2]
            volume[t + 1, p] = volume[t, p] * (1.0 + DT * trace)
            push = -DT * 4.0 / DX / DX * each * STIFFNESS * (volume[t + 1, p] - 1.0)
            for i, j, k in qd.static(qd.ndrange(3, 3, 3)):
                distance = (qd.Vector([float(i), float(j), float(k)]) - at) * DX
                share = w[i][0] * w[j][1] * w[k][2]
                to = base + qd.Vector([i, j, k])
                momentum[t, to] += share * (each * v[t, p] + each * (affine[t, p] @ distance) + push * distance)
                mass[t, to] += share * each

    return to_grid


def _on_grid(qd, momentum, mass, moving):
    """Velocities, from momentum and mass; nothing falls through the floor."""

    @qd.kernel
    def on_grid(t: qd.i32):
        for i, j, k in qd.ndrange(CELLS, CELLS, CELLS):
            u = momentum[t, i, j, k] / (mass[t, i, j, k] + 1e-10)
            u[1] -= DT * 9.8
            if j < 3 and u[1] < 0.0:
                u[1] = 0.0
            moving[t, i, j, k] = u

    return on_grid


def _from_grid(qd, n, x, v, affine, moving):
    """Velocities of the particles and their gradients, gathered from the grid."""
    weights = _weights(qd)

    @qd.kernel
    def from_grid(t: qd.i32):
        for p in range(n):
            base = qd.cast(x[t, p] / DX - 0.5, qd.i32)
            at = x[t, p] / DX - qd.cast(base, qd.f32)
            w = weights(at)
            u = qd.Vector([0.0, 0.0, 0.0])
            gradient = qd.Matrix([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
            for i, j, k in qd.static(qd.ndrange(3, 3, 3)):
                here = w[i][0] * w[j][1] * w[k][2] * moving[t, base + qd.Vector([i, j, k])]
                u += here
                gradient += 4.0 / DX * here.outer_product(qd.Vector([float(i), float(j), float(k)]) - at)
            v[t + 1, p] = u
            x[t + 1, p] = x[t, p] + DT * u
            affine[t + 1, p] = gradient

    return from_grid
