"""Parallel tasks whose threads are kept apart, so that what they add to one element needs no atomics, as LLVM assembly.

The plan of `adstack.analysis.accumulation` names the updates. A *tiled* task runs in blocks of rows (`tiles.py`), the
threads of a *private* task update copies of their own (`copies.py`). Both run a task as the pool does, with a context
of their own, behind which stand words for the functions that the pool calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.exclusivity import by_place, may_overlap
from adstack.analysis.manager import Analyses
from adstack.backends.codegen_llvm.tasks import Emitted
from adstack.backends.codegen_llvm.text.writer import Writer
from adstack.ir.structure import Op, Place, Region, Task

from .grain import grain
from .threads.words import WORDS

__all__ = ["APART", "Share", "is_shared", "updates_of"]

APART, STEP, TOTAL, EVERY, PHASE, COPIES, BYTES, _WORDS = range(8)
"""Words behind a context: whether updates may be plain; of tiles the iterations of a block, those of the loop, how far
apart the blocks of a phase are, and which is the first; of copies how many threads have any (TOTAL), where they are,
and the bytes of one thread's."""


def is_shared(task: Task) -> bool:
    """Whether a task has updates that are tiled or private."""
    return bool(updates_of(task, "tiled") or updates_of(task, "private"))


def updates_of(task: Task, way: str) -> list[Op]:
    """The updates of a task that are added up in a way."""
    return [op for op in task.body.walk() if op.attrs.get("sums") == way]


class Share:
    """Writes the functions of one task.

    Args:
        number: of the task.
        task: planned.
        emitted: the code of the program.
        w: where to; shared by the tasks of a program.
        analyses: facts about the program's regions.
    """

    def __init__(self, number: int, task: Task, emitted: Emitted, w: Writer, analyses: Analyses) -> None:
        self.task, self.context, self.symbol = task, emitted.context, emitted.symbols[number]
        self.grain = grain(task, emitted.lanes[number])
        self.body: Region = task.body.ops[-2].regions[0]
        self.analyses = analyses
        self.w = w
        self.definitions: list[str] = []

    def functions(self) -> list[str]:
        """All functions; what they call is declared by the writer."""
        own = self.own_context()
        self.share(own)
        head = f'define internal i32 @"{self.symbol}.share"(ptr %ctx, ptr %parallel, i64 %total, i64 %seats) #0'
        self.define(head)
        return self.definitions

    def share(self, own: str) -> None:
        """Write the body of `share`, which hands the task out to threads: what the subclass is for."""
        raise NotImplementedError

    # ---- pieces of code

    def define(self, head: str) -> None:
        """End a function, whose lines have been written."""
        self.definitions.append("\n".join([f"{head} {{", "entry:", *self.w.lines, "}"]))
        self.w.lines = []

    def own_context(self) -> str:
        """A copy of the context, with words behind it."""
        w, size = self.w, self.context.size
        own = w.let(f"alloca [{size + _WORDS} x i64], align 64")
        operands = [("ptr", own), ("ptr", "%ctx"), ("i64", str(8 * size)), ("i1", "false")]
        w.effect("llvm.memcpy.p0.p0.i64", operands)
        return own

    def at(self, context: str, slot: int) -> str:
        """The address of a slot of a context."""
        return self.w.let(f"getelementptr i64, ptr {context}, i64 {slot}")

    def put(self, own: str, word: int, value: str) -> None:
        """Store an i64 to one of the words behind the own context, by its number there."""
        self.w.do(f"store i64 {value}, ptr {self.at(own, self.context.size + word)}, align 8")

    def take(self, own: str, word: int, ty: str = "i64") -> str:
        """Load one of the words behind the own context, by its number there."""
        return self.w.let(f"load {ty}, ptr {self.at(own, self.context.size + word)}, align 8")

    def split(self, condition: str, yes: str, no: str) -> None:
        """Branch to one of two blocks."""
        self.w.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def call(self, function: str, own: str, total: str, least: str, seats: str) -> str:
        """Have the pool run a function for each piece of work; gives what `%parallel` returns, an i32."""
        return self.w.let(f'call i32 %parallel(ptr @"{function}", ptr {own}, i64 {total}, i64 {least}, i64 {seats})')

    def i64(self, word: str, a: str | int, b: str | int) -> str:
        """Arithmetic on two i64."""
        return self.w.let(f"{word} i64 {a}, {b}")

    def is_zero(self, pointer: str) -> str:
        """Whether a word in memory is 0."""
        word = self.w.let(f"load i64, ptr {pointer}, align 8")
        return self.w.let(f"icmp eq i64 {word}, 0")

    def most(self, word: str, a: str, b: str) -> str:
        """The larger (`smax`) or smaller (`smin`) of two i64."""
        return self.w.intrinsic(f"llvm.{word}.i64", "i64", [("i64", a), ("i64", b)])

    def elements(self, place: Place) -> str:
        """How many elements a place has."""
        total = "1"
        for axis, extent in enumerate(place.shape):
            length = str(extent) if extent is not None else self._load(self.context.extents[place.name, axis], "i64")
            total = self.w.let(f"mul i64 {total}, {length}")
        return total

    def pointer(self, place: Place) -> str:
        """The address of a place's first element."""
        return self._load(self.context.pointers[place.name], "ptr")

    def _load(self, slot: int, ty: str) -> str:
        return self.w.let(f"load {ty}, ptr {self.at('%ctx', slot)}, align 8")

    def workers(self) -> str:
        """How many threads there are beside this one."""
        stop = self._load(self.context.own["stop"], "ptr")
        word = self.w.let(f"getelementptr i64, ptr {stop}, i64 {WORDS['workers'] - WORDS['stop']}")
        return self.w.let(f"load atomic i64, ptr {word} acquire, align 8")

    def apart(self, places: Sequence[Place]) -> str:
        """Whether the memory of these places overlaps no other memory that the loop touches."""
        touched = [ops[0].attrs["place"] for ops in self.analyses.get(by_place, self.body).values()]
        pairs = {frozenset((a, b)): (a, b) for a in places for b in touched if may_overlap(a, b)}
        apart = "true"
        for a, b in pairs.values():
            (first, end), (start, last) = self._span(a), self._span(b)
            before, behind = self.w.let(f"icmp ule i64 {end}, {start}"), self.w.let(f"icmp uge i64 {first}, {last}")
            either = self.w.let(f"or i1 {before}, {behind}")
            apart = self.w.let(f"and i1 {apart}, {either}")
        return apart

    def _span(self, place: Place) -> tuple[str, str]:
        start = self.w.let(f"ptrtoint ptr {self.pointer(place)} to i64")
        size = self.w.let(f"mul i64 {self.elements(place)}, {place.dtype.size}")
        return start, self.w.let(f"add i64 {start}, {size}")
