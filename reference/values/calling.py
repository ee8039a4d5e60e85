"""What is said of a call with arguments that a function does not take: its name, and what it takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import ParamSpec, TypeVar

from ..errors import AdstackTypeError

__all__ = ["called", "methods_take", "takes"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=type)


def takes(name: str, **other: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function or method that users call by a `name`: other arguments than its own are an error that
    says which it takes.

    Args:
        name: what users call it; "" for `__new__` and `__call__`, which are called by the name of the class or object.
        other: names that existing programs give to some arguments -> those that the arguments have here.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for known in other.keys() & kwargs.keys() if other else ():
                if other[known] not in kwargs:
                    kwargs[other[known]] = kwargs.pop(known)
            try:
                return function(*args, **kwargs)
            except TypeError:
                wrong = _refusal(function, args, kwargs, name)
                if wrong is None:
                    raise
            raise wrong

        return checked

    return decorate


def methods_take(cls: T) -> T:
    """Decorator of a class: `takes`, of each of its own public methods that has no such decorator."""
    for name, member in list(vars(cls).items()):
        function = member.__func__ if isinstance(member, staticmethod) else member
        if name.startswith("_") or not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
            continue
        if member is function:
            setattr(cls, name, takes(name)(function))
        else:
            setattr(cls, name, staticmethod(takes(f"{cls.__name__}.{name}")(function)))
    return cls


def called(
    function: Callable[..., object],
    run: Callable[[], R],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> R:
    """The result of `run()`, which calls a function, or does what a call of it means.

    Args:
        function: the function, whose signature says what it takes.
        run: what is done.
        args: the arguments by position.
        kwargs: the arguments by name.

    Raises:
        AdstackTypeError: the function does not take these arguments.
    """
    try:
        return run()
    except TypeError:
        wrong = _refusal(function, args, kwargs)
        if wrong is None:
            raise
    raise wrong


def _refusal(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], name: str = ""
) -> AdstackTypeError | None:
    """The error for a call that the signature of a function does not allow; None if it does, or nobody knows it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    parameters = signature.parameters.values()
    unknown = [key for key in kwargs if key not in signature.parameters]
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
        said = _said(error) if open_ended or not unknown else f"got an unexpected keyword argument {unknown[0]!r}"
        taken = [str(p).partition(":")[0].partition("=")[0] for p in parameters]
        own = ", ".join(taken[1:] if taken[:1] in (["self"], ["cls"]) else taken)
        do = f"it takes {own}" if own else "call it without arguments"
        return AdstackTypeError(f"{name or _name(function, args)}() {said}", do=do)
    return None


def _name(function: Callable[..., object], args: Sequence[object]) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    if name not in ("__new__", "__call__"):
        return name
    return args[0].__name__ if isinstance(args[0], type) else repr(args[0])


def _said(error: TypeError) -> str:
    """What `inspect` says, as a sentence whose subject is the function."""
    text = str(error)
    return text if text.startswith(("got", "missing")) else f"got {text}"
