"""Tasks that compute how deep adstacks must be: `with_sizers(program) -> Sized`.

Requires: a lowered program. Ensures: a program that does the same, in which the capacity of every adstack made at the
outermost level of a task or iteration is a constant or an element of the place "depths"; new tasks, the *sizers*,
compute these elements: the greatest count of any iteration. The program's own tasks no longer count.

A capacity is sized in one of two ways. If the code that counts is a formula (build.py), the sizer computes the formula
(formulas.py): once, in serial code, if it does not depend on the parallel loop's indices; else in a parallel loop over
those indices that matter, reduced with atomic max. Otherwise the sizer is a *counting pass* (counting.py): the task
itself, left with nothing but what decides trip counts.

A count that depends on what the task itself writes can't be computed ahead of it: the thread sizes these adstacks.

Where a backend hands out rows of the heap only to iterations that push, an element of "depths" says how many of them
there are at most: sizers add them up, and each iteration says with `stack.claim` whether it is one (claims.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..ir.builder import Builder
from ..ir.structure import Place, Program, Region, Task
from ..ir.types import i32, i64
from ..transforms.rewriting.rewrite import clone_op
from ..transforms.scalar.cse import cse
from ..transforms.scalar.dce import dce
from .build import Builder as FormulaBuilder
from .capacities import Capacity, capacities
from .claims import claim_formula, insert_claim
from .counting import CountingPasses
from .dependence import Dependence
from .formulas import Element, FormulaSizers
from .size import Size, Sized
from .slicing import OPTIONS, reads, writes

__all__ = ["with_sizers"]


def with_sizers(program: Program, *, claims: bool = False) -> Sized:
    """The program with sizers before the tasks that have adstacks.

    Args:
        program: lowered; it is changed, and must not be used afterwards.
        claims: whether iterations that push are counted where not all do.
    """
    return _Sizing(program, claims=claims).sized()


class _Sizing:
    """Makes the sizers of one program.

    Attributes:
        early: sizers that run ahead of all tasks; late ones stand in `tasks`, before the task whose adstacks they size.
    """

    def __init__(self, program: Program, *, claims: bool) -> None:
        self.program, self.claims = program, claims
        self.sizes: list[Size] = []
        self.early: list[Task] = []
        self.tasks: list[Task] = []
        count = 0
        self.per_task: list[tuple[Task, list[Capacity]]] = []
        for task in program.tasks:
            own = capacities(task, count)
            count += len(own) + (claims and bool(own))
            self.per_task.append((task, own))
        name = "depths"
        while name in program.places:
            name += "_"
        self.depths = Place(name, i64, (max(count, 1),), "depths")

    def sized(self) -> Sized:
        """The program with its sizers, and what is known of them."""
        if not any(own for _, own in self.per_task):
            return Sized(self.program)
        written: set[str] = set()
        for task, own in self.per_task:
            sizers = self._sizers(task, own)
            late = any(reads(sizer) & written for sizer in sizers)
            (self.tasks if late else self.early).extend(sizers)
            self.tasks.append(task)
            written |= writes(task)
        sizers = [task for task in (*self.early, *self.tasks) if task.sizes]
        if not sizers:
            return Sized(self.program)
        tasks = _merged(self.early) + self.tasks
        _rename(tasks, self.program.name)
        places = {**self.program.places, self.depths.name: self.depths}
        read = frozenset().union(*(reads(task) for task in sizers))
        return Sized(replace(self.program, tasks=tasks, places=places), tuple(self.sizes), read, bool(read & written))

    def _sizers(self, task: Task, own: list[Capacity]) -> list[Task]:
        """The sizers of a task, which from then on loads what they compute."""
        if not own:
            return []
        dependence = Dependence(task)
        of_formulas = FormulaSizers(dependence, self.depths)
        elements = self._elements(own, of_formulas)
        passes = CountingPasses(task, self.depths).sizers([one for one in own if one.number not in elements])
        sized = {*elements, *(number for sizer in passes for number in sizer.sizes)}
        kept = [one for one in own if one.number in sized]
        claim = self._claim(kept, of_formulas)
        sizers = [*of_formulas.sizers([*elements.values(), *([] if claim is None else [claim])]), *passes]
        self.sizes += [_size(one, elements.get(one.number), dependence) for one in kept]
        if claim is not None:
            insert_claim(task, claim.expr, self.depths, claim.number)
        self._load(task, kept)
        return sizers

    def _elements(self, own: Sequence[Capacity], of_formulas: FormulaSizers) -> dict[int, Element]:
        """By number, the capacities with formulas that a sizer can compute."""
        elements: dict[int, Element] = {}
        for one in own:
            expr = FormulaBuilder(of_formulas.dependence).size(one.value)
            element = None if expr is None else Element(one.number, one.loc, expr)
            if element is not None and of_formulas.may_emit(element):
                elements[one.number] = element
        return elements

    def _claim(self, kept: Sequence[Capacity], of_formulas: FormulaSizers) -> Element | None:
        """The number of iterations that push, to be counted: None if all may."""
        if not self.claims or not kept:
            return None
        expr = claim_formula(of_formulas.dependence, [one.value for one in kept])
        if expr is None:
            return None
        claim = Element(kept[-1].number + 1, kept[0].loc, expr, adds=True)
        return claim if of_formulas.may_emit(claim) else None

    def _load(self, task: Task, kept: Sequence[Capacity]) -> None:
        """Have the task load its capacities from the place "depths"."""
        b = Builder(Region())
        for one in kept:
            with b.at(one.loc):
                capacity = b.load(self.depths, (b.const(one.number, i32),))
            for op in one.stacks:
                op.set_operands((capacity,))
        task.body.ops[0:0] = b.region.ops
        dce(task.body, OPTIONS)


def _size(one: Capacity, element: Element | None, dependence: Dependence) -> Size:
    expr = None if element is None else element.expr
    uniform = expr is not None and not dependence.varies(expr)
    return Size(one.number, dependence.task.name, expr, dependence, one.loc, uniform or not dependence.indices)


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
    cse(first.body, OPTIONS)
    return [first, *(task for task in tasks if task.kind != "serial")]


def _rename(tasks: Iterable[Task], name: str) -> None:
    """Name the sizers; other tasks keep their names."""
    count = 0
    for task in tasks:
        if task.sizes:
            task.name = f"{name}.size{count}.{task.kind}"
            count += 1
