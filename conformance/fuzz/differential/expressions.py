"""Expressions of random kernels, as text.

Floats stay tame: what multiplies is bounded, quotients and roots stay away from the edges of their domains, and values
that are compared, or of which the larger is taken, are never equal to what they are compared with but where both are
constants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..choices import Choices

__all__ = ["DEEPEST", "EXTENT", "Scope", "Terms"]

EXTENT: Final = 4
"""Elements of every field."""
DEEPEST: Final = 2
"""How deep expressions are nested."""
STATEMENTS: Final = 10
_NUMBERS: Final = ("0.5", "-0.75", "1.25", "0.875")
_EDGES: Final = ("0.3", "-0.2", "0.7")
"""What floats are compared with: no sum or product of the other numbers."""


@dataclass
class Scope:
    """What code at one place may name.

    Attributes:
        floats: names of local floats.
        steady: names of those that are bounded and keep their value.
        ints: integers, with a number that each stays below.
        vectors: names of local vectors of two floats.
        fields: fields of floats that may be read.
        loops: how many loops are around.
    """

    floats: list[str] = field(default_factory=list)
    steady: list[str] = field(default_factory=list)
    ints: list[tuple[str, int]] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    loops: int = 0

    def inner(self, *ints: tuple[str, int], loops: int = 0) -> Scope:
        """A scope inside this one: what it adds is not seen outside."""
        names = [*self.floats], [*self.steady], [*self.ints, *ints], [*self.vectors], [*self.fields]
        return Scope(*names, loops=self.loops + loops)


class Terms:
    """Draws expressions.

    Attributes:
        choices: what is drawn from.
        features: which optional things are in the program.
        constructs: what has been used, in words.
        left: how many more statements the program is to have, about.
    """

    def __init__(self, choices: Choices, features: frozenset[str]) -> None:
        self.choices, self.features = choices, features
        self.constructs: set[str] = set()
        self.left = STATEMENTS

    def pick(self, *options: str) -> str:
        """One of several texts; the first is the simplest."""
        return options[self.choices.below(len(options))]

    def uses(self, construct: str) -> None:
        """Note that the program has this."""
        self.constructs.add(construct)

    def real(self, scope: Scope, depth: int = 0) -> str:
        """A float."""
        with self.choices.span("real"):
            kinds = [self._atom, self._sum, self._product, self._function]
            kinds += [self._edge, self._quotient] if "kinks" in self.features else []
            if depth >= DEEPEST:
                return self._atom(scope, depth)
            return kinds[self.choices.below(len(kinds))](scope, depth)

    def _atom(self, scope: Scope, depth: int) -> str:
        options = [self._local, self._element, self._constant]
        if scope.vectors:
            options.append(self._component)
        return options[self.choices.below(len(options))](scope)

    def _local(self, scope: Scope) -> str:
        names = [*reversed(scope.floats), *reversed(scope.steady)]
        return self.pick(*names) if names else self._element(scope)

    def _element(self, scope: Scope) -> str:
        if not scope.fields or not scope.ints:
            return self._constant(scope)
        place = self.pick(*scope.fields)
        return f"{place}[{self.index(scope)}]"

    def _constant(self, scope: Scope) -> str:
        return self.pick(*_NUMBERS)

    def _component(self, scope: Scope) -> str:
        vector = self.pick(*reversed(scope.vectors))
        return f"{vector}[{self.component(scope)}]"

    def component(self, scope: Scope) -> str:
        """An index of a vector of two: a constant, or one that is computed."""
        kind = self.choices.below(3)
        if kind < 2 or not scope.ints:
            return str(kind % 2)
        self.uses("component at a computed index")
        name, _ = scope.ints[-1 - self.choices.below(len(scope.ints))]
        return f"{name} % 2"

    def index(self, scope: Scope) -> str:
        """An index of a field."""
        names = [(name, bound) for name, bound in scope.ints if bound <= EXTENT] or scope.ints
        name, bound = names[self.choices.below(len(names))]
        plain = name if bound <= EXTENT else f"{name} % {EXTENT}"
        kind = self.choices.below(4) if "gathers" in self.features else 0
        if kind == 1:
            self.uses("gather")
            return f"idx[{plain}]"
        if kind == 2:
            self.uses("shifted index")
            other, _ = scope.ints[self.choices.below(len(scope.ints))]
            return f"({name} + {other} + 1) % {EXTENT}"
        return plain

    def _sum(self, scope: Scope, depth: int) -> str:
        sign = self.pick("+", "-")
        return f"{self._atom(scope, depth)} {sign} {self._factor(scope, depth)}"

    def _product(self, scope: Scope, depth: int) -> str:
        return f"{self._factor(scope, depth)} * {self.bounded(scope)}"

    def _factor(self, scope: Scope, depth: int) -> str:
        term = self.real(scope, depth + 1)
        return term if term.isidentifier() or (term.endswith((")", "]")) and " " not in term) else f"({term})"

    def bounded(self, scope: Scope) -> str:
        """A float of a few units at most, whatever locals have grown to."""
        kind = self.choices.below(4)
        if kind < 2 and scope.steady:
            return self.pick(*reversed(scope.steady))
        if kind <= 2 and "x" in scope.fields and scope.ints:
            return f"x[{self.index(scope)}]"
        return f"qd.sin({self._local(scope)})" if kind < 3 else self._constant(scope)

    def _function(self, scope: Scope, depth: int) -> str:
        function = f"qd.{self.pick('sin', 'cos', 'tanh', 'exp', 'sqrt')}"
        self.uses(f"function {function.removeprefix('qd.')}")
        inner = self.real(scope, depth + 1)
        arguments = {"qd.exp": f"qd.sin({inner})", "qd.sqrt": f"qd.abs({inner}) + 1.0"}
        return f"{function}({arguments.get(function, inner)})"

    def _edge(self, scope: Scope, depth: int) -> str:
        kind = self.pick("max", "min", "select", "abs")
        self.uses(kind)
        if kind == "select":
            return f"qd.select({self.condition(scope)}, {self._atom(scope, depth)}, {self._atom(scope, depth)})"
        inner = self.real(scope, depth + 1)
        return f"qd.abs({inner})" if kind == "abs" else f"qd.{kind}({inner}, {self.pick(*_EDGES)})"

    def _quotient(self, scope: Scope, depth: int) -> str:
        self.uses("quotient")
        below = self._local(scope)
        return f"{self._factor(scope, depth)} / ({below} * {below} + 1.0)"

    def condition(self, scope: Scope) -> str:
        """A condition: of integers, or of floats."""
        kind = self.choices.below(3)
        if kind == 2 and scope.floats:
            self.uses("condition of floats")
            return f"{self._local(scope)} > {self.pick(*_EDGES)}"
        if not scope.ints:
            return "True"
        name, _ = scope.ints[-1 - self.choices.below(len(scope.ints))]
        if kind == 1 and "gathers" in self.features:
            return f"n[{name} % {EXTENT}] > 1"
        return f"{name} {self.pick('< 2', '% 2 == 0', '== 1', '> 0')}"
