"""`@kernel`: the decorator that makes a kernel of a Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType
from typing import Any, overload

from ..errors import AdstackRuntimeTypeError, AdstackSyntaxError
from ..values.written import keep
from .kernel import Kernel

__all__ = ["kernel"]


@overload
def kernel(fn: Callable[..., object]) -> Kernel: ...
@overload
def kernel(
    *, graph: bool = ..., fastcache: bool = ..., pure: bool | None = ...
) -> Callable[[Callable[..., object]], Kernel]: ...
def kernel(
    fn: Callable[..., object] | None = None,
    *,
    graph: bool = False,
    fastcache: bool = False,
    pure: bool | None = None,
    **unknown: object,
) -> Any:
    """Decorator: compile a Python function of the kernel language and launch it when it is called.

    Args:
        fn: what to compile.
        graph: launch the tasks of the kernel as one, where the device can; it does not change results.
        fastcache: a hint of existing programs; compiled kernels are kept on disk in any case (`init(offline_cache=)`).
        pure: another name of the same hint.
        unknown: nothing else: AdstackRuntimeTypeError for any other option.

    AdstackSyntaxError for what is no function, or is a wrapper that another decorator made.
    """
    if unknown:
        raise AdstackRuntimeTypeError(f"@kernel has no option {next(iter(unknown))!r}", do="it has graph and fastcache")
    if fn is None:
        return lambda decorated: _made(decorated, _names_of(inspect.currentframe()), graph)
    return _made(fn, _names_of(inspect.currentframe()))


def _names_of(frame: FrameType | None) -> Mapping[str, object]:
    """The local names where a function was called; none where Python has no frames."""
    caller = None if frame is None else frame.f_back
    return {} if caller is None else caller.f_locals


def _made(function: Callable[..., object], around: Mapping[str, object], graph: bool = False) -> Kernel:
    if isinstance(function, (staticmethod, classmethod)):
        raise AdstackSyntaxError("@kernel goes below @staticmethod", do="write @staticmethod above @kernel")
    if not isinstance(function, FunctionType):
        raise AdstackSyntaxError(
            f"@kernel decorates a function, got {function!r}", do="define one with def, and call other objects in it"
        )
    keep(function, "kernel")
    return Kernel(function, around, graph)
