"""A robot of masses and springs whose muscles a small network controls: two dense layers in every time step.

The network sees sines of the time, and where each mass is, from the body's centre, and how fast it moves. Its weights
are updated on the host, by gradient descent with a bound on the size of the step. Five small launches a step.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"legs": 1, "hidden": 4, "steps": 4}, "full": {"legs": 3, "hidden": 32, "steps": 128}}

DT, STIFFNESS, GRAVITY, DAMPING, GROUND, RATE, WAVES = 0.004, 300.0, -1.8, 15.0, 0.1, 0.1, 4


def body(legs):
    """Where the masses are, and which two each spring joins."""
    points = [(0.1 + 0.1 * i, GROUND + 0.002 + 0.1 * j) for i in range(legs + 1) for j in range(2)]
    springs = [(2 * i + a, 2 * i + b) for i in range(legs) for a, b in ((0, 1), (0, 2), (1, 3), (0, 3), (1, 2))]
    return np.array(points, np.float32), np.array([*springs, (2 * legs, 2 * legs + 1)], np.int32)


@qd.data_oriented
class Program:
    """The robot, its history, and the network."""

    def __init__(self, legs, hidden, steps):
        points, springs = body(legs)
        self.steps, self.masses, self.springs, self.hidden = steps, len(points), len(springs), hidden
        self.seen = WAVES + 4 * self.masses
        self.x, self.v, self.force = (
            qd.Vector.field(2, qd.f32, shape=(steps + 1, self.masses), needs_grad=True) for _ in range(3)
        )
        self.center = qd.Vector.field(2, qd.f32, shape=steps, needs_grad=True)
        self.layer = qd.field(qd.f32, shape=(steps, hidden), needs_grad=True)
        self.muscle = qd.field(qd.f32, shape=(steps, self.springs), needs_grad=True)
        self.ends = qd.Vector.field(2, qd.i32, shape=self.springs)
        self.rest = qd.field(qd.f32, shape=self.springs)
        self.w1 = qd.field(qd.f32, shape=(hidden, self.seen), needs_grad=True)
        self.b1 = qd.field(qd.f32, shape=hidden, needs_grad=True)
        self.w2 = qd.field(qd.f32, shape=(self.springs, hidden), needs_grad=True)
        self.b2 = qd.field(qd.f32, shape=self.springs, needs_grad=True)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"w1": self.w1, "b1": self.b1, "w2": self.w2, "b2": self.b2}
        self.begin(points, springs)

    def begin(self, points, springs):
        start = np.zeros((self.steps + 1, self.masses, 2), np.float32)
        start[0] = points
        self.x.from_numpy(start)
        self.ends.from_numpy(springs)
        self.rest.from_numpy(np.linalg.norm(points[springs[:, 0]] - points[springs[:, 1]], axis=1))
        draw = np.random.default_rng(1)
        self.w1.from_numpy(0.3 * draw.standard_normal((self.hidden, self.seen), np.float32))
        self.w2.from_numpy(0.3 * draw.standard_normal((self.springs, self.hidden), np.float32))

    @qd.kernel
    def find_center(self, t: qd.i32):
        for i in range(self.masses):
            self.center[t] += self.x[t, i] / self.masses

    @qd.kernel
    def look(self, t: qd.i32):
        for h in range(self.hidden):
            for k in qd.static(range(WAVES)):
                self.layer[t, h] += self.w1[h, k] * qd.sin(40.0 * DT * t + 2.0 * np.pi / WAVES * k)
            for i in range(self.masses):
                for d in qd.static(range(2)):
                    self.layer[t, h] += self.w1[h, WAVES + 4 * i + d] * 5.0 * (self.x[t, i][d] - self.center[t][d])
                    self.layer[t, h] += self.w1[h, WAVES + 4 * i + 2 + d] * self.v[t, i][d]

    @qd.kernel
    def decide(self, t: qd.i32):
        for s, h in qd.ndrange(self.springs, self.hidden):
            self.muscle[t, s] += self.w2[s, h] * qd.tanh(self.layer[t, h] + self.b1[h])

    @qd.kernel
    def pull(self, t: qd.i32):
        for s in range(self.springs):
            a, b = self.ends[s][0], self.ends[s][1]
            apart = self.x[t, a] - self.x[t, b]
            length = apart.norm() + 1e-4
            wanted = self.rest[s] * (1.0 + 0.15 * qd.tanh(self.muscle[t, s] + self.b2[s]))
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
        for t in self.center:
            self.center[t] = qd.Vector([0.0, 0.0])
        for t, h in self.layer:
            self.layer[t, h] = 0.0
        for t, s in self.muscle:
            self.muscle[t, s] = 0.0

    def forward(self):
        """All steps, and the loss."""
        self.clear()
        self.simulate()

    def simulate(self):
        for t in range(self.steps):
            self.find_center(t)
            self.look(t)
            self.decide(t)
            self.pull(t)
            self.advance(t)
        self.measure()

    def differentiate(self):
        """The loss and its gradients."""
        self.clear()
        with qd.ad.Tape(self.loss):
            self.simulate()
        return self.loss[None]

    def update(self):
        """Descend, by steps of bounded size."""
        gradients = {name: field.grad.to_numpy() for name, field in self.inputs.items()}
        size = np.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
        for name, field in self.inputs.items():
            field.from_numpy(field.to_numpy() - np.float32(RATE / max(size, 1.0)) * gradients[name])
