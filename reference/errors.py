"""The error hierarchy: everything adstack raises derives from AdstackError and from the built-in a user expects.

Three kinds of failure, three branches: the program did it (compilation and runtime errors), a finite resource ran out
(`AdstackOverflowError`, `AdstackMemoryError`), adstack did it (`InternalError`: a defect to report).
"""

from __future__ import annotations

import linecache
from typing import Any, Protocol


class SourceSpan(Protocol):
    """What an error needs of a location; `ir.location.Loc` is one."""

    @property
    def file(self) -> str:
        """The file's name."""

    @property
    def line(self) -> int:
        """The first line, counted from 1."""

    @property
    def col(self) -> int:
        """The column of the first character, counted from 1."""

    @property
    def end_line(self) -> int:
        """The last line, counted from 1; 0 if it is not known."""

    @property
    def end_col(self) -> int:
        """The column just past the last character, counted from 1; 0 if it is not known."""

    @property
    def caller(self) -> Any:
        """Where the function that holds this text was inlined, or None."""


def excerpt(loc: SourceSpan, note: str = "") -> str:
    """The source line of `loc` with carets under its span and `note` after them; "" if the source is not at hand."""
    text = linecache.getline(loc.file, loc.line).rstrip("\n")
    if not text.strip():
        return ""
    start = max(loc.col, 1)
    end = loc.end_col if loc.end_line == loc.line and loc.end_col > start else start + 1
    body = text.lstrip()
    shift = len(text) - len(body)
    carets = " " * (start - 1 - shift) + "^" * (end - start)
    return f"    {body}\n    {carets}" + (f" {note}" if note else "")


class AdstackError(Exception):
    """Base of all errors raised by adstack.

    Args:
        message: what happened.
        loc: where in the user's program, if known.
        note: a few words put behind the caret (what was found there).
        do: what to do about it.
    """

    def __init__(self, message: str = "", *, loc: SourceSpan | None = None, note: str = "", do: str = "") -> None:
        self.message = message
        self.loc = loc
        self.note = note
        self.do = do
        super().__init__(self.render())

    def render(self) -> str:
        """The whole message: place, problem, source line with caret, call chain, remedy."""
        lines = []
        if self.loc is None:
            lines.append(self.message + (f" ({self.note})" if self.note else ""))
        else:
            lines.append(f"{self.loc.file}:{self.loc.line}:{self.loc.col}: {self.message}")
            shown = excerpt(self.loc, self.note)
            if shown:
                lines.append(shown)
            elif self.note:
                lines.append(f"    {self.note}")
            caller = self.loc.caller
            while caller is not None:
                lines.append(f"  called from {caller.file}:{caller.line}:{caller.col}")
                caller = caller.caller
        if self.do:
            lines.append(f"  do: {self.do}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()


class AdstackCompilationError(AdstackError):
    """A kernel that can't be compiled as written."""


class AdstackSyntaxError(AdstackCompilationError, SyntaxError):
    """A Python construct the kernel language does not have, or not there."""


class AdstackNameError(AdstackCompilationError, NameError):
    """A name that is not known where it is used."""


class AdstackAttributeError(AdstackCompilationError, AttributeError):
    """A name that a module or class of adstack does not have; the message says what to use."""


class AdstackTypeError(AdstackCompilationError, TypeError):
    """Operands or arguments of the wrong type."""


class AdstackCallError(AdstackSyntaxError, AdstackTypeError):
    """A kernel is called with too few, too many or unknown arguments."""


class AdstackValueError(AdstackCompilationError, ValueError):
    """A value known at compile time that is not allowed."""


class AdstackIndexError(AdstackCompilationError, IndexError):
    """A wrong number of indices, or an index known at compile time to be out of range."""


class AdstackRuntimeError(AdstackError, RuntimeError):
    """A launch, or a call into the runtime, that failed."""


class AdstackAssertionError(AdstackRuntimeError, AssertionError):
    """An `assert` of a kernel, or a check of debug mode, failed."""


class AdstackOutOfBoundsError(AdstackAssertionError, IndexError):
    """An access outside a field or ndarray, found while running."""


class AdstackRaceError(AdstackAssertionError):
    """Two iterations of a parallel loop touch one element without atomics, and one of them writes it."""


class AdstackRuntimeTypeError(AdstackRuntimeError, TypeError):
    """An argument of a type that the parameter does not take."""


class AdstackArgumentError(AdstackRuntimeError, ValueError):
    """An argument whose value, shape or element type the parameter does not take."""


class AdstackDataAccessError(AdstackAssertionError):
    """The global data access rule is broken: a value that the reverse pass needs was overwritten."""


class AdstackStaleBoundError(AdstackRuntimeError):
    """A loop bound changed between a forward launch and its `.grad()`."""


class AdstackOverflowError(AdstackAssertionError, OverflowError):
    """An adstack was pushed past its capacity; an AssertionError, as which existing programs catch it."""


class AdstackMemoryError(AdstackRuntimeError, MemoryError):
    """Memory of the host or of a device ran out."""


class BackendUnavailableError(AdstackRuntimeError):
    """The arch asked for can't run here; the message has the reason and the fix."""


class InternalError(AdstackError):
    """A defect of adstack: something happened that verified IR rules out. Please report it with the dump."""


class IRError(InternalError):
    """IR that breaks the rules of the IR: wrong types, unknown values, misplaced terminators."""
