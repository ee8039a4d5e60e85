"""In the place of Warp: its names as plain Python with numpy's numbers, where threads run one after the other.

The tests of the translation give this file the name `warp`. There are no adjoint kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

config = SimpleNamespace(version="0.0", quiet=False, kernel_cache_dir="")
float16, float32, float64 = np.float16, np.float32, np.float64
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
globals()["bool"] = np.bool_
_thread: list[tuple[int, ...]] = []


def init() -> None: ...


def synchronize_device(device: str) -> None: ...


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def func(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


class Memory:
    def __init__(self, shape: Any, dtype: Any, requires_grad: Any = False) -> None:
        self.elements = np.zeros(shape, dtype)
        self.grad = Memory(shape, dtype) if requires_grad else None

    def numpy(self) -> Any:
        return self.elements

    def assign(self, contents: Any) -> None:
        self.elements[...] = contents

    def zero_(self) -> None:
        self.elements[...] = 0

    def __getitem__(self, index: Any) -> Any:
        return self.elements[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        # Warp converts nothing by itself
        assert np.asarray(value).dtype == self.elements.dtype, (value, self.elements.dtype)
        self.elements[index] = value


def array(dtype: Any, ndim: int = 1) -> Any:
    return dtype, ndim


def zeros(shape: Any, dtype: Any, device: str, requires_grad: Any = False) -> Memory:
    return Memory(shape, dtype, requires_grad)


def tid() -> Any:
    at = tuple(np.int32(one) for one in _thread[-1])
    return at if len(at) > 1 else at[0]


def launch(kernel: Callable[..., Any], dim: Any, inputs: Sequence[Any], device: str) -> None:
    with np.errstate(all="ignore"):
        for at in np.ndindex(dim):
            _thread.append(at)
            kernel(*inputs)
            _thread.pop()


class Tape:
    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...

    def backward(self) -> None:
        raise NotImplementedError("there are no adjoints")


def _atomic(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def atomic(memory: Memory, *rest: Any) -> Any:
        *at, value = rest
        old = memory[tuple(at)]
        memory[tuple(at)] = operation(old, value)
        return old

    return atomic


atomic_add, atomic_sub, atomic_max, atomic_min = map(_atomic, (np.add, np.subtract, max, min))
sin, cos, tan, asin, acos, tanh = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.tanh
sqrt, exp, log, floor, ceil, atan2, pow = np.sqrt, np.exp, np.log, np.floor, np.ceil, np.arctan2, np.power  # noqa: A001
abs, max, min = np.abs, np.maximum, np.minimum  # noqa: A001


def where(test: Any, a: Any, b: Any) -> Any:
    return a if test else b
