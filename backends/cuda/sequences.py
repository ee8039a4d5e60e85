"""Sequences of calls on a CUDA device: see `adstack.backends.hostcall.sequences`.

Copies are queued by machine code of the host, `i64 adstack.copies(rows, count)`: it gives CUDA's first error, or 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from adstack.backends.hostcall.assembly import rows
from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.record import word
from adstack.backends.hostcall.steps import Mover, Pairs, table
from adstack.runtime.protocol.following import Bound, Move

from .driver import Driver
from .executable import Executable
from .layout import DeviceArray
from .toolchain import Code, host_code

__all__ = ["Queue"]

_COPY: Final = {name: at for at, name in enumerate(("source", "target", "bytes"))}
"""The words of a copy; in front of the first one stands what `Driver.copier` gives."""
_COPYING: Final = "copying memory of the device"
_HEAD: Final = ("copy", "use", "context", "stream")

_ROW: Final = f"""
{word("%source", "i64", "%row", _COPY["source"])}
{word("%target", "i64", "%row", _COPY["target"])}
{word("%bytes", "i64", "%row", _COPY["bytes"])}
  %code = call i32 %copy(i64 %target, i64 %source, i64 %bytes, ptr %stream)
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %each.next, label %failed"""

_TEXT: Final = f"""
define i64 @adstack.copies(ptr %head, i64 %count) {{
entry:
{"".join(word(f"%{name}", "ptr", "%head", at) for at, name in enumerate(_HEAD))}
  %table = getelementptr i64, ptr %head, i64 {len(_HEAD)}
  %used = call i32 %use(ptr %context)
  %ready = icmp eq i32 %used, 0
  br i1 %ready, label %each, label %failed
{rows("%table", len(_COPY), "%count", _ROW, then="done")}
failed:
  %first = phi i32 [ %used, %entry ], [ %code, %each.body ]
  %wide = zext i32 %first to i64
  ret i64 %wide
done:
  ret i64 0
}}
"""


@dataclass(frozen=True)
class Queue:
    """What sequences ask of a backend: a `hostcall.sequences.Device`.

    Attributes:
        doing: lets one thread use the device, for something that errors tell of.
        entries: makes the entry of a program.
    """

    doing: Callable[[str], AbstractContextManager[Driver]]
    entries: Callable[[Executable], Entry | None]

    def entry(self, executable: Executable) -> Entry | None:
        """See `Device.entry` of `hostcall.sequences`."""
        return self.entries(executable)

    def mover(self, moves: Sequence[Move], words: Pairs | None = None) -> Mover:
        """See `Device.mover`: it queues copies."""
        copies = table([_row(move) for move in moves], _COPY)
        with self.doing(_COPYING) as driver:
            rows = np.concatenate([np.array(driver.copier(), np.int64), copies.reshape(-1)])
        return Mover(_code().symbols["adstack.copies"], rows, len(moves), self._failed, moves, words)

    def _failed(self, code: int) -> None:
        """Raise what a copy gave."""
        with self.doing(_COPYING) as driver:
            driver.check(code)

    def address(self, storage: DeviceArray) -> int:
        """See `Device.address`."""
        return storage.address

    def mark(self, storage: DeviceArray) -> int:
        """See `Device.mark`: 0, as launches need not note what they use."""
        return 0

    def prepare(self, executables: Sequence[Executable]) -> None:
        """See `Device.prepare`: nothing, as a launch takes all its words with it."""

    def about(self, bound: Bound) -> None:
        """See `Device.about`."""
        bound.executable.shapes = bound.bindings.shapes


@cache
def _code() -> Code:
    return host_code(_TEXT, ["adstack.copies"], None, plain=True)


def _row(move: Move) -> dict[str, int]:
    return {
        "source": move.source.address + move.start,
        "target": move.target.address + move.at,
        "bytes": move.nbytes,
    }
