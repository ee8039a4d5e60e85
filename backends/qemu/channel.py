"""The words by which a call goes to the other process, and its result comes back. They stand where the arena begins."""

from __future__ import annotations

from typing import Final

from .arena import BASE

__all__ = ["ASKED", "DONE", "IDLE", "SAYS", "WORDS", "at", "named"]

WORDS: Final = {
    name: number
    for number, name in enumerate(
        (
            *("end", "state", "function", "first", "second", "third", "fourth", "result"),
            *("mapped", "parent", "child", "lock", "site", "values", "workers", "turn"),
        )
    )
}
"""Where each word stands, in words of 64 bits; the first one is the arena's own.

`state` is one of the numbers below. `function`, its four arguments and `result` are of the call; `site` and `values` of
what the called code says meanwhile, one thread at a time (`lock`). `mapped` is how much of the arena the other process
has mapped; `parent` and `child` are the numbers of the process that calls and of the other; `workers` is how many
threads there are beside the first one of the other, and `turn` orders the threads that call.
"""
IDLE, ASKED, DONE, SAYS = range(4)
"""States: nothing is asked; a call is under way; it has ended; the called code has something to say, and waits."""


def at(name: str) -> int:
    """The address of a word."""
    return BASE + 8 * WORDS[name]


def named(text: str) -> str:
    """LLVM assembly with `$name$` replaced by the address of a word."""
    for name in WORDS:
        text = text.replace(f"${name}$", f"inttoptr (i64 {at(name)} to ptr)")
    return text
