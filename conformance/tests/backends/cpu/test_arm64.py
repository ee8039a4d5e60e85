"""Code for arm64: what the cpu backend compiles on one is made here, and looked at."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from suites import without_bounds

import adstack as qd
from adstack.backends.cpu.codegen import emit_module
from adstack.backends.cpu.passes import passes
from adstack.backends.cpu.runtime import CpuBackend
from adstack.backends.cpu.threads import ir as pool_ir
from adstack.backends.hostcall import ir as native_ir
from adstack.backends.shared.compiler import Recipe, Target, code
from adstack.conformance.harness import execute
from adstack.conformance.harness.loading import CASES, Entry, collect

VECTOR_BYTES = 16
EVERY = 15
"""One in so many cases is compiled; the matrix runs all of them on an emulated processor."""
FUSED = re.compile(r"\bf(?:n?m(?:add|sub)|ml[as])\b")
TRIPLES = {
    "linux": "aarch64-unknown-linux-gnu",
    "darwin": "arm64-apple-macosx13",
    "windows": "aarch64-pc-windows-msvc",
}


def assembly_of(text: str, system: str = "linux") -> str:
    target = Target(TRIPLES[system], level=1)
    return code(text, Recipe(target, passes(len(text)), assembly=True)).decode()


@pytest.mark.parametrize("system", TRIPLES)
def test_the_runtime_is_made_for_it(system):
    for text in (native_ir.text(), pool_ir.text(system, "arm64")):
        assert "adstack_" in assembly_of(text, system)


@pytest.fixture
def texts(monkeypatch):
    """LLVM text -> whether some operation of it is a fused multiply-add; nothing is run."""
    listings = {}

    def compile_(self, program, options):
        lanes = 0 if options.cpu_lanes == 0 else options.cpu_lanes
        framed = options.ad_stack_storage == "stack"
        module = emit_module(program, debug=options.debug, lanes=lanes, vector_bytes=VECTOR_BYTES, framed=framed)
        listings.setdefault(module.text, "llvm.fma" in module.text)
        return program

    monkeypatch.setattr(CpuBackend, "compile", compile_)
    monkeypatch.setattr(CpuBackend, "launch", lambda self, program, scalars, bindings: [0 for _ in program.results])
    monkeypatch.setattr(CpuBackend, "last_launch", lambda self, program: 0)
    monkeypatch.setattr(CpuBackend, "launch_word", lambda self, program: 0)
    monkeypatch.setattr(CpuBackend, "last_scalars", lambda self, program: [])
    monkeypatch.setattr(CpuBackend, "adstacks", lambda self, program: [])
    monkeypatch.setattr(CpuBackend, "entry_of", lambda self, program: None)
    without_bounds(monkeypatch)
    yield listings
    qd.reset()


def some_cases() -> list[Entry]:
    """Of every topic some."""
    first: dict[str, Entry] = {}
    for entry in collect():
        first.setdefault(entry.id.partition(":")[0], entry)
    return list(first.values())[::EVERY]


def test_cases_become_code_without_contraction(texts):
    capture = SimpleNamespace(mark=lambda: 0, since=lambda mark: "")
    with np.errstate(all="ignore"):
        for entry in some_cases():
            for mode in entry.case.modes[:2]:
                request = execute.Request(str(CASES), entry.path, entry.id, mode, 1)
                seen = execute.perform(request, execute.Target(qd, "cpu"), capture)
                assert not seen["message"].startswith(("AttributeError", "InternalError")), seen["message"]
    assert len(texts) > 20
    plain = [text for text, fused in texts.items() if not fused]
    assert len(plain) > 12
    for text in texts:
        assembly = assembly_of(text)
        assert re.search(r"^_?run:", assembly, re.MULTILINE)
        if text in plain:
            assert FUSED.findall(assembly) == []


def test_contraction_is_noticed():
    assert FUSED.findall("\tfmadd s0, s1, s2, s3\n\tfmla v0.4s, v1.4s, v2.4s\n\tfmul s0, s0, s1") == ["fmadd", "fmla"]
