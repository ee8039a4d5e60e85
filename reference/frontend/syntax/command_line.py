"""The program that the interpreter was given as text: `python -c "..."`."""

from __future__ import annotations

import functools
import itertools
import linecache
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType

from ...values.written import Written

__all__ = ["as_given"]

FILE = "<-c>"
_OPTION = re.compile(r"-[a-zA-Z]*c")


def as_given(text: Written, code: CodeType) -> Written:
    """The text around `code` as it was given on the command line, if it is part of that program; else `text`.

    Other code may call its file "<string>" too: only code that the program's text compiles to is taken to be from it.
    What Python 3.13 has under that name is the program's text, so other code of that name has none.
    """
    if text.file != "<string>":
        return text
    if code not in _codes():
        return replace(text, lines=[])
    if FILE not in linecache.cache:
        given = _text()
        linecache.cache[FILE] = (len(given), None, [line + "\n" for line in given.split("\n")], FILE)
    return replace(text, file=FILE, lines=linecache.getlines(FILE))


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
