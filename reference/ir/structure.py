"""The shape of a program in IR: values, ops, regions, places, kernels and the tasks a kernel is split into.

A value knows its owner, the op that it is a result of or the region that it is an argument of, and its uses, the ops
that have it as an operand. The constructors set both. `Op.define` and `Region.define` give values that come later;
`Op.set_operands` and `Value.replace_all_uses_with` are the ways to change operands, and an op that leaves a program is
erased, as in LLVM and MLIR. The verifier checks owners and uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
        uses: the ops that have it as an operand, each with how many of its operands are this value. They come in no
            order that means anything. Ops keep it; nobody else changes it.
    """

    __slots__ = ("name", "owner", "type", "uses")

    def __init__(self, type_: Type, name: str = "") -> None:
        self.type: Type = type_
        self.name: str = name
        self.owner: Op | Region | None = None
        self.uses: dict[Op, int] = {}

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

    def replace_all_uses_with(self, other: Value) -> None:
        """Have every op that takes this value take another one in its place."""
        if other is self:
            return
        uses, self.uses = self.uses, {}
        for op, times in uses.items():
            op.operands = tuple([other if value is self else value for value in op.operands])
            other.uses[op] = other.uses.get(op, 0) + times

    def __repr__(self) -> str:
        return f"%{self.name or hex(id(self))}: {self.type}"


class Op:
    """One operation: a row of the table, operands, attributes, results, regions, and where it came from.

    Attributes:
        operands: the values that it takes; to be changed by `set_operands`, which keeps their uses.
    """

    __slots__ = ("attrs", "loc", "opdef", "operands", "regions", "results")

    def __init__(
        self,
        opdef: OpDef,
        operands: Iterable[Value],
        attrs: Attributes | None = None,
        results: list[Value] | None = None,
        regions: list[Region] | None = None,
        loc: Loc = UNKNOWN,
    ) -> None:
        self.opdef: OpDef = opdef
        self.operands: tuple[Value, ...] = tuple(operands)
        self.attrs: Attributes = {} if attrs is None else attrs
        self.results: list[Value] = [] if results is None else results
        self.regions: list[Region] = [] if regions is None else regions
        self.loc: Loc = loc
        for value in self.results:
            value.owner = self
        for value in self.operands:
            value.uses[self] = value.uses.get(self, 0) + 1

    def set_operands(self, operands: Iterable[Value]) -> None:
        """Take these values in place of the operands that it has."""
        self.drop_uses()
        self.operands = tuple(operands)
        for value in self.operands:
            value.uses[self] = value.uses.get(self, 0) + 1

    def set_operand(self, position: int, value: Value) -> None:
        """Take another value in place of the operand at a position, counted from 0."""
        self.set_operands((*self.operands[:position], value, *self.operands[position + 1 :]))

    def append_operands(self, values: Iterable[Value]) -> None:
        """Take these values besides, as its last operands."""
        self.set_operands((*self.operands, *values))

    def erase(self) -> None:
        """Use nothing any more, neither the op nor what is in its regions: it leaves the program.

        Whoever erases an op takes it out of the list of ops that it stands in, and replaces the uses of its results.
        Its operands can still be read: they say how its results were computed.
        """
        self.drop_uses()
        for region in self.regions:
            for op in region.walk():
                op.drop_uses()

    def drop_uses(self) -> None:
        """Be no user of its operands any more; what is in its regions still uses what it uses."""
        for value in self.operands:
            value.uses.pop(self, None)

    def define(self, values: Iterable[Value]) -> None:
        """Make these its results, after those that it has."""
        for value in values:
            value.owner = self
            self.results.append(value)

    @property
    def name(self) -> str:
        """The word of its row in the text form: for people, as code asks `op.opdef`."""
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
        """The last op, a `yield` or a `return`, whose operands are what the region gives."""
        return self.ops[-1]

    def keep(self, wanted: Callable[[Op], bool]) -> None:
        """Erase the region's own ops that are not wanted."""
        kept: list[Op] = []
        for op in self.ops:
            if wanted(op):
                kept.append(op)
            else:
                op.erase()
        self.ops = kept

    def erase(self) -> None:
        """Erase every op: the region leaves the program, and is empty."""
        self.keep(lambda op: False)

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
        """The types of its parameters."""
        return [v.dtype for v in self.body.args]

    @property
    def returns(self) -> list[DType]:
        """The types of its results."""
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
        role: "primal", "grad", "dual", or "grad.dual" for the tangents of a gradient.
        of: for a grad or a dual, the name of its primal.
        label: what the user calls it, for messages.
        relaxed: whether it says what is active of a sparse level: iterations may read elements that others update,
            which debug mode then calls no race.
    """

    name: str
    dtype: DType
    shape: tuple[int | None, ...] = ()
    kind: str = "field"
    role: str = "primal"
    of: str | None = None
    label: str = ""
    relaxed: bool = False

    KINDS: ClassVar[tuple[str, ...]] = ("field", "ndarray", "temp", "result", "depths")
    ROLES: ClassVar[tuple[str, ...]] = ("primal", "grad", "dual", "grad.dual")

    @property
    def rank(self) -> int:
        """How many axes it has, and so how many indices an access takes."""
        return len(self.shape)

    @property
    def called(self) -> str:
        """What messages call it: its kind and what the user calls it, or the level that it belongs to."""
        if self.relaxed:
            owner = self.label.rpartition(".")[0]
            return f"the sparse level of {self.kind} {owner}" if owner else "a sparse level"
        return f"{self.kind} {self.label or self.name}"


@dataclass
class Kernel:
    """A kernel as the frontend makes it: serial ops and `parallel_for`s in one region that ends with `return`.

    The region's arguments are the kernel's scalar parameters.

    Attributes:
        apart: pairs of names of places that are never one memory, though arguments may be: whoever launches looks.
    """

    name: str
    body: Region
    places: dict[str, Place] = field(default_factory=dict)
    returns: tuple[DType, ...] = ()
    loc: Loc = UNKNOWN
    apart: frozenset[frozenset[str]] = frozenset()

    @property
    def params(self) -> list[Value]:
        """The scalar parameters, in the order in which launches pass them."""
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
        """The same program with further places, which replace those of the same names."""
        return replace(self, places={**self.places, **extra})
