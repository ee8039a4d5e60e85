"""The page of beginners' mistakes and what comes of them: `python -m adstack.tools.mistakes [--write]`.

The programs stand in mistakes.txt beside this module, each with a grade, and with words of its message:

    right   it does what was meant
    A       an error or a warning that says what happened, where, and what to write
    B       an error that says what happened, and where
    silent  nothing is said: it does what the language defines, which is not what everybody expects

The page, docs/mistakes.md, is made by running them on the interpreter; a test runs them again and compares.
"""

from __future__ import annotations

import linecache
import math
import random
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import adstack as qd

from .check import ROOT

__all__ = ["GRADES", "PAGE", "Mistake", "mistakes", "outcome", "page", "section"]

PAGE: Final = ROOT / "docs" / "mistakes.md"
GRADES: Final = ("right", "A", "B", "silent")
_FILE: Final = "program.py"
_TOP: Final = """# {count} mistakes

What habits of Python, numpy, JAX, torch, Taichi or C lead to, and what comes of it. Every program has
`import adstack as qd`, numpy as `np`, and fields `x` and `y` of 8 numbers and `s` of one (`qd.f32`, with
gradients), `n` of 8 integers, `g` of 4 x 4 numbers, `v` of 4 vectors. The page is written by
`python -m adstack.tools.mistakes --write`, which runs them.

| grade | what it means | how many |
| --- | --- | --- |
{grades}
"""
_MEANING: Final = {
    "right": "it does what was meant",
    "A": "an error or a warning says what happened, where, and what to write",
    "B": "it says what happened and where",
    "silent": "it does what the language defines, which is not what everybody expects",
}


@dataclass(frozen=True)
class Mistake:
    """A row of the table.

    Attributes:
        title: what the mistake is.
        grade: one of GRADES.
        words: parts of the message, in order.
        program: its text.
    """

    title: str
    grade: str
    words: tuple[str, ...]
    program: str


def mistakes() -> list[Mistake]:
    """The rows of the table."""
    text = "\n" + Path(__file__).with_name("mistakes.txt").read_text("utf-8")
    return [_row(block) for block in text.split("\n== ")[1:]]


def _row(block: str) -> Mistake:
    title, grade, program = block.strip("\n").split("\n", 2)
    letter, _, words = grade.partition(": ")
    return Mistake(title, letter, tuple(words.split(" | ")) if words else (), program)


def _names() -> dict[str, Any]:
    """The names that the programs use."""
    qd.init(arch=qd.reference, announce=False)
    return {
        "qd": qd,
        "np": np,
        "math": math,
        "random": random,
        "time": time,
        "x": qd.field(qd.f32, shape=8, name="x", needs_grad=True),
        "y": qd.field(qd.f32, shape=8, name="y", needs_grad=True),
        "s": qd.field(qd.f32, shape=(), name="s", needs_grad=True),
        "n": qd.field(qd.i32, shape=8, name="n"),
        "g": qd.field(qd.f32, shape=(4, 4), name="g"),
        "v": qd.Vector.field(3, qd.f32, shape=4, name="v"),
    }


def outcome(program: str) -> str:
    """The error or warning of a program, as it is shown; "" if it runs without."""
    names = _names()
    linecache.cache[_FILE] = (len(program), None, program.splitlines(True), _FILE)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            exec(compile(program, _FILE, "exec", dont_inherit=True), names)
        except Exception as error:  # noqa: BLE001 - whatever a beginner's program raises
            return f"{type(error).__name__}: {error}"
        finally:
            qd.reset()
    return "\n".join(f"{warning.category.__name__}: {warning.message}" for warning in said)


def page() -> str:
    """The text of the page."""
    rows = mistakes()
    count = {grade: sum(row.grade == grade for row in rows) for grade in GRADES}
    grades = "\n".join(f"| {grade} | {meaning} | {count[grade]} |" for grade, meaning in _MEANING.items())
    return _TOP.format(count=len(rows), grades=grades) + "".join(section(row, outcome(row.program)) for row in rows)


def section(row: Mistake, message: str) -> str:
    """The part of the page about one mistake, with the message that came of it."""
    program = f"```text\n{row.program}\n```\n"
    outcome = f"```text\n{message}\n```" if message else "Nothing is said." if row.grade == "silent" else "It works."
    return f"\n## {row.title}: {row.grade}\n\n{program}\n{outcome}\n"


def main(arguments: list[str]) -> None:
    """Prints the page, or writes it."""
    if arguments == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    elif arguments:
        sys.exit(f"unknown argument {arguments[0]!r}; there is --write")
    else:
        print(page())


if __name__ == "__main__":
    main(sys.argv[1:])
