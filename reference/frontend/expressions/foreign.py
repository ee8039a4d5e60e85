"""Running the user's Python code while compiling: what it raises becomes a compile error at the call."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import (
    AdstackCompilationError,
    AdstackError,
    AdstackIndexError,
    AdstackNameError,
    AdstackTypeError,
    AdstackValueError,
)
from ...values.kinds import KernelObject
from ..emission.context import Context

__all__ = ["guarded"]

_KINDS: tuple[tuple[type[Exception], type[AdstackCompilationError]], ...] = (
    (TypeError, AdstackTypeError),
    (IndexError, AdstackIndexError),
    (KeyError, AdstackIndexError),
    (NameError, AdstackNameError),
    (AttributeError, AdstackNameError),
    (ArithmeticError, AdstackValueError),
    (ValueError, AdstackValueError),
)


def guarded(context: Context, run: Callable[[], KernelObject], do: str = "") -> KernelObject:
    """The result of `run()`; an exception becomes a compile error at the node that is being lowered."""
    try:
        return run()
    except (AdstackError, MemoryError, Warning):
        raise
    except Exception as error:
        kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), AdstackCompilationError)
        message = f"{type(error).__name__} while compiling: {error}"
        if isinstance(error, RecursionError):
            do = "end the recursion, split long expressions and chains of elif, or make several kernels of it"
        if not do and isinstance(error, TypeError) and "Text found" in message:
            do = "add texts with values of the kernel by +, or write one f-string"
        if not do and isinstance(error, TypeError) and "'method'" in message:
            do = "call the method: write () after its name"
        if not do and isinstance(error, IndexError):
            do = "use an index from 0 to the length less 1"
        if not do and isinstance(error, TypeError) and "'Expr'" in message:
            do = "Python's and numpy's functions don't take values of a kernel: use those of the language, as qd.sin(x)"
        raise kind(message, loc=context.builder.loc, do=do) from error
