"""The text form of a plan: `print_plan(plan)`. Values have the names that `print_ir` gives them in the source.

    reverse of @k
      adjoint of @x in @x.grad
    serial
      %s = load
    parallel_for (%i)
      sums adjoint of %s in @adjoint0
      %r = for %k: depth from trip count
        %r = for %k saves %v : f64
        body of %r = for %k recomputes %e = exp

Serial code is listed if it is reversed or swept twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...analysis.windows import Window
from ...ir.ops import FOR, IF
from ...ir.structure import Op, Region, Value
from ...ir.text.printer import symbol, value_names
from ..checkpointing.cells import Cell
from ..checkpointing.loops import CheckpointedLoop
from ..checkpointing.slabs import Slab
from ..saving.plan import Counted, Saved
from .plan import Nest, Parallel, ReversePlan, Serial

__all__ = ["print_plan"]


def print_plan(plan: ReversePlan) -> str:
    """A line for each decision, indented by what it is about."""
    return "\n".join(_Printer(plan).lines()) + "\n"


class _Printer:
    def __init__(self, plan: ReversePlan) -> None:
        self._plan = plan
        self._names = value_names(plan.source)
        self._names.update((trips, f"trips of {self._op(op)}") for op, trips in plan.saves.trips.items())
        self._sides = {r: op for op in plan.source.body.walk() if op.opdef is IF for r in op.regions}

    def lines(self) -> Iterator[str]:
        plan = self._plan
        yield f"reverse of {symbol(plan.source.name)}"
        for name, place in plan.places.items():
            yield f"  adjoint of {symbol(name)} in {symbol(place.name)}"
        for number, value in enumerate(plan.returned):
            yield f"  adjoint of {self._names[value]} in %seed{number}"
        for reason in plan.refused:
            yield f"  not checkpointed: {reason.message}"
        for stretch in plan.stretches:
            if isinstance(stretch, Parallel):
                yield from self._parallel(stretch)
            elif stretch.reversed or stretch.swept_twice:
                yield from self._serial(stretch)

    def _parallel(self, loop: Parallel) -> Iterator[str]:
        again = ", runs again for its temps" if loop.repeated else ""
        skipped = "" if loop.reversed else ", not reversed"
        yield f"parallel_for ({self._values(loop.op.regions[0].args)}){again}{skipped}"
        for source, temp in loop.restored:
            yield f"  copies {symbol(source.name)} to {symbol(temp.name)}"
        for value, place in loop.sums.items():
            yield f"  sums adjoint of {self._names[value]} in {symbol(place.name)}"
        for nest in loop.nests:
            if nest.saved or nest.op.regions:
                yield from self._nest(nest, "  ")

    def _serial(self, stretch: Serial) -> Iterator[str]:
        twice = ", swept twice" if stretch.swept_twice else ""
        skipped = "" if stretch.reversed else ", not reversed"
        yield f"serial{twice}{skipped}"
        yield from self._nest(stretch.nest, "  ")

    def _nest(self, nest: Nest, indent: str) -> Iterator[str]:
        depth = "" if nest.capacity == "none" else f": depth from {nest.capacity}"
        yield f"{indent}{self._op(nest.op)}{depth}"
        for one, values in nest.saved.items():
            yield f"{indent}  {self._counted(one)} saves {', '.join(map(self._saved, values))}"
        for op in Region(ops=[nest.op]).walk():
            for region in op.regions:
                plan = self._plan.saves.regions.get(region)
                if plan is not None and plan.recomputed:
                    ops = ", ".join(self._recomputed(one) for one in plan.recomputed)
                    yield f"{indent}  {'side' if op.opdef is IF else 'body'} of {self._op(op)} recomputes {ops}"
        for loop in nest.checkpointed:
            yield from self._checkpointed(loop, f"{indent}  ")

    def _checkpointed(self, loop: CheckpointedLoop, indent: str) -> Iterator[str]:
        yield f"{indent}{self._op(loop.op)} has {loop.snapshots} snapshots, blocks of {loop.block}"
        state = [self._names[loop.args[k]] for k in loop.carried if k < len(loop.args)]
        state += [self._names[array] for array in loop.arrays]
        state += [self._memory(cell) for cell in loop.cells]
        logged = [loop.entries[k - len(loop.args)].loop for k in loop.carried if k >= len(loop.args)]
        state += [f"entries of {self._op(one)}" for one in logged]
        yield f"{indent}  state: {', '.join(state) or 'none'}"
        if loop.frozen:
            yield f"{indent}  copied once: {self._values(loop.frozen)}"
        for inner in loop.nested:
            yield from self._checkpointed(inner, f"{indent}  ")

    def _memory(self, part: Cell | Slab) -> str:
        if isinstance(part, Cell):
            indices = self._values(part.indices)
        else:
            indices = ", ".join(":" if window is None else self._window(window) for window in part.fixed)
        return f"{symbol(part.place.name)}[{indices}]"

    def _window(self, window: Window) -> str:
        base = self._names[window.base] if window.factor == 1 else f"{self._names[window.base]} * {window.factor}"
        more = str(window.lo) if window.count == 1 else f"[{window.lo}, {window.hi}]"
        return f"{base} + {more}" if (window.lo, window.hi) != (0, 0) else base

    # ---- values and ops

    def _values(self, values: Iterable[Value]) -> str:
        return ", ".join(self._names[v] for v in values)

    def _op(self, op: Op) -> str:
        """An op by its results, and a `for` by its index."""
        name = f"for {self._names[op.regions[0].args[0]]}" if op.opdef is FOR else op.name
        return f"{self._values(op.results)} = {name}" if op.results else name

    def _recomputed(self, op: Op) -> str:
        return self._names[self._plan.saves.trips[op]] if op.opdef is FOR else self._op(op)

    def _counted(self, one: Counted) -> str:
        if isinstance(one, Op):
            return self._op(one)
        op = self._sides[one]
        return f"side {op.regions.index(one)} of {self._op(op)}"

    def _saved(self, one: Saved) -> str:
        branch = f" in branches {one.inside}" if one.inside else ""
        return f"{self._names[one.value]} : {one.value.type}{branch}"
