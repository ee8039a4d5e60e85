"""Random kernels some of whose accesses are out of bounds in some launches, and what launches of them leave."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import adstack as qd
from adstack.conformance.harness.loading import load_module
from adstack.errors import AdstackOutOfBoundsError

__all__ = ["LAUNCHES", "left", "program"]

LAUNCHES = (0, 3, 6, 7, -1, 9)
"""The argument of each launch."""
_SIZE, _COLUMNS = 8, 5
_HEAD = """import adstack as qd


def make(x, m, ix, n, deg, s, pairs, o, y):
    @qd.kernel
    def k(t: qd.i32):
        for i in y:
            acc = 0.0
"""
_TAIL = """
            y[i] = acc

    return k
"""


def program(seed: int) -> str:
    """The text of a kernel: loops, branches, and accesses at indices of loops, of arguments and from memory."""
    lines: list[str] = []
    _Statements(random.Random(seed), lines).some(["i"], 3, 3)
    return _HEAD + "\n".join(lines) + _TAIL


class _Statements:
    def __init__(self, draw: random.Random, lines: list[str]) -> None:
        self.draw, self.lines = draw, lines

    def some(self, loops: list[str], indent: int, depth: int) -> None:
        """One to three statements, in the body of these loops."""
        for _ in range(self.draw.randint(1, 3)):
            self._one(loops, indent, depth)

    def _one(self, loops: list[str], indent: int, depth: int) -> None:
        index, value = self._index(loops, 1), self._value(loops)
        simple = [f"acc += {value}"] * 4 + [f"acc = acc * 0.5 + {value}"] * 2
        simple += [f"qd.atomic_add(s[{index}], 1)", f"o[i, {index}] = acc"]
        simple += [f"qd.atomic_add(pairs[{index}, 0], 1); qd.atomic_add(pairs[{index}, 1], 2)"]
        kind = self.draw.choice(["simple", "simple", "if", "for"]) if depth else "simple"
        if kind == "if":
            self._write(indent, f"if acc < {self.draw.uniform(-1, 2):.2f}:")
            self.some(loops, indent + 1, depth - 1)
            if self.draw.random() < 0.4:
                self._write(indent, "else:")
                self.some(loops, indent + 1, depth - 1)
        elif kind == "for" and len(loops) < 3:
            name, start = "ijk"[len(loops)], self.draw.choice(["0", "0", "0", "-1", "1"])
            stop = self.draw.choice(["n[None]", "n[None] + 2", "i + 2", "5", "t + 2", "deg[i]"])
            self._write(indent, f"for {name} in range({start}, {stop}):")
            self.some([*loops, name], indent + 1, depth - 1)
        else:
            self._write(indent, self.draw.choice(simple))

    def _write(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def _index(self, loops: Sequence[str], depth: int) -> str:
        loop, draw = self.draw.choice(loops), self.draw
        ways = [loop, loop, f"{loop} {draw.choice('+-')} {draw.randint(1, 3)}", "t", f"t + {draw.randint(1, 2)}"]
        ways.append(f"n[None] - 1 - {loop}")
        if depth:
            ways += [f"ix[{self._index(loops, depth - 1)}]"] * 2
        return draw.choice(ways)

    def _value(self, loops: Sequence[str]) -> str:
        one, two = self._index(loops, 2), self._index(loops, 1)
        return self.draw.choice([f"x[{one}]", f"x[{one}]", f"m[{two}, {one}]", f"qd.sin(x[{two}])"])


def left(arch: str, file: Path, seed: int) -> list[tuple[bool, list[np.ndarray]]]:
    """Of each launch of `make` of a file: whether something was out of bounds, and all memory that it may write."""
    qd.init(arch=arch, offline_cache=False)
    draw = np.random.default_rng(seed)
    x, y, deg = qd.field(qd.f32, shape=_SIZE), qd.field(qd.f32, shape=_SIZE), qd.field(qd.i32, shape=_SIZE)
    m, o = (qd.field(qd.f32, shape=(_SIZE, _COLUMNS)) for _ in range(2))
    ix, n, s, pairs = (qd.field(qd.i32, shape=shape) for shape in (_SIZE, (), 6, (6, 2)))
    x.from_numpy(draw.random(_SIZE, dtype=np.float32))
    m.from_numpy(draw.random((_SIZE, _COLUMNS), dtype=np.float32))
    far = draw.integers(-3, 12, _SIZE)
    ix.from_numpy(np.where(draw.random(_SIZE) < 0.85, draw.integers(0, 5, _SIZE), far).astype(np.int32))
    deg.from_numpy(draw.integers(0, 9, _SIZE).astype(np.int32))
    n[None] = int(draw.integers(0, 7))
    kernel = load_module(file).make(x, m, ix, n, deg, s, pairs, o, y)
    return [(_is_outside(kernel, t), [place.to_numpy().copy() for place in (s, pairs, o, y)]) for t in LAUNCHES]


def _is_outside(kernel: Any, t: int) -> bool:
    try:
        kernel(t)
        qd.sync()
    except AdstackOutOfBoundsError:
        return True
    return False
