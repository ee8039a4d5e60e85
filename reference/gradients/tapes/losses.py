"""What a tape can start from: one number with a gradient."""

from __future__ import annotations

import math
from typing import Any

from ...data.device_arrays import is_torch
from ...data.fields import Field
from ...data.ndarrays import Ndarray
from ...errors import AdstackRuntimeError, AdstackRuntimeTypeError
from ...runtime.memory.buffers import Buffer
from ...runtime.memory.clearing import fill

__all__ = ["Loss"]


class Loss:
    """A loss: a field of rank 0, an ndarray of one element, or a torch tensor of one element; with a gradient."""

    def __init__(self, data: Any) -> None:
        self.data = data
        if isinstance(data, Field):
            self._check_field(data)
        elif isinstance(data, Ndarray):
            self._check_ndarray(data)
        elif is_torch(data):
            self._check_torch(data)
        else:
            raise AdstackRuntimeTypeError(
                f"The loss of `Tape` must be a field, an ndarray or a torch tensor, got {type(data).__name__}",
                do="make one with qd.field(qd.f32, shape=(), needs_grad=True)",
            )

    def _check_field(self, data: Field) -> None:
        if data.shape or data.element_shape:
            raise AdstackRuntimeError(
                f"The loss of `Tape` must be a 0-D field, i.e. a scalar: {data.label} has shape "
                f"{data.shape + data.element_shape}",
                do="add its elements up into a field of shape ()",
            )
        if not data.has_grad():
            raise _no_gradient("needs_grad=True", "field")

    def _check_ndarray(self, data: Ndarray) -> None:
        if math.prod(data.shape + data.element_shape) != 1:
            raise AdstackRuntimeError(
                f"The loss of `Tape` must be an ndarray with only one element, got shape "
                f"{data.shape + data.element_shape}",
                do="add its elements up into an ndarray of one element",
            )
        if data.grad is None:
            raise _no_gradient("needs_grad=True", "ndarray")

    def _check_torch(self, data: Any) -> None:
        if data.numel() != 1:
            raise AdstackRuntimeError(
                f"The loss of `Tape` must be a tensor only contains one element, got shape {tuple(data.shape)}",
                do="add its elements up into a tensor of one element",
            )
        if not data.requires_grad:
            raise _no_gradient("requires_grad=True", "tensor")

    def start(self) -> None:
        """Set the loss to zero."""
        if is_torch(self.data):
            self.data.detach().zero_()
        else:
            self.data.fill(0.0)

    def starting(self) -> list[Buffer]:
        """The same where nobody has to be told: the memory that is still to be set to zero."""
        if is_torch(self.data):
            self.start()
            return []
        return [self.data.buffer]

    def seed(self) -> None:
        """Set the gradient to one."""
        if not is_torch(self.data):
            fill([self.data.grad.buffer], 1)
        elif self.data.grad is None:
            self.data.grad = self.data.detach().clone().fill_(1.0)
        else:
            self.data.grad.fill_(1.0)

    def value(self) -> float:
        """The loss now."""
        return float(self.data.item()) if is_torch(self.data) else float(self.data.to_numpy().reshape(-1)[0])


def _no_gradient(option: str, what: str) -> AdstackRuntimeError:
    return AdstackRuntimeError(
        f"Gradients of loss are not allocated, please set {option} for all {what}s that are required by autodiff",
        do=f"make the loss with {option}",
    )
