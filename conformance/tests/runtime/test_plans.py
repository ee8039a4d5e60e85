"""Compiled programs, launch plans, and the interpreter as a backend."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.errors import AdstackRuntimeError
from adstack.ir.builder import Builder
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import f32, i32
from adstack.runtime.compiler import compile_kernel, stages
from adstack.runtime.memory.buffers import Buffer
from adstack.runtime.plans import Plan
from adstack.runtime.protocol.options import Options
from adstack.runtime.reference_backend import ReferenceBackend

SOURCE = Place("source", f32, (4,))
TARGET = Place("target", f32, (None,), "ndarray")


def shifted_copy() -> Kernel:
    """`target[i] = source[i] + by` for all i; returns the extent of target."""
    by = Value(f32, "by")
    body = Region([by])
    b = Builder(body)
    extent = b.shape(TARGET, 0)
    inner = Region([Value(i32, "i")])
    with b.into(inner):
        b.store(TARGET, inner.args, b.add(b.load(SOURCE, inner.args), by))
        b.yield_()
    b.parallel_for([(b.const(0, i32), extent)], inner)
    b.return_(extent)
    return Kernel("shifted_copy", body, {"source": SOURCE, "target": TARGET}, (i32,))


def test_a_plan_runs_with_fields_bound_and_arrays_passed(backend: ReferenceBackend) -> None:
    source = Buffer(backend, f32, (4,))
    source.write([1, 2, 3, 4])
    plan = Plan(backend, compile_kernel(shifted_copy(), Options(), backend), {"source": source})
    for extent in (2, 4):
        target = Buffer(backend, f32, (extent,))
        assert list(plan.launch([0.5], {"target": target})) == [extent]
        assert target.read().tolist() == [1.5, 2.5, 3.5, 4.5][:extent]
    assert list(plan.arguments) == ["target"]


def test_only_what_a_launch_writes_changes_its_version(backend: ReferenceBackend) -> None:
    source, target = Buffer(backend, f32, (4,)), Buffer(backend, f32, (4,))
    compiled = compile_kernel(shifted_copy(), Options(), backend)
    before = source.version, target.version
    Plan(backend, compiled, {"source": source}).launch([0.0], {"target": target})
    assert source.version == before[0]
    assert target.version != before[1]
    assert ("target" in compiled.written, "source" in compiled.read) == (True, True)
    assert ("source" in compiled.written, "target" in compiled.read) == (False, False)


def test_memory_that_the_program_does_not_use_is_left_out(backend: ReferenceBackend) -> None:
    source, other = Buffer(backend, f32, (4,)), Buffer(backend, f32, (4,))
    compiled = compile_kernel(shifted_copy(), Options(), backend)
    assert list(Plan(backend, compiled, {"source": source, "other": other}).buffers) == ["source"]


def test_a_plan_whose_memory_is_gone_refuses_to_run(backend: ReferenceBackend) -> None:
    source = Buffer(backend, f32, (4,))
    plan = Plan(backend, compile_kernel(shifted_copy(), Options(), backend), {"source": source})
    source.drop()
    with pytest.raises(AdstackRuntimeError, match="destroyed"):
        plan.launch([0.0], {"target": Buffer(backend, f32, (4,))})


def test_the_stages_of_a_kernel_have_texts(backend: ReferenceBackend) -> None:
    texts = stages(shifted_copy(), Options(), backend)
    assert next(iter(texts)) == "frontend"
    assert list(texts)[-2:] == ["tasks", "guard"]
    assert all("@shifted_copy" in text or "shifted_copy" in text for text in texts.values())


def test_what_a_backend_made_of_a_kernel_is_shown_too(
    monkeypatch: pytest.MonkeyPatch, backend: ReferenceBackend
) -> None:
    monkeypatch.setattr(ReferenceBackend, "listing", lambda self, executable: {"machine": "nop"})
    assert stages(shifted_copy(), Options(), backend)["machine"] == "nop"


def test_the_interpreter_takes_memory_of_the_host_as_it_is(backend: ReferenceBackend) -> None:
    array = np.zeros(3, np.float32)
    assert backend.adopt(array) is array
    assert backend.host_view(array) is array
    copy = backend.download(array)
    copy[0] = 1
    assert array[0] == 0
    backend.free(array)
    backend.synchronize()
