"""`@func`: functions inlined into the kernels that call them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType
from typing import ClassVar, Final, overload

from ..absent import with_absent
from ..errors import AdstackSyntaxError, AdstackValueError
from ..runtime.memory.copying import ByName
from .calling import takes
from .kinds import KernelObject, PythonFunction
from .protocol import current_emitter
from .written import keep

__all__ = ["BoundFunc", "Func", "PyFunc", "RealFunc", "func", "pyfunc", "real_func"]


@with_absent("a func")
class Func(ByName):
    """A function of the kernel language; kernels and other funcs call it, and its body is inlined there."""

    decorator: ClassVar[str] = "func"
    """What a program calls its decorator."""

    def __init__(self, function: PythonFunction) -> None:
        keep(function, self.decorator)
        self.function = function
        functools.update_wrapper(self, function)

    def __get__(self, owner: object, owner_type: object = None) -> KernelObject:
        return self if owner is None else BoundFunc(self, owner)

    def __call__(self, *args: object, **kwargs: object) -> KernelObject:
        """From a plain Python function that a kernel calls it is inlined, too."""
        return self.inlined(args, kwargs)

    def inlined(
        self, args: tuple[KernelObject, ...], kwargs: dict[str, KernelObject], owned: bool = False
    ) -> KernelObject:
        """Its result, recorded in the kernel that is being compiled; if `owned`, the first argument is its object.

        AdstackSyntaxError where no kernel is being compiled.
        """
        emitter = current_emitter()
        if emitter is not None:
            return emitter.inline(self, args, kwargs, owned)
        name = self.function.__name__
        raise AdstackSyntaxError(
            f"{name} is a func and can be called in kernels and funcs only",
            do=f"call it from a @kernel, or drop the @func of {name}",
        )

    def __repr__(self) -> str:
        return f"<func {self.function.__qualname__}>"


class BoundFunc:
    """A func that is a method, with its object."""

    def __init__(self, func: Func, owner: object) -> None:
        self.func = func
        self.owner = owner

    def __call__(self, *args: object, **kwargs: object) -> KernelObject:
        return self.func.inlined((self.owner, *args), kwargs, owned=True)

    def __repr__(self) -> str:
        return f"<bound {self.func!r}>"


class PyFunc(Func):
    """A func that the host can call as well: there it is the plain Python function."""

    decorator = "pyfunc"

    def __get__(self, owner: object, owner_type: object = None) -> KernelObject:
        return self if owner is None else BoundPyFunc(self, owner)

    def __call__(self, *args: object, **kwargs: object) -> KernelObject:
        return self.function(*args, **kwargs) if current_emitter() is None else self.inlined(args, kwargs)


class BoundPyFunc(BoundFunc):
    """The same for a method."""

    def __call__(self, *args: object, **kwargs: object) -> KernelObject:
        if current_emitter() is None:
            return self.func.function(self.owner, *args, **kwargs)
        return super().__call__(*args, **kwargs)


def _function(function: PythonFunction, decorator: str) -> PythonFunction:
    """The function under a decorator; AdstackSyntaxError if it is none."""
    if isinstance(function, (staticmethod, classmethod)):
        raise AdstackSyntaxError(f"@{decorator} goes below @staticmethod", do=f"write @staticmethod above @{decorator}")
    if not isinstance(function, (FunctionType, MethodType)):
        raise AdstackSyntaxError(
            f"@{decorator} decorates a function, got {function!r}",
            do="define one with def, and call other objects in it",
        )
    return function


@overload
def func(fn: PythonFunction, is_real_function: bool | None = ...) -> Func: ...
@overload
def func(*, is_real_function: bool | None = ...) -> Callable[[PythonFunction], Func]: ...
@takes("func")
def func(fn: PythonFunction | None = None, is_real_function: bool | None = None) -> Func | Callable[..., Func]:
    """Decorator: make a Python function callable from kernels, inlined where it is called.

    Args:
        fn: what is decorated; `func(is_real_function=...)` gives the decorator.
        is_real_function: whether it is one that is compiled by itself, as under `real_func`.

    AdstackSyntaxError if it stands above a decorator that wraps the function, such as `@staticmethod`; called on the
    host, a func raises that too.
    """
    if fn is None:
        return partial(func, is_real_function=is_real_function)
    if is_real_function:
        return _real(fn, MOST)
    return Func(_function(fn, "func"))


@takes("pyfunc")
def pyfunc(fn: PythonFunction) -> PyFunc:
    """Decorator: make a Python function callable from kernels, where it is inlined, and from the host, where it runs.

    On the host its arithmetic is Python's. AdstackSyntaxError for the same as `func`.
    """
    return PyFunc(_function(fn, "pyfunc"))


MOST: Final = 64
"""Calls of a real_func that may be under way inside of each other, unless its decorator says another number."""


class RealFunc(Func):
    """A function of typed parameters, passed by value, that may call itself as deep as run-time values say.

    Attributes:
        max_depth: how many of its calls may be under way inside of each other.
    """

    decorator = "real_func"

    def __init__(self, function: PythonFunction, max_depth: int = MOST) -> None:
        super().__init__(function)
        self.max_depth = max_depth


@overload
def real_func(function: PythonFunction, /) -> RealFunc: ...
@overload
def real_func(*, max_depth: int = MOST) -> Callable[[PythonFunction], RealFunc]: ...
@takes("real_func")
def real_func(
    function: PythonFunction | None = None, /, *, max_depth: int = MOST
) -> RealFunc | Callable[[PythonFunction], RealFunc]:
    """Decorator: make a Python function with annotated parameters and result callable from kernels, and from itself.

    Args:
        function: what is decorated; `real_func(max_depth=...)` gives the decorator.
        max_depth: how many of its calls may be under way inside of each other; one more is an AdstackAssertionError.
    """
    if function is None:
        return partial(_real, max_depth=max_depth)
    return _real(function, max_depth)


def _real(function: PythonFunction, max_depth: int) -> RealFunc:
    _function(function, "real_func")
    if not isinstance(max_depth, int) or not 1 <= max_depth <= 2**16:
        raise AdstackValueError("max_depth must be from 1 to 65536", note=f"got {max_depth!r}")
    return RealFunc(function, max_depth)
