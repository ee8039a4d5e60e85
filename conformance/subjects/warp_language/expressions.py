"""Expressions of a kernel as those of Warp, with every conversion written out: Warp converts nothing by itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ...case import Data
from .kinds import ABSENT, BOOL, Kind, joined, settings
from .memory import Memory
from .names import FUNCTIONS, Function, static
from .scopes import Host, Index, Scope, Value

__all__ = ["Anything", "Calls", "Expressions"]

Anything: TypeAlias = Value | Host | Index
Calls: TypeAlias = Callable[[Scope, Data, Sequence[Anything]], Value | None]
"""Translates a function of the program and gives the call of it; None for something else."""

_ARITHMETIC: Final[dict[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_BITS: Final[dict[type[ast.operator], str]] = {
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_BUILTINS: Final[dict[Data, str]] = {abs: "abs", max: "max", min: "min", pow: "pow"}


class Expressions:
    """Translates the expressions of one scope; what comes before them goes to its lines."""

    def __init__(self, scope: Scope, calls: Calls) -> None:
        self.scope, self._calls = scope, calls
        self._visitors: dict[type[ast.expr], Callable[[Data], Anything]] = {
            ast.Constant: lambda node: Host(node.value),
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.BinOp: lambda node: self.operation(node.op, self.number(node.left), self.number(node.right)),
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.BoolOp: self._logic,
            ast.IfExp: self._choice,
            ast.Call: self.call,
        }

    def of(self, node: ast.expr) -> Anything:
        """Data expression. MissingError if it is of no kind that can be translated."""
        visitor = self._visitors.get(type(node))
        if visitor is None:
            raise ABSENT(f"{type(node).__name__} is not translated: {ast.unparse(node)}")
        return visitor(node)

    def number(self, node: ast.expr) -> Value:
        """An expression that is a number."""
        return self.numeric(self.of(node), node)

    def numeric(self, value: Anything, node: ast.expr) -> Value:
        if isinstance(value, Index):
            raise ABSENT(f"an index as a number: {ast.unparse(node)}")
        return value.number() if isinstance(value, Host) else value

    def truth(self, node: ast.expr) -> str:
        """An expression as a condition."""
        value = self.number(node)
        return value.code if value.kind == BOOL else f"({value.to(value.kind)} != {value.kind.constructor}(0))"

    def place(self, node: ast.Subscript) -> tuple[str, str, Memory]:
        """An element of an array: the array's name, the indices, and what it is."""
        array = self.of(node.value)
        if not isinstance(array, Host) or not isinstance(array.object, Memory):
            raise ABSENT(f"elements of what is no field: {ast.unparse(node)}")
        memory = array.object
        parts = self._indices(node.slice)
        if len(parts) != len(memory.shape):
            raise ABSENT(f"{len(parts)} indices for {len(memory.shape)} axes: {ast.unparse(node)}")
        codes = ", ".join(part.to(settings.whole) if part.literal is not None else part.code for part in parts)
        return self.scope.program.name_of(memory), codes or "0", memory

    def _indices(self, node: ast.expr) -> tuple[Value, ...]:
        if isinstance(node, ast.Constant) and node.value is None:
            return ()
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        parts: list[Value] = []
        for one in nodes:
            value = self.of(one)
            parts += value.parts if isinstance(value, Index) else [self.numeric(value, one)]
        return tuple(parts)

    def _name(self, node: ast.Name) -> Anything:
        if node.id in self.scope.indices:
            return self.scope.indices[node.id]
        if node.id in self.scope.locals:
            return self.scope.locals[node.id]
        if node.id in self.scope.host:
            return Host(self.scope.host[node.id])
        raise ABSENT(f"{node.id} has no value here: a local of the kernel that a loop uses, or of a branch")

    def _attribute(self, node: ast.Attribute) -> Anything:
        owner = self.of(node.value)
        if not isinstance(owner, Host) or (isinstance(owner.object, Memory) and node.attr not in ("shape", "grad")):
            raise ABSENT(f"{ast.unparse(node)} is not translated")
        return Host(getattr(owner.object, node.attr))

    def _subscript(self, node: ast.Subscript) -> Anything:
        owner = self.of(node.value)
        if isinstance(owner, Index):
            part: Value = owner.parts[self.scope.known(node.slice)]
            return part
        if isinstance(owner, Host) and isinstance(owner.object, (tuple, list)):
            return Host(owner.object[self.scope.known(node.slice)])
        name, indices, memory = self.place(node)
        return Value(f"{name}[{indices}]", memory.dtype)

    def operation(self, op: ast.operator, left: Value, right: Value) -> Value:
        """An operation of two numbers."""
        kind = self._meet(left, right)
        if isinstance(op, ast.Div) and not kind.is_float:
            kind = settings.real
        a, b = left.to(kind), right.to(kind)
        if type(op) in _ARITHMETIC:
            return Value(f"({a} {_ARITHMETIC[type(op)]} {b})", kind)
        if isinstance(op, ast.Div):
            return Value(f"({a} / {b})", kind)
        if isinstance(op, ast.Pow) and right.literal in (2, 3, 4):
            factor = self._held(a)
            return Value(f"({' * '.join([factor] * int(right.literal or 0))})", kind)
        if isinstance(op, ast.Pow) and kind.is_float:
            return Value(f"wp.pow({a}, {b})", kind)
        if isinstance(op, ast.FloorDiv) and kind.is_float:
            return Value(f"wp.floor({a} / {b})", kind)
        if isinstance(op, (ast.Mod, ast.FloorDiv)) and not kind.is_float:
            return self._whole(op, self._held(a), self._held(b), kind)
        if type(op) in _BITS and not kind.is_float:
            return Value(f"({a} {_BITS[type(op)]} {b})", kind)
        raise ABSENT(f"{type(op).__name__} of {kind.name} is not translated")

    def _whole(self, op: ast.operator, a: str, b: str, kind: Kind) -> Value:
        """Division that rounds down; Warp's rounds towards zero."""
        rest = f"((({a} % {b}) + {b}) % {b})"
        return Value(rest if isinstance(op, ast.Mod) else f"(({a} - {rest}) // {b})", kind)

    def _held(self, code: str) -> str:
        """The name of a variable that holds an expression, which is used more than once."""
        name = self.scope.new("v")
        self.scope.lines.add(f"{name} = {code}")
        return name

    def _meet(self, left: Value, right: Value) -> Kind:
        """The type of an operation of two numbers: a literal takes that of the other."""
        for literal, other in ((left, right), (right, left)):
            if literal.literal is not None and other.literal is None and other.kind != BOOL:
                fits = other.kind.is_float or not literal.kind.is_float
                return other.kind if fits else settings.real
        return joined(left.kind, right.kind)

    def _unary(self, node: ast.UnaryOp) -> Anything:
        if isinstance(node.op, ast.Not):
            return Value(f"(not {self.truth(node.operand)})", BOOL)
        value = self.number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.USub):
            return Value("", value.kind, -value.literal) if value.literal is not None else self._negative(value)
        return Value(f"(~{value.to(value.kind)})", value.kind)

    def _negative(self, value: Value) -> Value:
        return Value(f"(-{value.code})", value.kind)

    def _compare(self, node: ast.Compare) -> Anything:
        values = [self.number(one) for one in (node.left, *node.comparators)]
        if len(values) > 2:
            values = [one if one.literal is not None else Value(self._held(one.code), one.kind) for one in values]
        parts = []
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise ABSENT(f"{type(op).__name__} is not translated")
            kind = self._meet(left, right)
            parts.append(f"({left.to(kind)} {_COMPARISONS[type(op)]} {right.to(kind)})")
        return Value(parts[0] if len(parts) == 1 else f"({' and '.join(parts)})", BOOL)

    def _logic(self, node: ast.BoolOp) -> Anything:
        word = " and " if isinstance(node.op, ast.And) else " or "
        return Value(f"({word.join(self.truth(one) for one in node.values)})", BOOL)

    def _choice(self, node: ast.IfExp) -> Anything:
        """Of both sides, one is computed."""
        test, (a, first), (b, second) = self.truth(node.test), self._apart(node.body), self._apart(node.orelse)
        kind, name, lines = self._meet(a, b), self.scope.new("c"), self.scope.lines
        lines.add(f"{name} = {'False' if kind == BOOL else f'{kind.constructor}(0)'}")
        for head, side, value in ((f"if {test}:", first, a), ("else:", second, b)):
            lines.add(head)
            lines.lines += side
            lines.add(f"    {name} = {value.to(kind)}")
        return Value(name, kind)

    def _apart(self, node: ast.expr) -> tuple[Value, list[str]]:
        """A number, and the lines that must come before it, a step further in."""
        lines = self.scope.lines
        before, lines.lines = lines.lines, []
        lines.depth += 1
        value = self.number(node)
        lines.depth -= 1
        own, lines.lines = lines.lines, before
        return value, own

    def call(self, node: ast.Call) -> Anything:
        """A call whose value is used."""
        value = self.called(node)
        if value is None:
            raise ABSENT(f"{ast.unparse(node)} gives nothing")
        return value

    def called(self, node: ast.Call) -> Anything | None:
        """Data call; None if it gives nothing."""
        function = self.of(node.func)
        target = function.object if isinstance(function, Host) else None
        if target is static:
            return Host(self.scope.known(node.args[0]))
        if node.keywords:
            raise ABSENT(f"keywords of {ast.unparse(node.func)} are not translated")
        known = _BUILTINS.get(target) if callable(target) else None
        target = FUNCTIONS[known] if known else target
        if isinstance(target, Function) and target.name.startswith("atomic_"):
            return self._atomic(target, node)
        arguments = [self.of(one) for one in node.args]
        if target in (int, float, bool) or isinstance(target, Kind):
            return self._cast(target, self.numeric(arguments[0], node.args[0]))
        if isinstance(target, Function):
            return self._function(target, node, arguments)
        return self._calls(self.scope, target, arguments)

    def _cast(self, target: Data, value: Value) -> Value:
        kind: Data = {int: settings.whole, float: settings.real, bool: BOOL}.get(target, target)
        if kind == BOOL:
            return Value(f"({value.to(value.kind)} != {value.kind.constructor}(0))", BOOL)
        return Value(value.to(kind), kind)

    def _function(self, target: Function, node: ast.Call, arguments: Sequence[Anything]) -> Value:
        if target.name == "cast":
            kind = self.scope.known(node.args[1])
            return self._cast(kind, self.numeric(arguments[0], node.args[0]))
        values = [self.numeric(value, one) for value, one in zip(arguments, node.args, strict=True)]
        if target.name == "select":
            kind = self._meet(*values[1:])
            test = self.truth(node.args[0])
            return Value(f"wp.where({test}, {values[1].to(kind)}, {values[2].to(kind)})", kind)
        kind = values[0].kind if len(values) == 1 else self._meet(values[0], values[1])
        kind = kind if kind.is_float or target.whole else settings.real
        code = values[0].to(kind)
        if len(values) == 1:
            return Value(f"wp.{target.warp}({code})", kind)
        for value in values[1:]:
            code = f"wp.{target.warp}({code}, {value.to(kind)})"
        return Value(code, kind)

    def _atomic(self, target: Function, node: ast.Call) -> Value:
        element, amount = node.args
        if not isinstance(element, ast.Subscript):
            raise ABSENT(f"an atomic operation on a variable: {ast.unparse(node)}")
        return self.atomic(target, element, self.number(amount))

    def atomic(self, target: Function, element: ast.Subscript, amount: Value) -> Value:
        """An atomic operation on an element of an array; it gives what was there."""
        name, indices, memory = self.place(element)
        old = self._held(f"wp.{target.warp}({name}, {indices}, {amount.to(memory.dtype)})")
        return Value(old, memory.dtype)
