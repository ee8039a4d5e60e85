"""A fluid of smoothed particles (SPH) with lists of neighbours: the viscosity and stiffness with which it flows so.

Every step finds the neighbours of each particle anew, and then has loops as long as these lists. Four launches a step.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"across": 3, "steps": 3}, "full": {"across": 12, "steps": 96}}

DT, REACH, SPACING, GRAVITY, MOST, RATE = 0.004, 0.1, 0.05, -2.0, 48, 0.2


@qd.data_oriented
class Program:
    """The particles, their history, their neighbours, and two properties of the fluid."""

    def __init__(self, across, steps):
        self.steps, self.count = steps, across * across
        shape = (steps + 1, self.count)
        self.x, self.v = (qd.Vector.field(2, qd.f32, shape=shape, needs_grad=True) for _ in range(2))
        self.density = qd.field(qd.f32, shape=shape, needs_grad=True)
        self.force = qd.Vector.field(2, qd.f32, shape=shape, needs_grad=True)
        self.near = qd.field(qd.i32, shape=(steps, self.count, MOST))
        self.nears = qd.field(qd.i32, shape=(steps, self.count))
        self.wanted = qd.Vector.field(2, qd.f32, shape=self.count)
        self.stiffness, self.viscosity = (qd.field(qd.f32, shape=(), needs_grad=True) for _ in range(2))
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"stiffness": self.stiffness, "viscosity": self.viscosity}
        self.begin(across)

    def begin(self, across):
        draw = np.random.default_rng(6)
        grid = np.stack(np.meshgrid(np.arange(across), np.arange(across), indexing="ij"), axis=-1).reshape(-1, 2)
        start = SPACING * grid + 0.1 * SPACING * draw.standard_normal(grid.shape)
        history = np.zeros((self.steps + 1, self.count, 2), np.float32)
        history[0] = start
        self.x.from_numpy(history)
        self.wanted.from_numpy((1.05 * start + [0.02, -0.01]).astype(np.float32))
        self.stiffness[None] = 2.0
        self.viscosity[None] = 0.5

    @qd.kernel
    def find_neighbours(self, t: qd.i32):
        for i in range(self.count):
            count = 0
            for j in range(self.count):
                apart = self.x[t, i] - self.x[t, j]
                if i != j and apart.norm_sqr() < REACH * REACH and count < MOST:
                    self.near[t, i, count] = j
                    count += 1
            self.nears[t, i] = count

    @qd.kernel
    def weigh(self, t: qd.i32):
        for i in range(self.count):
            self.density[t, i] += 1.0
            for k in range(self.nears[t, i]):
                j = self.near[t, i, k]
                gap = 1.0 - (self.x[t, i] - self.x[t, j]).norm_sqr() / (REACH * REACH)
                self.density[t, i] += gap * gap * gap

    @qd.kernel
    def push(self, t: qd.i32):
        for i in range(self.count):
            for k in range(self.nears[t, i]):
                j = self.near[t, i, k]
                apart = self.x[t, i] - self.x[t, j]
                distance = qd.sqrt(apart.norm_sqr() + 1e-6)
                gap = qd.max(1.0 - distance / REACH, 0.0)
                pressure = self.stiffness[None] * (self.density[t, i] + self.density[t, j] - 4.0)
                self.force[t, i] += pressure * gap * gap / distance * apart
                self.force[t, i] += 4.0 * self.viscosity[None] * gap * (self.v[t, j] - self.v[t, i])

    @qd.kernel
    def advance(self, t: qd.i32):
        for i in range(self.count):
            v = self.v[t, i] + DT * (self.force[t, i] + qd.Vector([0.0, GRAVITY]))
            self.v[t + 1, i] = v
            self.x[t + 1, i] = self.x[t, i] + DT * v

    @qd.kernel
    def measure(self):
        for i in range(self.count):
            self.loss[None] += (self.x[self.steps, i] - self.wanted[i]).norm_sqr()

    @qd.kernel
    def clear(self):
        for t, i in self.density:
            self.density[t, i] = 0.0
            self.force[t, i] = qd.Vector([0.0, 0.0])

    def forward(self):
        """All steps, and the loss."""
        self.clear()
        self.simulate()

    def simulate(self):
        for t in range(self.steps):
            self.find_neighbours(t)
            self.weigh(t)
            self.push(t)
            self.advance(t)
        self.measure()

    def differentiate(self):
        """The loss and its gradients."""
        self.clear()
        with qd.ad.Tape(self.loss):
            self.simulate()
        return self.loss[None]

    def update(self):
        """Descend, on the host."""
        for field in self.inputs.values():
            field[None] -= RATE * field.grad[None]
