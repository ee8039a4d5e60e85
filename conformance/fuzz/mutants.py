"""Programs with mistakes: the cases' kernels with tokens deleted, doubled, exchanged or replaced.

A mutant is the text of a whole case file in which the bodies of one case's kernels and functions were changed; it is
still Python, which is all that is known of it. The same number and seed give the same mutant.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from adstack.conformance.harness.loading import CASES, Entry, collect

__all__ = ["Mutant", "mutant"]

ODD: Final = (
    "-1", "0", "1", "2", "3.5", "1e400", "2**31", "2**63", "-(2**63)", "None", "True", "...", "'a'", "f'{1}'", "b'x'",
    "[]", "()", "{}", "[1, 2]", "*", "**", "*-1", "**{}", "not", "-", "~", "+", "/", "//", "%", "@", "<<", "and", "or",
    "in", "is", "if", "else", "elif", "while", "for", "break", "continue", "return", "pass", "del", "yield", "await",
    "lambda: 0", "raise", "try", "with", "global", "nonlocal", "import", "assert", "=", "+=", ":=", "==", "<", ".", ",",
    ":", "(", ")", "[", "]", "\\ud800", "self", "qd", "qd.static", "qd.Vector", "qd.i32", "qd.f16", "qd.u64", "range",
    "len", "print", "float", "int", "min", "abs", "i", "x", "_", "__class__",
)  # fmt: skip
"""Tokens that strangers write, besides those of the program itself."""
SKIPPED: Final = {tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
COMPILED: Final = ("qd.kernel", "qd.func", "qd.real_func", "qd.pyfunc")
MOST_EDITS: Final = 3
TRIES: Final = 200
Edit = tuple[int, int, str]
"""(first character, character after the last, what stands there instead)."""


@dataclass(frozen=True)
class Mutant:
    """A changed case.

    Attributes:
        number: it is made from this number and a seed.
        id: of the case and its variant.
        function: the case's name in the file.
        variant: which variant of it, by its position.
        text: the whole file.
        changes: what was done, in words.
    """

    number: int
    id: str
    function: str
    variant: int
    text: str
    changes: tuple[str, ...]


def mutant(seed: int, number: int, root: Path = CASES) -> Mutant:
    """The mutant with this number."""
    random = Random(f"{seed}/{number}")
    entries = _entries(root)
    while True:
        entry = random.choice(entries)
        text = (root / entry.path).read_text()
        name = entry.case.function.__name__
        bodies = _bodies(text, name)
        changed = _changed(text, bodies, random) if bodies else None
        if changed is not None:
            return Mutant(number, entry.id, name, entry.case.variants.index(entry.variant), *changed)


@cache
def _entries(root: Path) -> list[Entry]:
    return collect(root)


def _bodies(text: str, name: str) -> list[tuple[int, int]]:
    """Where the bodies of the kernels and functions of a case are, as ranges of characters."""
    starts = [0, *_line_ends(text)]
    spans = []
    for case in ast.parse(text).body:
        if isinstance(case, ast.FunctionDef) and case.name == name:
            for node in ast.walk(case):
                if isinstance(node, ast.FunctionDef) and any(d.startswith(COMPILED) for d in _decorators(node)):
                    first, last = node.body[0], node.body[-1]
                    spans.append((starts[first.lineno - 1], starts[last.end_lineno or last.lineno]))
    return spans


def _decorators(node: ast.FunctionDef) -> Iterator[str]:
    return (ast.unparse(decorator) for decorator in node.decorator_list)


def _line_ends(text: str) -> Iterator[int]:
    at = 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        yield at


def _changed(text: str, bodies: list[tuple[int, int]], random: Random) -> tuple[str, tuple[str, ...]] | None:
    """The text after a few edits inside the bodies, and what they were; None if nothing tried is Python."""
    for _ in range(TRIES):
        changed, edited = text, list[str]()
        for _ in range(random.randint(1, MOST_EDITS)):
            start, end = random.choice(bodies)
            edits, what = _edits(text, start, end, random)
            if not edited:
                changed, edited = _applied(text, edits), [what]
            elif random.random() < 0.5:
                more = _applied(changed, edits) if len(changed) == len(text) else changed
                changed, edited = more, [*edited, what] if more != changed else edited
        if changed != text and _is_python(changed):
            return changed, tuple(edited)
    return None


def _edits(text: str, start: int, end: int, random: Random) -> tuple[list[Edit], str]:
    """One change: to a token, to two, or to a line."""
    tokens = _tokens(text[start:end], start)
    kind = random.choice(("delete", "double", "exchange", "neighbours", "replace", "odd", "insert", "line"))
    if kind == "line" or len(tokens) < 2:
        return _line_edit(text, start, end, random)
    at = random.randrange(len(tokens) - 1)
    first, last, word = tokens[at]
    if kind == "delete":
        return [(first, last, "")], f"delete {word!r}"
    if kind == "double":
        return [(last, last, f" {word}")], f"double {word!r}"
    if kind in ("exchange", "neighbours"):
        other = tokens[at + 1] if kind == "neighbours" else random.choice(tokens)
        return [(first, last, other[2]), (other[0], other[1], word)], f"exchange {word!r} and {other[2]!r}"
    odd = random.choice(tokens)[2] if kind == "replace" else random.choice(ODD)
    if kind == "insert":
        return [(last, last, f" {odd}")], f"insert {odd!r} after {word!r}"
    return [(first, last, odd)], f"replace {word!r} by {odd!r}"


def _line_edit(text: str, start: int, end: int, random: Random) -> tuple[list[Edit], str]:
    """Delete, double or indent a line, or move it to another place."""
    lines = [start, *(start + at for at in _line_ends(text[start:end]))]
    at = random.randrange(len(lines) - 1)
    first, last = lines[at], lines[at + 1]
    line, where = text[first:last], random.choice(lines)
    kind = random.choice(("delete", "double", "indent", "move"))
    if kind == "move" and not first <= where <= last:
        return [(first, last, ""), (where, where, line)], f"move {line.strip()!r}"
    changes = {"delete": "", "indent": "    " + line if random.random() < 0.5 else line[4:]}
    return [(first, last, changes.get(kind, line + line))], f"{kind} {line.strip()!r}"


def _tokens(body: str, offset: int) -> list[Edit]:
    """The tokens of a body, with their places in the whole text."""
    starts = [0, *_line_ends(body)]
    indented = io.StringIO("if 1:\n" + body).readline
    return [
        (offset + starts[t.start[0] - 2] + t.start[1], offset + starts[t.end[0] - 2] + t.end[1], t.string)
        for t in tokenize.generate_tokens(indented)
        if t.type not in SKIPPED and t.start[0] > 1 and t.start[0] - 2 < len(starts)
    ]


def _applied(text: str, edits: list[Edit]) -> str:
    """The text after edits, the last place first; those that overlap another are left out."""
    before = len(text) + 1
    for first, last, word in sorted(edits, reverse=True):
        if last <= before:
            text, before = text[:first] + word + text[last:], first
    return text


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<mutant>", "exec")
        except (SyntaxError, ValueError):
            return False
    return True
