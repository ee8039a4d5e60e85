"""Statements of random kernels, as text: each draws what it needs, and adds lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from ..choices import Choices
from .expressions import EXTENT, Scope, Terms

__all__ = ["Code"]

MOST: Final = 4
"""Statements of a block."""
NESTED: Final = 3
"""Loops and branches around a statement."""


class Code:
    """Writes the body of a kernel or function.

    Attributes:
        terms: what draws expressions.
        lines: what has been written.
    """

    def __init__(self, choices: Choices, terms: Terms, indent: int) -> None:
        self.choices, self.terms, self.lines = choices, terms, list[str]()
        self._indent, self._depth, self._names = indent, 0, 0

    def write(self, line: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self._indent + line)

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Write a line, and what follows beneath it."""
        self.write(head)
        self._indent += 1
        self._depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.write("pass")
        self._indent -= 1
        self._depth -= 1

    def block(self, scope: Scope, least: int = 0) -> None:
        """Statements, as many as are drawn, and at least so many."""
        loops = branches = 0
        for number in range(MOST):
            with self.choices.span("statement"):
                if number >= least and (self.terms.left <= 0 or self.choices.below(3) == 0):
                    break
                self.terms.left -= 1
                kind = self._kinds(scope)[self.choices.below(len(self._kinds(scope)))]
                loops += kind in (self._for, self._while)
                branches += kind == self._if
                kind(scope)
        if loops > 1:
            self.terms.uses("loops one after the other")

    def _kinds(self, scope: Scope) -> list[Callable[[Scope], None]]:
        features = self.terms.features
        kinds: list[Callable[[Scope], None]] = [self._update, self._update, self._local]
        if self._depth <= NESTED:
            kinds += [self._for, self._for, self._for] if "loops" in features else []
            kinds += [self._if] if "branches" in features else []
            kinds += [self._while] if "while" in features else []
            kinds += [self._static] if "static" in features else []
        kinds += [self._vector, self._set_component, self._turned] if "vectors" in features else []
        kinds += [self._call] if "functions" in features and scope.fields else []
        kinds += [self._sum] if "sums" in features and scope.fields else []
        kinds += [self._state] if "overwriting" in features and scope.fields else []
        kinds += [self._leave] if "leaving" in features and scope.loops else []
        return kinds

    def name(self, letter: str) -> str:
        """A new name."""
        self._names += 1
        return f"{letter}{self._names}"

    # ---- locals

    def _local(self, scope: Scope) -> None:
        """A new local: one that may take other values later, or one that stays."""
        if self.choices.below(2):
            name = self.name("b")
            self.write(f"{name} = {self.terms.pick('qd.sin', 'qd.tanh')}({self.terms.real(scope, 1)})")
            scope.steady.append(name)
            return
        name = self.name("a")
        self.write(f"{name} = {self.terms.real(scope)}")
        scope.floats.append(name)

    def _update(self, scope: Scope) -> None:
        """Assign to a local; in a loop it is a carried value."""
        if not scope.floats:
            self._local(scope)
            return
        name = self.terms.pick(*reversed(scope.floats))
        if scope.loops:
            self.terms.uses("carried value")
        operator = self.terms.pick("=", "+=", "-=", "*=")
        if operator == "*=":
            self.write(f"{name} *= {self.terms.bounded(scope)}")
        else:
            self.write(f"{name} {operator} {self.terms.real(scope)}")

    def _vector(self, scope: Scope) -> None:
        name = self.name("v")
        self.terms.uses("vector")
        self.write(f"{name} = qd.Vector([{self.terms.real(scope, 1)}, {self.terms.real(scope, 1)}])")
        scope.vectors.append(name)

    def _set_component(self, scope: Scope) -> None:
        if not scope.vectors:
            self._vector(scope)
            return
        name = self.terms.pick(*reversed(scope.vectors))
        operator = self.terms.pick("=", "+=")
        self.write(f"{name}[{self.terms.component(scope)}] {operator} {self.terms.real(scope, 1)}")

    def _turned(self, scope: Scope) -> None:
        """Assign to a vector new components that are computed from its own."""
        if not scope.vectors:
            self._vector(scope)
            return
        name = self.terms.pick(*reversed(scope.vectors))
        self.terms.uses("vector made anew from its components")
        self.write(f"{name} = qd.Vector([{name}[1], {name}[0] * {self.terms.pick('0.5', '-0.75')}])")

    def _call(self, scope: Scope) -> None:
        self.terms.uses("function call")
        name = self.name("a")
        self.write(f"{name} = f({self.terms.real(scope, 1)}, {self.terms.real(scope, 1)})")
        scope.floats.append(name)

    # ---- structure

    def _bound(self, scope: Scope) -> str:
        """A trip count of at most 4."""
        kind = self.choices.below(4)
        if kind == 1 and scope.ints and scope.fields:
            self.terms.uses("trip count from memory")
            name, _ = scope.ints[-1]
            return f"n[{name} % {EXTENT}]"
        if kind == 2 and scope.ints:
            name, bound = scope.ints[-1]
            self.terms.uses("trip count from a loop around")
            return name if bound <= EXTENT else f"{name} % {EXTENT}"
        if kind == 3 and "argument" in self.terms.features and scope.fields:
            self.terms.uses("trip count from an argument")
            return "m"
        return self.terms.pick("2", "1", "3", "0")

    def _for(self, scope: Scope) -> None:
        self.terms.uses("nested loops" if scope.loops else "loop")
        name = self.name("j")
        with self.inside(f"for {name} in range({self._bound(scope)}):"):
            self.block(scope.inner((name, EXTENT), loops=1), least=1)

    def _while(self, scope: Scope) -> None:
        self.terms.uses("while")
        name, bound = self.name("t"), self._bound(scope)
        self.write(f"{name} = 0")
        with self.inside(f"while {name} < {bound}:"):
            self.write(f"{name} += 1")
            self.block(scope.inner((name, EXTENT + 1), loops=1), least=1)

    def _static(self, scope: Scope) -> None:
        self.terms.uses("static loop")
        name = self.name("j")
        with self.inside(f"for {name} in qd.static(range({self.terms.pick('2', '1', '3')})):"):
            self.block(replace(scope.inner((name, EXTENT)), loops=0), least=1)  # it can't be left

    def _if(self, scope: Scope) -> None:
        self.terms.uses("branch in a loop" if scope.loops else "branch")
        with self.inside(f"if {self.terms.condition(scope)}:"):
            self.block(scope.inner(), least=1)
        if self.choices.below(2):
            with self.inside("else:"):
                self.block(scope.inner(), least=1)

    def _leave(self, scope: Scope) -> None:
        word = self.terms.pick("break", "continue")
        self.terms.uses(word)
        with self.inside(f"if {self.terms.condition(scope)}:"):
            self.write(word)

    # ---- memory

    def _sum(self, scope: Scope) -> None:
        if self.choices.below(2):
            self.terms.uses("scattered sum")
            self.write(f"s[{self.terms.index(scope)}] += {self.terms.real(scope)}")
        else:
            self.terms.uses("sum of all iterations")
            self.write(f"total[None] += {self.terms.real(scope)}")

    def _state(self, scope: Scope) -> None:
        """The iteration's own element of a place that it reads and stores to."""
        self.terms.uses("element read and overwritten")
        name = self.name("a")
        self.write(f"{name} = w[i]")
        scope.floats.append(name)
        self.write(f"w[i] = {self.terms.real(scope)}")
