"""The shape of a program in IR: values, ops, regions, places, kernels and the tasks a kernel is split into.

A value knows its owner: the op that it is a result of, or the region that it is an argument of. Whoever makes an op or
a region sets it, by the constructors; `Op.define` and `Region.define` set it for values that come later. The verifier
checks it. Uses are an analysis (`analysis/def_use.py`), since passes replace operands in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from .location import UNKNOWN, Loc
from .opdef import OpDef
from .types import DType, Type

__all__ = ["Attributes", "Constant", "Function", "Kernel", "Op", "Place", "Program", "Region", "Task", "Value"]


Constant = bool | int | float
"""The number that a `const` op gives."""

Attributes = dict[str, Any]
"""What an op knows at compile time, by the names that its row of the table lists; the verifier checks each type."""


class Value:
    """A value, defined once: the result of an op or an argument of a region.

    Attributes:
        type: its type.
        name: what the user called it, if anything; for people, never for meaning.
        owner: what defines it: an op has it as a result, or a region as an argument; None before it is defined.
    """

    __slots__ = ("name", "owner", "type")

    def __init__(self, type_: Type, name: str = "") -> None:
        self.type: Type = type_
        self.name: str = name
        self.owner: Op | Region | None = None

    @property
    def op(self) -> Op | None:
        """The op that defines it; None for an argument of a region."""
        owner = self.owner
        return owner if isinstance(owner, Op) else None

    @property
    def dtype(self) -> DType:
        """The scalar type; only a scalar value has one."""
        if not isinstance(self.type, DType):
            raise TypeError(f"a value of type {self.type} is not a scalar")
        return self.type

    def __repr__(self) -> str:
        return f"%{self.name or hex(id(self))}: {self.type}"


class Op:
    """One operation: a row of the table, operands, attributes, results, regions, and where it came from."""

    __slots__ = ("attrs", "loc", "opdef", "operands", "regions", "results")

    def __init__(
        self,
        opdef: OpDef,
        operands: list[Value],
        attrs: Attributes | None = None,
        results: list[Value] | None = None,
        regions: list[Region] | None = None,
        loc: Loc = UNKNOWN,
    ) -> None:
        self.opdef: OpDef = opdef
        self.operands: list[Value] = operands
        self.attrs: Attributes = {} if attrs is None else attrs
        self.results: list[Value] = [] if results is None else results
        self.regions: list[Region] = [] if regions is None else regions
        self.loc: Loc = loc
        for value in self.results:
            value.owner = self

    def define(self, values: Iterable[Value]) -> None:
        """Make these its results, after those that it has."""
        for value in values:
            value.owner = self
            self.results.append(value)

    @property
    def name(self) -> str:
        return self.opdef.name

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def __repr__(self) -> str:
        return f"<{self.name} at {self.loc}>"


class Region:
    """A straight line of ops with arguments; the last op is its terminator (`yield` or `return`)."""

    __slots__ = ("args", "ops")

    def __init__(self, args: list[Value] | None = None, ops: list[Op] | None = None) -> None:
        self.args: list[Value] = [] if args is None else args
        self.ops: list[Op] = [] if ops is None else ops
        for value in self.args:
            value.owner = self

    def define(self, values: Iterable[Value]) -> None:
        """Make these its arguments, after those that it has."""
        for value in values:
            value.owner = self
            self.args.append(value)

    @property
    def terminator(self) -> Op:
        return self.ops[-1]

    def walk(self) -> Iterator[Op]:
        """Every op, outer before inner, in program order."""
        stack: list[Iterator[Op]] = [iter(self.ops)]
        while stack:
            for op in stack[-1]:
                yield op
                if op.regions:
                    stack.extend(iter(region.ops) for region in reversed(op.regions))
                    break
            else:
                stack.pop()


@dataclass(frozen=True, eq=False)
class Function:
    """A pure function of scalars, which `call` applies; it is never changed once it is called anywhere.

    Attributes:
        name: what the text form calls it: "sin.f32".
        body: its arguments are the parameters, its `yield` gives the results; it holds pure scalar ops and `if`s.
        builtin: it belongs to the library (see `functions.py`), where its name finds it.
    """

    name: str
    body: Region
    builtin: bool = False

    @property
    def params(self) -> list[DType]:
        return [v.dtype for v in self.body.args]

    @property
    def returns(self) -> list[DType]:
        return [v.dtype for v in self.body.terminator.operands]

    def __repr__(self) -> str:
        return f"@{self.name}"


@dataclass(frozen=True)
class Place:
    """A named array in memory that outlives a thread.

    Attributes:
        name: unique in its kernel.
        dtype: element type.
        shape: one extent per axis; None where it is known only at launch. A vector or matrix element contributes its
            own axes last.
        kind: "field", "ndarray" (an argument), "temp" (crosses tasks of one launch; zero at its start), "result"
            (what the kernel returns) or "depths" (how deep adstacks must be: sizers write it, and it stays from launch
            to launch).
        role: "primal", "grad" or "dual".
        of: for a grad or a dual, the name of its primal.
        label: what the user calls it, for messages.
    """

    name: str
    dtype: DType
    shape: tuple[int | None, ...] = ()
    kind: str = "field"
    role: str = "primal"
    of: str | None = None
    label: str = ""

    KINDS: ClassVar[tuple[str, ...]] = ("field", "ndarray", "temp", "result", "depths")
    ROLES: ClassVar[tuple[str, ...]] = ("primal", "grad", "dual")

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass
class Kernel:
    """A kernel as the frontend makes it: serial ops and `parallel_for`s in one region that ends with `return`.

    The region's arguments are the kernel's scalar parameters.
    """

    name: str
    body: Region
    places: dict[str, Place] = field(default_factory=dict)
    returns: tuple[DType, ...] = ()
    loc: Loc = UNKNOWN

    @property
    def params(self) -> list[Value]:
        return self.body.args


@dataclass
class Task:
    """One dispatch: either serial code, or a header of effect-free ops followed by exactly one `parallel_for`.

    `body.args` are the kernel's scalar parameters (all of them, in order); `body` ends with an empty `return`.

    Attributes:
        name: unique in its program.
        body: what it does.
        kind: "serial" or "parallel".
        sizes: it is a sizer if this is not empty: the elements of the place "depths" that it helps to compute. It
            writes nothing else, so that a launch which can't change them may leave it out.
    """

    name: str
    body: Region
    kind: str = "serial"
    sizes: tuple[int, ...] = ()

    KINDS: ClassVar[tuple[str, ...]] = ("serial", "parallel")


@dataclass
class Program:
    """A kernel split into tasks, run in order; values that cross tasks live in "temp" places, returns in "result".

    Attributes:
        params: the types of the scalar parameters, which every launch passes, even to a program without tasks. Where
            there are tasks, these say the same.
    """

    name: str
    tasks: list[Task]
    places: dict[str, Place] = field(default_factory=dict)
    returns: tuple[DType, ...] = ()
    results: tuple[str, ...] = ()
    loc: Loc = UNKNOWN
    params: tuple[DType, ...] = ()

    def __post_init__(self) -> None:
        if self.tasks:
            self.params = tuple(value.dtype for value in self.tasks[0].body.args)

    def with_places(self, extra: dict[str, Place]) -> Program:
        return replace(self, places={**self.places, **extra})
