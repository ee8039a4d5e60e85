"""Lists of commands as machine code sees them: what their words are."""

from __future__ import annotations

from typing import Final

import numpy as np

from adstack.backends.hostcall.record import word

__all__ = ["COPY", "KERNEL", "KINDS", "LIST", "NODE_PARAMS", "PROGRAM", "ROW", "ZERO", "loaded"]

LIST: Final = {
    name: at
    for at, name in enumerate(
        (
            *("count", "next", "launched", "rows", "otherwise"),
            *("notes", "room", "words", "words_room", "programs", "program_count"),
        )
    )
}
"""The words of a list.

count, next, launched: how many rows there are; which one comes next; how many of those that came have been launched.
rows: the address of the table of `ROW` words.
otherwise: the code that is given, and nothing done, where another command comes than the next one; or 0.
notes: 1 if what is done is noted in the rows, `count` of them so far; -1 if that had no room.
room: for how many rows there is memory.
words, words_room: where the next words of a kernel are copied to, and how many there is room for.
programs, program_count: the table of `PROGRAM` words.
"""

ROW: Final = {
    name: at for at, name in enumerate(("kind", "a", "b", "c", "words", "size", "skip", "node", "graph", "last"))
}
"""The words of a row.

kind: one of `KINDS`.
a, b, c: of a kernel its function, blocks, and threads of a block; of zeroed memory its address and size; of a copy the
    target, the source and the size.
words, size: of a kernel, the address of the words that its node has, and how many they are.
skip: the number of the word that may differ without being told; -1 if there is none.
node, graph: the driver's handles.
last: 1 if the graph is launched when this row has come.
"""

PROGRAM: Final = {name: at for at, name in enumerate(("function", "size", "skip"))}
"""The words that tell, for each kernel that may be noted, how many words it is handed; `skip` as in a row."""

KERNEL, ZERO, COPY = KINDS = range(3)
"""What a row does: a kernel, zeroed memory, a copy of memory."""

NODE_PARAMS: Final = np.dtype(
    [
        *(("function", np.uint64), ("grid", np.uint32, 3), ("block", np.uint32, 3), ("shared", np.uint32)),
        *((name, np.uint64) for name in ("params", "extra", "kernel", "context")),
    ],
    align=True,
)
"""CUDA_KERNEL_NODE_PARAMS, as cuda.h declares it since CUDA 12; `params` is the address of addresses of arguments."""


def loaded(name: str, base: str, words: dict[str, int], kind: str = "i64") -> str:
    """LLVM's assembly that loads the word `name` of a record at an address, whose `words` are known, as `%name`."""
    return word(f"%{name}", kind, base, words[name])
