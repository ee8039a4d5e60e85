"""One LLVM module: declarations, the math functions that its tasks call, and the tasks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
    """

    def __init__(self, head: str = "") -> None:
        self.head = head
        self._declarations: dict[str, str] = {}
        self._functions: dict[str, tuple[str, str]] = {}
        self._calls: Counter[str] = Counter()
        self._outlined: dict[Region, str] = {}
        self._known: set[str] = set()
        self._numbers = itertools.count()
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
            self._return(e, values, result)
        self.take(w)
        params = ", ".join(f"{type_text(a.dtype, lanes)} %p{k}" for k, a in enumerate(function.body.args))
        body = "\n".join([*e.slots, *w.lines])
        return f"define internal {result} @{symbol}({params})", f"{{\nentry:\n{body}\n}}\n"

    def once(self, symbol: str, text: Callable[[], str]) -> None:
        """Add a function of the module's own, unless it is there."""
        if symbol not in self._known:
            self._known.add(symbol)
            self.define(text())

    def outlined(self, region: Region, params: Sequence[Value], constants: Mapping[Value, str]) -> str:
        """The symbol of a region as a scalar function of its own, never inlined, which returns a struct."""
        if region not in self._outlined:
            self._outlined[region] = self._cold(region, params, constants)
        return self._outlined[region]

    def _cold(self, region: Region, params: Sequence[Value], constants: Mapping[Value, str]) -> str:
        from .region import RegionEmitter

        symbol = f"cold{next(self._numbers)}"
        w = Writer()
        e = RegionEmitter(self, w, 1, set())
        for value, text in constants.items():
            e.give(value, text)
        for k, v in enumerate(params):
            e.bind(v, f"%p{k}")
        values = e.region(region)
        result = f"{{ {', '.join(type_text(v.dtype, 1) for v in values)} }}"
        e.jump("out")  # LLVM's fast selector knows no structs, and leaves the whole block around one to the slow one
        e.enter("out")
        self._return(e, values, result)
        self.take(w)
        head = ", ".join(f"{type_text(v.dtype, 1)} %p{k}" for k, v in enumerate(params))
        body = "\n".join(w.lines)
        self.define(f"define internal {result} @{symbol}({head}) #1 {{\nentry:\n{body}\n}}\n")
        return symbol

    @staticmethod
    def _return(e: RegionEmitter, values: Sequence[Value], result: str) -> None:
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
