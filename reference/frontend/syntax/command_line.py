"""The program that the interpreter was given as text: `python -c "..."`."""

from __future__ import annotations

import functools
import itertools
import linecache
import re
import sys
from collections.abc import Iterator
from types import CodeType

__all__ = ["command_line_file"]

FILE = "<-c>"
_OPTION = re.compile(r"-[a-zA-Z]*c")


def command_line_file(code: CodeType) -> str | None:
    """The name under which `linecache` has the source of `code`; None unless it is part of that program.

    Other code may call its file "<string>" too: only code that the program's text compiles to is taken to be from it.
    """
    if code.co_filename != "<string>" or code not in _codes():
        return None
    if FILE not in linecache.cache:
        text = _text()
        linecache.cache[FILE] = (len(text), None, [line + "\n" for line in text.split("\n")], FILE)
    return FILE


def _text() -> str:
    """The text; empty if there is none."""
    arguments = sys.orig_argv[1:]
    return next((text for option, text in itertools.pairwise(arguments) if _OPTION.fullmatch(option)), "")


@functools.cache
def _codes() -> frozenset[CodeType]:
    """The code of every function in the text."""
    try:
        return frozenset(_within(compile(_text(), "<string>", "exec", dont_inherit=True)))
    except SyntaxError:
        return frozenset()


def _within(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _within(constant)
