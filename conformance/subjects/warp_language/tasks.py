"""A kernel as kernels of Warp: one for each parallel loop, and one of a single thread for what stands between them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ...case import Data
from .expressions import Anything
from .functions import Func, call, parameters
from .kinds import ABSENT, Kind, settings
from .memory import Memory
from .names import grouped, loop_config, ndrange
from .scopes import ARRAYS, Index, Program, Scope, Value
from .statements import RETURNED, Statements

__all__ = ["Task", "tasks_of"]


@dataclass(frozen=True)
class Task:
    """A kernel of Warp.

    Attributes:
        name: of it.
        shape: of the grid of its threads.
        returns: the type of what it returns; None if it does not.
    """

    name: str
    shape: tuple[int, ...]
    returns: Kind | None


@dataclass(frozen=True)
class _Grid:
    """A parallel loop: where each axis starts, how long it is, and whether its variable is one index."""

    starts: tuple[int, ...]
    shape: tuple[int, ...]
    is_grouped: bool = False


def tasks_of(func: Func, program: Program, given: Sequence[Anything], known: dict[str, Data]) -> list[Task]:
    """Translate a kernel.

    Args:
        func: the kernel's function.
        program: what the source is added to.
        given: the arguments, as the kernel sees them.
        known: the arguments, as the host sees them: the bounds of parallel loops are computed from them.

    Raises:
        MissingError: it can't be translated; why.
    """
    maker, tasks, serial, serialize = _Maker(func, program, given, known), [], list[ast.stmt](), False
    for node in func.tree.body:
        if maker.configures(node):
            serialize = True
            continue
        grid = maker.grid(node) if isinstance(node, ast.For) and not serialize else None
        serialize = False
        if grid is None:
            serial.append(node)
            continue
        tasks += maker.serial(serial)
        serial = []
        assert isinstance(node, ast.For)
        tasks.append(maker.parallel(node, grid))
    return tasks + maker.serial(serial)


class _Maker:
    def __init__(self, func: Func, program: Program, given: Sequence[Anything], known: dict[str, Data]) -> None:
        self._func, self._program, self._given, self._known = func, program, given, known
        self._names = [name for name, _ in func.annotations()]
        self._made = 0

    def _scope(self) -> tuple[Scope, list[str]]:
        scope = Scope(self._program, self._func.host, returns=self._func.returns)
        return scope, parameters(scope, self._names, self._given)

    def configures(self, node: ast.stmt) -> bool:
        """Whether a statement says that the next loop is serial. MissingError if it says anything else."""
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            return False
        if self._object(node.value.func) is not loop_config:
            return False
        if [word.arg for word in node.value.keywords] != ["serialize"]:
            raise ABSENT(f"not translated: {ast.unparse(node)}")
        return True

    def _object(self, node: ast.expr) -> Data:
        """What a name or an attribute of one is on the host; None if it is nothing there."""
        if isinstance(node, ast.Attribute):
            return getattr(self._object(node.value), node.attr, None)
        return {**self._func.host, **self._known}.get(node.id) if isinstance(node, ast.Name) else None

    def grid(self, node: ast.For) -> _Grid | None:
        """What a loop is parallel over; None if it is serial."""
        if not isinstance(node.iter, ast.Call):
            memory = self._object(node.iter)
            return self._over(memory) if isinstance(memory, Memory) else None
        function, scope = self._object(node.iter.func), Scope(self._program, {**self._func.host, **self._known})
        if function is grouped:
            memory = self._object(node.iter.args[0])
            return self._over(memory, True) if isinstance(memory, Memory) else None
        if function is not range and function is not ndrange:
            return None
        try:
            bounds = [scope.known(one) for one in node.iter.args]
        except Exception:  # noqa: BLE001 - it depends on memory: one thread runs the loop
            return None
        axes = bounds if function is ndrange else [tuple(bounds) if len(bounds) > 1 else bounds[0]]
        return _box(axes)

    def _over(self, memory: Memory, is_grouped: bool = False) -> _Grid:
        return _Grid((0,) * len(memory.shape), memory.shape, is_grouped)

    def parallel(self, node: ast.For, grid: _Grid) -> Task:
        """The kernel of a parallel loop."""
        scope, typed = self._scope()
        names = [f"{scope.new('at')}" for _ in grid.shape]
        if not 1 <= len(names) <= 4:
            raise ABSENT(f"a loop over {len(names)} axes")
        scope.lines.add(f"{', '.join(names)} = wp.tid()")
        values = [
            Value(f"({name} + {start})" if start else name, settings.whole)
            for name, start in zip(names, grid.starts, strict=True)
        ]
        statements = Statements(scope, call, in_kernel=True)
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if grid.is_grouped:
            scope.indices[ast.unparse(node.target)] = Index(tuple(values))
        elif len(targets) != len(values):
            raise ABSENT(f"{len(targets)} variables for {len(values)} axes")
        else:
            for target, value in zip(targets, values, strict=True):
                statements.give(ast.unparse(target), value)
        statements.all(node.body)
        if scope.returned:
            raise ABSENT("a parallel loop returns")
        return self._task(scope, typed, grid.shape)

    def serial(self, nodes: Sequence[ast.stmt]) -> list[Task]:
        """The kernel of what one thread runs; none if there is nothing."""
        scope, typed = self._scope()
        before = len(scope.lines.lines)
        Statements(scope, call, in_kernel=True).all(nodes)
        return [self._task(scope, typed, (1,))] if len(scope.lines.lines) > before else []

    def _task(self, scope: Scope, typed: Sequence[str], shape: tuple[int, ...]) -> Task:
        self._made += 1
        name = f"task_{self._made}"
        returns = scope.returns if scope.returned else None
        result = [] if returns is None else [f"{RETURNED}: wp.array(dtype={returns.constructor})"]
        head = f"@wp.kernel\ndef {name}({', '.join([*typed, *result, ARRAYS])}):"
        self._program.functions.append("\n".join([head, *scope.lines.lines]))
        return Task(name, shape, returns)


def _box(axes: Sequence[Data]) -> _Grid | None:
    """A box of indices; None if it is none of whole numbers."""
    pairs = [axis if isinstance(axis, tuple) else (0, axis) for axis in axes]
    if any(len(pair) != 2 or not all(isinstance(one, int) for one in pair) for pair in pairs):
        return None
    return _Grid(tuple([a for a, _ in pairs]), tuple([max(b - a, 0) for a, b in pairs]))
