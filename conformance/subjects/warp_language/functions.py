"""Python functions as the translation reads them, and those of a program as functions of Warp."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Sequence
from functools import reduce

from ...case import Data
from .expressions import Anything
from .kinds import ABSENT, BOOL, Kind, joined, settings
from .scopes import ARRAYS, PASSED, Host, Index, Program, Scope, Value
from .statements import Statements

__all__ = ["Func", "call", "parameters"]


class Func:
    """What `@func` makes, or the function behind a kernel.

    Attributes:
        name: of the function.
        tree: its definition.
        host: the names that it sees.
    """

    def __init__(self, function: Callable[..., Data]) -> None:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.name, self.tree, self._function = tree.name, tree, function

    @property
    def host(self) -> dict[str, Data]:
        """As they are now: a function may be made before what it uses."""
        cells = zip(self._function.__code__.co_freevars, self._function.__closure__ or (), strict=True)
        free = {name: cell.cell_contents for name, cell in cells}
        return {**vars(builtins), **self._function.__globals__, **free}

    def annotations(self) -> list[tuple[str, Data]]:
        """Each parameter and its annotation."""
        parameters = inspect.signature(self._function).parameters.values()
        if any(one.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for one in parameters):
            raise ABSENT(f"{self.name} has parameters that are not translated")
        return [(one.name, one.annotation) for one in parameters]

    @property
    def returns(self) -> Kind | None:
        """The type that it is annotated with; None if it is not."""
        wanted = inspect.signature(self._function).return_annotation
        kind = {int: settings.whole, float: settings.real}.get(wanted, wanted)
        if kind is None or kind is inspect.Signature.empty:
            return None
        if not isinstance(kind, Kind):
            raise ABSENT(f"{self.name} returns what is not translated")
        return kind

    def __call__(self, *args: Data) -> Data:
        return self._function(*args)


def parameters(scope: Scope, names: Sequence[str], arguments: Sequence[Anything]) -> list[str]:
    """Numbers become variables of the scope, and typed parameters of its function; all else is known to it."""
    typed = []
    for name, value in zip(names, arguments, strict=True):
        if isinstance(value, Host):
            scope.host[name] = value.object
        elif isinstance(value, Index):
            scope.host.pop(name, None)
            raise ABSENT("an index is given to a function")
        else:
            variable, given, kind = scope.declare(name, value.kind), f"{name}_given", value.kind
            typed.append(f"{given}: {kind.constructor}")
            scope.lines.add(f"{variable.code} = {given if kind == BOOL else f'{kind.constructor}({given})'}")
    return typed


def call(scope: Scope, target: Data, arguments: Sequence[Anything]) -> Value | None:
    """A call of a function of the program, which is translated for these types of arguments; see `Calls`."""
    if not isinstance(target, Func):
        raise ABSENT(f"{getattr(target, '__name__', type(target).__name__)} is not translated")
    names = [name for name, _ in target.annotations()]
    if len(names) != len(arguments):
        raise ABSENT(f"{target.name} is called with default values")
    wanted = [kind for _, kind in target.annotations()]
    values = [_as_number(one, kind) for one, kind in zip(arguments, wanted, strict=True)]
    key = (id(target), *(one.kind if isinstance(one, Value) else id(getattr(one, "object", one)) for one in values))
    program = scope.program
    if key not in program.known:
        program.known[key] = ("", None)
        returns = target.returns or _returned(_translated(target, program, values, None)[0])
        inner, typed = _translated(target, program, values, returns)
        name = f"{target.name}_{len(program.known)}"
        head = f"@wp.func\ndef {name}({', '.join([*typed, ARRAYS])}):"
        program.functions.append("\n".join([head, *inner.lines.lines, "    pass"]))
        program.known[key] = (name, returns if inner.returned else None)
    name, returns = program.known[key]
    if not name:
        raise ABSENT(f"{target.name} calls itself")
    given = [one.to(one.kind) for one in values if isinstance(one, Value)]
    code = f"{name}({', '.join([*given, PASSED])})"
    if returns is not None:
        return Value(code, returns)
    scope.lines.add(code)
    return None


def _translated(
    target: Func, program: Program, values: Sequence[Anything], returns: Kind | None
) -> tuple[Scope, list[str]]:
    """The function for these arguments, and its typed parameters."""
    inner = Scope(program, target.host, returns=returns)
    typed = parameters(inner, [name for name, _ in target.annotations()], values)
    Statements(inner, call, in_kernel=False).all(target.tree.body)
    return inner, typed


def _returned(scope: Scope) -> Kind | None:
    """The type in which all that a function returns meets; None if it returns nothing."""
    return reduce(joined, scope.returned) if scope.returned else None


def _as_number(value: Anything, wanted: Data) -> Anything:
    """Numbers of the host are numbers of the kernel, when they are given to a function, of its parameter's type."""
    if isinstance(value, Host) and isinstance(value.object, (bool, int, float)):
        value = value.number()
    kind = {int: settings.whole, float: settings.real}.get(wanted, wanted)
    return Value(value.to(kind), kind) if isinstance(value, Value) and isinstance(kind, Kind) else value
