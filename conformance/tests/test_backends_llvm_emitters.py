"""Every pure operation has an emitter, and compiled for one lane or eight it gives the interpreter's bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adstack.backends.codegen_llvm.text.scalar_ops import EMITTERS
from adstack.errors import IRError
from adstack.ir.builder import Builder
from adstack.ir.ops import TABLE
from adstack.ir.structure import Region, Value
from adstack.ir.types import ALL, DType
from adstack.tools.accuracy.jit import Compiled

PURE = sorted(name for name, row in TABLE.items() if row.meaning is not None and not row.transcendental)
SIZE = 1024


def interesting(dtype: DType, seed: int) -> np.ndarray:
    """Edges in any combination, and random bits of all sizes."""
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return rng.integers(0, 2, SIZE).astype(np.bool_)
    if dtype.is_float:
        info = np.finfo(dtype.numpy)
        some = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, 3, 1e3, np.inf, -np.inf, np.nan]
        edges = np.array([*some, info.max, info.min, info.tiny, info.smallest_subnormal, 2.0**15, 2.0**31 % 6e4])
    else:
        some = [0, 1, 2, 3, 5, dtype.bits - 1, dtype.bits, dtype.max, dtype.max - 1, dtype.min, dtype.min + 1]
        edges = np.array([*some, *([-1] if dtype.is_signed else [])], dtype.numpy)
    bits = rng.integers(0, 256, SIZE * dtype.size, dtype=np.uint8).view(dtype.numpy)
    small = rng.integers(0, 9, SIZE) if not dtype.is_float else rng.standard_normal(SIZE) * 100
    parts = [rng.choice(edges.astype(dtype.numpy), SIZE), bits, small.astype(dtype.numpy)]
    return np.choose(rng.integers(0, 3, SIZE), parts)


def instances(name: str) -> list[tuple[tuple[DType, ...], DType]]:
    """Operand types and result type for all that the row allows."""
    row = TABLE[name]
    found = []
    targets = ALL if "to" in row.attrs else (None,)
    for types in itertools.product(ALL, repeat=len(row.signature.inputs)):
        for to in targets:
            try:
                (result,) = row.signature.infer(name, list(types), {"to": to})
            except IRError:
                continue
            if name != "bitcast" or types[0].bits == to.bits:
                found.append((types, result))
    return found


def region_of(name: str, types: tuple[DType, ...], to: DType) -> Region:
    region = Region([Value(t) for t in types])
    b = Builder(region)
    attrs = {"to": to} if "to" in TABLE[name].attrs else {}
    b.yield_(b.emit(name, *region.args, **attrs))
    return region


def differing(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where the bits differ; any NaN is as good as another."""
    if got.dtype.kind != "f":
        return np.flatnonzero(got != want)
    word = f"u{got.dtype.itemsize}"
    return np.flatnonzero((got.view(word) != want.view(word)) & ~(np.isnan(got) & np.isnan(want)))


def test_every_pure_operation_has_an_emitter():
    assert sorted(EMITTERS) == PURE


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
