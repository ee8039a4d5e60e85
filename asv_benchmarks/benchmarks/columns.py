"""Jacobians and Hessians by `qd.ad`: 64 columns of a program of a few launches, and how many calls that takes."""

from __future__ import annotations

import numpy as np

from .common import COMPILED, finishing, opened

COLUMNS = 64


def program(qd, extent):
    """(function, output, parameter): what every row computes depends on all 64 parameters, in a loop of sines."""
    x, t, y = (qd.field(qd.f32, shape=n, needs_grad=True, needs_dual=True) for n in (COLUMNS, extent, extent))

    @qd.kernel
    def rows():
        for i in t:
            s = 0.5
            for j in range(COLUMNS):
                s = qd.sin(s + x[j]) + 0.25 * s
            t[i] = s

    @qd.kernel
    def neighbours():
        for i in y:
            y[i] = t[i] * t[(i + 1) % extent]

    x.from_numpy(np.linspace(-1.0, 1.0, COLUMNS, dtype=np.float32))

    def function():
        rows()
        neighbours()

    return function, y, x


class Jacobian:
    """Seconds of a Jacobian whose kernels are compiled."""

    params = (COMPILED, (16, 4096))
    param_names = ("backend", "rows")
    timeout = 300

    def setup(self, backend, rows):
        qd = opened(backend)
        function, y, x = program(qd, rows)
        self.jacobian = finishing(qd, backend, lambda: qd.ad.jacobian(function, y, x))
        self.jacobian()

    def time_64_columns(self, backend, rows):
        self.jacobian()


def with_loss(qd, extent):
    """(function, loss, parameter): the sum of the squares of what `program` computes."""
    function, y, x = program(qd, extent)
    loss = qd.field(qd.f32, shape=(), needs_grad=True, needs_dual=True)

    @qd.kernel
    def squares():
        for i in y:
            loss[None] += y[i] * y[i]

    def summed():
        function()
        squares()

    return summed, loss, x


class Hessian:
    """Seconds of a Hessian whose kernels are compiled."""

    params = (COMPILED, (16, 4096))
    param_names = ("backend", "rows")
    timeout = 600

    def setup(self, backend, rows):
        qd = opened(backend)
        function, loss, x = with_loss(qd, rows)
        self.hessian = finishing(qd, backend, lambda: qd.ad.hessian(function, loss, x))
        self.hessian()

    def time_64_columns(self, backend, rows):
        self.hessian()


class Calls:
    """How often a Jacobian calls the function."""

    params = (COMPILED,)
    param_names = ("backend",)
    unit = "calls"

    def track_64_columns(self, backend):
        qd = opened(backend)
        function, y, x = program(qd, 16)
        calls = []

        def counted():
            calls.append(None)
            function()

        qd.ad.jacobian(counted, y, x)
        return len(calls)


class HessianCalls:
    """How often a Hessian calls the function."""

    params = (COMPILED,)
    param_names = ("backend",)
    unit = "calls"

    def track_64_columns(self, backend):
        qd = opened(backend)
        function, loss, x = with_loss(qd, 16)
        calls = []

        def counted():
            calls.append(None)
            function()

        qd.ad.hessian(counted, loss, x)
        return len(calls)
