"""The cases about gradients as tests, on the interpreter: the widest of what notices a change to reverse mode."""

from __future__ import annotations

from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of, select
from adstack.conformance.subjects.backends import backend_subject
from adstack.tools.mutation.cells import cell_test

test_gradients = cell_test("reference", cells_of(select(collect(), ["gradients/*"]), [backend_subject("reference")]))
