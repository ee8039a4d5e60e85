"""The duals of the gradients of array arguments, which a call passes only where they are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...data.ndarrays import Ndarray
from ...launch.arguments import Parameter
from ...launch.structured_arguments import StructParameter
from ...runtime.memory.buffers import Buffer

__all__ = ["duals_of_gradients"]


def duals_of_gradients(parameters: Sequence[Parameter], args: Sequence[object]) -> Iterator[tuple[str, Buffer]]:
    """(name of a place, its memory) for the ndarrays among arguments, of which there is one for each parameter."""
    for parameter, value in zip(parameters, args, strict=True):
        if isinstance(parameter, StructParameter):
            members = [parameter.get(value, member) for member in parameter.members]
            yield from duals_of_gradients([*parameter.members.values()], members)
        elif isinstance(value, Ndarray) and value.grad is not None and value.grad.dual is not None:
            yield f"{parameter.name}.grad.dual", value.grad.dual.buffer
