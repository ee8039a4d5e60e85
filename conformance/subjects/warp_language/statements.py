"""Statements of a kernel as those of Warp."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

from ...case import Data
from .expressions import Calls, Expressions
from .kinds import ABSENT, BOOL, Kind, settings
from .names import FUNCTIONS, static
from .scopes import Host, Scope, Value, assigned

__all__ = ["RETURNED", "Statements"]

RETURNED: Final = "returned"
"""The array that a kernel leaves its result in."""


class Statements:
    """Translates the statements of one scope.

    Args:
        scope: of which; lines go to it.
        calls: translates functions of the program.
        in_kernel: whether a result is stored, rather than returned.
    """

    def __init__(self, scope: Scope, calls: Calls, in_kernel: bool) -> None:
        self.scope, self._in_kernel = scope, in_kernel
        self.expressions = Expressions(scope, calls)
        self._visitors: dict[type[ast.stmt], Callable[[Data], None]] = {
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.If: self._if,
            ast.For: self._for,
            ast.While: self._while,
            ast.Return: self._return,
            ast.Expr: self._expression,
            ast.Pass: lambda node: None,
            ast.Break: lambda node: self._leave("break"),
            ast.Continue: lambda node: self._leave("continue"),
        }
        self._loops = 0

    def all(self, nodes: Sequence[ast.stmt]) -> None:
        """Statements, one after the other. MissingError if one is of no kind that can be translated."""
        for node in nodes:
            visitor = self._visitors.get(type(node))
            if visitor is None:
                raise ABSENT(f"{type(node).__name__} is not translated: {ast.unparse(node)[:60]}")
            visitor(node)

    def block(self, nodes: Sequence[ast.stmt]) -> None:
        """Statements a step further in; there is at least one line."""
        lines = self.scope.lines
        lines.depth += 1
        before, outside = len(lines.lines), dict(self.scope.locals)
        self.all(nodes)
        if len(lines.lines) == before:
            lines.add("pass")
        lines.depth -= 1
        self.scope.locals = outside

    def _leave(self, how: str) -> None:
        """End an iteration, or a loop; an iteration of the parallel loop is a thread."""
        if not self._loops and how == "break":
            raise ABSENT("a parallel loop that is left")
        self.scope.lines.add(how if self._loops else "return")

    def _body(self, nodes: Sequence[ast.stmt]) -> None:
        self._loops += 1
        self.block(nodes)
        self._loops -= 1

    def give(self, name: str, value: Value) -> None:
        """Give a variable a value; the first makes it, with that value's type."""
        variable = self.scope.locals.get(name)
        if variable is None:
            code, kind = value.to(value.kind), value.kind
            variable = self.scope.declare(name, kind)
            self.scope.lines.add(f"{variable.code} = {code if kind == BOOL else f'{kind.constructor}({code})'}")
            return
        self.scope.lines.add(f"{variable.code} = {value.to(variable.kind)}")

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise ABSENT("an assignment to several at once is not translated")
        target = node.targets[0]
        if not isinstance(target, ast.Tuple):
            self._give_to(target, self.expressions.number(node.value))
            return
        if not isinstance(node.value, ast.Tuple) or len(node.value.elts) != len(target.elts):
            raise ABSENT(f"not translated: {ast.unparse(node)}")
        values = [self._kept(self.expressions.number(one)) for one in node.value.elts]
        for one, value in zip(target.elts, values, strict=True):
            self._give_to(one, value)

    def _kept(self, value: Value) -> Value:
        """A value that stays what it is when variables change."""
        if value.literal is not None:
            return value
        name = self.scope.new("t")
        plain = value.kind == BOOL
        self.scope.lines.add(f"{name} = {value.code if plain else f'{value.kind.constructor}({value.code})'}")
        return Value(name, value.kind)

    def _annotated(self, node: ast.AnnAssign) -> None:
        kind = self.scope.known(node.annotation)
        if node.value is None or not isinstance(kind, Kind):
            raise ABSENT(f"not translated: {ast.unparse(node)}")
        value = self.expressions.number(node.value)
        self._give_to(node.target, Value(value.to(kind), kind))

    def _give_to(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.give(target.id, value)
        elif isinstance(target, ast.Subscript):
            name, indices, memory = self.expressions.place(target)
            self.scope.lines.add(f"{name}[{indices}] = {value.to(memory.dtype)}")
        else:
            raise ABSENT(f"a value for {ast.unparse(target)} is not translated")

    def _augmented(self, node: ast.AugAssign) -> None:
        value = self.expressions.number(node.value)
        if isinstance(node.target, ast.Subscript) and isinstance(node.op, (ast.Add, ast.Sub)):
            name = "atomic_add" if isinstance(node.op, ast.Add) else "atomic_sub"
            self.expressions.atomic(FUNCTIONS[name], node.target, value)
            return
        load = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node)
        now = self.expressions.number(load)
        self._give_to(node.target, self.expressions.operation(node.op, now, value))

    def _if(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Call) and self._is_static(node.test):
            self.all(node.body if self.scope.known(node.test.args[0]) else node.orelse)
            return
        self.scope.lines.add(f"if {self.expressions.truth(node.test)}:")
        self.block(node.body)
        if node.orelse:
            self.scope.lines.add("else:")
            self.block(node.orelse)

    def _is_static(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        function = self.expressions.of(node.func)
        return isinstance(function, Host) and function.object is static

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise ABSENT("for ... else is not translated")
        if isinstance(node.iter, ast.Call) and self._is_static(node.iter):
            self._unrolled(node, node.iter.args[0])
            return
        if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
            raise ABSENT(f"a loop over {ast.unparse(node.iter)} within a loop is not translated")
        function = self.expressions.of(node.iter.func)
        if not isinstance(function, Host) or function.object is not range or len(node.iter.args) > 2:
            raise ABSENT(f"a loop over {ast.unparse(node.iter)} within a loop is not translated")
        values = [self._kept(self.expressions.number(one)) for one in node.iter.args]
        if any(value.kind != settings.whole for value in values) or node.target.id in self.scope.locals:
            raise ABSENT(f"not translated: the bounds or the variable of {ast.unparse(node.iter)}")
        variable = self.scope.declare(node.target.id, settings.whole)
        bounds = ", ".join(value.to(settings.whole) for value in values)
        self.scope.lines.add(f"for {variable.code} in range({bounds}):")
        self._body(node.body)
        del self.scope.locals[node.target.id]

    def _unrolled(self, node: ast.For, iterable: ast.expr) -> None:
        if not isinstance(node.target, (ast.Name, ast.Tuple)):
            raise ABSENT(f"not translated: for {ast.unparse(node.target)}")
        names = [ast.unparse(one) for one in getattr(node.target, "elts", [node.target])]
        for item in self.scope.known(iterable):
            parts = [item] if isinstance(node.target, ast.Name) else list(item)
            for name, part in zip(names, parts, strict=True):
                self.scope.locals.pop(name, None)
                self.scope.host[name] = part
            if set(names) & set(assigned(node.body)):
                raise ABSENT("a static loop changes its variable")
            outside = dict(self.scope.locals)
            self.all(node.body)
            self.scope.locals = outside

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise ABSENT("while ... else is not translated")
        self.scope.lines.add("while True:")
        self.scope.lines.depth += 1
        self.scope.lines.add(f"if not {self.expressions.truth(node.test)}:")
        self.scope.lines.add("    break")
        self.scope.lines.depth -= 1
        self._body(node.body)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            value = self.expressions.number(node.value)
            self.scope.returned.append(value.kind)
            kind = self.scope.returns = self.scope.returns or value.kind
            if self._in_kernel:
                self.scope.lines.add(f"{RETURNED}[0] = {value.to(kind)}")
            else:
                self.scope.lines.add(f"return {value.to(kind)}")
                return
        self.scope.lines.add("return")

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if not isinstance(node.value, ast.Call):
            raise ABSENT(f"not translated: {ast.unparse(node)}")
        value = self.expressions.called(node.value)
        if isinstance(value, Value) and value.code and not value.code.isidentifier():
            self.scope.lines.add(f"{self.scope.new('u')} = {value.code}")
