"""How often a launch calls NVIDIA's driver, and functions of Python; a test plays the driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from played_driver import run

PROGRAM = """
import json, sys
from collections import Counter
from types import SimpleNamespace
import numpy as np
import adstack as qd

class Tensor:
    "A torch tensor on the device, as far as it is asked."
    requires_grad, is_cuda, grad, device = False, True, None, SimpleNamespace(type="cuda", index=0)
    def __init__(self, array):
        self.array, self.about = array, array.__cuda_array_interface__
        self.shape, self.dtype, self.said = self.about["shape"], "f32", 0
    def detach(self):
        return self
    def data_ptr(self):
        return self.about["data"][0]
    def stride(self):
        return (1,)
    def is_contiguous(self):
        return True
    @property
    def __cuda_array_interface__(self):
        self.said += 1
        return {**self.about, "stream": None}
Tensor.__module__ = "torch"
cuda = SimpleNamespace(is_initialized=lambda: True, current_stream=lambda: SimpleNamespace(cuda_stream=0))
sys.modules["torch"] = SimpleNamespace(cuda=cuda, _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda index: 0))
qd.init(arch=qd.cuda, offline_cache=False)

@qd.kernel
def shift(a: qd.types.ndarray(dtype=qd.f32, ndim=1), s: qd.f32):
    for i in a:
        a[i] += s

@qd.kernel
def copy(a: qd.types.ndarray(dtype=qd.f32, ndim=1), b: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in a:
        b[i] = a[i]

def counted(work):
    for _ in range(3):
        work()
    played.calls.clear()
    work()
    counts = Counter(name for name, _ in played.calls)
    python = [0]
    def seen(frame, event, argument):
        python[0] += event == "call" and frame.f_globals.get("__name__", "").startswith("adstack")
    sys.setprofile(seen)
    work()
    sys.setprofile(None)
    return {**counts, "Python": python[0]}

array, host, other = qd.ndarray(qd.f32, (64,)), np.zeros(64, np.float32), np.zeros(64, np.float32)
tensor = Tensor(qd.ndarray(qd.f32, (64,)))
works = {
    "ndarray": lambda: shift(array, 1.0),
    "tensor": lambda: shift(tensor, 1.0),
    "numpy": lambda: shift(host, 1.0),
    "two of numpy": lambda: copy(host, other),
}
print(json.dumps({**{name: counted(work) for name, work in works.items()}, "said": tensor.said}))
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("driver")
    return json.loads(run(PROGRAM, folder).splitlines()[-1])


LAUNCH = {"cuCtxSetCurrent": 1, "cuLaunchKernelEx": 1}


def test_a_tensor_costs_what_an_ndarray_does(counts: Any) -> None:
    assert counts["ndarray"] == {**LAUNCH, "Python": 0}
    assert counts["tensor"] == {**LAUNCH, "Python": 0}
    assert counts["said"] == 1


def test_an_array_that_is_copied_costs_a_copy_each_way(counts: Any) -> None:
    python = counts["numpy"].pop("Python")
    assert counts["numpy"] == {"cuCtxSetCurrent": 3, "cuMemcpyHtoD": 1, "cuLaunchKernelEx": 1, "cuMemcpyDtoH": 1}
    assert python <= 140


def test_one_that_is_only_read_is_not_copied_back(counts: Any) -> None:
    python = counts["two of numpy"].pop("Python")
    copied = {"cuCtxSetCurrent": 4, "cuMemcpyHtoD": 2, "cuLaunchKernelEx": 1, "cuMemcpyDtoH": 1}
    assert counts["two of numpy"] == copied
    assert python <= 205
