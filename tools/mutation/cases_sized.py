"""The cases about depths of adstacks and their heap as tests, on the interpreter and on cpu."""

from __future__ import annotations

from adstack.tools.mutation.cells import cell_test, one_per_case

_CASES = ("sizing/*", "adstack_machine/*", "adstack-machine/*", "heap/*")
test_on_the_interpreter = cell_test("reference", one_per_case("reference", _CASES, 80))
test_on_cpu = cell_test("cpu", one_per_case("cpu", _CASES, 80))
