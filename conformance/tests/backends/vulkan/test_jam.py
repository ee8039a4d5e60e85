"""Iterations that do the work of several, on a device: gradients that a large batch adds up."""

from __future__ import annotations

import numpy as np

import adstack as qd
from adstack.transforms.tasks.jam import LEAST


def gradients(arch) -> tuple[np.ndarray, np.ndarray]:
    """Of a layer that is large enough for it, in x and w: exact sums of integers."""
    qd.init(arch=arch, offline_cache=False)
    n, width = LEAST // 4, 16
    x, y = (qd.field(qd.f32, shape=(n, width), needs_grad=True) for _ in range(2))
    w = qd.field(qd.f32, shape=(width, width), needs_grad=True)

    @qd.kernel
    def layer():
        for i, j in y:
            total = 0.0
            for k in range(width):
                total += x[i, k] * w[k, j]
            y[i, j] = qd.max(total, 0.0)

    draw = np.random.default_rng(0)
    x.from_numpy(draw.integers(-1, 2, (n, width)).astype(np.float32))
    w.from_numpy(draw.integers(-1, 2, (width, width)).astype(np.float32))
    layer()
    y.grad.fill(1.0)
    layer.grad()
    got = x.grad.to_numpy(), w.grad.to_numpy()
    qd.reset()
    return got


def test_the_gradient_of_a_large_layer_is_that_of_the_processor():
    for one, other in zip(gradients(qd.cpu), gradients(qd.vulkan), strict=True):
        assert np.array_equal(one, other)
