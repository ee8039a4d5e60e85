"""Random kernels whose accesses are out of bounds here and there: backends do what the interpreter does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nightly_kit import examples
from outside_kit import LAUNCHES, left, program

import adstack as qd
from adstack.backends.codegen_spirv.assembly.traits import Traits

ARCHES = ("cpu", "cuda", "vulkan", "vulkan as a device of its own")


@pytest.mark.parametrize("arch", ARCHES)
def test_what_is_outside_changes_nothing_and_is_reported(arch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    name = arch.partition(" ")[0]
    if name != arch:
        monkeypatch.setattr(Traits, "dedicated", property(lambda self: True))
    outside = 0
    for seed in range(examples(90)):
        file = tmp_path / f"kernel{seed}.py"
        file.write_text(program(seed))
        wanted, got = left("reference", file, seed), left(name, file, seed)
        for t, (error, memory), (other, values) in zip(LAUNCHES, wanted, got, strict=True):
            assert error == other, (seed, t, program(seed))
            assert all(map(np.array_equal, memory, values)), (seed, t, program(seed))
        outside += sum(error for error, _ in wanted)
    qd.reset()
    assert outside > examples(90)
