"""The kernels of every case become code objects, of instructions that round as the specification says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from amdgpu_kit import Compiling
from nightly_kit import BY_NIGHT
from suites import first_variants, without_bounds

import adstack as qd
from adstack.backends.amdgpu import runtime
from adstack.backends.amdgpu.layout import kernels_of
from adstack.backends.amdgpu.toolchain import PROCESSORS, assembly, code_object
from adstack.conformance.harness import execute
from adstack.conformance.harness.loading import CASES

BATCHES = 80
STEP = 1 if BY_NIGHT else BATCHES // len(PROCESSORS)
"""By day five batches will do, one for each processor: any topic has cases in each."""


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiling]:
    """What `init(arch=qd.amdgpu)` opens."""
    compiling = Compiling()
    monkeypatch.setattr(runtime, "probe", lambda device="": compiling.capabilities)
    monkeypatch.setattr(runtime, "open_device", lambda device="": compiling)
    without_bounds(monkeypatch)
    yield compiling
    qd.reset()
    assert compiling.failures == []


@pytest.mark.parametrize("batch", range(0, BATCHES, STEP))
def test_the_kernels_of_every_case_become_code_objects(batch, device):
    capture = SimpleNamespace(mark=lambda: 0, since=lambda mark: "")
    with np.errstate(all="ignore"):
        for entry in first_variants()[batch::BATCHES]:
            for mode in entry.case.modes:
                request = execute.Request(str(CASES), entry.path, entry.id, mode, 1)
                seen = execute.perform(request, execute.Target(qd, "amdgpu"), capture)
                assert not seen["message"].startswith(("AttributeError", "InternalError")), seen["message"]
    assert len(device.texts) > 10
    processor = PROCESSORS[batch // STEP % len(PROCESSORS)]
    for text in device.texts:
        kernels = kernels_of(code_object(text, processor))
        assert list(kernels) == [f"task{number}" for number in range(len(kernels))]
        wave = 64 if processor.startswith("gfx9") else 32
        assert all(kernel.descriptor.wave == wave for kernel in kernels.values())
        assert odd(assembly(text, processor)) == []


def odd(code: str) -> list[str]:
    """What does not keep to the specification: functions of the hardware's own, flushing, and code from elsewhere."""
    rough = re.findall(r"\bv_(?:sin|cos|exp|log)_(?:f16|f32)\S*.*", code)
    modes = re.findall(r"\.amdhsa_float_(?:denorm_mode|round_mode)_\S+ \d+", code)
    flushed = [mode for mode in modes if not mode.endswith(" 3" if "denorm" in mode else " 0")]
    return rough + flushed + re.findall(r".*\.set \S+has_indirect_call, or\(1.*", code)


def test_what_is_odd_is_noticed():
    assert odd("\tv_sin_f32_e32 v0, v1\n\tv_add_f32 v0, v1, v2") == ["v_sin_f32_e32 v0, v1"]
    assert odd("\t.amdhsa_float_denorm_mode_32 0\n\t.amdhsa_float_denorm_mode_16_64 3") == [
        ".amdhsa_float_denorm_mode_32 0"
    ]
