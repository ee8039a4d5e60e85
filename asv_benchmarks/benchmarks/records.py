"""What launches cost that may be differentiated later, where something that they need is overwritten in between."""

import numpy as np

from .common import COMPILED, called, opened
from .dispatch import python_calls

SIZE = 256


class Overwritten:
    """Two kernels that overwrite each other's inputs, a kernel in place, a history of steps; all over 256 numbers."""

    params = (COMPILED,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        x, y = (qd.field(qd.f32, shape=SIZE, needs_grad=True) for _ in range(2))
        steps = qd.field(qd.f32, shape=(17, 16), needs_grad=True)

        @qd.kernel
        def there():
            for i in x:
                y[i] = qd.sin(x[i])

        @qd.kernel
        def back():
            for i in x:
                x[i] = qd.cos(y[i])

        @qd.kernel
        def square():
            for i in x:
                x[i] = x[i] * x[i] * 0.5

        @qd.kernel
        def step(t: qd.i32):
            for i in range(16):
                steps[t + 1, i] = qd.sin(steps[t, i])

        def pair():
            there()
            back()

        self.pair, self.square, self.step = pair, square, step
        called(pair)
        called(square)
        called(self.time_sixteen_steps, backend)

    def time_there_and_back(self, backend):
        self.pair()

    def time_in_place(self, backend):
        self.square()

    def time_sixteen_steps(self, backend):
        list(map(self.step, range(16)))

    def track_calls_there_and_back(self, backend):
        return python_calls(self.pair)

    def track_calls_in_place(self, backend):
        return python_calls(self.square)

    def track_calls_of_sixteen_steps(self, backend):
        return python_calls(lambda: self.time_sixteen_steps(backend))

    track_calls_there_and_back.unit = "functions"
    track_calls_in_place.unit = "functions"
    track_calls_of_sixteen_steps.unit = "functions"


class History:
    """Sixteen steps of a history, and then their gradients, the last first, without a tape."""

    params = (COMPILED,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        steps = qd.field(qd.f32, shape=(17, 16), needs_grad=True)

        @qd.kernel
        def step(t: qd.i32):
            for i in range(16):
                steps[t + 1, i] = qd.sin(steps[t, i])

        def both():
            list(map(step, range(16)))
            list(map(step.grad, reversed(range(16))))

        self.both = both
        called(both)

    def time_both(self, backend):
        self.both()

    def track_python_calls(self, backend):
        return python_calls(self.both)

    track_python_calls.unit = "functions"


class HostArray:
    """A numpy array that the reverse pass reads: what it held is copied."""

    params = (COMPILED,)
    param_names = ("backend",)

    def setup(self, backend):
        qd = opened(backend)
        x, y = (qd.field(qd.f32, shape=SIZE, needs_grad=True) for _ in range(2))
        self.weights = np.ones(SIZE, np.float32)

        @qd.kernel
        def weigh(w: qd.types.ndarray()):
            for i in x:
                y[i] = x[i] * w[i]

        self.weigh = weigh
        called(weigh, self.weights)

    def time_call(self, backend):
        self.weigh(self.weights)
