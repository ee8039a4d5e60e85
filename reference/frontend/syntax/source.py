"""A function's source text and syntax tree, with positions in the user's file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

from ...errors import AdstackSyntaxError
from ...ir.location import Loc
from ...values.kinds import KernelObject, PythonFunction
from ...values.written import Written, written
from .command_line import as_given
from .stores import passed_in, stored_within
from .walking import nodes_of

__all__ = ["Source", "assigned_in", "source_of"]

_KNOWN: WeakKeyDictionary[Written, Source] = WeakKeyDictionary()
"""What has been parsed, by the text that was kept. It goes with the code."""


@dataclass(frozen=True)
class Source:
    """A function as written.

    Attributes:
        name: its name.
        file: path as Python knows it.
        node: its definition; positions in it are relative to `first_line` and `indent`.
        first_line: line of the file that is line 1 of the text parsed.
        indent: columns that were cut off on the left.
        lines: all lines of the file, as they were when the function was decorated.
    """

    name: str
    file: str
    node: ast.FunctionDef
    first_line: int
    indent: int
    lines: Sequence[str] = field(repr=False)

    @property
    def returns_early(self) -> bool:
        """Whether a `return` stands inside of another statement."""
        return self._asked_always[0]

    @property
    def assigned(self) -> frozenset[str]:
        """The names that its statements and `:=` assign to, other than as variables of loops."""
        return self._asked_always[1]

    @cached_property
    def _asked_always(self) -> tuple[bool, frozenset[str]]:
        """Both of these, which every compilation asks for."""
        body = self.node.body
        nodes = nodes_of(*body)
        return any(isinstance(node, ast.Return) for node in nodes[len(body) :]), _assigned_by(nodes)

    @cached_property
    def read(self) -> frozenset[str]:
        """The names that its statements read, those of `+=` among them."""
        nodes = nodes_of(*self.node.body)
        updated = {name for node in nodes if isinstance(node, ast.AugAssign) for name in _names(node.target)}
        return frozenset(updated | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)})

    @cached_property
    def stored_within(self) -> frozenset[str]:
        """The names of which it stores to a part, an element or a component."""
        return stored_within(self.node.body)

    @cached_property
    def passed(self) -> dict[str, list[tuple[ast.expr, int | str]]]:
        """The calls that have a name as an argument, by that name."""
        return passed_in(self.node.body)

    def loc(self, node: ast.AST, caller: Loc | None = None) -> Loc:
        """The place of `node` in the file."""
        at: KernelObject = node if hasattr(node, "lineno") else self.node
        shift = self.first_line - 1
        start = self._column(self.lines[at.lineno + shift - 1], at.col_offset)
        end_line = at.end_lineno or at.lineno
        end = self._column(self.lines[end_line + shift - 1], at.end_col_offset or at.col_offset)
        return Loc(self.file, at.lineno + shift, start, end_line + shift, end, caller)

    def _column(self, text: str, offset: int) -> int:
        """The 1-based column of a byte offset, as `ast` counts it, in a line whose indentation was cut off."""
        end = offset + self.indent
        return end + 1 if text.isascii() else len(text.encode()[:end].decode(errors="ignore")) + 1


def assigned_in(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that these statements assign to, whole or in part, other than as variables of loops."""
    return _assigned_by(nodes_of(*body))


def _assigned_by(nodes: Iterable[ast.AST]) -> frozenset[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign):
            names.update(_names(*node.targets))
        elif isinstance(node, (ast.AugAssign, ast.NamedExpr)):
            names.update(_names(node.target))
    return frozenset(names)


def _names(*targets: ast.expr) -> Iterator[str]:
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, (ast.Tuple, ast.List)):
            yield from _names(*target.elts)


def source_of(function: PythonFunction) -> Source:
    """The source of a Python function; AdstackSyntaxError where it can't be had."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise AdstackSyntaxError(f"{function!r} is no Python function", do="put the decorator on a `def`")
    text = written(function)
    if text not in _KNOWN:
        _KNOWN[text] = _read(getattr(function, "__name__", "kernel"), as_given(text, code))
    return _KNOWN[text]


def _read(name: str, text: Written) -> Source:
    if name == "<lambda>":
        raise AdstackSyntaxError("a lambda can't be a kernel or func", do="write a `def` with annotated parameters")
    try:
        lines = by_indentation(text) or _by_tokens(text)
    except (OSError, IndexError, SyntaxError) as error:
        raise AdstackSyntaxError(
            f"the source of {name} can't be read: {error}",
            do="put the function in a file: code from a pipe or exec() keeps no source",
        ) from error
    indent = len(lines[0]) - len(lines[0].lstrip())
    node = _definition(text, "".join(lines), indent)
    return Source(name, text.file, node, text.first, indent, text.lines)


def _by_tokens(text: Written) -> list[str]:
    """The lines of a definition, as `inspect` delimits them; OSError if there are none."""
    if len(text.lines) < text.first:
        raise OSError("could not get source code")
    return inspect.getblock(text.lines[text.first - 1 :])


def by_indentation(text: Written) -> list[str] | None:
    """The lines that a definition's indentation makes its own, if they parse; else `inspect` has to look at the tokens.

    A cut at a line that stands left of the definition but belongs to it, inside brackets or a string, doesn't parse.
    """
    lines = text.lines[text.first - 1 :]
    if not lines:
        return None
    indent = len(lines[0]) - len(lines[0].lstrip())
    last, begun = 0, False
    for number, line in enumerate(lines):
        stripped = line.lstrip()
        if not stripped or stripped[0] == "#":
            continue
        deeper = len(line) - len(stripped) > indent
        if begun and not deeper:
            break
        begun, last = deeper, number
    own = lines[: last + 1]
    return own if _parses(own, indent) else None


def _parses(lines: list[str], indent: int) -> bool:
    try:
        tree = ast.parse(_dedented("".join(lines), indent))
    except SyntaxError:
        return False
    return len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef)


def _definition(written: Written, text: str, indent: int) -> ast.FunctionDef:
    """The definition of the function in its text; AdstackSyntaxError if another one, or none, stands there."""
    name, file, first = written.name, written.file, written.first
    try:
        tree = ast.parse(_dedented(text, indent))
    except SyntaxError as error:
        loc = Loc(file, first + (error.lineno or 1) - 1, (error.offset or 1) + indent)
        raise AdstackSyntaxError(f"the source of {name} can't be parsed: {error.msg}", loc=loc) from error
    node = tree.body[0] if tree.body else None
    if isinstance(node, ast.FunctionDef) and node.name == name:
        return node
    loc = Loc(file, first, indent + 1)
    if isinstance(node, ast.FunctionDef):
        raise AdstackSyntaxError(
            f"{name} is not what stands here: this is {node.name}, so the file has changed since Python read it",
            loc=loc,
            do="import the file again, or start the program anew",
        )
    what = "an async function" if isinstance(node, ast.AsyncFunctionDef) else "no plain function"
    raise AdstackSyntaxError(f"{name} is {what}", loc=loc, do="write a plain `def`")


def _dedented(text: str, indent: int) -> str:
    """The text without its indentation; lines inside a string that stand further left are left as they are."""
    if not indent:
        return text
    plain = textwrap.dedent(text)
    if not plain[0].isspace():
        return plain
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in text.split("\n"))
