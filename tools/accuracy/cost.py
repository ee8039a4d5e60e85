"""What a call costs: operations in the IR, and nanoseconds per element on this machine."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from adstack.ir.ops import YIELD
from adstack.ir.scalar_ops import ADD, CONST, DIV, FLOOR, FMA, MUL, RINT, SQRT, SUB
from adstack.ir.structure import Op, Region
from adstack.ir.types import DType, f64
from adstack.transforms.math.algorithms import ALGORITHMS
from adstack.transforms.math.library import function

from .jit import Compiled
from .truth import TRUTH

__all__ = ["machine", "nanoseconds", "operations"]

COUNT: Final = 1 << 14


def operations(name: str, dtype: DType) -> tuple[int, int]:
    """Arithmetic on floats on the usual path (the first side of each `if`); all ops but constants, on all paths."""
    body = function(name, dtype).body
    usual = sum(_is_arithmetic(op) for op in _usual(body))
    return usual, sum(op.opdef not in (CONST, YIELD) for op in body.walk())


def _usual(region: Region) -> Iterator[Op]:
    for op in region.ops:
        yield op
        if op.regions:
            yield from _usual(op.regions[0])


def _is_arithmetic(op: Op) -> bool:
    return op.opdef in (ADD, SUB, MUL, DIV, FMA, SQRT, FLOOR, RINT) and op.results[0].dtype.is_float


def nanoseconds(name: str, dtype: DType) -> tuple[float, float]:
    """Per element of an array in cache: compiled by LLVM for vectors of this machine, and numpy's own function."""
    compiled = Compiled(function(name, dtype).body, lanes=8 if dtype is f64 else 16)
    x = np.linspace(0.01, 0.99, COUNT).astype(dtype.numpy)
    args = (x, x[::-1].copy())[: ALGORITHMS[name].arity]
    return _best(compiled, args), _best(TRUTH[name].wide, args)


def _best(call: Callable[..., object], args: tuple[object, ...]) -> float:
    best = np.inf
    for _ in range(40):
        start = time.perf_counter()
        call(*args)
        best = min(best, time.perf_counter() - start)
    return round(float(best) / COUNT * 1e9, 3)


def machine() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0]}, LLVM vectors of 512 bits" if models else platform.machine()
