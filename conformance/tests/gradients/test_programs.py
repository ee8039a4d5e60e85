"""Whole programs that step through time in place, under a tape; their gradients agree with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("arch")


@qd.func
def weights(at: qd.types.vector(2, qd.f64)):
    return [0.5 * (1.5 - at) ** 2, 0.75 - (at - 1) ** 2, 0.5 * (at - 0.5) ** 2]


@qd.data_oriented
class Points:
    """Material points that move over a grid."""

    def __init__(self, n: int, cells: int) -> None:
        self.dx, self.dt = 1.0 / cells, 2e-2
        self.x, self.v = (qd.Vector.field(2, qd.f64, shape=n, needs_grad=True) for _ in range(2))
        self.affine = qd.Matrix.field(2, 2, qd.f64, shape=n, needs_grad=True)
        self.volume = qd.field(qd.f64, shape=n, needs_grad=True)
        self.momentum = qd.Vector.field(2, qd.f64, shape=(cells, cells), needs_grad=True)
        self.mass = qd.field(qd.f64, shape=(cells, cells), needs_grad=True)
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def clear(self):
        for i, j in self.mass:
            self.momentum[i, j] = [0.0, 0.0]
            self.mass[i, j] = 0.0

    @qd.kernel
    def to_grid(self):
        for p in self.x:
            base = qd.cast(self.x[p] / self.dx - 0.5, qd.i32)
            at = self.x[p] / self.dx - qd.cast(base, qd.f64)
            w = weights(at)
            pressure = -self.dt * 20.0 * (self.volume[p] - 1)
            a = qd.Matrix([[pressure, 0.0], [0.0, pressure]]) + self.affine[p]
            for i, j in qd.static(qd.ndrange(3, 3)):
                distance = (qd.Vector([float(i), float(j)]) - at) * self.dx
                weight = w[i][0] * w[j][1]
                self.momentum[base + qd.Vector([i, j])] += weight * (self.v[p] + a @ distance)
                self.mass[base + qd.Vector([i, j])] += weight

    @qd.kernel
    def on_grid(self):
        for i, j in self.mass:
            if self.mass[i, j] > 0:
                self.momentum[i, j] = self.momentum[i, j] / self.mass[i, j]
            self.momentum[i, j][1] -= self.dt * 9.8
            if j < 1 and self.momentum[i, j][1] < 0:
                self.momentum[i, j][1] = 0.0

    @qd.kernel
    def from_grid(self):
        for p in self.x:
            base = qd.cast(self.x[p] / self.dx - 0.5, qd.i32)
            at = self.x[p] / self.dx - qd.cast(base, qd.f64)
            w = weights(at)
            new = qd.Vector([0.0, 0.0])
            spread = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in qd.static(qd.ndrange(3, 3)):
                distance = (qd.Vector([float(i), float(j)]) - at) * self.dx
                here = w[i][0] * w[j][1] * self.momentum[base + qd.Vector([i, j])]
                new += here
                spread += 4 / self.dx / self.dx * here.outer_product(distance)
            self.v[p] = new
            self.x[p] += self.dt * self.v[p]
            self.volume[p] *= 1 + self.dt * (spread[0, 0] + spread[1, 1])
            self.affine[p] = spread

    @qd.kernel
    def evaluate(self):
        for p in self.x:
            self.loss[None] += self.x[p].norm_sqr() * self.volume[p]


def test_material_points_on_a_grid() -> None:
    points = Points(4, 6)
    rng = np.random.default_rng(0)
    points.x.from_numpy(rng.uniform(0.35, 0.6, (4, 2)))
    points.v.from_numpy(0.3 * rng.normal(size=(4, 2)))
    points.volume.fill(1.0)
    with qd.ad.Tape(points.loss, grad_check=[points.x, points.v]):
        for _ in range(4):
            points.clear()
            points.to_grid()
            points.on_grid()
            points.from_grid()
        points.evaluate()
    assert np.all(points.x.grad.to_numpy() != 0.0)


def test_springs_in_place() -> None:
    n, dt = 5, 0.05
    x, v = (qd.Vector.field(2, qd.f64, shape=n, needs_grad=True) for _ in range(2))
    stiffness = qd.field(qd.f64, shape=n, needs_grad=True)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def pull():
        for i in x:
            force = qd.Vector([0.0, -1.0])
            for side in range(2):
                d = x[(i + 2 * side - 1 + n) % n] - x[i]
                length = d.norm()
                force += stiffness[i] * (length - 0.7) * d / length
            v[i] = 0.98 * (v[i] + dt * force)

    @qd.kernel
    def move():
        for i in x:
            x[i] += dt * v[i]

    @qd.kernel
    def evaluate():
        for i in x:
            loss[None] += x[i].norm_sqr()

    rng = np.random.default_rng(1)
    x.from_numpy(rng.normal(size=(n, 2)))
    stiffness.from_numpy(rng.uniform(1, 3, n))
    with qd.ad.Tape(loss, grad_check=[x, v, stiffness]) as tape:
        for _ in range(8):
            pull()
            move()
        evaluate()
    assert len(tape.calls) == 17


def test_a_wave_on_a_ring_that_the_host_pushes() -> None:
    n = 8
    u, w, speed = (qd.field(qd.f64, shape=n, needs_grad=True) for _ in range(3))
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def step():
        for i in u:
            w[i] += 0.1 * speed[i] * speed[i] * (u[(i + 1) % n] + u[(i + n - 1) % n] - 2 * u[i])
        for i in u:
            u[i] += 0.1 * qd.sin(w[i])

    @qd.kernel
    def evaluate():
        for i in u:
            loss[None] += u[i] ** 4

    rng = np.random.default_rng(2)
    u.from_numpy(rng.normal(size=n))
    speed.from_numpy(rng.uniform(0.5, 1.5, n))
    with qd.ad.Tape(loss, grad_check=[u, w, speed]):
        for t in range(6):
            step()
            u[t] = 0.5 + 0.1 * t
        evaluate()
    assert np.all(speed.grad.to_numpy() != 0.0)
