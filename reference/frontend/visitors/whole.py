"""Methods of whole fields, arrays and lists in kernels: `x.fill(v)` is a loop; what the host does is refused."""

from __future__ import annotations

from types import MethodType
from typing import Final

from ...data.components import ComponentField
from ...data.hostarrays import HostArray
from ...data.snode import SNode
from ...data.struct_fields import StructField
from ...errors import AdstackTypeError
from ...values.func import BoundFunc
from ...values.kinds import KernelObject
from ..emission.arrays import filling
from ..emission.context import Context
from ..emission.sparse import ListRef
from .sparse import of_list

__all__ = ["of_whole"]

_WHOLE: Final = (HostArray, ComponentField, ListRef, SNode)
_OF_THE_HOST: Final = ("copy_from", "from_numpy", "from_torch", "to_numpy", "to_torch", "to_dlpack", "deactivate_all")


def of_whole(context: Context, function: object) -> KernelObject:
    """What a call of `function` means in a kernel, if it is a method of a field, array or list; else `function`."""
    if not isinstance(function, MethodType) or not isinstance(
        function.__self__, (HostArray, ComponentField, ListRef, SNode, StructField)
    ):
        return function
    name = function.__name__
    of_sparse = of_list(function)
    if of_sparse is not None:
        return of_sparse
    if name == "fill":
        return BoundFunc(filling, function.__self__)
    if name in _OF_THE_HOST:
        context.fail(
            AdstackTypeError,
            f"{name} is for the host: it would act once, while compiling",
            do="call it outside kernels",
        )
    return function
