"""Random integer programs mean in a kernel what they mean in Python: jumps, scopes, ternaries, short circuits."""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from nightly_kit import examples

import adstack as qd

_NAMES = ("a", "b", "c")
_numbers = itertools.count()


class _Writer:
    """Writes statements over three variables and the loop variables in sight; all values stay small.

    Args:
        seed: of its choices.
        returns: whether some of the statements are `return`.
    """

    def __init__(self, seed: int, returns: bool) -> None:
        self.random = random.Random(seed)
        self.returns = returns
        self.loops: list[str] = []

    def value(self, depth: int = 2) -> str:
        names = [*_NAMES, *(name for name in self.loops if name)]
        if depth == 0 or self.random.random() < 0.3:
            return self.random.choice([*names, str(self.random.randint(-4, 9))])
        left, right = self.value(depth - 1), self.value(depth - 1)
        kind = self.random.randrange(6)
        if kind == 0:
            return f"({left} if {self.test()} else {right})"
        if kind == 1:
            return f"({left} // {self.random.randint(1, 5)})"
        if kind == 2:
            return f"({left} % {self.random.choice([-7, -3, 2, 5])})"
        return f"({left} {self.random.choice('+-*')} {right})"

    def test(self) -> str:
        parts = [f"{self.value(1)} {self.random.choice(['<', '<=', '==', '!='])} {self.value(1)}" for _ in range(2)]
        kind = self.random.randrange(4)
        if kind == 0:
            return f"({parts[0]} {self.random.choice(['and', 'or'])} {parts[1]})"
        if kind == 1:
            return f"({self.value(0)} < {self.value(0)} <= {self.value(0)})"
        return f"(not {parts[0]})" if kind == 2 else f"({parts[0]})"

    def block(self, depth: int) -> Iterator[str]:
        for _ in range(self.random.randint(1, 3)):
            yield from ("    " + line for line in self.statement(depth))

    def statement(self, depth: int) -> Iterator[str]:
        kind = self.random.randrange(9)
        if self.returns and self.random.random() < 0.08:
            yield f"if {self.test()}:"
            yield f"    return {self.value()}"
        elif kind < 2 or depth == 0:
            yield f"{self.random.choice(_NAMES)} = ({self.value()}) % 101"
        elif kind == 2:
            yield f"{self.random.choice(_NAMES)} {self.random.choice(['+=', '-='])} {self.value(1)} % 11"
        elif kind in (3, 8) and self.loops:
            yield from self.jump()
        elif kind < 7:
            yield from self.branch(depth)
        else:
            yield from self.loop(depth)

    def jump(self) -> Iterator[str]:
        if self.random.random() < 0.7:
            yield f"if {self.test()}:"
            yield "    c += 1"
            yield f"    {self.random.choice(['break', 'continue'])}"
        else:
            yield self.random.choice(["break", "continue"])

    def branch(self, depth: int) -> Iterator[str]:
        yield f"if {self.test()}:"
        yield from self.block(depth - 1)
        if self.random.random() < 0.6:
            yield "else:"
            yield from self.block(depth - 1)

    def loop(self, depth: int) -> Iterator[str]:
        name = f"i{next(_numbers)}"
        if self.random.random() < 0.6:
            low, high = f"{self.value(0)} % 3", self.random.randint(1, 6)
            steps = self.random.choice(["", "", ", 2", f", {self.value(0)} % 2 * 3 - 1"])
            yield f"for {name} in range({self.random.choice([f'{low}, {high}{steps}', f'{high}, {low}, -1'])}):"
            self.loops.append(name)
            if self.random.random() < 0.3:
                yield f"    {name} {self.random.choice(['+=', '='])} {self.value(1)} % 5"
            yield from self.block(depth - 1)
        else:
            yield f"{name} = 0"
            yield f"while {name} < {self.random.randint(1, 6)} and {self.test()}:"
            yield f"    {name} += 1"
            self.loops.append("")
            yield from self.block(depth - 1)
        self.loops.pop()

    def program(self) -> str:
        lines = ["def f(a0, b0):", "    a, b, c = a0, b0, 1", "    for once in range(1):"]
        lines += ["    " + line for _ in range(5) for line in self.block(4)]
        return "\n".join([*lines, "    return a * 10000 + b * 100 + c", ""])


def _function(source: str) -> Callable[..., Any]:
    file = f"<random program {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {}
    exec(compile(source, file, "exec"), names)
    function: Callable[..., Any] = names["f"]
    return function


def _as_kernel(source: str) -> qd.Kernel:
    """Its locals belong to the kernel, and the outermost loop, which is parallel, shares them."""
    function = _function(source)
    function.__annotations__ = {"a0": qd.i32, "b0": qd.i32, "return": qd.i32}
    return qd.kernel(function)


def _as_func(source: str) -> qd.Kernel:
    """Its locals belong to one thread."""
    inlined = qd.func(_function(source))

    @qd.kernel
    def kernel(a: qd.i32, b: qd.i32) -> qd.i32:
        return inlined(a, b)

    return kernel


@pytest.mark.parametrize("wrap", [_as_kernel, _as_func])
@pytest.mark.parametrize("seed", range(12 - examples(12), 12))
def test_a_random_program_means_what_it_means_in_python(seed: int, wrap: Callable[[str], qd.Kernel]) -> None:
    qd.init(arch=qd.reference)
    source = _Writer(seed, returns=wrap is _as_func).program()
    function, kernel = _function(source), wrap(source)
    for a, b in ((0, 0), (3, -2), (17, 5)):
        assert kernel(a, b) == function(a, b), source
