"""Running a kernel op by op, and recording what was executed.

It shares with the interpreter's steps what an op means, how memory is addressed and how random numbers are drawn.
Asserts and prints stay silent; indices are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ..errors import InternalError
from ..interpreter.atomics import rounds
from ..interpreter.lanes import Array, Memory, Team
from ..interpreter.launch import Launch
from ..interpreter.memory import address
from ..interpreter.philox import draw
from ..ir import ops
from ..ir.functions import evaluate
from ..ir.opdef import OpDef
from ..ir.ops import ATOMICS, TABLE
from ..ir.scalar_ops import CONST
from ..ir.structure import Op, Place, Region, Value
from ..ir.types import DType
from .beside import Beside
from .trace import Arg, Atomic, Lanes, Load, Move, Node, Record, Scalar, Storage, Store, columns

__all__ = ["HANDLERS", "Recorder", "handles"]

Handler = Callable[["Recorder", Op, Lanes], None]
HANDLERS: Final[dict[OpDef, Handler]] = {}


def handles(*rows: OpDef) -> Callable[[Handler], Handler]:
    """Enter the decorated function as what runs and records ops of these rows."""

    def enter(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(rows, handler))
        return handler

    return enter


class Recorder:
    """A run under way.

    Attributes:
        launch: options, memory, and where the launch is.
        beside: what is carried along.
        tape: what was executed.
        env: the node of each value: of its latest execution.
        places: what is known of each place's elements.
        arrays: the local arrays that exist.
    """

    def __init__(self, launch: Launch, beside: Beside) -> None:
        self.launch = launch
        self.beside = beside
        self.tape: list[Record] = []
        self.env: dict[Value, Node] = {}
        self.places = {memory.place.name: self.storage(memory.place.dtype, memory.flat) for memory in launch.memory}
        self.arrays: dict[Value, Storage] = {}
        self._memory = {memory.place.name: memory for memory in launch.memory}

    def region(self, region: Region, frame: Lanes) -> list[Node]:
        """Run a region; what it yields."""
        for op in region.ops[:-1]:
            HANDLERS.get(op.opdef, scalar)(self, op, frame)
        return [self.env[value] for value in region.terminator.operands]

    def nodes(self, values: Sequence[Value]) -> list[Node]:
        """The nodes of values."""
        return [self.env[value] for value in values]

    def memory(self, op: Op) -> Memory:
        """The memory of an op's place."""
        place: Place = op.attrs["place"]
        return self._memory[place.name]

    def storage(self, dtype: DType, own: Array) -> Storage:
        """Elements that can be overwritten."""
        return Storage(dtype, own, self.beside.cells(dtype, own) if dtype.is_float else None)

    def exact(self, dtype: DType, own: Array, home: Lanes | None) -> Node:
        """A node of numbers that no rounding made."""
        return Node(dtype, own, self.beside.exact(own) if dtype.is_float else None, home)

    def give(self, op: Op, own: Array, frame: Lanes) -> None:
        """Numbers that no rounding made are the op's result."""
        self.env[op.result] = self.exact(op.result.dtype, own, frame.home)

    def compute(self, op: Op, row: OpDef, evaluated: Callable[..., Array], frame: Lanes) -> None:
        """A scalar op that means what `row` says: its result, by `evaluated` on the kernel's own numbers."""
        to, nodes = op.result.dtype, self.nodes(op.operands)
        args = [node.of(frame) for node in nodes]
        own = evaluated(*(arg.own for arg in args))
        beside = self.beside.result(row, to, own, args) if to.is_float else None
        node = self.env[op.result] = Node(to, own, beside, frame.home)
        if to.is_float and row.pulls:
            self.tape.append(Scalar(row, frame, tuple(nodes), node))


def scalar(run: Recorder, op: Op, frame: Lanes) -> None:
    """An op with a meaning."""
    meaning = op.opdef.meaning
    if meaning is None:
        raise InternalError(f"{op.name} belongs to differentiated kernels: there is no tape of it", loc=op.loc)
    to = op.result.dtype
    run.compute(op, op.opdef, lambda *args: meaning(to, *args), frame)


@handles(CONST)
def const(run: Recorder, op: Op, frame: Lanes) -> None:
    """A constant, the same for all lanes."""
    own = np.array([op.attrs["value"]], op.attrs["to"].numpy)
    run.env[op.result] = run.exact(op.result.dtype, own, None)


@handles(ops.SHAPE)
def shape(run: Recorder, op: Op, frame: Lanes) -> None:
    """An extent, the same for all lanes."""
    to = op.result.dtype
    run.env[op.result] = run.exact(to, np.array([to(run.memory(op).extents[op.attrs["axis"]])], to.numpy), None)


@handles(ops.RANDOM)
def random(run: Recorder, op: Op, frame: Lanes) -> None:
    """The next number of each lane's own stream."""
    launch, team, lanes = run.launch, frame.team, frame.lanes
    number = team.draws[lanes]
    team.draws[lanes] = number + np.uint64(1)
    iteration = lanes.astype(np.uint64) + np.uint64(team.first)
    options = launch.options
    run.give(op, draw(op.result.dtype, options.seed, options.launch, launch.section, iteration, number), frame)


@handles(ops.CALL)
def call(run: Recorder, op: Op, frame: Lanes) -> None:
    """A function of the library is the op that it implements; any other is what its body does."""
    function = op.attrs["function"]
    row = TABLE.get(function.name.partition(".")[0])
    if function.builtin and (row is None or not row.pulls):
        raise InternalError(f"there is no derivative of the function {function.name}", loc=op.loc)
    if function.builtin and row is not None:
        run.compute(op, row, lambda *args: evaluate(function, args)[0], frame)
        return
    run.env.update(zip(function.body.args, run.nodes(op.operands), strict=True))
    run.env.update(zip(op.results, run.region(function.body, frame), strict=True))


@handles(ops.ASSERT, ops.PRINT)
def silent(run: Recorder, op: Op, frame: Lanes) -> None:
    """Says nothing."""


# ---- memory


def located(run: Recorder, op: Op, frame: Lanes) -> Array:
    """Each lane's position in the place of a memory op."""
    rank = op.attrs["place"].rank
    indices = columns(run.nodes(op.operands[:rank]), frame)
    return np.broadcast_to(address(run.memory(op), indices, frame, op.loc), (frame.count,))


@handles(ops.LOAD)
def load(run: Recorder, op: Op, frame: Lanes) -> None:
    """Read an element."""
    read(run, op, frame, run.places[op.attrs["place"].name], located(run, op, frame))


@handles(ops.STORE)
def store(run: Recorder, op: Op, frame: Lanes) -> None:
    """Write an element; of lanes that write the same one, the last stays."""
    write(run, op, frame, run.places[op.attrs["place"].name], located(run, op, frame))


def read(run: Recorder, op: Op, frame: Lanes, storage: Storage, at: Array) -> None:
    """The op gives the elements at these positions."""
    arg = storage.read(at)
    node = run.env[op.result] = Node(arg.dtype, arg.own, arg.beside, frame.home)
    if storage.dtype.is_float:
        run.tape.append(Load(frame, storage, at, node))


def write(run: Recorder, op: Op, frame: Lanes, storage: Storage, at: Array) -> None:
    """The op's last operand overwrites the elements at these positions."""
    value = run.env[op.operands[-1]]
    storage.write(at, value.read(value.at(frame)))
    if storage.dtype.is_float:
        run.tape.append(Store(frame, storage, at, value))


@handles(ops.ARRAY_ALLOC)
def array_alloc(run: Recorder, op: Op, frame: Lanes) -> None:
    """A zeroed array per lane."""
    dtype: DType = op.attrs["dtype"]
    own = np.zeros(frame.team.size * op.attrs["length"], dtype.numpy)
    run.arrays[op.result] = run.storage(dtype, own)


@handles(ops.ARRAY_LOAD)
def array_load(run: Recorder, op: Op, frame: Lanes) -> None:
    """Read an element of each lane's array."""
    read(run, op, frame, *element(run, op, frame))


@handles(ops.ARRAY_STORE)
def array_store(run: Recorder, op: Op, frame: Lanes) -> None:
    """Write an element of each lane's array."""
    write(run, op, frame, *element(run, op, frame))


def element(run: Recorder, op: Op, frame: Lanes) -> tuple[Storage, Array]:
    """An array op's storage, and where each lane's element is in it."""
    storage = run.arrays[op.operands[0]]
    length = storage.own.size // frame.team.size
    (index,) = columns(run.nodes(op.operands[1:2]), frame)
    memory = Memory(Place("local array", storage.dtype, (length,), kind="the"), storage.own[:length], (length,))
    return storage, frame.lanes * length + address(memory, [index], frame, op.loc)


@handles(ops.ATOMIC)
def atomic(run: Recorder, op: Op, frame: Lanes) -> None:
    """Combine: all lanes at once if they add and nobody looks at the old values, else one after another."""
    place, kind = op.attrs["place"], op.attrs["kind"]
    storage, at = run.places[place.name], located(run, op, frame)
    operands = run.nodes(op.operands[place.rank :])
    to = op.result.dtype
    result = run.env[op.result] = run.exact(to, np.zeros(frame.count, to.numpy), frame.home)
    if kind == "add" and not op.result.uses:
        add_all(run, storage, frame, at, operands[0])
        return
    everyone = np.arange(frame.count)
    for group in rounds(at):
        old = storage.read(at[group])
        combine(run, Atomic(frame, kind, storage, everyone[group], at[group], old, tuple(operands), result))


def add_all(run: Recorder, storage: Storage, frame: Lanes, at: Array, value: Node) -> None:
    """Every lane adds its value."""
    arg = value.read(value.at(frame))
    if storage.cells is not None:
        storage.cells.add(at, arg)
    if storage.dtype.is_float:
        run.tape.append(Atomic(frame, "add", storage, np.arange(frame.count), at, None, (value,), None))
    np.add.at(storage.own, at, arg.own)


def combine(run: Recorder, record: Atomic) -> None:
    """One group of lanes, at different elements, combines."""
    storage, old, dtype = record.storage, record.old, record.storage.dtype
    assert old is not None
    assert record.result is not None
    args = [node.read(node.at(record.frame)[record.chosen]) for node in record.operands]
    own = ATOMICS[record.kind].meaning(dtype, old.own, *(arg.own for arg in args))
    fill(record.result, record.chosen, old)
    if record.kind == "add" and storage.cells is not None:
        storage.cells.add(record.at, args[0])
        storage.own[record.at] = own
        run.tape.append(record)
    elif dtype.is_float:
        storage.write(record.at, Arg(dtype, own, combined(run.beside, record.kind, own, old, args)))
        run.tape.append(record)
    else:
        storage.own[record.at] = own


def combined(beside: Beside, kind: str, own: Array, old: Arg, args: list[Arg]) -> Array | None:
    """What goes beside the elements that an atomic wrote."""
    if kind not in ("xchg", "cas"):
        return beside.result(TABLE[kind], old.dtype, own, [old, args[0]])
    new = args[-1].beside
    if kind == "xchg" or new is None or old.beside is None:
        return new
    return np.where(swapped(old, args[0]), new, old.beside)


def swapped(old: Arg, expected: Arg) -> Array:
    """Where a compare-and-swap finds what it expects."""
    bits = f"u{old.dtype.size}"
    return np.asarray(np.ascontiguousarray(old.own).view(bits) == np.ascontiguousarray(expected.own).view(bits))


def fill(node: Node, at: Array, arg: Arg) -> None:
    """Put numbers into some lanes of a node."""
    node.own[at] = arg.own
    if node.beside is not None:
        node.beside[at] = arg.beside


def move(run: Recorder, frame: Lanes, source: Node, target: Node) -> None:
    """The lanes of `frame` hand a value on to a node that more lanes will share."""
    fill(target, target.at(frame), source.read(source.at(frame)))
    if source.dtype.is_float:
        run.tape.append(Move(frame, source, target))


def team_frame(run: Recorder, team: Team) -> Lanes:
    """All lanes of a team."""
    return Lanes(run.launch, team, np.arange(team.size))
