"""Private tasks: every thread but the first updates copies of its own, which are combined with memory afterwards.

A thread sees its copies through a context of its own, with other pointers in it, so that the task has one code. Copies
are not made where they are not worth it, or arrays overlap: then updates are atomic. They are combined with memory one
thread after another.
"""

from __future__ import annotations

from typing import Final

from adstack.analysis.manager import Analyses
from adstack.backends.codegen_llvm.memory.one_lane import identity
from adstack.backends.codegen_llvm.tasks import Emitted
from adstack.backends.codegen_llvm.text.scalar_ops import emit
from adstack.backends.codegen_llvm.text.writer import Writer, scalar_type
from adstack.ir.ops import SERIAL_LOOPS, TABLE
from adstack.ir.structure import Place, Region, Task

from .sharing import APART, BYTES, COPIES, TOTAL, Share, updates_of

__all__ = ["Copies"]

_LINE: Final = 64
"""Bytes of a vector, and of a line of the cache: copies are multiples of it."""
_MOST_COPIED: Final = 1 << 28
"""Bytes that copies may take."""
_WORTH: Final = 4
"""Elements of copies that may be filled and combined for each update that need not be atomic."""
_INNER_TRIPS: Final = 16
"""Iterations of a loop inside that are assumed."""
_MERGED_LINES: Final = 1024
"""Lines that are combined at a time, at least: some microseconds."""


class Copies(Share):
    """A task whose threads update copies."""

    def __init__(self, number: int, task: Task, emitted: Emitted, w: Writer, analyses: Analyses) -> None:
        super().__init__(number, task, emitted, w, analyses)
        self.kinds: dict[Place, str] = {}
        for op in updates_of(task, "private"):
            self.kinds[op.attrs["place"]] = op.attrs["kind"]

    def functions(self) -> list[str]:
        """See `Share.functions`."""
        self._fill()
        self._seated()
        for k, place in enumerate(self.kinds):
            self._merge(k, place)
        return super().functions()

    def bytes(self, place: Place) -> str:
        """The bytes of a copy of a place, rounded up to whole lines of the cache."""
        size = self.i64("mul", self.elements(place), place.dtype.size)
        return self.i64("and", self.i64("add", size, _LINE - 1), -_LINE)

    def share(self, own: str) -> None:
        """See `Share.share`."""
        w = self.w
        self.put(own, APART, "0")
        self.split(self.apart(list(self.kinds)), "alike", "shared")
        w.label("alike")
        others = self.most("smin", self.workers(), w.let("sub i64 %seats, 1"))
        size = "0"
        for place in self.kinds:
            size = w.let(f"add i64 {size}, {self.bytes(place)}")
        all_bytes = w.let(f"mul i64 {size}, {others}")
        self._single(own, others)
        bounded = self.most("smin", "%total", str(1 << 40))
        least = min(place.dtype.size for place in self.kinds)
        worth = w.let(f"mul i64 {bounded}, {_WORTH * least * _updates_of(self.body, 'private')}")
        fits, small = w.let(f"icmp ule i64 {all_bytes}, {worth}"), w.let(f"icmp ule i64 {all_bytes}, {_MOST_COPIED}")
        self.split(w.let(f"and i1 {fits}, {small}"), "take", "shared")
        w.label("take")
        self._copied(own, others, size, all_bytes)
        w.label("shared")
        w.do(f"ret i32 {self.call(self.symbol, own, '%total', str(self.grain), '%seats')}")

    def _single(self, own: str, others: str) -> None:
        """One thread, or a short loop: it updates the memory itself."""
        w = self.w
        few = w.let(f"icmp sle i64 %total, {max(self.grain, 0)}")
        nobody = w.let(f"icmp sle i64 {others}, 0")
        self.split(w.let(f"or i1 {few}, {nobody}"), "single", "several")
        w.label("single")
        self.put(own, APART, "1")
        w.do(f"ret i32 {self.call(self.symbol, own, '%total', str(self.grain), '1')}")
        w.label("several")

    def _copied(self, own: str, others: str, size: str, all_bytes: str) -> None:
        """Run with copies: a line for each thread that says whether it has filled them, then the copies."""
        w = self.w
        flags = w.let(f"mul i64 {others}, {_LINE}")
        wanted = self.i64("add", self.i64("add", all_bytes, flags), _LINE)
        w.declare("malloc", "declare noalias ptr @malloc(i64)")
        w.declare("free", "declare void @free(ptr)")
        memory = w.let(f"call ptr @malloc(i64 {wanted})")
        self.split(w.let(f"icmp eq ptr {memory}, null"), "shared", "run")
        w.label("run")
        address = self.i64("add", w.let(f"ptrtoint ptr {memory} to i64"), _LINE - 1)
        copies = w.let(f"inttoptr i64 {self.i64('and', address, -_LINE)} to ptr")
        w.effect("llvm.memset.p0.i64", [("ptr", copies), ("i8", "0"), ("i64", flags), ("i1", "false")])
        self.put(own, APART, "1")
        self.put(own, TOTAL, others)
        self.put(own, COPIES, w.let(f"ptrtoint ptr {copies} to i64"))
        self.put(own, BYTES, size)
        status = self.call(f"{self.symbol}.seated", own, "%total", str(self.grain), w.let(f"add i64 {others}, 1"))
        self.split(w.let(f"icmp eq i32 {status}, 0"), "merge", "over")
        w.label("merge")
        for k, place in enumerate(self.kinds):
            lines = w.let(f"udiv i64 {self.bytes(place)}, {_LINE}")
            self.call(f"{self.symbol}.merge{k}", own, lines, str(_MERGED_LINES), str(1 << 62))
        w.do("br label %over")
        w.label("over")
        w.do(f"call void @free(ptr {memory})")
        w.do(f"ret i32 {status}")

    def _copies_of(self, seat: str) -> tuple[str, str]:
        """Pointers to the flag of a thread, counted from 0 without the first, and to its copies."""
        w, copies = self.w, self.take("%ctx", COPIES, "ptr")
        flag = w.let(f"getelementptr i8, ptr {copies}, i64 {self.i64('mul', seat, _LINE)}")
        behind = self.i64("mul", self.take("%ctx", TOTAL), _LINE)
        offset = self.i64("add", behind, self.i64("mul", seat, self.take("%ctx", BYTES)))
        return flag, w.let(f"getelementptr i8, ptr {copies}, i64 {offset}")

    def _seated(self) -> None:
        """`taskN.seated(ctx, begin, end, seat)` runs iterations on the copies of a thread; the first has none."""
        w = self.w
        self.split(w.let("icmp eq i64 %seat, 0"), "first", "other")
        w.label("first")
        w.do(f"call void @{self.symbol}(ptr %ctx, i64 %begin, i64 %end, i64 %seat)")
        w.do("ret void")
        w.label("other")
        flag, copy = self._copies_of(w.let("sub i64 %seat, 1"))
        self.split(self.is_zero(flag), "fill", "filled")
        w.label("fill")
        w.do(f'call void @"{self.symbol}.fill"(ptr %ctx, ptr {copy})')
        w.do(f"store i64 1, ptr {flag}, align 8")
        w.do("br label %filled")
        w.label("filled")
        own = self.own_context()
        self.put(own, APART, "1")
        for place in self.kinds:
            w.do(f"store ptr {copy}, ptr {self.at(own, self.context.pointers[place.name])}, align 8")
            copy = w.let(f"getelementptr i8, ptr {copy}, i64 {self.bytes(place)}")
        w.do(f"call void @{self.symbol}(ptr {own}, i64 %begin, i64 %end, i64 %seat)")
        w.do("ret void")
        self.define(f'define internal void @"{self.symbol}.seated"(ptr %ctx, i64 %begin, i64 %end, i64 %seat) #0')

    def _fill(self) -> None:
        """`taskN.fill(ctx, copy)` sets copies to what changes nothing."""
        w, copy, before = self.w, "%copy", "entry"
        for k, (place, kind) in enumerate(self.kinds.items()):
            vector, neutral = _vector(place), identity(kind, place.dtype)
            size = self.bytes(place)
            w.do(f"br label %head{k}")
            w.label(f"head{k}")
            w.do(f"%at{k} = phi i64 [ 0, %{before} ], [ %next{k}, %line{k} ]")
            self.split(w.let(f"icmp ult i64 %at{k}, {size}"), f"line{k}", f"done{k}")
            w.label(f"line{k}")
            pointer = w.let(f"getelementptr i8, ptr {copy}, i64 %at{k}")
            w.do(f"store {vector} splat ({scalar_type(place.dtype)} {neutral}), ptr {pointer}, align {_LINE}")
            w.do(f"%next{k} = add i64 %at{k}, {_LINE}")
            w.do(f"br label %head{k}")
            w.label(f"done{k}")
            copy, before = w.let(f"getelementptr i8, ptr {copy}, i64 {size}"), f"done{k}"
        w.do("ret void")
        self.define(f'define internal void @"{self.symbol}.fill"(ptr %ctx, ptr %copy) #0')

    def _merge(self, number: int, place: Place) -> None:
        """`taskN.mergeK(ctx, begin, end, seat)` combines lines of a place with its copies, thread by thread."""
        w, size = self.w, place.dtype.size
        target, count = self.pointer(place), self.elements(place)
        full_lines = self.most("smin", "%end", self.i64("udiv", self.i64("mul", count, size), _LINE))
        offset = "0"
        for other in list(self.kinds)[:number]:
            offset = w.let(f"add i64 {offset}, {self.bytes(other)}")
        per_line = _LINE // size
        stop = self.most("smin", w.let(f"mul i64 %end, {per_line}"), count)
        others = self.take("%ctx", TOTAL)
        w.do("br label %threads")
        w.label("threads")
        w.do("%thread = phi i64 [ 0, %entry ], [ %following, %after ]")
        self.split(w.let(f"icmp slt i64 %thread, {others}"), "look", "done")
        w.label("look")
        flag, first = self._copies_of("%thread")
        copy = w.let(f"getelementptr i8, ptr {first}, i64 {offset}")
        self.split(self.is_zero(flag), "after", "lines")
        self._combine("line", place, per_line, ("%begin", "lines", full_lines), (target, copy), "rest")
        w.label("rest")
        start = w.let(f"mul i64 {self.most('smax', full_lines, '%begin')}, {per_line}")
        w.do("br label %ones")
        self._combine("one", place, 1, (start, "rest", stop), (target, copy), "after")
        w.label("after")
        w.do("%following = add i64 %thread, 1")
        w.do("br label %threads")
        w.label("done")
        w.do("ret void")
        self.define(
            f'define internal void @"{self.symbol}.merge{number}"(ptr %ctx, i64 %begin, i64 %end, i64 %seat) #0'
        )

    def _combine(
        self, word: str, place: Place, lanes: int, over: tuple[str, str, str], pointers: tuple[str, str], after: str
    ) -> None:
        """A loop that combines memory with a copy, so many elements at a time; the block `words` is its head."""
        w, dtype = self.w, place.dtype
        start, before, stop = over
        ty = scalar_type(dtype) if lanes == 1 else _vector(place)
        if before == f"{word}s":
            before = "look"
        w.label(f"{word}s")
        w.do(f"%{word}.at = phi i64 [ {start}, %{before} ], [ %{word}.next, %{word} ]")
        self.split(w.let(f"icmp slt i64 %{word}.at, {stop}"), word, after)
        w.label(word)
        target, copy = (w.let(f"getelementptr {ty}, ptr {p}, i64 %{word}.at") for p in pointers)
        a, b = (w.let(f"load {ty}, ptr {p}, align {dtype.size}") for p in (target, copy))
        total = emit(w, lanes, TABLE[self.kinds[place]], dtype, (dtype, dtype), (a, b))
        w.do(f"store {ty} {total}, ptr {target}, align {dtype.size}")
        w.do(f"%{word}.next = add i64 %{word}.at, 1")
        w.do(f"br label %{word}s")


def _vector(place: Place) -> str:
    """A line of elements."""
    return f"<{_LINE // place.dtype.size} x {scalar_type(place.dtype)}>"


def _updates_of(region: Region, way: str) -> int:
    """How many updates an iteration has, about."""
    total = 0
    for op in region.ops:
        if op.regions:
            trips = _INNER_TRIPS if op.opdef in SERIAL_LOOPS else 1
            total += trips * sum(_updates_of(inner, way) for inner in op.regions)
        total += op.attrs.get("sums") == way
    return total
