"""Runs an LLVM function with a block of threads, as a device does: warps exchange values, blocks meet at barriers."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

WARP = 32
FLOATS = {"half": np.float16, "float": np.float32, "double": np.float64}
UNSIGNED = {16: np.uint16, 32: np.uint32, 64: np.uint64}
Event = tuple[str, int, int]


def bits_of(value: Any) -> int:
    """The bits of a numpy number."""
    width = value.itemsize * 8
    return int(value.view(UNSIGNED[width])) if value.dtype.kind == "f" else int(value) % (1 << width)


def number(ty: str, bits: int) -> Any:
    """A number of an LLVM type."""
    if ty in FLOATS:
        to = FLOATS[ty]
        return UNSIGNED[np.dtype(to).itemsize * 8](bits).view(to)
    width = int(ty[1:])
    bits %= 1 << width
    return bits - (1 << width) if bits >> (width - 1) and width > 1 else bits


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "fadd": lambda a, b: a + b,
    "fmul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sgt": lambda a, b: a > b,
    "olt": lambda a, b: a < b,
    "ogt": lambda a, b: a > b,
    "uno": lambda a, b: a != a or b != b,
}
ON_BITS: dict[str, Callable[[int, int], Any]] = {
    "lshr": lambda a, b: a >> b,
    "ult": lambda a, b: a < b,
    "ugt": lambda a, b: a > b,
}


class Thread:
    """One thread; `run` stops where it exchanges a value or waits."""

    def __init__(
        self, blocks: dict[str, list[str]], shared: dict[int, int], tid: int, threads: int, values: dict[str, int]
    ) -> None:
        self.blocks, self.shared, self.tid, self.threads = blocks, shared, tid, threads
        self.values = dict(values)
        self.result = 0

    def get(self, text: str) -> int:
        """A value, or a literal."""
        values = {**self.values, "true": 1, "false": 0}
        return values[text] if text in values else int(text)

    def run(self) -> Generator[Event, int, None]:
        block, before = "entry", ""
        while block:
            for line in self.blocks[block]:
                name, _, text = line.partition(" = ") if " = " in line else ("", "", line)
                if text.startswith("phi"):
                    pairs = re.findall(r"\[ (\S+), %(\w+) \]", text)
                    self.values[name] = next(self.get(value) for value, source in pairs if source == before)
                elif "barrier" in text:
                    yield "barrier", 0, 0
                elif "shfl" in text:
                    mask, value, step = re.findall(r"i32 ([^,)]+)", text.partition("(")[2])[:3]
                    assert self.get(mask) % (1 << WARP) >> self.tid % WARP & 1, (
                        "it exchanges though the mask leaves it out"
                    )
                    way = re.search(r"shfl\.sync\.(\w+)", text)[1]  # type: ignore[index]
                    self.values[name] = yield way, self.get(value), self.get(step)
                elif "vote" in text:
                    mask, value = re.findall(r"i(?:32|1) ([^,)]+)", text.partition("(")[2])
                    self.values[name] = yield re.search(r"vote\.(\w+)", text)[1], self.get(value), self.get(mask)  # type: ignore[index]
                elif text.startswith("br"):
                    labels = re.findall(r"label %(\w+)", text)
                    condition = re.match(r"br i1 (\S+),", text)
                    before, block = block, labels[0 if condition is None or self.get(condition[1]) else 1]
                    break
                elif text.startswith("ret"):
                    self.result, block = self.get(text.split()[-1]), ""
                    break
                elif text.startswith("store"):
                    _, _, value, _, _, at = text.split(", align")[0].replace(",", "").split()
                    self.shared[self.get(at)] = self.get(value)
                else:
                    self.values[name] = self.plain(text)

    def called(self, text: str, operands: list[int]) -> int:
        """An intrinsic that needs no other thread; all threads of the warp that have not ended are active."""
        if "ctpop" in text:
            return operands[0].bit_count()
        if "cttz" in text:
            return (operands[0] & -operands[0]).bit_length() - 1 if operands[0] else 32
        if "activemask" in text:
            return self.values["%active"]
        if "laneid" in text:
            return self.tid % WARP
        return self.tid if ".tid." in text else self.threads

    def plain(self, text: str) -> int:
        word, *rest = text.replace(",", "").split()
        if word == "call":
            return self.called(text, [self.get(v) for v in re.findall(r"i(?:32|1) ([^,)]+)", text.partition("(")[2])])
        if word == "load":
            return self.shared[self.get(rest[3])]
        if word == "getelementptr":
            return self.get(rest[-1])
        if word == "select":
            return self.get(rest[3] if self.get(rest[1]) else rest[5])
        if word in ("bitcast", "zext", "trunc"):
            bits = self.get(rest[1])
            return bits if word != "trunc" else bits % (1 << int(rest[3][1:]))
        if word in ("icmp", "fcmp"):
            word, *rest = rest
        ty, a, b = rest[0], self.get(rest[1]), self.get(rest[2])
        with np.errstate(all="ignore"):
            result = ON_BITS[word](a, b) if word in ON_BITS else BINARY[word](number(ty, a), number(ty, b % (1 << 64)))
        if isinstance(result, np.generic) and result.dtype.kind == "f":
            return bits_of(result)
        return int(result) if word in ON_BITS or ty in FLOATS else int(result) % (1 << int(ty[1:]))


def run_block(text: str, values: Sequence[Any], **more: Sequence[int]) -> list[int]:
    """What each of a block's threads gets from a function of its value `%x`, and of more arguments, as bits."""
    blocks: dict[str, list[str]] = {}
    for line in text[text.index("{") + 1 : text.rindex("}")].strip().splitlines():
        if line.endswith(":"):
            blocks[label := line[:-1]] = []
        else:
            blocks[label].append(line.strip())
    shared = dict.fromkeys(range(WARP), 0xDEAD)
    registers = [
        {"%x": bits_of(v), **{f"%{name}": column[k] for name, column in more.items()}} for k, v in enumerate(values)
    ]
    threads = [Thread(blocks, shared, k, len(values), each) for k, each in enumerate(registers)]
    running = {k: thread.run() for k, thread in enumerate(threads)}
    answers: dict[int, Any] = dict.fromkeys(running)
    while running:
        events = {k: event for k, thread in running.items() if (event := _next(thread, answers[k])) is not None}
        running = {k: running[k] for k in events}
        answers = dict.fromkeys(running)
        at_barrier = [k for k, event in events.items() if event[0] == "barrier"]
        assert at_barrier in ([], list(running)), "some threads wait for others that never come"
        for k, (kind, value, step) in events.items():
            if kind in ("down", "bfly", "idx"):
                there = _asked(kind, k, step)
                other = events.get(there)
                assert there >= len(values) or (other is not None and other[0] == kind), "it asks who is not there"
                answers[k] = 0xBAD if other is None else other[1]
            elif kind in ("all", "any", "ballot"):
                answers[k] = _voted(kind, k, step % (1 << WARP), events)
    return [thread.result for thread in threads]


def _asked(way: str, thread: int, step: int) -> int:
    """The thread whose value a shuffle gives."""
    lane, first = thread % WARP, thread - thread % WARP
    if way == "idx":
        return first + step
    other = lane ^ step if way == "bfly" else lane + step
    return first + other if other < WARP else thread


def _voted(kind: str, thread: int, mask: int, events: dict[int, Event]) -> int:
    """What the threads of a mask have voted."""
    first = thread - thread % WARP
    lanes = [k for k in range(WARP) if mask >> k & 1]
    assert all(events.get(first + k, ("",))[0] == kind for k in lanes), "it waits for votes that never come"
    votes = [events[first + k][1] for k in lanes]
    if kind == "ballot":
        return sum(vote << k for k, vote in zip(lanes, votes, strict=True))
    return int(all(votes) if kind == "all" else any(votes))


def _next(thread: Generator[Event, int, None], answer: Any) -> Event | None:
    """Where a thread stops next; None if it has ended."""
    try:
        return thread.send(answer)
    except StopIteration:
        return None
