"""Wrong derivatives: every pull of every row of the table, changed in the ways in which one is got wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy

from .edits import Edit, defined

__all__ = ["FILE", "rules"]

FILE = "ir/scalar_ops.py"
FLIPPED: dict[type[ast.AST], type[ast.AST]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Lt: ast.Gt, ast.Gt: ast.Lt}
OTHERS = {"SIN": "COS", "COS": "SIN", "SINH": "COSH", "COSH": "SINH", "LOG": "EXP", "SQRT": "ABS", "POW": "MAX"}


def rules(source: str) -> list[Edit]:
    """The edits of the rows that `source`, the module's text, has."""
    lines = source.splitlines(keepends=True)
    edits: list[Edit] = []
    for statement in ast.parse(source).body:
        pulls = _pulls(statement)
        if pulls is not None:
            (where,) = defined(statement)
            old = "".join(lines[statement.lineno - 1 : statement.end_lineno])
            edits += (
                Edit(FILE, where, change, old, new, f"derivative of {where}")
                for change, new in _of_row(statement, pulls)
            )
    return edits


def _pulls(statement: ast.stmt) -> ast.Call | None:
    """The call `through(...)` in a statement that enters a row."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not isinstance(statement.value, ast.Call):
        return None
    pulls = next((keyword.value for keyword in statement.value.keywords if keyword.arg == "pulls"), None)
    return pulls if isinstance(pulls, ast.Call) else None


def _of_row(statement: ast.stmt, pulls: ast.Call) -> Iterator[tuple[str, str]]:
    """(what goes wrong, the statement with the wrong pulls)."""
    for change, wrong in _of_pulls(pulls):
        right, pulls.args = pulls.args, wrong
        yield change, ast.unparse(statement) + "\n"
        pulls.args = right


def _of_pulls(row: ast.Call) -> Iterator[tuple[str, list[ast.expr]]]:
    """(what goes wrong, the wrong arguments)."""
    if len({ast.unparse(pull) for pull in row.args}) > 1 and len(row.args) == 2:
        yield "operands swapped", row.args[::-1]
    for k, pull in enumerate(row.args):
        if isinstance(pull, ast.Tuple):
            needs, rule = pull.elts
            assert isinstance(needs, ast.Constant)
            for change, letters, body in _of_pull(str(needs.value), _body(rule), len(row.args)):
                args = list(row.args)
                args[k] = ast.Tuple([ast.Constant(letters), ast.Lambda(_ARGUMENTS, body)], ast.Load())
                yield f"{'xyz'[k]}: {change}", args


_ARGUMENTS = ast.arguments([], [ast.arg("g"), ast.arg("s")], None, [], [], None, [])


def _body(rule: ast.expr) -> ast.expr:
    """What a pull computes from g and s."""
    if isinstance(rule, ast.Lambda):
        return rule.body
    return ast.Call(rule, [ast.Name("g", ast.Load()), ast.Name("s", ast.Load())], [])


def _of_pull(needs: str, body: ast.expr, operands: int) -> Iterator[tuple[str, str, ast.expr]]:
    """(what goes wrong, the primals needed then, the wrong body)."""
    yield "negated", needs, ast.UnaryOp(ast.USub(), body)
    if needs and ast.unparse(body) != "g":
        yield "the factor dropped", needs, ast.Name("g", ast.Load())
    if len(needs) == 1 and f"s.{needs}" in ast.unparse(body):
        other = {"x": "y" if operands > 1 else "r", "y": "x", "r": "x"}[needs]
        renamed = ast.parse(ast.unparse(body).replace(f"s.{needs}", f"s.{other}"), mode="eval").body
        yield f"{other} taken for {needs}", other, renamed
    for number, node in enumerate(ast.walk(body)):
        for change, wrong in _of_node(node):
            yield change, needs, _replaced(body, number, wrong)


def _of_node(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.BinOp) and type(node.op) in FLIPPED:
        sign = "minus for plus" if isinstance(node.op, ast.Add) else "plus for minus"
        flipped = FLIPPED[type(node.op)]()
        assert isinstance(flipped, ast.operator)
        yield f"{sign} in {ast.unparse(node)}", ast.BinOp(node.left, flipped, node.right)
        yield f"{ast.unparse(node.right)} dropped from {ast.unparse(node)}", node.left
    if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
        turned = FLIPPED[type(node.ops[0])]()
        assert isinstance(turned, ast.cmpop)
        yield f"{ast.unparse(node)} turned round", ast.Compare(node.left, [turned], node.comparators)
    if isinstance(node, ast.Name) and node.id in OTHERS:
        yield f"{OTHERS[node.id]} for {node.id}", ast.Name(OTHERS[node.id], ast.Load())
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in (0.0, 1.0):
        yield f"{node.value} doubled", ast.Constant(2 * node.value)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "math.log":
        yield f"1 for {ast.unparse(node)}", ast.Constant(1.0)


def _replaced(body: ast.expr, number: int, wrong: ast.expr) -> ast.expr:
    """A copy in which the node of this number, in the order of ast.walk, is another."""
    copy = deepcopy(body)
    target = list(ast.walk(copy))[number]
    if target is copy:
        return wrong

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return wrong if node is target else self.generic_visit(node)

    edited = Replace().visit(copy)
    assert isinstance(edited, ast.expr)
    return edited
