"""Every pure operation has an emitter, and compiled for one lane or eight it gives the interpreter's bits."""

from __future__ import annotations

import numpy as np
import pytest
from programs_kit import PURE, instances, interesting

from adstack.backends.codegen_llvm.text.scalar_ops import EMITTERS
from adstack.ir.builder import Builder
from adstack.ir.ops import TABLE
from adstack.ir.structure import Region, Value
from adstack.ir.types import DType
from adstack.tools.accuracy.jit import Compiled


def region_of(name: str, types: tuple[DType, ...], to: DType) -> Region:
    region = Region([Value(t) for t in types])
    b = Builder(region)
    attrs = {"to": to} if "to" in TABLE[name].attrs else {}
    b.yield_(b.emit(TABLE[name], *region.args, **attrs))
    return region


def differing(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where the bits differ; any NaN is as good as another."""
    if got.dtype.kind != "f":
        return np.flatnonzero(got != want)
    word = f"u{got.dtype.itemsize}"
    return np.flatnonzero((got.view(word) != want.view(word)) & ~(np.isnan(got) & np.isnan(want)))


def test_every_pure_operation_has_an_emitter():
    assert sorted(row.name for row in EMITTERS) == PURE


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", PURE)
def test_compiled_code_gives_the_interpreters_bits(name, lanes):
    wrong = {}
    for types, to in instances(name):
        args = [interesting(t, k + 1) for k, t in enumerate(types)]
        got = Compiled(region_of(name, types, to), lanes)(*args)
        with np.errstate(all="ignore"):
            want = np.ascontiguousarray(TABLE[name].meaning(to, *args))
        bad = differing(got, want)
        if len(bad):
            k = bad[0]
            wrong[f"{types} -> {to}"] = ([a[k] for a in args], got[k], want[k], len(bad))
    assert wrong == {}
