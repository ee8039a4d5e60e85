"""Material points (MLS-MPM, elastic, plane): how a block must be thrown to land somewhere.

Particles and grids have a history, so that nothing is overwritten. Four launches a step.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"across": 2, "cells": 6, "steps": 3}, "full": {"across": 16, "cells": 32, "steps": 96}}

GRAVITY, BULK, SHEAR, RATE = -4.0, 10.0, 10.0, 1.0
GOAL = (0.6, 0.35)


@qd.data_oriented
class Program:
    """The particles, the grids, and the velocity at the start."""

    def __init__(self, across, cells, steps):
        self.cells, self.steps, self.count = cells, steps, across * across
        self.dx, self.dt = 1.0 / cells, 0.05 / cells
        self.volume = 0.25 / self.count
        particles, grid = (steps + 1, self.count), (steps, cells, cells)
        self.x, self.v = (qd.Vector.field(2, qd.f32, shape=particles, needs_grad=True) for _ in range(2))
        self.affine, self.strain = (qd.Matrix.field(2, 2, qd.f32, shape=particles, needs_grad=True) for _ in range(2))
        self.momentum, self.moving = (qd.Vector.field(2, qd.f32, shape=grid, needs_grad=True) for _ in range(2))
        self.mass = qd.field(qd.f32, shape=grid, needs_grad=True)
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
                self.momentum[t, base + qd.Vector([i, j])] += weight * (self.volume * self.v[t, p] + affine @ distance)
                self.mass[t, base + qd.Vector([i, j])] += weight * self.volume

    @qd.kernel
    def on_grid(self, t: qd.i32):
        for i, j in qd.ndrange(self.cells, self.cells):
            v = self.momentum[t, i, j] / (self.mass[t, i, j] + 1e-10)
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
            self.moving[t, i, j] = v

    @qd.kernel
    def from_grid(self, t: qd.i32):
        for p in range(self.count):
            base = qd.cast(self.x[t, p] / self.dx - 0.5, qd.i32)
            at = self.x[t, p] / self.dx - qd.cast(base, qd.f32)
            w = [0.5 * (1.5 - at) ** 2, 0.75 - (at - 1.0) ** 2, 0.5 * (at - 0.5) ** 2]
            v = qd.Vector([0.0, 0.0])
            affine = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in qd.static(qd.ndrange(3, 3)):
                here = w[i][0] * w[j][1] * self.moving[t, base + qd.Vector([i, j])]
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
    def clear(self):
        for t, i, j in self.mass:
            self.momentum[t, i, j] = qd.Vector([0.0, 0.0])
            self.mass[t, i, j] = 0.0
        self.center[None] = qd.Vector([0.0, 0.0])

    def forward(self):
        """All steps, and the loss."""
        self.clear()
        self.simulate()

    def simulate(self):
        self.begin()
        for t in range(self.steps):
            self.to_grid(t)
            self.on_grid(t)
            self.from_grid(t)
        self.find_center()
        self.measure()

    def differentiate(self):
        """The loss and its gradients."""
        self.clear()
        with qd.ad.Tape(self.loss):
            self.simulate()
        return self.loss[None]

    def update(self):
        """Descend, on the host."""
        slope = self.throw.grad[None]
        now = self.throw[None]
        self.throw[None] = [now[0] - RATE * slope[0], now[1] - RATE * slope[1]]
