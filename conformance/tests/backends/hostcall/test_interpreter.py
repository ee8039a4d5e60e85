"""Interpreters: which ones machine code serves, where these keep things, and that Python serves the others."""

from __future__ import annotations

import ctypes

import pytest
from calls_kit import is_short

import adstack as qd
from adstack.backends.hostcall import interpreter
from adstack.backends.hostcall.interpreter import BUFFER, BUFFER_RANK, OLDEST, TYPE, YOUNGEST, Interpreter, is_known

CPYTHON = Interpreter("cpython", OLDEST, False, 8)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (CPYTHON, True),
        (Interpreter("cpython", YOUNGEST, False, 8), True),
        (Interpreter("cpython", (YOUNGEST[0], YOUNGEST[1] + 1), False, 8), False),
        (Interpreter("cpython", (3, 9), False, 8), False),
        (Interpreter("pypy", OLDEST, False, 8), False),
        (Interpreter("cpython", OLDEST, True, 8), False),
        (Interpreter("cpython", OLDEST, False, 4), False),
    ],
)
def test_only_interpreters_whose_layout_is_known_are_served(
    other: Interpreter, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_known(other) == expected
    monkeypatch.setattr(interpreter, "running", lambda: other)
    qd.init(arch=qd.cpu)

    @qd.kernel
    def same(a: qd.i32) -> qd.i32:
        return a

    assert [same(k) for k in range(4)] == [0, 1, 2, 3]
    assert is_short(same) == expected


def test_objects_and_buffers_are_laid_out_as_it_says() -> None:
    value = bytearray(b"adstack")
    assert (ctypes.c_int64 * 2).from_address(id(value))[TYPE] == id(bytearray)
    view = (ctypes.c_int64 * 16)()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(value), ctypes.byref(view), 0x38 | 4)
    try:
        assert ctypes.string_at(view[BUFFER["buf"]], 7) == b"adstack"
        assert ctypes.string_at(view[BUFFER["format"]]) == b"B"
        assert ctypes.c_int64.from_address(view[BUFFER["shape"]]).value == 7
        assert ctypes.cast(view, ctypes.POINTER(ctypes.c_int32))[BUFFER_RANK] == 1
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
