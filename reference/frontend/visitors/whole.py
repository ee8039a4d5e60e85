"""Methods of whole fields and arrays in kernels: `x.fill(v)` is a loop there; what the host does is refused."""

from __future__ import annotations

from types import MethodType
from typing import Any, Final

from ...data.hostarrays import HostArray
from ...errors import AdstackTypeError
from ...values.func import BoundFunc
from ..emission.arrays import filling
from ..emission.context import Context

__all__ = ["of_whole"]

_OF_THE_HOST: Final = ("copy_from", "from_numpy", "from_torch", "to_numpy", "to_torch", "to_dlpack")


def of_whole(context: Context, function: Any) -> Any:
    """What a call of `function` means in a kernel, if it is a method of a field or array; else `function` itself."""
    if not isinstance(function, MethodType) or not isinstance(function.__self__, HostArray):
        return function
    name = function.__name__
    if name == "fill":
        return BoundFunc(filling, function.__self__)
    if name in _OF_THE_HOST:
        context.fail(
            AdstackTypeError,
            f"{name} is for the host: it would act once, while compiling",
            do="call it outside kernels",
        )
    return function
