"""Tasks that compute how deep adstacks must be: `with_sizers(program) -> Sized`.

Requires: a lowered program. Ensures: a program that does the same, in which the capacity of every adstack made at the
outermost level of a task or iteration is a constant or an element of the place "depths"; new tasks, the *sizers*,
compute these elements: the greatest count of any iteration. The program's own tasks no longer count.

A capacity is sized in one of two ways. If the code that counts is a formula (build.py), the sizer computes the formula:
once, in serial code, if it does not depend on the parallel loop's indices; else in a parallel loop over those indices
that matter, reduced with atomic max. Otherwise the sizer is a *counting pass*: the task itself, left with nothing but
what decides trip counts.

What only the thread can know stays with it: a count that depends on what the task itself writes.

Where a backend hands out rows of the heap only to iterations that push, an element of "depths" says how many of them
there are at most: sizers add them up, and each iteration says with `stack.claim` whether it is one (claims.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..analysis.def_use import defined_in
from ..analysis.facts import constant
from ..ir.builder import Builder
from ..ir.location import Loc
from ..ir.structure import Op, Place, Program, Region, Task, Value
from ..ir.types import i32, i64
from ..transforms.rewriting.options import Options
from ..transforms.rewriting.rewrite import clone_op
from ..transforms.scalar.cse import cse
from ..transforms.scalar.dce import dce
from ..transforms.scalar.simplify import simplify
from .build import Builder as FormulaBuilder
from .build import free
from .claims import claim_formula, insert_claim
from .emit import Emitter, NeedsMemory
from .expr import Const, SizeExpr, Times, Trips
from .numbers import Numbers
from .text import formula

__all__ = ["Size", "Sized", "with_sizers"]

_OPTIONS = Options(keep_loops=True)


@dataclass(frozen=True)
class Size:
    """What is known of one element of "depths".

    Attributes:
        number: which.
        task: name of the task whose adstacks it sizes.
        expr: the formula; None if the thread's code has to be run to know.
        numbers: what the formula is about.
        loc: the outermost loop that is counted.
        serial: whether it is the same for all iterations.
    """

    number: int
    task: str
    expr: SizeExpr | None
    numbers: Numbers = field(repr=False)
    loc: Loc
    serial: bool

    @property
    def text(self) -> str:
        """For people."""
        if self.expr is None:
            return "counted"
        shown = formula(self.expr, self.numbers)
        indices = [v for v in self.numbers.indices if v in free(self.expr, self.numbers)]
        over = ", ".join(v.name or "index" for v in indices)
        return shown if self.serial else f"max over {over} of {shown}"


@dataclass(frozen=True)
class Sized:
    """A program with sizers.

    Attributes:
        program: to be compiled.
        sizes: of each element of "depths".
        reads: names of the places on which depths depend.
        transient: whether they depend on what an earlier task of the launch computes, so that they hold for one launch.
    """

    program: Program
    sizes: tuple[Size, ...] = ()
    reads: frozenset[str] = frozenset()
    transient: bool = False


@dataclass
class _Wanted:
    """A capacity to compute: the element it becomes, the allocations that it is for.

    With `adds` it is the number of iterations for which the formula is above 0.
    """

    capacity: Value
    number: int
    stacks: list[Op]
    expr: SizeExpr | None = None
    adds: bool = False


def with_sizers(program: Program, *, claims: bool = False) -> Sized:
    """The program with sizers before the tasks that have adstacks; the given one is used up.

    With `claims`, iterations that push are counted where not all do.
    """
    return _Sizing(program, claims=claims).sized()


class _Sizing:
    """Makes the sizers of one program."""

    def __init__(self, program: Program, *, claims: bool) -> None:
        self.program, self.claims = program, claims
        self.sizes: list[Size] = []
        self.early: list[Task] = []
        self.tasks: list[Task] = []
        count = 0
        self.per_task: list[tuple[Task, list[_Wanted]]] = []
        for task in program.tasks:
            wanted = _wanted(task, count)
            count += len(wanted) + (claims and bool(wanted))
            self.per_task.append((task, wanted))
        name = "depths"
        while name in program.places:
            name += "_"
        self.depths = Place(name, i64, (max(count, 1),), "depths")

    def sized(self) -> Sized:
        """Do it all."""
        if not any(wanted for _, wanted in self.per_task):
            return Sized(self.program)
        written: set[str] = set()
        for task, wanted in self.per_task:
            before = self._sizers(task, wanted)
            late = any(reads(sizer) & written for sizer in before)
            (self.tasks if late else self.early).extend(before)
            self.tasks.append(task)
            written |= writes(task)
        sizers = [task for task in (*self.early, *self.tasks) if task.sizes]
        if not sizers:
            return Sized(self.program)
        tasks = _merged(self.early) + self.tasks
        _rename(tasks, self.program.name)
        places = {**self.program.places, self.depths.name: self.depths}
        found = frozenset().union(*(reads(task) for task in sizers))
        transient = bool(found & written)
        return Sized(replace(self.program, tasks=tasks, places=places), tuple(self.sizes), found, transient)

    # ---- one task

    def _sizers(self, task: Task, wanted: list[_Wanted]) -> list[Task]:
        """The sizers of a task, which from then on loads what they compute."""
        if not wanted:
            return []
        numbers = Numbers(task)
        for one in wanted:
            one.expr = FormulaBuilder(numbers).size(one.capacity)
        formulas = [w for w in wanted if w.expr is not None and self._may_emit(w, numbers)]
        counted = [w for w in wanted if w not in formulas]
        passes = self._of_counts(task, counted)
        kept = {w.number for w in formulas} | {number for sizer in passes for number in sizer.sizes}
        claim = self._claim(task, numbers, [w for w in wanted if w.number in kept])
        made = [*self._of_formulas(task, numbers, formulas, claim), *passes]
        for one in wanted:
            if one.number in kept:
                alone = one in formulas and not (free(one.expr, numbers) & {*numbers.indices})  # type: ignore[arg-type]
                expr = one.expr if one in formulas else None
                loc = one.stacks[0].loc
                self.sizes.append(Size(one.number, task.name, expr, numbers, loc, alone or not numbers.indices))
        if claim is not None and claim.expr is not None:
            insert_claim(task, numbers, claim.expr, self.depths, claim.number)
        self._load(task, [w for w in wanted if w.number in kept])
        return made

    def _claim(self, task: Task, numbers: Numbers, kept: Sequence[_Wanted]) -> _Wanted | None:
        """The number of iterations that push, to be counted: None if all may."""
        expr = claim_formula(task, numbers, [w.capacity for w in kept]) if self.claims and kept else None
        if expr is None:
            return None
        first = kept[0]
        claim = _Wanted(first.capacity, kept[-1].number + 1, first.stacks, expr, adds=True)
        return claim if self._may_emit(claim, numbers) else None

    def _may_emit(self, wanted: _Wanted, numbers: Numbers) -> bool:
        """Whether the formula can be computed by itself, from memory that the task does not write."""
        assert wanted.expr is not None
        names = {v: Value(v.type) for v in (*numbers.task.body.args, *numbers.indices)}
        b = Builder(Region([*names.values()]))
        try:
            Emitter(b, numbers, names).size(wanted.expr)
        except NeedsMemory:
            return False
        strip(b.region)
        if wanted.adds and any(op.name in ("for", "while") for op in b.region.walk()):
            return False
        return _is_sound(b.region, numbers.task)

    def _of_formulas(
        self, task: Task, numbers: Numbers, formulas: Sequence[_Wanted], claim: _Wanted | None
    ) -> list[Task]:
        wanted = [*formulas, claim] if claim is not None else formulas
        varying = [w for w in wanted if free(w.expr, numbers) & {*numbers.indices}]  # type: ignore[arg-type]
        made: list[Task] = []
        if wanted:
            made.append(self._serial(task, numbers, wanted, varying))
        if varying:
            made.append(self._parallel(task, numbers, varying))
        return made

    def _serial(self, task: Task, numbers: Numbers, wanted: Sequence[_Wanted], zero: Sequence[_Wanted]) -> Task:
        """Computes what is the same for all iterations; the others start from 0."""
        b, names = _task_builder(task)
        emitter = Emitter(b, numbers, names)
        for one in wanted:
            with b.at(one.stacks[0].loc):
                value = b.const(0, i64) if one in zero else emitter.size(one.expr)  # type: ignore[arg-type]
                b.store(self.depths, (b.const(one.number, i32),), value)
        b.return_()
        return _tidied(Task("", b.region, "serial", tuple(w.number for w in wanted)))

    def _parallel(self, task: Task, numbers: Numbers, wanted: Sequence[_Wanted]) -> Task:
        """Computes the greatest over the iterations, along the axes that matter."""
        loop = task.body.ops[-2]
        b, names = _task_builder(task)
        matter = frozenset().union(*(free(w.expr, numbers) for w in wanted))  # type: ignore[arg-type]
        emitter = Emitter(b, numbers, names)
        body, bounds = Region(), []
        others: SizeExpr = Const(1)
        for k, index in enumerate(loop.regions[0].args):
            lo, hi = loop.operands[2 * k : 2 * k + 2]
            if index in matter:
                with b.at(loop.loc):
                    bounds.append((emitter.number(lo), emitter.number(hi)))
                body.define((Value(index.type, index.name),))
                emitter.names[index] = body.args[-1]
            else:
                others = Times(Trips(lo, hi), others)
        with b.at(loop.loc):
            each = emitter.size(others)
        with b.into(body), emitter._inside():
            for one in wanted:
                with b.at(one.stacks[0].loc):
                    size = emitter.size(one.expr)  # type: ignore[arg-type]
                    if one.adds:
                        zero = b.const(0, i64)
                        size = b.select(b.lt(zero, size), each, zero)
                    b.atomic("add" if one.adds else "max", self.depths, (b.const(one.number, i32),), size)
            b.yield_()
        with b.at(loop.loc):
            b.parallel_for(bounds, body)
        b.return_()
        return _tidied(Task("", b.region, "parallel", tuple(w.number for w in wanted)))

    # ---- counting passes

    def _of_counts(self, task: Task, wanted: Sequence[_Wanted]) -> list[Task]:
        """Counting passes: one for all, or, where that can't be, one for each that can be counted ahead."""
        if not wanted:
            return []
        together = self._counting(task, wanted)
        if together is not None:
            return together
        return [sizer for one in wanted for sizer in self._counting(task, [one]) or ()] if len(wanted) > 1 else []

    def _counting(self, task: Task, wanted: Sequence[_Wanted]) -> list[Task] | None:
        names: dict[Value, Value] = {}
        body = Region([Value(v.type, v.name) for v in task.body.args])
        names.update(zip(task.body.args, body.args, strict=True))
        body.ops = [clone_op(op, names) for op in task.body.ops]
        capacities = {names[w.capacity]: w.number for w in wanted}
        target = body.ops[-2].regions[0] if task.kind == "parallel" else body
        # what comes after the allocations does not count, and may need what is on the adstacks
        del target.ops[1 + _last(task, wanted) : -1]
        strip(body)
        b, known = Builder(Region()), Numbers(task)
        for capacity, number in capacities.items():
            count = Emitter(b, known, {capacity: capacity})._not_negative(b.cast(capacity, i64))
            at = (b.const(number, i32),)
            if task.kind == "parallel":
                b.atomic("max", self.depths, at, count)
            else:
                b.store(self.depths, at, count)
        target.ops[-1:-1] = b.region.ops
        numbers = tuple(capacities.values())
        made = _tidied(Task("", body, task.kind, numbers))
        if not _is_sound(made.body, task):
            return None
        if task.kind == "serial":
            return [made]
        return [self._serial(task, known, wanted, wanted), made]

    def _load(self, task: Task, wanted: Sequence[_Wanted]) -> None:
        """Take the capacities from the depths."""
        b = Builder(Region())
        for one in wanted:
            with b.at(one.stacks[0].loc):
                capacity = b.load(self.depths, (b.const(one.number, i32),))
            for op in one.stacks:
                op.operands = [capacity]
        task.body.ops[0:0] = b.region.ops
        dce(task.body, _OPTIONS)


def _wanted(task: Task, start: int) -> list[_Wanted]:
    """The capacities of adstacks at the outermost level of a task or iteration that are not constants."""
    found: dict[Value, _Wanted] = {}
    for op in _outermost(task):
        if op.name == "stack.alloca":
            capacity = op.operands[0]
            if constant(capacity) is None:
                found.setdefault(capacity, _Wanted(capacity, start + len(found), [])).stacks.append(op)
    return list(found.values())


def _last(task: Task, wanted: Sequence[_Wanted]) -> int:
    """The position of the last of these allocations."""
    stacks = {op for one in wanted for op in one.stacks}
    return max(position for position, op in enumerate(_outermost(task)) if op in stacks)


def _outermost(task: Task) -> list[Op]:
    """The ops of an iteration, or of serial code."""
    return task.body.ops[-2].regions[0].ops if task.kind == "parallel" else task.body.ops


def _task_builder(task: Task) -> tuple[Builder, dict[Value, Value]]:
    """A builder for a task with the same parameters, and what stands for them."""
    region = Region([Value(v.type, v.name) for v in task.body.args])
    return Builder(region), dict(zip(task.body.args, region.args, strict=True))


def _tidied(task: Task) -> Task:
    strip(task.body)
    for run in (simplify, cse, dce):
        run(task.body, _OPTIONS)
    return task


def strip(region: Region) -> None:
    """Leave out what does anything but compute; depths are written all the same."""
    kept = []
    for op in region.ops:
        place = op.attrs.get("place")
        if op.name.startswith("stack.") or op.name in ("print", "assert"):
            continue
        if op.name in ("store", "atomic") and place is not None and place.kind != "depths":
            continue
        for inner in op.regions:
            strip(inner)
        kept.append(op)
    region.ops = kept


def _is_sound(body: Region, task: Task) -> bool:
    """Whether code taken out of a task computes the same ahead of it: nothing it needs is missing or written there."""
    defined = defined_in(body)
    if any(op.name == "random" or not defined.issuperset(op.operands) for op in body.walk()):
        return False
    return not {op.attrs["place"].name for op in body.walk() if op.name == "load"} & writes(task)


def reads(task: Task) -> set[str]:
    """Names of the places that a task loads from, but for depths."""
    loads = (op.attrs["place"] for op in task.body.walk() if op.name == "load")
    return {place.name for place in loads if place.kind != "depths"}


def writes(task: Task) -> set[str]:
    """Names of the places that a task writes, but for depths."""
    places = (op.attrs["place"] for op in task.body.walk() if op.name in ("store", "atomic"))
    return {place.name for place in places if place.kind != "depths"}


def _merged(tasks: Sequence[Task]) -> list[Task]:
    """Serial sizers as one task, ahead of the parallel ones."""
    serial = [task for task in tasks if task.kind == "serial"]
    if not serial:
        return list(tasks)
    first = serial[0]
    for other in serial[1:]:
        names = dict(zip(other.body.args, first.body.args, strict=True))
        first.body.ops[-1:-1] = [clone_op(op, names) for op in other.body.ops[:-1]]
        first.sizes += other.sizes
    cse(first.body, _OPTIONS)
    return [first, *(task for task in tasks if task.kind != "serial")]


def _rename(tasks: Iterable[Task], name: str) -> None:
    """Sizers get names of their own; the others keep theirs."""
    count = 0
    for task in tasks:
        if task.sizes:
            task.name = f"{name}.size{count}.{task.kind}"
            count += 1
