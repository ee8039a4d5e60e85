"""The text form of IR: `print_ir(kernel)`; `parser.parse_ir` reads it back.

    kernel @scale(%a: f32) -> (i32) {
      place @x : f32[?] ndarray
      %0 = const 0 : i32
      %1 = shape @x, 0 : i32
      parallel_for (%i = %0 to %1) {
        %2 = load @x[%i] : f32
        %3 = mul %2, %a : f32 loc("scale.py":7:9-7:19)
        store @x[%i], %3
        yield
      }
      return %1
    }

Broken IR prints as well, as far as it goes: dumps are for finding out what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Final

from ..location import UNKNOWN, Loc
from ..opdef import OpDef
from ..ops import ASSERT, ATOMIC, CALL, FOR, IF, LOAD, PARALLEL_FOR, PRINT, SHAPE, STACK_ALLOCA, STORE, WHILE
from ..scalar_ops import CONST
from ..structure import Function, Kernel, Op, Place, Program, Region, Task, Value
from ..texts import Part
from ..types import DType
from ..verify.rules_call import functions_of

__all__ = ["print_ir", "symbol", "value_names"]

_BARE: Final = re.compile(r"[A-Za-z_$][\w.$]*", re.ASCII)


def print_ir(root: Kernel | Program | Task, *, locs: bool = True) -> str:
    """The text of a kernel, a program or one task; `locs=False` leaves out where ops came from."""
    printer = _Printer(locs)
    for function in () if isinstance(root, Task) else functions_of(root):
        if not function.builtin:
            printer.function(function)
    if isinstance(root, Kernel):
        printer.kernel(root)
    elif isinstance(root, Program):
        printer.program(root)
    else:
        printer.task(root)
    return "\n".join(printer.lines) + "\n"


def value_names(kernel: Kernel) -> dict[Value, str]:
    """The names that `print_ir` gives the values of a kernel: "%x"."""
    printer = _Printer(locs=False)
    printer.kernel(kernel)
    return printer.names


def symbol(name: str) -> str:
    """A place's, task's or kernel's name after its @: bare, or quoted where it has odd characters."""
    return f"@{name}" if _BARE.fullmatch(name) else f"@{json.dumps(name)}"


def number(value: object, to: object) -> str:
    """A constant's shortest text that gives the value back exactly in its type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return repr(value)
    if isinstance(to, DType) and to.is_float and to.bits < 64 and value - value == 0:
        short = repr(float(str(to.numpy.type(value))))
        if to(float(short)) == value:
            return short
    return repr(value)


class _Printer:
    """Collects lines; names values as they come up."""

    def __init__(self, locs: bool) -> None:
        self.locs = locs
        self.lines: list[str] = []
        self.indent = 0
        self._fresh()

    def _fresh(self) -> None:
        self.names: dict[Value, str] = {}
        self.taken: dict[str, int] = {}
        self.numbered = 0

    def _line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    # ---- kernels, programs, tasks

    def kernel(self, kernel: Kernel) -> None:
        head = f"kernel {symbol(kernel.name)}{self._params(kernel.body)}{_arrow(kernel.returns)}"
        self._line(f"{head}{self.loc(kernel.loc)} {{")
        self._places(kernel.places.values())
        self._close(kernel.body.ops)

    def function(self, function: Function) -> None:
        self._fresh()
        head = f"function {symbol(function.name)}{self._params(function.body)}{_arrow(tuple(function.returns))}"
        self._line(f"{head} {{")
        self._close(function.body.ops)
        self._fresh()

    def program(self, program: Program) -> None:
        results = f" results ({', '.join(map(symbol, program.results))})" if program.results else ""
        params = f" ({', '.join(map(str, program.params))})" if program.params and not program.tasks else ""
        head = f"program {symbol(program.name)}{params}{_arrow(program.returns)}{results}"
        self._line(f"{head}{self.loc(program.loc)} {{")
        self._places(program.places.values())
        self.indent += 1
        for task in program.tasks:
            self.task(task)
        self.indent -= 1
        self._line("}")

    def task(self, task: Task) -> None:
        self._fresh()
        sizes = f" sizes ({', '.join(map(str, task.sizes))})" if task.sizes else ""
        self._line(f"task {symbol(task.name)} {task.kind}{sizes} {self._params(task.body)} {{")
        self._close(task.body.ops)

    def _params(self, body: Region) -> str:
        return "(" + ", ".join(f"{self.name(v)}: {v.type}" for v in body.args) + ")"

    def _places(self, places: Iterable[Place]) -> None:
        self.indent += 1
        for place in places:
            extents = ", ".join("?" if extent is None else str(extent) for extent in place.shape)
            role = "" if place.role == "primal" and place.of is None else f" {place.role} of {symbol(str(place.of))}"
            label = f" label {json.dumps(place.label)}" if place.label else ""
            relaxed = " relaxed" if place.relaxed else ""
            self._line(f"place {symbol(place.name)} : {place.dtype}[{extents}] {place.kind}{role}{label}{relaxed}")
        self.indent -= 1

    def _close(self, ops: Iterable[Op], end: str = "}") -> None:
        self.indent += 1
        for op in ops:
            self._op(op)
        self.indent -= 1
        self._line(end)

    # ---- ops

    def name(self, value: Value) -> str:
        """The value's name in the text: its own, made safe and unique, or a number."""
        if value not in self.names:
            self.names[value] = "%" + self._unique(
                re.sub(r"\W", "_", getattr(value, "name", "invalid"), flags=re.ASCII)
            )
        return self.names[value]

    def _unique(self, wanted: str) -> str:
        if not wanted or wanted.isdigit():
            self.numbered += 1
            return str(self.numbered - 1)
        wanted = f"_{wanted}" if wanted[0].isdigit() else wanted
        name = wanted
        while name in self.taken:
            self.taken[wanted] += 1
            name = f"{wanted}_{self.taken[wanted]}"
        self.taken[name] = 0
        return name

    def names_of(self, values: Iterable[Value]) -> str:
        return ", ".join(self.name(v) for v in values)

    def loc(self, loc: Loc) -> str:
        """The suffix that says where an op came from."""
        return "" if not self.locs or loc == UNKNOWN else f" loc({_where(loc)})"

    def _op(self, op: Op) -> None:
        results = self.names_of(op.results) + " = " if op.results else ""
        try:
            text = FORMS.get(op.opdef, _plain)(self, op)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            # a form that the op does not have: it breaks the rules, and is shown as it is
            text = f" {self.names_of(op.operands)} {op.attrs}{_types(op)}"
        self._line(
            f"{results}{op.name}{_guard(op)}{_sums(op)}{_team(op)}{text}{self.loc(op.loc)}{' {' if op.regions else ''}"
        )
        self._regions(op)

    def _regions(self, op: Op) -> None:
        for region, following in zip_longest(op.regions, op.regions[1:]):
            self._close(region.ops, "}" if following is None else self._between(op, following))

    def _between(self, op: Op, following: Region) -> str:
        return "} else {" if op.opdef is IF else f"}} do ({self.names_of(following.args)}) {{"


def _arrow(returns: tuple[DType, ...]) -> str:
    return f" -> ({', '.join(str(t) for t in returns)})" if returns else ""


def _where(loc: Loc) -> str:
    end = f"-{loc.end_line}:{loc.end_col}" if loc.end_line or loc.end_col else ""
    caller = f" at {_where(loc.caller)}" if loc.caller else ""
    return f"{json.dumps(loc.file)}:{loc.line}:{loc.col}{end}{caller}"


def _guard(op: Op) -> str:
    axes = op.attrs.get("guarded") if op.opdef.guards else None
    return "" if axes is None else f" guarded ({', '.join(map(str, axes)) if isinstance(axes, tuple) else axes})"


def _sums(op: Op) -> str:
    way = op.attrs.get("sums") if op.opdef.sums else None
    return "" if way is None else f" sums {way}"


def _team(op: Op) -> str:
    team = op.attrs.get("team") if op.opdef.teams else None
    return "" if team is None else f" team {team}"


def _types(op: Op) -> str:
    return f" : {', '.join(str(v.type) for v in op.results)}" if op.results else ""


def _plain(p: _Printer, op: Op) -> str:
    operands = p.names_of(op.operands)
    return (f" {operands}" if operands else "") + _types(op)


def _element(p: _Printer, op: Op, values: int) -> str:
    """`@place[indices], values`."""
    split = len(op.operands) - values
    parts = [f"{symbol(op.attrs['place'].name)}[{p.names_of(op.operands[:split])}]"]
    return ", ".join(parts + [p.name(v) for v in op.operands[split:]])


def _call(p: _Printer, op: Op) -> str:
    operands = p.names_of(op.operands)
    return f" {symbol(op.attrs['function'].name)}" + (f" {operands}" if operands else "") + _types(op)


def _const(p: _Printer, op: Op) -> str:
    return f" {number(op.attrs['value'], op.attrs['to'])}{_types(op)}"


def _shape(p: _Printer, op: Op) -> str:
    return f" {symbol(op.attrs['place'].name)}, {op.attrs['axis']}{_types(op)}"


def _load(p: _Printer, op: Op) -> str:
    return f" {_element(p, op, 0)}{_types(op)}"


def _store(p: _Printer, op: Op) -> str:
    return f" {_element(p, op, 1)}"


def _atomic(p: _Printer, op: Op) -> str:
    values = len(op.operands) - op.attrs["place"].rank
    return f" {op.attrs['kind']} {_element(p, op, values)}{_types(op)}"


def _if(p: _Printer, op: Op) -> str:
    (condition,) = op.operands
    types = ", ".join(str(v.type) for v in op.results)
    return f" {p.name(condition)}" + (f" -> ({types})" if types else "")


def _carry(p: _Printer, names: Sequence[Value], initial: Sequence[Value]) -> str:
    return ", ".join(f"{p.name(a)} = {p.name(v)}" for a, v in zip(names, initial, strict=True))


def _for(p: _Printer, op: Op) -> str:
    lo, hi, *initial = op.operands
    index, *carried = op.regions[0].args
    carry = f" carry ({_carry(p, carried, initial)})" if carried or initial else ""
    return f" {p.name(index)} = {p.name(lo)} to {p.name(hi)}{carry}"


def _while(p: _Printer, op: Op) -> str:
    return f" ({_carry(p, op.regions[0].args, op.operands)})"


def _parallel_for(p: _Printer, op: Op) -> str:
    bounds = zip(op.regions[0].args, op.operands[::2], op.operands[1::2], strict=True)
    return " (" + ", ".join(f"{p.name(i)} = {p.name(lo)} to {p.name(hi)}" for i, lo, hi in bounds) + ")"


def _assert(p: _Printer, op: Op) -> str:
    condition, *arguments = op.operands
    return " " + ", ".join([p.name(condition), json.dumps(op.attrs["message"]), *map(p.name, arguments)])


def _print(p: _Printer, op: Op) -> str:
    operands = iter(op.operands)

    def shown(part: Part) -> str:
        if isinstance(part, str):
            return json.dumps(part)
        name = p.name(next(operands))
        return name if part is None else f"{name} as {json.dumps(part.spec)}"

    parts = [shown(part) for part in op.attrs["parts"]]
    return " " + ", ".join(parts) if parts else ""


def _alloca(p: _Printer, op: Op) -> str:
    sides = "".join(
        f" {word} ({', '.join(map(str, op.attrs[word]))})" for word in ("around", "inside") if op.attrs[word]
    )
    return f" {p.names_of(op.operands)}{sides}{_types(op)}"


FORMS: Final[dict[OpDef, Callable[[_Printer, Op], str]]] = {
    CALL: _call,
    CONST: _const,
    SHAPE: _shape,
    LOAD: _load,
    STORE: _store,
    ATOMIC: _atomic,
    IF: _if,
    FOR: _for,
    WHILE: _while,
    PARALLEL_FOR: _parallel_for,
    ASSERT: _assert,
    PRINT: _print,
    STACK_ALLOCA: _alloca,
}
