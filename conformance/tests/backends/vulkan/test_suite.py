"""Every case's shaders are valid SPIR-V: for devices that keep every rule and poor ones, by addresses and bindings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from nightly_kit import BY_NIGHT
from suites import first_variants, without_bounds
from vulkan_kit import POOR, STRICT, validate

import adstack as qd
from adstack.backends.codegen_spirv.tasks import emit_program
from adstack.backends.vulkan.runtime import VulkanBackend
from adstack.conformance.harness import execute
from adstack.conformance.harness.loading import CASES

BATCHES = 16


@pytest.fixture
def shaders(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[tuple[int, ...], None]]:
    """The words of every shader that is asked for; nothing is run."""
    seen: dict[tuple[int, ...], None] = {}

    def compile_(self, program, options):
        traits = POOR if len(seen) % 4 == 3 else STRICT
        traits = replace(traits, addresses=len(seen) // 4 % 2 == 0)
        for shader in emit_program(program, traits, debug=options.debug).shaders:
            seen[tuple(shader.words)] = None
        return program

    monkeypatch.setattr(VulkanBackend, "compile", compile_)
    monkeypatch.setattr(VulkanBackend, "launch", lambda self, program, scalars, bindings: [0 for _ in program.results])
    without_bounds(monkeypatch)
    yield seen
    qd.reset()


# By day every second batch will do: any topic has cases in each.
@pytest.mark.parametrize("batch", range(0, BATCHES, 1 if BY_NIGHT else 2))
def test_the_shaders_of_every_case_are_valid(batch, shaders, tmp_path):
    capture = SimpleNamespace(mark=lambda: 0, since=lambda mark: "")
    with np.errstate(all="ignore"):
        for entry in first_variants()[batch::BATCHES]:
            for mode in sorted({*entry.case.modes} - {"dot-product"}):  # which launches what two others do
                request = execute.Request(str(CASES), entry.path, entry.id, mode, 1)
                execute.perform(request, execute.Target(qd, "vulkan"), capture)
    assert len(shaders) > 20
    validate(shaders, tmp_path)


def test_an_invalid_shader_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="error"):
        validate([[0x07230203, 0x10500, 0, 2, 0, 2 << 16 | 17, 12345]], tmp_path)
