"""One LLVM module: declarations, the math functions that its tasks call, and the tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..text.writer import Writer

__all__ = ["Module"]

_INLINED = 4
"""A library function that is called from more places than this is not inlined: code would grow with every call."""

_ATTRIBUTES = (
    "attributes #0 = { nounwind }",
    "attributes #1 = { noinline cold nounwind{} }",
    "attributes #2 = { alwaysinline nounwind }",
)
_METADATA = ('!0 = !{!"branch_weights", i32 1, i32 2000}', "!1 = !{}")
"""`!0` is the weights of a branch whose first side is a cold path; `!1` is empty."""


class Module:
    """Collects text.

    Attributes:
        head: target triple and the like.
        space: the address space of frames.
        unoptimised: whether cold paths are compiled as they are.
        cold: functions that are never inlined: how they are made, and of what -> symbol.
    """

    def __init__(self, head: str = "", space: int = 0, *, unoptimised: bool = True) -> None:
        self.head, self.space, self.unoptimised = head, space, unoptimised
        self._declarations: dict[str, str] = {}
        self._functions: dict[str, tuple[str, str]] = {}
        self._calls: Counter[str] = Counter()
        self._inlined: dict[str, bool] = {}
        self.cold: dict[tuple[str, object], str] = {}
        self._definitions: list[str] = []

    def take(self, writer: Writer) -> None:
        """Declare what a finished function needs."""
        self._declarations.update(writer.declarations)

    def define(self, text: str) -> None:
        """Add a function of the module's own."""
        self._definitions.append(text)

    def call(self, symbol: str, write: Callable[[], tuple[str, str]], *, inline: bool | None = None) -> None:
        """Count a call of a function that is written once; one that is called from few places is inlined.

        Args:
            symbol: of the function.
            write: gives the function up to its attributes, and its body; called with the first call.
            inline: whether it is inlined however many calls there are; None leaves that to their number.
        """
        self._calls[symbol] += 1
        if symbol not in self._functions:
            self._functions[symbol] = ("", "")  # known while its body is emitted
            self._functions[symbol] = write()
            if inline is not None:
                self._inlined[symbol] = inline

    def constant(self, symbol: str, text: str) -> None:
        """Add a constant: its type and its value."""
        self._definitions.append(f"{symbol} = internal constant {text}")

    def once(self, key: tuple[str, object], text: Callable[[str], str]) -> str:
        """The symbol of a function that is made of something in some way; `text(symbol)` writes it, once."""
        if key not in self.cold:
            self.cold[key] = f"cold{len(self.cold)}"
            self.define(text(self.cold[key]))
        return self.cold[key]

    @property
    def text(self) -> str:
        """The module as LLVM assembly."""
        functions = (
            f"{head} {'#2' if self._inlined.get(symbol, self._calls[symbol] <= _INLINED) else '#0'} {body}"
            for symbol, (head, body) in self._functions.items()
        )
        parts = [self.head, *self._declarations.values(), *functions, *self._definitions]
        attributes = (text.replace("{}", " optnone" * self.unoptimised) for text in _ATTRIBUTES)
        return "\n".join([*parts, *attributes, *_METADATA, ""])
