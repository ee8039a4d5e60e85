"""A random program: one or two kernels over fields of four elements, and what it is made of.

Places: x and c are read, y and z stored to, an element by its own iteration, s and total added to, w read and
overwritten by the iteration that owns the element; idx and n hold integers. Which kinds of statements a program may
have at all is drawn first, so that programs with few kinds, where one does not hide another, are as frequent as those
with many (Groce et al., "Swarm Testing", ISSTA 2012).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..choices import Choices, Draw
from .expressions import EXTENT, Scope, Terms
from .statements import Code

__all__ = ["FEATURES", "INPUTS", "OUTPUTS", "Program", "program"]

FEATURES: Final = (
    "loops", "branches", "sums", "gathers", "kinks", "vectors", "functions", "static", "argument", "second kernel",
    "second loop", "while", "leaving", "overwriting",
)  # fmt: skip
"""What programs may have or not."""
INPUTS: Final = ("x", "c", "w")
"""Places of floats that hold something before the first launch."""
OUTPUTS: Final = ("y", "z", "s", "total", "w")


@dataclass(frozen=True)
class Program:
    """What was drawn.

    Attributes:
        functions: the lines of kernels and functions of the language.
        launches: the calls, in order: "k(3)".
        outputs: the places that are written, of `OUTPUTS`.
        constructs: what it is made of, in words.
        draw: the choices that stand for it.
    """

    functions: tuple[str, ...]
    launches: tuple[str, ...]
    outputs: tuple[str, ...]
    constructs: frozenset[str]
    draw: Draw

    @property
    def text(self) -> str:
        """The kernels."""
        return "\n".join(self.functions)

    def names(self, place: str) -> bool:
        """Whether the kernels access a place."""
        return f"{place}[" in self.text or f" in {place}:" in self.text


def program(choices: Choices, without: Iterable[str] = ()) -> Program:
    """Draw a program that has none of some features."""
    features = frozenset(feature for feature in FEATURES if choices.below(2) and feature not in frozenset(without))
    terms = Terms(choices, features)
    lines = _function(choices, terms) if "functions" in features else []
    inside, terms.constructs = terms.constructs, set()
    first, launch = _kernel(choices, terms, "k", ["x", "c"], "y")
    launches = [launch]
    if "second kernel" in features:
        terms.uses("two launches")
        second, launch = _kernel(choices, terms, "k2", ["y", "x"], "z")
        first += ["", *second]
        launches.append(launch)
    if any(" f(" in line or "(f(" in line for line in first):
        terms.constructs |= inside
    else:
        lines = []
    text = "\n".join(lines + first)
    written = tuple(place for place in OUTPUTS if f"{place}[" in text and _writes(text, place))
    return Program((*lines, *first), tuple(launches), written, frozenset(terms.constructs), choices.drawn())


def _writes(text: str, place: str) -> bool:
    return any(line.strip().startswith(f"{place}[") for line in text.splitlines())


def _function(choices: Choices, terms: Terms) -> list[str]:
    """A function of the language of two floats; it accesses no memory."""
    code = Code(choices, terms, 1)
    code.write("r = p")
    code.write("b = q")
    code.block(Scope(["b", "r"]), least=1)
    code.write("return r + b")
    return ["@qd.func", "def f(p, q):", *code.lines, ""]


def _kernel(choices: Choices, terms: Terms, name: str, reads: list[str], out: str) -> tuple[list[str], str]:
    """The lines of a kernel that stores to `out`, and its call."""
    code = Code(choices, terms, 1)
    _loop(choices, terms, code, reads, out)
    if "second loop" in terms.features and "second kernel" not in terms.features:
        terms.uses("two parallel loops")
        _loop(choices, terms, code, ["y", "x"], "z")
    takes = any(re.search(r"\bm\b", line) for line in code.lines)
    head = f"def {name}({'m: qd.i32' if takes else ''}):"
    return ["@qd.kernel", head, *code.lines], f"{name}({3 if takes else ''})"


def _loop(choices: Choices, terms: Terms, code: Code, reads: list[str], out: str) -> None:
    heads = (f"for i in range({EXTENT}):", f"for i in {reads[0]}:")
    with code.inside(heads[choices.below(2)]):
        scope = Scope(ints=[("i", EXTENT)], fields=[*reads])
        code.write(f"a = {reads[0]}[i]")
        scope.floats.append("a")
        code.block(scope, least=1)
        plus = "+" * (choices.below(4) == 3)
        value = " + ".join([*scope.floats, *scope.steady]) if choices.below(4) < 3 else terms.real(scope)
        code.write(f"{out}[i] {plus}= {value}")
