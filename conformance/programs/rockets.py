"""Rockets between planets: the thrust of every step is optimised by Adam, written in Python between the iterations.

Kernels take fields as templates. A step is two launches; every so often a third one adds to the loss.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"rockets": 2, "planets": 2, "steps": 5}, "full": {"rockets": 32, "planets": 4, "steps": 192}}

DT, PULL, SOFT, FUEL, RATE, FIRST, SECOND, OFTEN = 0.02, 0.3, 0.05, 1e-3, 0.05, 0.9, 0.999, 4


@qd.kernel
def drift(x: qd.template(), half: qd.template(), v: qd.template(), t: qd.i32):
    for i in range(x.shape[1]):
        half[t, i] = x[t, i] + 0.5 * DT * v[t, i]


@qd.kernel
def kick(
    x: qd.template(),
    half: qd.template(),
    v: qd.template(),
    thrust: qd.template(),
    planets: qd.template(),
    t: qd.i32,
):
    for i in range(x.shape[1]):
        force = thrust[t, i]
        for p in qd.static(range(planets.shape[0])):
            apart = planets[p] - half[t, i]
            near = apart.norm_sqr() + SOFT
            force += PULL / (near * qd.sqrt(near)) * apart
        v[t + 1, i] = v[t, i] + DT * force
        x[t + 1, i] = half[t, i] + 0.5 * DT * (v[t, i] + DT * force)


@qd.kernel
def burn(thrust: qd.template(), loss: qd.template(), t: qd.i32):
    for i in range(thrust.shape[1]):
        loss[None] += FUEL * thrust[t, i].norm_sqr()


@qd.kernel
def arrive(x: qd.template(), goals: qd.template(), loss: qd.template(), t: qd.i32):
    for i in range(x.shape[1]):
        loss[None] += (x[t, i] - goals[i]).norm_sqr()


class Program:
    """The rockets, and the moments of Adam."""

    def __init__(self, rockets, planets, steps):
        self.steps, self.rounds = steps, 0
        self.x, self.v, self.half, self.thrust = (
            qd.Vector.field(2, qd.f32, shape=(steps + 1, rockets), needs_grad=True) for _ in range(4)
        )
        self.planets, self.goals = qd.Vector.field(2, qd.f32, shape=planets), qd.Vector.field(2, qd.f32, shape=rockets)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"thrust": self.thrust}
        draw = np.random.default_rng(7)
        self.planets.from_numpy(draw.uniform(-1.0, 1.0, (planets, 2)).astype(np.float32))
        self.goals.from_numpy(draw.uniform(-1.0, 1.0, (rockets, 2)).astype(np.float32))
        history = np.zeros((steps + 1, rockets, 2), np.float32)
        history[0] = draw.uniform(-1.0, 1.0, (rockets, 2))
        self.x.from_numpy(history)
        self.thrust.from_numpy((0.1 * draw.standard_normal(history.shape)).astype(np.float32))
        self.mean, self.square = np.zeros_like(history), np.zeros_like(history)

    def forward(self):
        """All steps, and the loss."""
        for t in range(self.steps):
            drift(self.x, self.half, self.v, t)
            kick(self.x, self.half, self.v, self.thrust, self.planets, t)
            if t % OFTEN == 0:
                burn(self.thrust, self.loss, t)
        arrive(self.x, self.goals, self.loss, self.steps)

    def differentiate(self):
        """The loss and its gradients."""
        with qd.ad.Tape(self.loss):
            self.forward()
        return self.loss[None]

    def update(self):
        """A step of Adam (Kingma and Ba, 2015)."""
        gradient = self.thrust.grad.to_numpy()
        self.rounds += 1
        self.mean = FIRST * self.mean + (1.0 - FIRST) * gradient
        self.square = SECOND * self.square + (1.0 - SECOND) * gradient**2
        mean, square = self.mean / (1.0 - FIRST**self.rounds), self.square / (1.0 - SECOND**self.rounds)
        step = RATE * mean / (np.sqrt(square) + 1e-8)
        self.thrust.from_numpy((self.thrust.to_numpy() - step).astype(np.float32))
