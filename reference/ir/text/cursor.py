"""Reads tokens of the text form one by one: the small words that the parser is made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NoReturn, TypeVar

from ..location import UNKNOWN, Loc
from ..types import ArrayType, DType, StackType, Type, by_name
from .lexer import Source, Token

__all__ = ["Cursor"]

T = TypeVar("T")


class Cursor:
    """A place in a text, with the reading of names, numbers, strings, types and locations."""

    def __init__(self, text: str, file: str) -> None:
        self.source = Source(text, file)
        self.at = 0

    @property
    def token(self) -> Token:
        """The token at hand, which is not taken yet."""
        return self.source.tokens[self.at]

    def fail(self, problem: str, token: Token | None = None, note: str = "") -> NoReturn:
        """Raise AdstackSyntaxError at `token`, or at the next one."""
        token = token or self.token
        self.source.fail(token.start, len(token.text.rstrip("\n")), problem, note)

    def take(self) -> Token:
        """The token at hand; the cursor moves to the next one."""
        token = self.token
        self.at += 1
        return token

    def sees(self, *texts: str) -> bool:
        """Whether the next token is one of these words or marks."""
        return self.token.kind in ("mark", "word") and self.token.text in texts

    def accept(self, text: str) -> bool:
        """Read this word or mark if it comes next."""
        present = self.sees(text)
        self.at += present
        return present

    def expect(self, *texts: str) -> str:
        """Read one of these words or marks."""
        if not self.sees(*texts):
            self.fail(f"expected {' or '.join(texts)}, got {self.token}")
        return self.take().text

    def kind(self, kind: str, what: str) -> Token:
        """Read a token of this kind; `what` says what it is for."""
        if self.token.kind != kind:
            self.fail(f"expected {what}, got {self.token}")
        return self.take()

    def end_of_line(self) -> None:
        """Take the end of a line, which the end of the text is as well. IRError if something else comes."""
        if self.token.kind != "end":
            self.kind("newline", "the end of the line")

    def many(self, item: Callable[[], T], close: str) -> list[T]:
        """`item, item, ...` up to the mark `close`, which is read as well."""
        items: list[T] = []
        while not self.accept(close):
            if items:
                self.expect(",", close)
                if self.source.tokens[self.at - 1].text == close:
                    break
            items.append(item())
        return items

    def string(self, what: str) -> str:
        """Take a quoted string; gives its content. IRError, which says that `what` was expected, if there is none."""
        return self._decoded(self.kind("string", what), 0)

    def symbol(self, what: str) -> str:
        """A name after @, bare or quoted."""
        token = self.kind("symbol", f"{what} (like @name)")
        return self._decoded(token, 1) if token.text[1] == '"' else token.text[1:]

    def _decoded(self, token: Token, skip: int) -> str:
        try:
            return str(json.loads(token.text[skip:]))
        except ValueError:
            self.fail("a string with an escape that is none", token)

    def integer(self, what: str) -> int:
        """Take an integer, decimal or with a prefix such as 0x. IRError, which says that `what` was expected,
        otherwise.
        """
        token = self.kind("number", what)
        try:
            return int(token.text, 0)
        except ValueError:
            self.fail(f"expected {what}, got {token}", token)

    def dtype(self) -> DType:
        """Take the name of a scalar type. IRError if the word is none."""
        token = self.kind("word", "a scalar type (like f32)")
        try:
            return by_name(token.text)
        except KeyError:
            self.fail(f"expected a scalar type (like f32), got {token}", token)

    def type(self) -> Type:
        """A scalar type, `array<f32, 4>` or `stack<f32>`."""
        if not self.sees("array", "stack"):
            return self.dtype()
        word = self.take().text
        self.expect("<")
        dtype = self.dtype()
        if word == "stack":
            self.expect(">")
            return StackType(dtype)
        self.expect(",")
        length = self.integer("the length of the array")
        self.expect(">")
        return ArrayType(dtype, length)

    def loc(self) -> Loc:
        """A location suffix, if one comes next."""
        if not self.accept("loc"):
            return UNKNOWN
        self.expect("(")
        loc = self._span()
        self.expect(")")
        return loc

    def _span(self) -> Loc:
        file = self.string("a file name in quotes")
        line, col = self._colon("a line"), self._colon("a column")
        end_line, end_col = 0, 0
        if self.token.kind == "number":
            end_line, end_col = -self.integer("the last line"), self._colon("the last column")
        caller = self._span() if self.accept("at") else None
        return Loc(file, line, col, end_line, end_col, caller)

    def _colon(self, what: str) -> int:
        self.expect(":")
        return self.integer(what)
