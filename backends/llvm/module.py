"""One LLVM module: declarations, the math functions that its tasks call, and the tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adstack.ir.structure import Function, Region, Value

from .writer import Writer, type_text

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
_RARE = '!0 = !{!"branch_weights", i32 1, i32 2000}'


class Module:
    """Collects text.

    Attributes:
        head: target triple and the like.
        cold: functions that are made of regions, and never inlined: how, and of what -> symbol.
    """

    def __init__(self, head: str = "") -> None:
        self.head = head
        self._declarations: dict[str, str] = {}
        self._functions: dict[str, tuple[str, str]] = {}
        self._calls: Counter[str] = Counter()
        self.cold: dict[tuple[str, Region], str] = {}
        self._definitions: list[str] = []

    def take(self, writer: Writer) -> None:
        """Declare what a finished function needs."""
        self._declarations.update(writer.declarations)

    def define(self, text: str) -> None:
        """Add a function of the module's own."""
        self._definitions.append(text)

    def function(self, function: Function, lanes: int) -> tuple[str, str]:
        """The symbol and result type of a library function for so many lanes; emitted when first asked for."""
        results = [type_text(v.dtype, lanes) for v in function.body.terminator.operands]
        result = results[0] if len(results) == 1 else f"{{ {', '.join(results)} }}"
        symbol = f'"{function.name}.x{lanes}"'
        self._calls[symbol] += 1
        if symbol not in self._functions:
            self._functions[symbol] = ("", "")  # known while its body is emitted
            self._functions[symbol] = self._library(function, lanes, symbol, result)
        return symbol, result

    def _library(self, function: Function, lanes: int, symbol: str, result: str) -> tuple[str, str]:
        """A function up to its attributes, and its body."""
        from .region import RegionEmitter

        w = Writer()
        every = {v for op in function.body.walk() for v in op.results} | set(function.body.args)
        for op in function.body.walk():
            every.update(arg for region in op.regions for arg in region.args)
        e = RegionEmitter(self, w, lanes, every)
        for k, arg in enumerate(function.body.args):
            e.bind(arg, f"%p{k}")
        values = e.region(function.body)
        if len(values) == 1:
            w.do(f"ret {result} {e.vector(values[0])}")
        else:
            self.give_back(e, values, result)
        self.take(w)
        params = ", ".join(f"{type_text(a.dtype, lanes)} %p{k}" for k, a in enumerate(function.body.args))
        body = "\n".join([*e.slots, *w.lines])
        return f"define internal {result} @{symbol}({params})", f"{{\nentry:\n{body}\n}}\n"

    def once(self, key: tuple[str, Region], text: Callable[[str], str]) -> str:
        """The symbol of a function that is made of a region in some way; `text(symbol)` writes it, once."""
        if key not in self.cold:
            self.cold[key] = f"cold{len(self.cold)}"
            self.define(text(self.cold[key]))
        return self.cold[key]

    @staticmethod
    def give_back(e: RegionEmitter, values: Sequence[Value], result: str) -> None:
        """End a function that returns a struct."""
        whole = "poison"
        for k, v in enumerate(values):
            whole = e.w.let(f"insertvalue {result} {whole}, {type_text(v.dtype, e.lanes)} {e.vector(v)}, {k}")
        e.w.do(f"ret {result} {whole}")

    @property
    def text(self) -> str:
        """The module as LLVM assembly."""
        functions = (
            f"{head} {'#2' if self._calls[symbol] <= _INLINED else '#0'} {body}"
            for symbol, (head, body) in self._functions.items()
        )
        parts = [self.head, *self._declarations.values(), *functions, *self._definitions]
        return "\n".join([*parts, *_ATTRIBUTES, _RARE, ""])
