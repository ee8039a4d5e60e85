"""Machine code in this process, and the linkers that it goes with."""

from __future__ import annotations

import ctypes
import gc
import weakref

import llvmlite.binding as llvm
import pytest

from adstack.backends.shared import jit


def image(number: int) -> bytes:
    text = f"define i64 @run() {{\n  ret i64 {number}\n}}\n"
    code: bytes = jit.target_machine().emit_object(llvm.parse_assembly(text))
    return code


def test_linkers_go_with_the_last_of_their_libraries(monkeypatch: pytest.MonkeyPatch):
    linkers = []
    usual = jit.jit

    def noted():
        linker = usual()
        linkers.append(weakref.ref(linker))
        return linker

    monkeypatch.setattr(jit, "jit", noted)
    kept = jit.linked(image(7), ["run"])
    for number in range(5 * jit.MOST_LIBRARIES):
        library = jit.linked(image(number), ["run"])
        assert library["run"]
        del library
    gc.collect()
    assert len(linkers) in (5, 6)
    assert sum(ref() is not None for ref in linkers) == 1
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(kept["run"])() == 7
