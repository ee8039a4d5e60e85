"""Machine code calls functions of the running Python: those that every supported version exports."""

import re

import pytest

from adstack.backends.cpu.threads import ir as pool_ir
from adstack.backends.hostcall import ir as native_ir
from adstack.backends.hostcall.symbols import python_symbols

INLINE = {"PyObject_CallOneArg", "PyObject_CallMethodNoArgs", "PyObject_CallMethodOneArg", "PyObject_Vectorcall"}
"""Functions that headers of Python 3.10 define instead of its library."""

TEXTS = {
    "launches": native_ir.text(),
    "futexes": pool_ir.text("linux", "x86"),
    "conditions": pool_ir.text("darwin", "arm64"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_called_is_exported(name):
    declared = re.findall(r"@(Py\w+)\(", "\n".join(re.findall(r"^declare .*", TEXTS[name], re.MULTILINE)))
    assert declared
    assert not INLINE.intersection(declared)
    addresses = python_symbols(TEXTS[name])
    assert [*addresses] == declared
    assert all(addresses.values())
