"""Array arguments: Ndarrays, numpy arrays, torch tensors and what speaks DLPack, checked against their annotation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from ..data import dlpack
from ..data.device_arrays import alike, is_torch, may_be_on_device, taken
from ..data.hostarrays import HostArray
from ..data.ndarrays import Ndarray
from ..errors import AdstackArgumentError
from ..ir.types import DType, from_numpy
from ..runtime import state
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.protocol.shortcuts import Argument, ArrayArgument, HostArgument, TensorArgument
from ..values.specs import NdarraySpec, Spec
from .arguments import Call, Loan, invalid

__all__ = ["NdarrayParameter", "WithGradient", "is_array"]


_READ_ONLY: Final = np.zeros(0)
"""Stands as the `original` of a loan for memory of others that may not be written."""
_READ_ONLY.flags.writeable = False
Tensor: TypeAlias = Any
"""An array or tensor of any library that speaks DLPack; of torch, where it is called so."""


@dataclass
class ArgumentMemory:
    """An argument as memory: index axes first, then the element's.

    Attributes:
        owner, grad_owner: for arrays, the objects that have the memory.
        is_plain: whether it is an array of a library that knows no gradients.
    """

    dtype: DType
    shape: tuple[int, ...]
    element_shape: tuple[int, ...] | None
    buffer: Buffer | Array
    grad: Buffer | Array | None = None
    dual: Buffer | None = None
    read_only: bool = False
    owner: object = None
    grad_owner: object = None
    is_plain: bool = False


@dataclass(frozen=True)
class WithGradient:
    """An array of others beside the array of its gradients, which has its shape and type."""

    data: Tensor
    grad: Tensor


def is_array(value: object) -> bool:
    """Whether `value` can be passed as an array argument."""
    if isinstance(value, (Ndarray, np.ndarray, WithGradient)) or is_torch(value):
        return True
    return not isinstance(value, HostArray) and (may_be_on_device(value) or dlpack.kind_of(value) is not None)


def _is_plain(array: Array) -> bool:
    """Whether an array is aligned, and in the byte order of the processor."""
    return array.dtype.isnative and array.flags.aligned


def _owner(array: Array) -> object:
    """The object whose memory an array is, or is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.base is None else array.base


class NdarrayParameter:
    """An array that shares memory with its argument.

    Args:
        name: of the parameter.
        dtype: element type demanded, or None.
        element_shape: shape of the elements demanded, or None where the annotation does not say.
        ndim: number of index axes demanded, or None.
        needs_grad: True demands a gradient, of what can have one; False cuts it, None takes what comes.
        clamped: whether an index outside means the nearest one inside.
        element_dim: number of axes of the elements, where `element_shape` does not say.
    """

    def __init__(
        self,
        name: str,
        dtype: DType | None = None,
        element_shape: tuple[int, ...] | None = None,
        ndim: int | None = None,
        needs_grad: bool | None = None,
        clamped: bool = False,
        element_dim: int = 0,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.element_shape = element_shape
        self.ndim = ndim
        self.needs_grad = needs_grad
        self.clamped = clamped
        self.element_dim = element_dim if element_shape is None else len(element_shape)
        self._grad_name, self._dual_name = f"{name}.grad", f"{name}.dual"
        self._accepted: dict[Any, Any] = {}

    def take(self, value: object, call: Call) -> None:
        """See `Parameter.take`."""
        if value.__class__ is Ndarray and value.signature in self._accepted:
            self._take_known(value, call)
            return
        memory = self._memory(value)
        spec = self._checked(memory)
        signature = (spec.dtype, spec.ndim, spec.element_shape, spec.has_grad, spec.has_dual)
        call.key.append(signature)
        if isinstance(value, Ndarray):
            self._accepted[value.signature] = signature
        elif isinstance(value, np.ndarray):
            call.owners = {**(call.owners or {}), self.name: memory.owner}
        elif not is_torch(value) and dlpack.kind_of(value) in dlpack.HOST:
            call.owners = {**(call.owners or {}), self.name: value}
        self._pass(self.name, memory.buffer, memory.owner, call)
        if memory.read_only:
            call.lend(Loan(self.name, _READ_ONLY))
        if spec.has_grad and memory.grad is not None:
            self._pass(self._grad_name, memory.grad, memory.grad_owner, call)
        if spec.has_dual and memory.dual is not None:
            self._pass(self._dual_name, memory.dual, None, call)

    def _take_known(self, array: Ndarray, call: Call) -> None:
        """Take an ndarray of a kind that was checked before."""
        signature = self._accepted[array.signature]
        if not array.record_address:
            array.marked()
        call.key.append(signature)
        call.arrays[self.name] = array.buffer
        if signature[3] and array.grad is not None:
            call.arrays[self._grad_name] = array.grad.buffer
        if signature[4] and array.dual is not None:
            call.arrays[self._dual_name] = array.dual.buffer

    def spec(self, value: object) -> Spec:
        """See `Parameter.spec`."""
        return self._checked(self._memory(value))

    def described(self, value: object) -> Argument | None:
        """Ndarrays like this one; or numpy arrays and torch tensors that need no care."""
        if value.__class__ is Ndarray:
            tag = value.marked()
            beside = "" if value.grad is None else self._grad_name
            return ArrayArgument(self.name, Ndarray, tag, beside) if tag else None
        if self.element_dim:
            return None
        if value.__class__ is np.ndarray and _is_plain(value):
            return HostArgument(self.name, np.ndarray, value.data.format, value.ndim)
        return self._described_tensor(value) if is_torch(value) else None

    def _described_tensor(self, tensor: Tensor) -> Argument | None:
        """Tensors that need no gradient, like this one."""
        if tensor.requires_grad:
            return None
        if tensor.device.type != "cpu":
            return alike(self.name, tensor)
        array = tensor.detach().numpy()
        return TensorArgument(self.name, type(tensor), array.data.format, array.ndim) if _is_plain(array) else None

    def _memory(self, value: object) -> ArgumentMemory:
        if isinstance(value, Ndarray):
            beside = value.grad, value.dual if value.has_dual() else None
            grad, dual = (None if one is None else one.buffer for one in beside)
            return ArgumentMemory(value.dtype, value.shape, value.element_shape, value.buffer, grad, dual)
        if isinstance(value, np.ma.MaskedArray):
            do = f"pass {self.name}.filled(0), or {self.name}.data, to which kernels may write"
            raise invalid(self.name, "an array whose elements are all there, and this one has a mask", value, do)
        if isinstance(value, np.ndarray):
            return self._numpy(value)
        if isinstance(value, WithGradient):
            gradient = self._memory(value.grad)
            return replace(self._memory(value.data), grad=gradient.buffer, grad_owner=gradient.owner)
        if is_torch(value) and not getattr(value, "is_cuda", False):
            return self._torch(value)
        memory = None if isinstance(value, HostArray) else self._on_device(value)
        if memory is not None:
            return memory
        shared = None if isinstance(value, HostArray) else dlpack.on_host(value)
        if shared is None:
            is_field = isinstance(value, HostArray)
            do = f"annotate it {self.name}: qd.template()" if is_field else "pass an array, such as np.array(...)"
            expected = "an ndarray, a numpy array, a torch tensor or another array that speaks DLPack"
            raise invalid(self.name, expected, value, do)
        return self._numpy(shared)

    def _numpy(self, array: Array) -> ArgumentMemory:
        try:
            dtype = from_numpy(array.dtype)
        except KeyError:
            raise self._mismatch("dtype", "one of numpy's bool, int, uint and float types", array.dtype) from None
        return ArgumentMemory(dtype, array.shape, None, array, owner=_owner(array), is_plain=True)

    def _on_device(self, value: Tensor) -> ArgumentMemory | None:
        """The memory of an array that is on a device; None if it is not."""
        there = taken(self.name, value)
        if there is None:
            return None
        buffer, read_only = there
        memory = ArgumentMemory(buffer.dtype, buffer.shape, None, buffer, read_only=read_only)
        if getattr(value, "requires_grad", False) and self.needs_grad is not False:
            if value.grad is None:
                value.grad = value.detach() * 0
            beside = taken(self._grad_name, value.grad)
            memory.grad = None if beside is None else beside[0]
        return memory

    def _torch(self, tensor: Tensor) -> ArgumentMemory:
        if tensor.device.type != "cpu":
            raise self._mismatch("device", "cpu", tensor.device)
        memory = self._numpy(self._viewed(tensor.detach() if tensor.requires_grad else tensor))
        memory.owner, memory.is_plain = tensor, False
        if tensor.requires_grad and self.needs_grad is not False:
            if tensor.grad is None:
                import torch

                tensor.grad = torch.zeros_like(tensor)
            memory.grad, memory.grad_owner = tensor.grad.detach().numpy(), tensor.grad
        return memory

    def _viewed(self, tensor: Tensor) -> Array:
        """The memory of a tensor as an array of numpy."""
        try:
            array: Array = tensor.numpy()
        except (RuntimeError, TypeError) as error:  # it has none, or of a kind that numpy has not
            raise AdstackArgumentError(
                f"Invalid value for argument {self.name} - torch does not give its memory: {error}",
                do="pass a strided tensor of torch.float32, for example, and outside of torch.func",
            ) from error
        return array

    def _checked(self, memory: ArgumentMemory) -> NdarraySpec:
        if self.dtype is not None and memory.dtype is not self.dtype:
            do = f"convert the array with astype, or annotate it with dtype=qd.{memory.dtype}"
            raise self._mismatch("dtype", self.dtype, memory.dtype, do)
        element, rank = self._split(memory)
        if self.ndim is not None and rank != self.ndim:
            raise self._mismatch("ndim", self.ndim, rank, "reshape the array, or annotate it with another ndim")
        lacks = bool(self.needs_grad) and memory.grad is None
        if lacks and not memory.is_plain:
            do = "make it with needs_grad=True (torch: requires_grad=True), or leave needs_grad out of the annotation"
            raise self._mismatch("needs_grad", True, False, do)
        has_grad, has_dual = (p is not None and self.needs_grad is not False for p in (memory.grad, memory.dual))
        name = self.name if lacks else ""
        return NdarraySpec(memory.dtype, rank, element, has_grad, has_dual, self.clamped, name)

    def _split(self, memory: ArgumentMemory) -> tuple[tuple[int, ...], int]:
        """The element's shape, and the number of index axes."""
        wanted, inner = self.element_shape, memory.element_shape
        if inner is not None:
            if wanted is not None and inner != wanted:
                raise self._mismatch("element shape", wanted, inner)
            if wanted is None and self.element_dim and len(inner) != self.element_dim:
                raise self._mismatch("element_dim", self.element_dim, len(inner))
            return inner, len(memory.shape)
        trailing = memory.shape[max(len(memory.shape) - self.element_dim, 0) :]
        if wanted is None and len(trailing) == self.element_dim:
            wanted = trailing
        if trailing != wanted:
            rank = f"{self.element_dim} axes" if wanted is None else wanted
            raise self._mismatch("element shape", rank, f"{trailing} as its trailing axes")
        return wanted, len(memory.shape) - len(wanted)

    def _pass(self, place: str, memory: Buffer | Array, owner: object, call: Call) -> None:
        """Let a launch work on memory; of an array that the device does not address it gets a copy."""
        if isinstance(memory, Buffer):
            call.arrays[place] = memory
            return
        array = memory if memory.flags.c_contiguous and memory.flags.aligned else self._contiguous(memory)
        runtime = state.current()
        storage, dtype = runtime.backend.adopt(array), from_numpy(array.dtype)
        if storage is None:
            buffer: Buffer = runtime.staging.copied(array, dtype, owner)
        else:
            buffer = Buffer(runtime.backend, dtype, array.shape, storage, shared=True)
        if storage is None or array is not memory:
            call.lend(Loan(place, memory, buffer))
        elif not memory.flags.writeable:
            call.lend(Loan(place, memory))
        call.arrays[place] = buffer

    def _contiguous(self, array: Array) -> Array:
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise AdstackArgumentError(
                f"Invalid value for argument {self.name} - the array is neither C nor Fortran contiguous "
                f"(strides {array.strides} for shape {array.shape})",
                do="pass np.ascontiguousarray(array); of a tensor of torch, tensor.contiguous()",
            )
        return np.array(array, order="C")  # it may be contiguous, and only not aligned

    def _mismatch(self, what: str, wanted: object, got: object, do: str = "") -> AdstackArgumentError:
        return AdstackArgumentError(
            f"Invalid value for argument {self.name} - required array has {what}={wanted}, "
            f"array with {what}={got} is provided",
            do=do,
        )
