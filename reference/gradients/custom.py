"""Gradients that the user writes, and code that has none."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from ..errors import AdstackRuntimeTypeError
from ..runtime.threads.recording import in_charge
from ..values.calling import takes

__all__ = ["grad_for", "grad_replaced", "no_grad"]

F = TypeVar("F", bound=Callable[..., Any])


def _who(serves: str) -> Any:
    """Who is in charge, if it has a method of this name; else None."""
    recorder = in_charge()
    return recorder if hasattr(recorder, serves) else None


@takes("ad.grad_replaced")
def grad_replaced(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a Python function that launches kernels: its gradient is the function under `grad_for`.

    A tape records a call of it instead of the launches inside. AdstackRuntimeTypeError for a generator or a coroutine
    function, whose launches come after the call.
    """
    _runs_to_its_end("grad_replaced", func)

    @functools.wraps(func)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        tape = _who("replaced")
        if tape is None:
            return func(*args, **kwargs)
        return tape.replaced(replaced, func, args, kwargs)

    replaced.grad = None  # type: ignore[attr-defined]
    return replaced


@takes("ad.grad_for")
def grad_for(primal: object) -> Callable[[F], F]:
    """Decorator: the function computes the gradient of `primal`, which is under `grad_replaced`.

    It takes the arguments of `primal`. AdstackRuntimeTypeError if `primal` is not under `grad_replaced`.
    """
    if not isinstance(primal, FunctionType) or not {"grad", "__wrapped__"} <= vars(primal).keys():
        raise AdstackRuntimeTypeError(
            f"grad_for takes a function under @grad_replaced, got {primal!r}",
            do="decorate it with @qd.ad.grad_replaced; of a kernel, a Python function that calls it",
        )

    def decorate(function: F) -> F:
        primal.grad = function  # type: ignore[attr-defined]
        return function

    return decorate


@takes("ad.no_grad")
def no_grad(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a Python function that launches kernels: to a tape and in forward mode what they write is constant.

    AdstackRuntimeTypeError for a generator or a coroutine function, whose launches come after the call.
    """
    _runs_to_its_end("no_grad", func)

    @functools.wraps(func)
    def constant(*args: Any, **kwargs: Any) -> Any:
        recorder = _who("constant")
        if recorder is None:
            return func(*args, **kwargs)
        return recorder.constant(func, args, kwargs)

    return constant


def _runs_to_its_end(decorator: str, function: object) -> None:
    """An error for a function whose call only begins it."""
    if not callable(function):
        raise AdstackRuntimeTypeError(
            f"{decorator} decorates a function, got {function!r}", do=f"write @qd.ad.{decorator} above a function"
        )
    kind = ""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        kind = "a generator"
    elif inspect.iscoroutinefunction(function):
        kind = "a coroutine"
    if kind:
        raise AdstackRuntimeTypeError(
            f"{decorator} is about what a call launches, and a call of {kind} function launches nothing yet: "
            f"{getattr(function, '__qualname__', function)}",
            do="put what launches kernels into a function of its own, and decorate that",
        )
