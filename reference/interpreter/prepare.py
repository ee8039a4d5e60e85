"""IR -> steps. A step is a function of a frame; operands and results are slots of the frame's values.

Preparing resolves everything that does not depend on values, once per kernel, so that running is a walk over lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ..errors import InternalError
from ..ir.def_use import live_in
from ..ir.opdef import OpDef
from ..ir.structure import Op, Place, Region, Value
from ..ir.types import DType
from .frame import Frame, Slot

Step = Callable[[Frame], None]
Rule = Callable[[Op, "Scope"], "Step | None"]


@dataclass(frozen=True)
class Code:
    """A prepared region.

    Attributes:
        steps: what to run, in order.
        args: slots of the region's arguments.
        yields: slots of what its terminator gives.
        captured: slots of the scalars that it uses but does not define.
    """

    steps: tuple[Step, ...]
    args: tuple[int, ...]
    yields: tuple[int, ...]
    captured: tuple[int, ...]

    def run(self, frame: Frame) -> list[Slot]:
        """Run the region in `frame`, and give what it yields."""
        for step in self.steps:
            step(frame)
        values = frame.values
        return [values[slot] for slot in self.yields]


class Scope:
    """The slots of a kernel's values while it is prepared.

    Attributes:
        debug: prepare the checks of debug mode as well.
        template: the values a frame starts with: constants stand here, and nothing else does.
    """

    def __init__(self, places: dict[str, Place], debug: bool) -> None:
        self.debug = debug
        self.template: list[Slot] = []
        self._slots: dict[Value, int] = {}
        self._places = {name: position for position, name in enumerate(places)}
        self._free: list[int] = []
        self._functions: dict[Region, Code] = {}

    def define(self, value: Value, constant: Slot = None) -> int:
        """The slot of a value from here on: that of a dead one, so that its memory is used again, or a new one."""
        if constant is None and self._free:
            slot = self._free.pop()
        else:
            slot = len(self.template)
            self.template.append(constant)
        self._slots[value] = slot
        return slot

    def release(self, dead: Iterable[Value]) -> None:
        """Nothing reads these values from here on. Constants stay."""
        self._free += [slot for slot in self.slots(dead) if self.template[slot] is None]

    def slot(self, value: Value) -> int:
        """The slot of a defined value."""
        if value not in self._slots:
            raise InternalError(f"the interpreter met {value!r} before its definition")
        return self._slots[value]

    def slots(self, values: Iterable[Value]) -> tuple[int, ...]:
        """The slots of defined values."""
        return tuple(self.slot(value) for value in values)

    def place(self, op: Op) -> int:
        """The position of an op's place among the kernel's places."""
        name = op.attrs["place"].name
        if name not in self._places:
            raise InternalError(f"{op.name} touches the place {name!r}, which its kernel does not list", loc=op.loc)
        return self._places[name]

    def region(self, region: Region) -> Code:
        """Prepare a region: its arguments, its ops, its terminator."""
        args = tuple(self.define(arg) for arg in region.args)
        *deaths, last = deaths_in(region)
        steps = tuple(self._steps(region, deaths))
        scalars = (value for value in live_in(region) if isinstance(value.type, DType))
        yields, captured = self.slots(region.terminator.operands), self.slots(scalars)
        # the op around the region takes what it yields before anything else is written
        self.release((*region.args, *last))
        return Code(steps, args, yields, captured)

    def function(self, body: Region) -> Code:
        """The code of a function's body: prepared once, in slots of its own that every call uses; it never traps."""
        if body not in self._functions:
            free, debug = self._free, self.debug
            self._free, self.debug = [], False
            self._functions[body] = self.region(body)
            self._free, self.debug = free, debug
        return self._functions[body]

    def _steps(self, region: Region, deaths: list[list[Value]]) -> Iterator[Step]:
        for op, dead in zip(region.ops[:-1], deaths, strict=True):
            step = rule_of(op)(op, self)
            if step is not None:
                yield step
            self.release(dead)


RULES: Final[dict[OpDef, Rule]] = {}
"""How each operation that needs more than its row's meaning becomes a step."""


def rule(row: OpDef) -> Callable[[Rule], Rule]:
    """Enter the decorated function in `RULES`: how ops of this row become a step (None: nothing to do)."""

    def enter(function: Rule) -> Rule:
        RULES[row] = function
        return function

    return enter


_EVALUATION: Final[list[Rule]] = []


def evaluated(function: Rule) -> Rule:
    """Make the decorated function the rule of every other op whose row has a meaning."""
    _EVALUATION[:] = [function]
    return function


def rule_of(op: Op) -> Rule:
    """The rule of an op: its own, or evaluation by its meaning. Raises InternalError if it has none."""
    own = RULES.get(op.opdef)
    if own is not None:
        return own
    if op.opdef.meaning is None:
        raise InternalError(f"{op.name} can't stand here", loc=op.loc)
    return _EVALUATION[0]


def deaths_in(region: Region) -> list[list[Value]]:
    """For each op of a region, the values defined by its ops that nothing after this op reads."""
    last: dict[Value, int] = {}
    for position, op in enumerate(region.ops):
        last.update((result, position) for result in op.results)
        read = [op.operands, *(inner.operands for body in op.regions for inner in body.walk())]
        last.update((value, position) for values in read for value in values if value in last)
    deaths: list[list[Value]] = [[] for _ in region.ops]
    for value, position in last.items():
        deaths[position].append(value)
    return deaths
