"""Some of all cases as tests on vulkan: what notices a change to the generator of SPIR-V."""

from __future__ import annotations

from adstack.tools.mutation.cells import cell_test, one_per_case

test_on_vulkan = cell_test("vulkan", one_per_case("vulkan", ["*"], 150))
