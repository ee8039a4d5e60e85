"""`@func`: functions inlined into the kernels that call them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..errors import AdstackSyntaxError
from .protocol import current_emitter

__all__ = ["BoundFunc", "Func", "func", "real_func"]


class Func:
    """A function of the kernel language; kernels and other funcs call it, and its body is inlined there."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __get__(self, owner: Any, owner_type: Any = None) -> Any:
        return self if owner is None else BoundFunc(self, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """From a plain Python function that a kernel calls it is inlined, too."""
        return self.inlined(args, kwargs)

    def inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any], owned: bool = False) -> Any:
        """Its result, recorded in the kernel that is being compiled; if `owned`, the first argument is its object."""
        emitter = current_emitter()
        if emitter is not None:
            return emitter._inline(self, args, kwargs, owned)
        name = self.function.__name__
        raise AdstackSyntaxError(
            f"{name} is a func and can be called in kernels and funcs only",
            do=f"call it from a @kernel, or drop the @func of {name}",
        )

    def __repr__(self) -> str:
        return f"<func {self.function.__qualname__}>"


class BoundFunc:
    """A func that is a method, with its object."""

    def __init__(self, func: Func, owner: Any) -> None:
        self.func = func
        self.owner = owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func.inlined((self.owner, *args), kwargs, owned=True)

    def __repr__(self) -> str:
        return f"<bound {self.func!r}>"


def func(function: Callable[..., Any]) -> Func:
    """Decorator: make a Python function callable from kernels, inlined where it is called."""
    if isinstance(function, (staticmethod, classmethod)):
        raise AdstackSyntaxError("@func goes below @staticmethod", do="write @staticmethod above @func")
    return Func(function)


real_func = func
"""A func; one that keeps its own frame elsewhere is inlined here as well."""
