"""The words that the threads of the pool share, and what their flags mean."""

from __future__ import annotations

from typing import Final

__all__ = ["CLOSED", "FLAGS", "LINE", "STOPPED", "WAITING", "WORDS"]

LINE: Final = 16
"""Words between those that different threads write: two lines of the cache, which processors fetch in pairs."""

WORDS: Final[dict[str, int]] = {
    "generation": 0,
    "active": LINE,
    "seated": LINE + 1,
    "next": 2 * LINE,
    "task": 3 * LINE,
    "ctx": 3 * LINE + 1,
    "total": 3 * LINE + 2,
    "chunk": 3 * LINE + 3,
    "first": 3 * LINE + 4,
    "seats": 3 * LINE + 5,
    "sleepers": 4 * LINE,
    "busy": 5 * LINE,
    "workers": 6 * LINE,
    "spin": 6 * LINE + 1,
    "quit": 6 * LINE + 2,
    "wait": 6 * LINE + 3,
    "wake": 6 * LINE + 4,
    "finish": 6 * LINE + 5,
    "stop": 6 * LINE + 6,
    "looked": 6 * LINE + 7,
}
"""Where each word of the pool stands, counted in i64. `wait`, `wake` and `finish` are functions, the others numbers:
`chunk` and `first` are the sizes of the largest and the first pieces, `seats` how many threads may take part, `seated`
how many have asked to, `workers` those besides the caller, `spin` turns before a thread sleeps, `stop` whether the
launch that is under way must end, `looked` when a task last asked for that."""

CLOSED: Final = 1 << 30
WAITING: Final = 1 << 29
FLAGS: Final = CLOSED | WAITING
STOPPED: Final = 1 << 62
