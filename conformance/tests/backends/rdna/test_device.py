"""The emulated processors as devices, by `init(arch=qd.amdgpu)`."""

from __future__ import annotations

import numpy as np
import pytest
from rdna_kit import EACH

import adstack as qd
from adstack.backends.amdgpu import capability


@EACH
def test_kernels_and_gradients_run(monkeypatch, processor):
    monkeypatch.setenv(capability.CHOICE, processor)
    qd.init(arch=qd.amdgpu, offline_cache=False)
    x, y = (qd.field(qd.f32, shape=shape, needs_grad=True) for shape in (100, ()))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(3):
                v = v * x[i]
            y[None] += v

    values = np.linspace(-1, 1, 100, dtype=np.float32)
    x.from_numpy(values)
    y.grad[None] = 1.0
    k()
    k.grad()
    assert y[None] == pytest.approx(float((values.astype(np.float64) ** 4).sum()), rel=1e-5)
    assert x.grad.to_numpy() == pytest.approx(4 * values**3, rel=1e-5)
