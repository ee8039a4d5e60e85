"""The cases about gradients of launches as tests, on cpu."""

from __future__ import annotations

from adstack.tools.mutation.cells import cell_test, one_per_case

_CASES = ("gradients/*",)
test_on_cpu = cell_test("cpu", one_per_case("cpu", _CASES, 400))
