"""Reads what stands for values, places, functions and regions: what the forms of ops are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..functions import builtin
from ..structure import Function, Place, Region, Value
from ..types import Type
from .cursor import Cursor

__all__ = ["Reader"]


class Reader(Cursor, ABC):
    """A place in a text, with the names that mean something there.

    Attributes:
        env: values, by their names.
        visible: these names, those of inner regions last.
        places, functions: what was declared and defined so far, by name.
    """

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self.env: dict[str, Value] = {}
        self.visible: list[str] = []
        self.places: dict[str, Place] = {}
        self.functions: dict[str, Function] = {}

    def define(self, text: str, type_: Type) -> Value:
        """A new value under its name; a number is no name."""
        if text in self.env:
            self.fail(f"{text} is defined twice", self.source.tokens[self.at - 1])
        self.visible.append(text)
        self.env[text] = value = Value(type_, "" if text[1:].isdigit() else text[1:])
        return value

    def value(self) -> Value:
        """The value that a name stands for."""
        token = self.kind("value", "a value (like %x)")
        if token.text not in self.env:
            self.fail(f"{token.text} is not defined here", token)
        return self.env[token.text]

    def values(self) -> list[Value]:
        """Values with commas between, none at all included."""
        operands = []
        if self.token.kind == "value":
            operands.append(self.value())
            while self.accept(","):
                operands.append(self.value())
        return operands

    def place(self) -> Place:
        """The declared place that a symbol stands for."""
        token = self.token
        name = self.symbol("a place")
        if name not in self.places:
            self.fail(f"@{name} is not declared: expected a line 'place @{name} : ...' at the top", token)
        return self.places[name]

    def function(self) -> Function:
        """The function that a symbol stands for: one defined above, or the library's."""
        token = self.token
        name = self.symbol("a function")
        function = self.functions.get(name) or builtin(name)
        if function is None:
            self.fail(f"@{name} is no function: expected one of the library's, or of those defined above", token)
        return function

    def region(self, names: list[str], types: list[Type]) -> Region:
        """What stands after an opening brace, with these arguments; reads the closing brace."""
        outer = len(self.visible)
        region = Region([self.define(name, t) for name, t in zip(names, types, strict=True)])
        self.ops(region)
        while len(self.visible) > outer:
            del self.env[self.visible.pop()]
        return region

    @abstractmethod
    def ops(self, region: Region) -> None:
        """Add the ops that come to a region, up to the closing brace, which is read as well."""
