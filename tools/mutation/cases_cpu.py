"""Some of all cases as tests on cpu: what notices a change to the generator of LLVM IR."""

from __future__ import annotations

from adstack.tools.mutation.cells import cell_test, one_per_case

test_on_cpu = cell_test("cpu", one_per_case("cpu", ["*"], 200))
