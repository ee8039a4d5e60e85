"""Kernels that other libraries differentiate, and as much of torch and jax as that takes, played by numpy."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

import adstack as qd


@qd.kernel
def square(x: qd.types.ndarray(), y: qd.types.ndarray(), scale: qd.f32):
    for i in x:
        y[i] = scale * x[i] * x[i]


@qd.kernel
def swing(x: qd.types.ndarray(), v: qd.types.ndarray()):
    """A step in place, whose derivative needs what it overwrites."""
    for i in x:
        x[i] += 0.5 * v[i] * x[i]
        v[i] -= 0.25 * x[i] * x[i]


@qd.kernel
def cubes(x: qd.types.ndarray()) -> qd.f64:
    total = qd.f64(0.0)
    for i in range(x.shape[0]):
        total += x[i] ** 3
    return total


@qd.kernel
def picked(index: qd.types.ndarray(qd.i32, 1), x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i in index:
        y[i] += x[index[i]] ** 2


def swung(x: Any, v: Any, adjoint_x: Any, adjoint_v: Any) -> tuple[Any, Any]:
    """The adjoints of x and v before `swing`, from those after it."""
    after = adjoint_x - 0.5 * adjoint_v * (x + 0.5 * v * x)
    return after * (1 + 0.5 * v), adjoint_v + after * 0.5 * x


class Tensor:
    """A torch tensor of the host, as far as `adstack.torch` asks."""

    __module__ = "torch"
    layout = "strided"

    def __init__(self, array: Any, requires_grad: bool = False, view: bool = False) -> None:
        self.array, self.requires_grad, self.view, self.grad = np.asarray(array), requires_grad, view, None
        self.shape, self.dtype, self.device = self.array.shape, self.array.dtype, SimpleNamespace(type="cpu")

    def detach(self) -> Tensor:
        return Tensor(self.array)

    cpu = detach

    def contiguous(self) -> Tensor:
        return self if self.is_contiguous() else Tensor(self.array.copy())

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    def numel(self) -> int:
        return int(self.array.size)

    def element_size(self) -> int:
        return int(self.array.itemsize)

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def is_floating_point(self) -> bool:
        return self.array.dtype.kind == "f"

    def _is_view(self) -> bool:
        return self.view

    def clone(self, memory_format: object = None) -> Tensor:
        return Tensor(self.array.copy(), self.requires_grad)

    def copy_(self, other: Tensor) -> Tensor:
        self.array[...] = other.array
        return self

    def numpy(self) -> Any:
        return self.array

    def item(self) -> Any:
        return self.array.item()


class Context:
    """What torch keeps of one call of a function."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        self.saved_tensors: tuple[Any, ...] = ()
        self.dirty: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        self.dirty = tensors


def torch_played() -> Any:
    """A module `torch`; its list `calls` has the function and the context of each call, the last one last."""
    calls: list[tuple[Any, Context]] = []

    class Function:
        @classmethod
        def apply(cls, *args: Any) -> Any:
            calls.append((cls, Context(args)))
            return cls.forward(calls[-1][1], *args)  # type: ignore[attr-defined]

    return SimpleNamespace(
        calls=calls,
        autograd=SimpleNamespace(Function=Function),
        no_grad=nullcontext,
        is_grad_enabled=lambda: False,
        compiler=SimpleNamespace(disable=lambda call: call),
        empty=lambda shape, dtype, device: Tensor(np.empty(shape, dtype)),
        zeros_like=lambda tensor: Tensor(np.zeros_like(tensor.array)),
        from_numpy=Tensor,
        contiguous_format=None,
        strided=Tensor.layout,
    )


class SymbolicZero:
    def __init__(self, like: Any) -> None:
        self.shape, self.dtype = like.shape, like.dtype


class CustomVjp:
    """A function with a derivative: `pull` calls it and applies its derivative to adjoints, None for zeros."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def defvjp(self, forward: Any, backward: Any, symbolic_zeros: bool) -> None:
        assert symbolic_zeros
        self.forward, self.backward = forward, backward

    def pull(self, args: Any, active: Any, adjoints: Any) -> tuple[Any, Any]:
        primals = (SimpleNamespace(value=a, perturbed=p) for a, p in zip(args, active, strict=True))
        results, kept = self.forward(*primals)
        pairs = zip(results, adjoints, strict=True)
        return results, self.backward(kept, [SymbolicZero(r) if a is None else a for r, a in pairs])


class CustomJvp:
    """A function whose tangents `refuse` computes."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def defjvp(self, refuse: Any) -> None:
        self.refuse = refuse


def jax_played() -> Any:
    """A module `jax`; its list `functions` has what `custom_vjp` made, the last one last."""
    functions: list[CustomVjp] = []

    def custom_vjp(function: Any) -> Any:
        functions.append(CustomVjp(function))
        return functions[-1]

    def pure_callback(function: Any, like: Any, *args: Any, vmap_method: str) -> Any:
        for array in (a for group in args for a in (group if isinstance(group, list) else [group])):
            np.asarray(array).flags.writeable = False  # as jax has it
        results = function(*args)
        assert [(r.shape, r.dtype) for r in results] == [(one.shape, one.dtype) for one in like]
        return results

    return SimpleNamespace(
        functions=functions,
        custom_vjp=custom_vjp,
        custom_jvp=CustomJvp,
        pure_callback=pure_callback,
        Array=np.ndarray,
        ShapeDtypeStruct=lambda shape, dtype: SimpleNamespace(shape=shape, dtype=np.dtype(dtype)),
        custom_derivatives=SimpleNamespace(SymbolicZero=SymbolicZero),
        dtypes=SimpleNamespace(
            float0=np.dtype([("float0", "V0")]),
            canonicalize_dtype=np.dtype,
            issubdtype=np.issubdtype,
            extended=np.void,  # which none of these arrays has
        ),
        numpy=SimpleNamespace(zeros=np.zeros),
        tree_util=SimpleNamespace(Partial=lambda function: function),
    )
