"""Machine code as records that the machine runs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from .cdna3 import Cdna3
from .encodings import FIELDS, Encodings
from .processors import GFX942, GFX1100, Processor
from .rdna3 import Rdna3

__all__ = ["Decoded", "decoded"]

_ENCODINGS: Final[dict[Processor, Callable[[Sequence[int]], Encodings]]] = {GFX1100: Rdna3, GFX942: Cdna3}


@dataclass
class Decoded:
    """The code of a section.

    Attributes:
        records: a row for each word of 32 bits, and behind them those that instructions of two kinds consist of; rows
            at which no instruction begins are empty.
        extra: how many of these there are.
        names: of the instructions, as AMD writes them, by the number of their first word.
    """

    records: npt.NDArray[np.int32]
    extra: int
    names: dict[int, str] = field(default_factory=dict)


def decoded(processor: Processor, sections: Sequence[tuple[int, bytes]]) -> Decoded:
    """All instructions of some sections.

    Args:
        processor: whose code it is.
        sections: where each begins, as a number of words, and what is in it.

    Raises:
        InternalError: an instruction is not known; the message has its name, or the bits.
    """
    words = [0] * max((start + len(code) // 4 for start, code in sections), default=0)
    for start, code in sections:
        words[start : start + len(code) // 4] = struct.unpack(f"<{len(code) // 4}I", code)
    decoder = _ENCODINGS[processor](words)
    for start, code in sections:
        at, end = start, start + len(code) // 4
        while at < end:
            at += decoder.one(at)
    rows = [*(decoder.rows.get(k, [0] * len(FIELDS)) for k in range(len(words))), *decoder.more]
    return Decoded(np.array(rows, np.int64).astype(np.uint32).view(np.int32), len(decoder.more), decoder.names)
