"""Gradients that the user writes, and code that has none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import AdstackRuntimeTypeError
from ..runtime.threads.recording import in_charge

__all__ = ["grad_for", "grad_replaced", "no_grad"]

F = TypeVar("F", bound=Callable[..., Any])


def _tape() -> Any:
    """The tape in charge, or None."""
    recorder = in_charge()
    return recorder if hasattr(recorder, "replaced") else None


def grad_replaced(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a Python function that launches kernels: its gradient is the function under `grad_for`.

    A tape records a call of it instead of the launches inside.
    """

    @functools.wraps(func)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        tape = _tape()
        if tape is None:
            return func(*args, **kwargs)
        return tape.replaced(replaced, func, args, kwargs)

    replaced.grad = None  # type: ignore[attr-defined]
    return replaced


def grad_for(primal: object) -> Callable[[F], F]:
    """Decorator: the function computes the gradient of `primal`, which is under `grad_replaced`.

    It takes the arguments of `primal`. AdstackRuntimeTypeError if `primal` is not under `grad_replaced`.
    """
    if not hasattr(primal, "grad") or not hasattr(primal, "__wrapped__"):
        raise AdstackRuntimeTypeError(
            f"grad_for takes a function under @grad_replaced, got {primal!r}",
            do="decorate it with @qd.ad.grad_replaced",
        )

    def decorate(function: F) -> F:
        primal.grad = function
        return function

    return decorate


def no_grad(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a Python function that launches kernels: to a tape they are constants."""

    @functools.wraps(func)
    def constant(*args: Any, **kwargs: Any) -> Any:
        tape = _tape()
        if tape is None:
            return func(*args, **kwargs)
        return tape.constant(func, args, kwargs)

    return constant
