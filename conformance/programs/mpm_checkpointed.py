"""Material points as in mpm, with checkpoints by hand: a history of a segment only, and one grid for all steps.

On the way forward the first state of each segment is kept. On the way back each segment runs again from there, and then
its kernels in reverse, called one by one; the grid is computed anew for every step. There is no tape.
"""

import numpy as np

import adstack as qd

SIZES = {
    "reduced": {"across": 2, "cells": 6, "segment": 2, "segments": 2},
    "full": {"across": 16, "cells": 32, "segment": 16, "segments": 6},
}

GRAVITY, BULK, SHEAR, RATE = -4.0, 10.0, 10.0, 1.0
GOAL = (0.6, 0.35)


@qd.data_oriented
class Program:
    """The particles, the grids, and the velocity at the start."""

    def __init__(self, across, cells, segment, segments):
        self.cells, self.steps, self.segments, self.count = cells, segment, segments, across * across
        self.dx, self.dt = 1.0 / cells, 0.05 / cells
        self.volume = 0.25 / self.count
        particles, grid = (segment + 1, self.count), (cells, cells)
        self.x, self.v = (qd.Vector.field(2, qd.f32, shape=particles, needs_grad=True) for _ in range(2))
        self.affine, self.strain = (qd.Matrix.field(2, 2, qd.f32, shape=particles, needs_grad=True) for _ in range(2))
        self.momentum, self.moving = (qd.Vector.field(2, qd.f32, shape=grid, needs_grad=True) for _ in range(2))
        self.mass = qd.field(qd.f32, shape=grid, needs_grad=True)
        self.kept = qd.field(qd.f32, shape=(segments, self.count, 12))
        self.throw, self.center = (qd.Vector.field(2, qd.f32, shape=(), needs_grad=True) for _ in range(2))
        self.block = qd.Vector.field(2, qd.f32, shape=self.count)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"throw": self.throw}
        side = 0.3 + 0.25 * (np.arange(across) + 0.5) / across
        self.block.from_numpy(np.array([(a, b) for a in side for b in side], np.float32))
        self.throw[None] = [0.5, 0.2]

    @qd.kernel
    def begin(self):
        for p in range(self.count):
            self.x[0, p] = self.block[p]
            self.v[0, p] = self.throw[None]
            self.strain[0, p] = qd.Matrix([[1.0, 0.0], [0.0, 1.0]])
            self.affine[0, p] = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])

    @qd.kernel
    def to_grid(self, t: qd.i32):
        for p in range(self.count):
            base = qd.cast(self.x[t, p] / self.dx - 0.5, qd.i32)
            at = self.x[t, p] / self.dx - qd.cast(base, qd.f32)
            w = [0.5 * (1.5 - at) ** 2, 0.75 - (at - 1.0) ** 2, 0.5 * (at - 0.5) ** 2]
            strain = (qd.Matrix([[1.0, 0.0], [0.0, 1.0]]) + self.dt * self.affine[t, p]) @ self.strain[t, p]
            self.strain[t + 1, p] = strain
            volume = strain[0, 0] * strain[1, 1] - strain[0, 1] * strain[1, 0]
            stretch = strain @ strain.transpose()
            mean = 0.5 * (stretch[0, 0] + stretch[1, 1])
            level = BULK * volume * (volume - 1.0)
            stress = SHEAR * (stretch - qd.Matrix([[mean, 0.0], [0.0, mean]]))
            stress += qd.Matrix([[level, 0.0], [0.0, level]])
            affine = self.volume * (self.affine[t, p] - (4.0 * self.dt / self.dx / self.dx) * stress)
            for i, j in qd.static(qd.ndrange(3, 3)):
                distance = (qd.Vector([float(i), float(j)]) - at) * self.dx
                weight = w[i][0] * w[j][1]
                self.momentum[base + qd.Vector([i, j])] += weight * (self.volume * self.v[t, p] + affine @ distance)
                self.mass[base + qd.Vector([i, j])] += weight * self.volume

    @qd.kernel
    def on_grid(self):
        for i, j in qd.ndrange(self.cells, self.cells):
            v = self.momentum[i, j] / (self.mass[i, j] + 1e-10)
            v[1] += self.dt * GRAVITY
            if i < 3 and v[0] < 0.0:
                v[0] = 0.0
            if i > self.cells - 3 and v[0] > 0.0:
                v[0] = 0.0
            if j < 3 and v[1] < 0.0:
                v[0] = 0.0
                v[1] = 0.0
            if j > self.cells - 3 and v[1] > 0.0:
                v[1] = 0.0
            self.moving[i, j] = v

    @qd.kernel
    def from_grid(self, t: qd.i32):
        for p in range(self.count):
            base = qd.cast(self.x[t, p] / self.dx - 0.5, qd.i32)
            at = self.x[t, p] / self.dx - qd.cast(base, qd.f32)
            w = [0.5 * (1.5 - at) ** 2, 0.75 - (at - 1.0) ** 2, 0.5 * (at - 0.5) ** 2]
            v = qd.Vector([0.0, 0.0])
            affine = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in qd.static(qd.ndrange(3, 3)):
                here = w[i][0] * w[j][1] * self.moving[base + qd.Vector([i, j])]
                v += here
                affine += 4.0 / self.dx * here.outer_product(qd.Vector([float(i), float(j)]) - at)
            self.v[t + 1, p] = v
            self.x[t + 1, p] = self.x[t, p] + self.dt * v
            self.affine[t + 1, p] = affine

    @qd.kernel
    def find_center(self):
        for p in range(self.count):
            self.center[None] += self.x[self.steps, p] / self.count

    @qd.kernel
    def measure(self):
        self.loss[None] = (self.center[None] - qd.Vector([GOAL[0], GOAL[1]])).norm_sqr()

    @qd.kernel
    def clear_grid(self):
        for i, j in self.mass:
            self.momentum[i, j] = qd.Vector([0.0, 0.0])
            self.mass[i, j] = 0.0

    @qd.kernel
    def clear_grid_gradients(self):
        for i, j in self.mass:
            self.momentum.grad[i, j] = qd.Vector([0.0, 0.0])
            self.moving.grad[i, j] = qd.Vector([0.0, 0.0])
            self.mass.grad[i, j] = 0.0

    @qd.kernel
    def keep(self, s: qd.i32):
        for p in range(self.count):
            for d in qd.static(range(2)):
                self.kept[s, p, d] = self.x[0, p][d]
                self.kept[s, p, 2 + d] = self.v[0, p][d]
                for e in qd.static(range(2)):
                    self.kept[s, p, 4 + 2 * d + e] = self.strain[0, p][d, e]
                    self.kept[s, p, 8 + 2 * d + e] = self.affine[0, p][d, e]

    @qd.kernel
    def restore(self, s: qd.i32):
        for p in range(self.count):
            for d in qd.static(range(2)):
                self.x[0, p][d] = self.kept[s, p, d]
                self.v[0, p][d] = self.kept[s, p, 2 + d]
                for e in qd.static(range(2)):
                    self.strain[0, p][d, e] = self.kept[s, p, 4 + 2 * d + e]
                    self.affine[0, p][d, e] = self.kept[s, p, 8 + 2 * d + e]

    @qd.kernel
    def carry_over(self):
        for p in range(self.count):
            self.x[0, p] = self.x[self.steps, p]
            self.v[0, p] = self.v[self.steps, p]
            self.strain[0, p] = self.strain[self.steps, p]
            self.affine[0, p] = self.affine[self.steps, p]

    @qd.kernel
    def carry_back(self):
        for p in range(self.count):
            self.x.grad[self.steps, p] = self.x.grad[0, p]
            self.v.grad[self.steps, p] = self.v.grad[0, p]
            self.strain.grad[self.steps, p] = self.strain.grad[0, p]
            self.affine.grad[self.steps, p] = self.affine.grad[0, p]

    @qd.kernel
    def clear_gradients(self):
        for t, p in qd.ndrange(self.steps, self.count):
            self.x.grad[t, p] = qd.Vector([0.0, 0.0])
            self.v.grad[t, p] = qd.Vector([0.0, 0.0])
            self.strain.grad[t, p] = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
            self.affine.grad[t, p] = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])

    @qd.kernel
    def clear_ends(self):
        for p in range(self.count):
            self.x.grad[self.steps, p] = qd.Vector([0.0, 0.0])
            self.v.grad[self.steps, p] = qd.Vector([0.0, 0.0])
            self.strain.grad[self.steps, p] = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
            self.affine.grad[self.steps, p] = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
        self.center.grad[None] = qd.Vector([0.0, 0.0])
        self.throw.grad[None] = qd.Vector([0.0, 0.0])

    @qd.kernel
    def start_over(self):
        self.center[None] = qd.Vector([0.0, 0.0])

    def step(self, t):
        self.clear_grid()
        self.to_grid(t)
        self.on_grid()
        self.from_grid(t)

    def step_back(self, t):
        self.clear_grid()
        self.to_grid(t)
        self.on_grid()
        self.clear_grid_gradients()
        self.from_grid.grad(t)
        self.on_grid.grad()
        self.to_grid.grad(t)

    def forward(self):
        """All steps, and the loss."""
        self.start_over()
        self.begin()
        for s in range(self.segments):
            if s > 0:
                self.carry_over()
            self.keep(s)
            for t in range(self.steps):
                self.step(t)
        self.find_center()
        self.measure()

    def differentiate(self):
        """The loss and its gradients."""
        self.clear_ends()
        self.forward()
        self.loss.grad[None] = 1.0
        self.measure.grad()
        self.find_center.grad()
        for s in reversed(range(self.segments)):
            self.restore(s)
            for t in range(self.steps):
                self.step(t)
            self.clear_gradients()
            for t in reversed(range(self.steps)):
                self.step_back(t)
            if s > 0:
                self.carry_back()
        self.begin.grad()
        return self.loss[None]

    def update(self):
        """Descend, on the host."""
        slope = self.throw.grad[None]
        now = self.throw[None]
        self.throw[None] = [now[0] - RATE * slope[0], now[1] - RATE * slope[1]]
