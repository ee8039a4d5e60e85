"""The state of one lowering: where ops go, which function is being read, which names are known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from ...errors import AdstackCompilationError, AdstackError
from ...ir.builder import Builder
from ...ir.location import Loc
from ...ir.structure import Op, Place, Region
from ...ir.types import DType, f32, i32
from ...values.kinds import KernelObject, PythonFunction
from ...values.names import Names
from ..syntax.scope import Scopes
from ..syntax.source import Source
from ..variables.activations import Activation
from ..variables.blocks import Block
from .active_cells import ActiveCells

__all__ = ["Context", "Frame", "Loop", "Returned"]


@dataclass
class Loop:
    """A loop being lowered, or the body of a function, which `return` leaves as `continue` leaves an iteration.

    Attributes:
        kind: "static", "serial", "while", "parallel" or "function".
        region: where its body is emitted.
        skip: a u1 cell of the body: the rest of this iteration is skipped; None if nothing can set it.
        broken: a u1 cell from outside: no further iteration; None if there is no `break` and no `return`.
        jumps: how many `break`s, `continue`s and `return`s that leave an iteration were lowered so far.
        stopped: names of places whose loads are constants to differentiation, see `stopping.py`.
    """

    kind: str
    region: Region
    skip: KernelObject = None
    broken: KernelObject = None
    jumps: int = 0
    stopped: set[str] = field(default_factory=set)


@dataclass
class Returned:
    """A `return` under run-time control flow.

    Attributes:
        value: what it returns, converted to the annotation; None if it returns nothing.
        node: the statement.
        region, mark: where the value is to be stored: in this region, before this op.
    """

    value: KernelObject
    node: ast.Return
    region: Region
    mark: Op


@dataclass
class Frame:
    """One function being lowered: the kernel, or a func inlined into it.

    Attributes:
        source: its text and syntax tree.
        scopes: its names.
        region: where its body is emitted; a return elsewhere is under runtime control flow.
        convert: what a returned value is given to first: the return annotation's conversion.
        is_kernel: whether it is the kernel itself.
        may_parallelise: whether its outermost loops are parallel.
        caller: where it was called.
        known: its arguments that are numbers or text known while compiling, by which recursion ends.
        function: the Python function itself.
        activation: of a real_func, by which it calls itself.
        loops: the loops around the current statement, outermost first.
        body: its whole body, as what `return` leaves.
        begin: how many ops `region` had when the body began.
        returns: the returns under run-time control flow so far.
        jump: set once the rest of the current block can't be reached: "break", "continue" or "return".
        result, result_node: what it returned, and the statement that did.
        calls_as_statement: the call that is a whole statement, while it is lowered.
        rest: the statements after the current one in its block.
        consumed: whether the current statement's visitor lowered them as well.
        locs: syntax node -> its location, a cache for unrolled loops, which ask for the same ones again.
        statement_region, statement_depth: where the current statement's ops go, and how many scopes are open there.
    """

    source: Source
    scopes: Scopes
    region: Region
    is_kernel: bool
    may_parallelise: bool
    function: PythonFunction
    caller: Loc | None = None
    known: tuple[object, ...] = ()
    convert: Callable[[Context, KernelObject], KernelObject] | None = None
    activation: Activation | None = None
    loops: list[Loop] = field(default_factory=list)
    body: Loop = field(init=False)
    begin: int = 0
    returns: list[Returned] = field(default_factory=list)
    jump: str | None = None
    result: KernelObject = None
    rest: Sequence[ast.stmt] = ()
    consumed: bool = False
    locs: dict[ast.AST, Loc] = field(default_factory=dict)
    statement_region: Region = field(init=False)
    statement_depth: int = 1
    calls_as_statement: ast.Call | None = None
    result_node: ast.Return | None = None

    def __post_init__(self) -> None:
        self.statement_region = self.region
        self.body = Loop("function", self.region)

    @property
    def innermost(self) -> Loop:
        """The innermost loop that is not unrolled; without one, the function's body."""
        return next((loop for loop in reversed(self.loops) if loop.kind != "static"), self.body)


class Context:
    """Everything the visitors share while one kernel is lowered.

    Attributes:
        builder: where ops go now.
        body: the kernel's own region; ops in it are outside of all runtime control flow.
        options: those of `init` that change what is emitted.
        places, fields: what the kernel touches, by place name.
        captured: by what holds it and its name, (how to read it now, what it was) of what is baked into the kernel.
        namespaces: by its identity, what stands for the dictionary of a module's globals there.
        protocols: by the class of objects, whether it has methods that Python calls for operators and the like.
        looked_at: by identity, the objects of these classes that the kernel has used.
        frames: functions being lowered, the kernel first.
        static_depth: how many `static(...)` are around the current expression.
        loop_hints: what `loop_config` said for the next loop.
        stopped: what `stop_grad` said for the next loop.
        failed_at: where the innermost visitor was when something unexpected was raised.
        active: what is known to be active of sparse fields.
        block: the blocks of the parallel loop whose body is being lowered; None outside of one.
    """

    def __init__(self, options: object, body: Region) -> None:
        self.options = options
        self.body = body
        self.builder = Builder(body)
        self.places: dict[str, Place] = {}
        self.fields: dict[str, KernelObject] = {}
        self.captured: dict[tuple[int, str], tuple[partial[object], object]] = {}
        self.namespaces: dict[int, Names] = {}
        self.protocols: dict[type, bool] = {}
        self.looked_at: dict[int, object] = {}
        self.frames: list[Frame] = []
        self.static_depth = 0
        self.loop_hints: dict[str, object] = {}
        self.stopped: set[str] = set()
        self.failed_at: Loc | None = None
        self.active = ActiveCells()
        self.block: Block | None = None

    # ---- options

    @property
    def default_fp(self) -> DType:
        """The type of float literals and of Python's `float` (`init(default_fp=...)`); f32 without options."""
        chosen = getattr(self.options, "default_fp", f32)
        return chosen if isinstance(chosen, DType) else f32

    @property
    def default_ip(self) -> DType:
        """The type of integer literals and of Python's `int` (`init(default_ip=...)`); i32 without options."""
        chosen = getattr(self.options, "default_ip", i32)
        return chosen if isinstance(chosen, DType) else i32

    def option(self, name: str, default: object) -> KernelObject:
        """An option of `init`; `default` where the caller's options lack it."""
        return getattr(self.options, name, default)

    # ---- where we are

    @property
    def frame(self) -> Frame:
        """The frame of the function whose body is being lowered, which is inlined into those below it."""
        return self.frames[-1]

    @property
    def scopes(self) -> Scopes:
        """The variables of that function, innermost block last."""
        return self.frames[-1].scopes

    @property
    def at_top(self) -> bool:
        """Whether ops emitted now are outside of all runtime control flow."""
        return self.builder.region is self.body

    def loc(self, node: ast.AST) -> Loc:
        """The place of `node` in the user's files."""
        frame = self.frame
        loc = frame.locs.get(node)
        if loc is None:
            loc = frame.locs[node] = frame.source.loc(node, frame.caller)
        return loc

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Ops and errors inside belong to `node`; an error that has no place yet is given this one."""
        with self.builder.at(self.loc(node)):
            try:
                yield
            except AdstackError as error:
                if error.loc is None:
                    raise located(error, self.builder.loc) from error.__cause__
                raise
            except Exception:
                self.failed_at = self.failed_at or self.builder.loc
                raise

    def fail(
        self,
        kind: type[AdstackCompilationError],
        message: str,
        *,
        at: ast.AST | None = None,
        note: str = "",
        do: str = "",
    ) -> NoReturn:
        """Raise a compile error at `at`, or at the node that is being lowered."""
        loc = self.builder.loc if at is None else self.loc(at)
        raise kind(message, loc=loc, note=note, do=do)

    @contextmanager
    def region(self, region: Region) -> Iterator[Region]:
        """Emit into `region`, in a scope of its own."""
        with self.builder.into(region), self.scopes.block(self.builder.loc):
            yield region


def located(error: AdstackError, loc: Loc) -> AdstackError:
    """The same error with a location."""
    return type(error)(error.message, loc=loc, note=error.note, do=error.do)
