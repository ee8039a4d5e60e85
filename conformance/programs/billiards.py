"""Billiards: where the cue ball starts, and how fast, so that one ball of the rack comes to a given place.

Balls that touch exchange impulses, and a time step is two launches: all pairs, then all balls.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"layers": 2, "steps": 8, "dt": 0.05}, "full": {"layers": 4, "steps": 512, "dt": 0.003}}

RADIUS, ELASTICITY, RATE, GOAL = 0.03, 0.8, 0.003, (0.9, 0.75)


@qd.data_oriented
class Program:
    """The balls and their history; ball 0 is the cue ball."""

    def __init__(self, layers, steps, dt):
        self.steps, self.dt, self.balls = steps, dt, 1 + layers * (layers + 1) // 2
        shape = (steps + 1, self.balls)
        self.x, self.v, self.moved, self.impulse = (
            qd.Vector.field(2, qd.f32, shape=shape, needs_grad=True) for _ in range(4)
        )
        self.start, self.speed = (qd.Vector.field(2, qd.f32, shape=(), needs_grad=True) for _ in range(2))
        self.rack = qd.Vector.field(2, qd.f32, shape=self.balls)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"start": self.start, "speed": self.speed}
        rows = [(0.5 + 2 * i * RADIUS, 0.5 + (2 * j - i) * RADIUS * 1.03) for i in range(layers) for j in range(i + 1)]
        self.rack.from_numpy(np.array([(0.0, 0.0), *rows], np.float32))
        self.start[None] = [0.35, 0.51]
        self.speed[None] = [0.6, 0.01]

    @qd.kernel
    def place(self):
        for i in range(self.balls):
            if i == 0:
                self.x[0, i] = self.start[None]
                self.v[0, i] = self.speed[None]
            else:
                self.x[0, i] = self.rack[i]
                self.v[0, i] = qd.Vector([0.0, 0.0])

    @qd.kernel
    def collide(self, t: qd.i32):
        for i in range(self.balls):
            for j in range(self.balls):
                if i != j:
                    apart = (self.x[t, i] + self.dt * self.v[t, i]) - (self.x[t, j] + self.dt * self.v[t, j])
                    distance = apart.norm()
                    if distance < 2.0 * RADIUS:
                        direction = apart / distance
                        closing = direction.dot(self.v[t, i] - self.v[t, j])
                        if closing < 0.0:
                            self.impulse[t + 1, i] += -(1.0 + ELASTICITY) * 0.5 * closing * direction
                            when = (distance - 2.0 * RADIUS) / qd.min(closing, -1e-3)
                            later = qd.min(when - self.dt, 0.0)
                            self.moved[t + 1, i] += later * (1.0 + ELASTICITY) * 0.5 * closing * direction

    @qd.kernel
    def advance(self, t: qd.i32):
        for i in range(self.balls):
            self.v[t + 1, i] = self.v[t, i] + self.impulse[t + 1, i]
            self.x[t + 1, i] = self.x[t, i] + self.dt * (self.v[t, i] + self.impulse[t + 1, i]) + self.moved[t + 1, i]

    @qd.kernel
    def measure(self):
        self.loss[None] = (self.x[self.steps, self.balls - 1] - qd.Vector([GOAL[0], GOAL[1]])).norm_sqr()

    @qd.kernel
    def clear(self):
        for t, i in self.impulse:
            self.impulse[t, i] = qd.Vector([0.0, 0.0])
            self.moved[t, i] = qd.Vector([0.0, 0.0])

    def forward(self):
        """All steps, and the loss."""
        self.clear()
        self.simulate()

    def simulate(self):
        self.place()
        for t in range(self.steps):
            self.collide(t)
            self.advance(t)
        self.measure()

    def differentiate(self):
        """The loss and its gradients."""
        self.clear()
        with qd.ad.Tape(self.loss):
            self.simulate()
        return self.loss[None]

    def update(self):
        """Descend, element by element on the host."""
        for field in self.inputs.values():
            for d in range(2):
                field[None][d] -= RATE * field.grad[None][d]
