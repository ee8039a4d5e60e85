"""One LLVM module: declarations, the math functions that its tasks call, and the tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adstack.ir.structure import Function

from .speculation import goes_far
from .writer import Writer, any_of, type_text

if TYPE_CHECKING:
    from .region import RegionEmitter

__all__ = ["Module"]

_INLINED = 4
"""A library function called from more places than this stays a function: code must not grow with every call."""

_ATTRIBUTES = (
    "attributes #0 = { nounwind }",
    "attributes #1 = { noinline cold nounwind optnone }",
    "attributes #2 = { alwaysinline nounwind }",
)
_METADATA = ('!0 = !{!"branch_weights", i32 1, i32 2000}', "!1 = !{}")
"""What is rare, and what is there."""


class Module:
    """Collects text.

    Attributes:
        head: target triple and the like.
        cold: functions that are never inlined: how they are made, and of what -> symbol.
    """

    def __init__(self, head: str = "") -> None:
        self.head = head
        self._declarations: dict[str, str] = {}
        self._functions: dict[str, tuple[str, str]] = {}
        self._calls: Counter[str] = Counter()
        self._inlined: set[str] = set()
        self.cold: dict[tuple[str, object], str] = {}
        self._definitions: list[str] = []

    def take(self, writer: Writer) -> None:
        """Declare what a finished function needs."""
        self._declarations.update(writer.declarations)

    def define(self, text: str) -> None:
        """Add a function of the module's own."""
        self._definitions.append(text)

    def function(self, function: Function, lanes: int, *, quick: bool = False) -> tuple[str, list[str]]:
        """The symbol and result types of a library function for so many lanes; emitted when first asked for.

        One that is `quick` has no long sides; it gives an i1 more: whether it should have had one.
        """
        quick = quick and goes_far(function)
        types = [type_text(v.dtype, lanes) for v in function.body.terminator.operands] + ["i1"] * quick
        symbol = f'"{function.name}.x{lanes}{".quick" if quick else ""}"'
        self._calls[symbol] += 1
        if symbol not in self._functions:
            self._functions[symbol] = ("", "")  # known while its body is emitted
            self._functions[symbol] = self._library(function, lanes, symbol, types, quick=quick)
            if quick:
                self._inlined.add(symbol)
        return symbol, types

    def _library(
        self, function: Function, lanes: int, symbol: str, types: Sequence[str], *, quick: bool
    ) -> tuple[str, str]:
        """A function up to its attributes, and its body."""
        from .region import Hurry, RegionEmitter

        w = Writer()
        every = {v for op in function.body.walk() for v in op.results} | set(function.body.args)
        for op in function.body.walk():
            every.update(arg for region in op.regions for arg in region.args)
        e = RegionEmitter(self, w, lanes, every)
        e.hurry = Hurry() if quick else None
        for k, arg in enumerate(function.body.args):
            e.bind(arg, f"%p{k}")
        names = [e.vector(v) for v in e.region(function.body)]
        if e.hurry is not None:
            names.append(any_of(w, e.hurry.doubts))
        result = self.give_back(e, names, types)
        self.take(w)
        params = ", ".join(f"{type_text(a.dtype, lanes)} %p{k}" for k, a in enumerate(function.body.args))
        body = "\n".join([*e.slots, *w.lines])
        return f"define internal {result} @{symbol}({params})", f"{{\nentry:\n{body}\n}}\n"

    def once(self, key: tuple[str, object], text: Callable[[str], str]) -> str:
        """The symbol of a function that is made of something in some way; `text(symbol)` writes it, once."""
        if key not in self.cold:
            self.cold[key] = f"cold{len(self.cold)}"
            self.define(text(self.cold[key]))
        return self.cold[key]

    @staticmethod
    def give_back(e: RegionEmitter, names: Sequence[str], types: Sequence[str], *, struct: bool = False) -> str:
        """End a function: with its one value, or a struct of them; the type of what it gives."""
        if len(names) == 1 and not struct:
            e.w.do(f"ret {types[0]} {names[0]}")
            return types[0]
        result, whole = f"{{ {', '.join(types)} }}", "poison"
        for k, (name, ty) in enumerate(zip(names, types, strict=True)):
            whole = e.w.let(f"insertvalue {result} {whole}, {ty} {name}, {k}")
        e.w.do(f"ret {result} {whole}")
        return result

    @property
    def text(self) -> str:
        """The module as LLVM assembly."""
        functions = (
            f"{head} {'#2' if symbol in self._inlined or self._calls[symbol] <= _INLINED else '#0'} {body}"
            for symbol, (head, body) in self._functions.items()
        )
        parts = [self.head, *self._declarations.values(), *functions, *self._definitions]
        return "\n".join([*parts, *_ATTRIBUTES, *_METADATA, ""])
