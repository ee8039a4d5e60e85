"""What a transcendental function costs per element, beside the function of the system that numpy calls."""

import numpy as np

from .common import called, opened
from .kernels import elementwise

ELEMENTS = 16384  # in the first-level cache's reach, so that memory does not count
FUNCTIONS = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
}


class Elementwise:
    """Seconds for 16,384 elements on one thread."""

    params = (tuple(FUNCTIONS), ("f32", "f64"))
    param_names = ("function", "dtype")

    def setup(self, function, dtype):
        qd = opened("cpu", cpu_max_num_threads=1)
        self.kernel, values = elementwise(qd, function, dtype, ELEMENTS)
        self.values, self.out, self.peer = values, np.empty_like(values), FUNCTIONS[function]
        called(self.kernel)

    def time_adstack(self, function, dtype):
        self.kernel()

    def time_numpy(self, function, dtype):
        self.peer(self.values, out=self.out)
