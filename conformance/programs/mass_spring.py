"""A robot of masses and springs that runs: what its muscles do is found by gradient descent.

Springs push and pull in time with a sine of their own, Euler steps fill a history of positions and velocities, and
the loss is how far the robot's head has come. Two small launches a step.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"legs": 2, "steps": 6}, "full": {"legs": 4, "steps": 512}}

DT, STIFFNESS, GRAVITY, DAMPING, GROUND, RATE = 0.004, 300.0, -1.8, 15.0, 0.1, 0.2


def body(legs):
    """Where the masses are, and which two each spring joins: a row of boxes with crosses, on a row of legs."""
    points = [(0.1 + 0.1 * i, GROUND + 0.002 + 0.1 * j) for i in range(legs + 1) for j in range(2)]
    springs = []
    for i in range(legs):
        a = 2 * i
        springs += [(a, a + 1), (a, a + 2), (a + 1, a + 3), (a, a + 3), (a + 1, a + 2)]
    springs.append((2 * legs, 2 * legs + 1))
    return np.array(points, np.float32), np.array(springs, np.int32)


@qd.data_oriented
class Program:
    """The robot, its history and the parameters of its muscles."""

    def __init__(self, legs, steps):
        points, springs = body(legs)
        self.steps, self.masses, self.springs = steps, len(points), len(springs)
        self.x, self.v, self.force = (
            qd.Vector.field(2, qd.f32, shape=(steps + 1, self.masses), needs_grad=True) for _ in range(3)
        )
        self.ends = qd.Vector.field(2, qd.i32, shape=self.springs)
        self.rest = qd.field(qd.f32, shape=self.springs)
        self.strength = qd.field(qd.f32, shape=self.springs, needs_grad=True)
        self.phase = qd.field(qd.f32, shape=self.springs, needs_grad=True)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"strength": self.strength, "phase": self.phase}
        self.begin(points, springs)

    def begin(self, points, springs):
        start = np.zeros((self.steps + 1, self.masses, 2), np.float32)
        start[0] = points
        self.x.from_numpy(start)
        self.ends.from_numpy(springs)
        self.rest.from_numpy(np.linalg.norm(points[springs[:, 0]] - points[springs[:, 1]], axis=1))
        draw = np.random.default_rng(0)
        self.strength.from_numpy(draw.uniform(-0.1, 0.1, self.springs).astype(np.float32))
        self.phase.from_numpy(draw.uniform(0.0, 6.0, self.springs).astype(np.float32))

    @qd.kernel
    def pull(self, t: qd.i32):
        for s in range(self.springs):
            a, b = self.ends[s][0], self.ends[s][1]
            apart = self.x[t, a] - self.x[t, b]
            length = apart.norm() + 1e-4
            wanted = self.rest[s] * (1.0 + self.strength[s] * qd.sin(40.0 * DT * t + self.phase[s]))
            pull = STIFFNESS * (length - wanted) / length * apart
            self.force[t, a] += -pull
            self.force[t, b] += pull

    @qd.kernel
    def advance(self, t: qd.i32):
        for i in range(self.masses):
            v = qd.exp(-DT * DAMPING) * self.v[t, i] + DT * (self.force[t, i] + qd.Vector([0.0, GRAVITY]))
            x = self.x[t, i]
            if x[1] < GROUND and v[1] < 0.0:
                v = qd.Vector([0.0, 0.0])
            self.v[t + 1, i] = v
            self.x[t + 1, i] = x + DT * v

    @qd.kernel
    def measure(self):
        self.loss[None] = -self.x[self.steps, self.masses - 1][0]

    @qd.kernel
    def clear(self):
        for t, i in self.force:
            self.force[t, i] = qd.Vector([0.0, 0.0])

    def forward(self):
        """All steps, and the loss."""
        self.clear()
        self.simulate()

    def simulate(self):
        for t in range(self.steps):
            self.pull(t)
            self.advance(t)
        self.measure()

    def differentiate(self):
        """The loss and its gradients."""
        self.clear()
        with qd.ad.Tape(self.loss):
            self.simulate()
        return self.loss[None]

    @qd.kernel
    def update(self):
        for s in range(self.springs):
            self.strength[s] -= RATE * self.strength.grad[s]
            self.phase[s] -= RATE * self.phase.grad[s]
