"""Some of the cases about gradients as tests, on the interpreter."""

from __future__ import annotations

from adstack.tools.mutation.cells import cell_test, one_per_case

test_on_the_interpreter = cell_test("reference", one_per_case("reference", ["gradients/*"], 300))
