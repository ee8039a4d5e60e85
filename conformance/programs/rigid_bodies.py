"""A walker of rigid boxes, with springs as muscles between them: when the muscles shorten is found by gradient descent.

A step is four launches: muscles, contacts of corners with the ground, impulses into velocities, and the poses.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"legs": 2, "steps": 6}, "full": {"legs": 4, "steps": 384}}

DT, GRAVITY, GROUND, STIFFNESS, PENALTY, FRICTION, DRAG, RATE = 0.004, -9.8, 0.0, 60.0, 400.0, 0.9, 1.0, 0.5
CORNERS = 4


@qd.func
def turned(angle, arm):
    return qd.Vector([qd.cos(angle) * arm[0] - qd.sin(angle) * arm[1], qd.sin(angle) * arm[0] + qd.cos(angle) * arm[1]])


@qd.data_oriented
class Program:
    """Boxes, muscles, and their history. Box 0 is the trunk."""

    def __init__(self, legs, steps):
        self.steps, self.boxes, self.muscles = steps, legs + 1, 2 * legs
        shape = (steps + 1, self.boxes)
        self.x, self.v, self.push = (qd.Vector.field(2, qd.f32, shape=shape, needs_grad=True) for _ in range(3))
        self.angle, self.spin, self.twist = (qd.field(qd.f32, shape=shape, needs_grad=True) for _ in range(3))
        self.half = qd.Vector.field(2, qd.f32, shape=self.boxes)
        self.mass, self.inertia = qd.field(qd.f32, shape=self.boxes), qd.field(qd.f32, shape=self.boxes)
        self.arm, self.hip = (qd.Vector.field(2, qd.f32, shape=self.muscles) for _ in range(2))
        self.rest = qd.field(qd.f32, shape=self.muscles)
        self.strength, self.phase = (qd.field(qd.f32, shape=self.muscles, needs_grad=True) for _ in range(2))
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"strength": self.strength, "phase": self.phase}
        self.begin(legs)

    def begin(self, legs):
        half = np.array([(0.15 * legs, 0.05)] + [(0.05, 0.12)] * legs, np.float32)
        places = [(0.0, 0.30)] + [(0.3 * (k + 0.5) - 0.15 * legs, 0.119) for k in range(legs)]
        history = np.zeros((self.steps + 1, self.boxes, 2), np.float32)
        history[0] = places
        self.x.from_numpy(history)
        self.half.from_numpy(half)
        mass = 4.0 * half[:, 0] * half[:, 1] * 20.0
        self.mass.from_numpy(mass)
        self.inertia.from_numpy((mass * (half**2).sum(axis=1) / 3.0).astype(np.float32))
        # Muscle m is at leg m // 2 + 1, at the left and at the right of its top, and at the trunk above.
        side = np.array([(0.05 * (2 * (m % 2) - 1), 0.12) for m in range(self.muscles)], np.float32)
        above = np.array([(places[m // 2 + 1][0] + 0.08 * (2 * (m % 2) - 1), -0.05) for m in range(self.muscles)])
        self.arm.from_numpy(side)
        self.hip.from_numpy(above.astype(np.float32))
        legs_at = np.array([places[m // 2 + 1] for m in range(self.muscles)])
        lengths = np.linalg.norm(legs_at + side - above - np.array(places[0]), axis=1)
        self.rest.from_numpy(lengths.astype(np.float32))
        draw = np.random.default_rng(5)
        self.strength.from_numpy(draw.uniform(-0.2, 0.2, self.muscles).astype(np.float32))
        self.phase.from_numpy(draw.uniform(0.0, 6.0, self.muscles).astype(np.float32))

    @qd.kernel
    def pull(self, t: qd.i32):
        for m in range(self.muscles):
            leg = m // 2 + 1
            a = turned(self.angle[t, leg], self.arm[m])
            b = turned(self.angle[t, 0], self.hip[m])
            apart = self.x[t, leg] + a - self.x[t, 0] - b
            length = apart.norm() + 1e-4
            wanted = self.rest[m] * (1.0 + self.strength[m] * qd.sin(12.0 * DT * t + self.phase[m]))
            impulse = DT * STIFFNESS * (wanted - length) / length * apart
            self.push[t, leg] += impulse
            self.push[t, 0] += -impulse
            self.twist[t, leg] += a[0] * impulse[1] - a[1] * impulse[0]
            self.twist[t, 0] += b[1] * impulse[0] - b[0] * impulse[1]

    @qd.kernel
    def touch(self, t: qd.i32):
        for b, c in qd.ndrange(self.boxes, CORNERS):
            across, up = 1.0, 1.0
            if c % 2 == 0:
                across = -1.0
            if c // 2 == 0:
                up = -1.0
            arm = turned(self.angle[t, b], qd.Vector([across * self.half[b][0], up * self.half[b][1]]))
            depth = GROUND - (self.x[t, b][1] + arm[1])
            if depth > 0.0:
                slide = self.v[t, b][0] - self.spin[t, b] * arm[1]
                lift = DT * PENALTY * depth
                drag = -FRICTION * lift * qd.tanh(10.0 * slide)
                self.push[t, b] += qd.Vector([drag, lift])
                self.twist[t, b] += arm[0] * lift - arm[1] * drag

    @qd.kernel
    def accelerate(self, t: qd.i32):
        for b in range(self.boxes):
            fall = qd.Vector([0.0, DT * GRAVITY])
            self.v[t + 1, b] = (self.v[t, b] + self.push[t, b] / self.mass[b] + fall) * qd.exp(-DT * DRAG)
            self.spin[t + 1, b] = (self.spin[t, b] + self.twist[t, b] / self.inertia[b]) * qd.exp(-DT * DRAG)

    @qd.kernel
    def move(self, t: qd.i32):
        for b in range(self.boxes):
            self.x[t + 1, b] = self.x[t, b] + DT * self.v[t + 1, b]
            self.angle[t + 1, b] = self.angle[t, b] + DT * self.spin[t + 1, b]

    @qd.kernel
    def measure(self):
        self.loss[None] = -self.x[self.steps, 0][0]

    @qd.kernel
    def clear(self):
        for t, b in self.push:
            self.push[t, b] = qd.Vector([0.0, 0.0])
            self.twist[t, b] = 0.0

    def forward(self):
        """All steps, and the loss."""
        self.clear()
        self.simulate()

    def simulate(self):
        for t in range(self.steps):
            self.pull(t)
            self.touch(t)
            self.accelerate(t)
            self.move(t)
        self.measure()

    def differentiate(self):
        """The loss and its gradients."""
        self.clear()
        with qd.ad.Tape(self.loss):
            self.simulate()
        return self.loss[None]

    @qd.kernel
    def update(self):
        for m in range(self.muscles):
            self.strength[m] -= RATE * self.strength.grad[m]
            self.phase[m] -= RATE * self.phase.grad[m]
