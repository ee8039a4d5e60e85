"""The hooks by which code for one machine differs from that for others. `Target` is the host; others override it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from adstack.analysis.teams import Team
    from adstack.ir.structure import Op, Task
    from adstack.ir.types import DType

    from ..text.writer import Writer
    from .heap_table import Words
    from .teams import ThreadBlocks
    from .values import FunctionWriter

__all__ = ["HOST", "Target"]


class Target:
    """The host: a task is a function, called by the threads of a pool, each with a seat of its own; it prints by
    calling back.

    Attributes:
        head: of every module: target triple and the like.
        counts: whether a parallel task comes with a function that counts its iterations.
        array_bytes: what local arrays may take of a thread's stack.
        space: the address space of a function's frame; 0 where all memory is in one.
        unoptimised: whether cold paths are compiled as they are, which takes less time.
        frames: whether memory of a size known when compiling is better taken from the frame than from the C heap.
        allocators: what declares the functions of the C heap.
        scope: of atomic operations.
        invariant_loads: whether loads are marked whose memory does not change while a task runs (`invariant.load`).
        shares: whether the threads of a task are kept apart where a plan asks for it, by blocks of rows or by copies.
            `%apart` (i1) says whether they are in a launch; it is read from the word behind the context.
        together: how many threads run side by side and can combine what they add to one element; 0 if none do.
        loop_versions: whether innermost loops of one lane have a fast version in front of the full one.
        float_adds: float types to which memory adds by itself -> the least magnitude with which it does so to the bit,
            whatever is there; 0 where it always does.
        adds_pairs: whether one instruction adds two f32 to neighbours in memory, as it does one.
    """

    head: str = ""
    counts: bool = True
    array_bytes: int = 128 * 1024
    space: int = 0
    unoptimised: bool = True
    frames: bool = False
    allocators: Mapping[str, str] = MappingProxyType(
        {
            "malloc": "declare noalias ptr @malloc(i64)",
            "calloc": "declare noalias ptr @calloc(i64, i64)",
            "free": "declare void @free(ptr)",
        }
    )
    scope: str = ""
    invariant_loads: bool = False
    shares: bool = True
    loop_versions: bool = False
    float_adds: Mapping[str, float] = MappingProxyType({})
    adds_pairs: bool = False

    def serial(self, symbol: str) -> str:
        """The head of a serial task's function, up to its attributes."""
        return f"define void @{symbol}(ptr noalias %ctx)"

    def parallel(self, symbol: str) -> str:
        """The head of a parallel task's function, up to its attributes."""
        return f"define void @{symbol}(ptr noalias %ctx, i64 %begin, i64 %end, i64 %seat)"

    def span(self, w: Writer, total: Callable[[], str]) -> tuple[str, str, str]:
        """Which iterations a thread runs, one by one: the first, where they end, the step. `total` counts all."""
        return "%begin", "%end", "1"

    def team(self, task: Task) -> Team | None:
        """The blocks of threads that the iterations of a task are, if the machine runs their threads side by side."""
        return None

    def thread_blocks(self, team: Team) -> ThreadBlocks:
        """How the machine runs the blocks of threads of a task that has some."""
        raise NotImplementedError

    def begin(self, e: FunctionWriter) -> None:
        """Emit what comes first in a task."""

    def own(self, name: str, slot: int, size: int) -> list[str]:
        """Read one of the runtime's own slots, of a context of this size, into `%name`."""
        ty = "i64" if name in ("seed", "launch") else "ptr"
        at = f"  %{name}.at = getelementptr i64, ptr %ctx, i64 {slot}"
        return [at, f"  %{name} = load {ty}, ptr %{name}.at, align 8"]

    def address(self, w: Writer, at: str) -> str:
        """Load the address of memory, as the host handed it over."""
        return w.let(f"load ptr, ptr {at}, align 8")

    def block(self, e: FunctionWriter, size: str, *, parallel: bool) -> str:
        """Where the adstacks of this thread and of those that share its rows are: a pointer. `size`: bytes of a block.

        `%heap` points to the heap's address.
        """
        address = e.w.let("load ptr, ptr %heap, align 8")
        if not parallel:
            return address
        return e.w.let(f"getelementptr i8, ptr {address}, i64 {e.w.let(f'mul i64 %seat, {size}')}")

    def claim(self, e: FunctionWriter, op: Op, words: Words) -> None:
        """Claim rows of adstacks for the iteration, if it needs any; on the host every lane has rows of its own."""

    def row(self, e: FunctionWriter) -> tuple[str, str]:
        """How many lanes stand side by side in a row of adstacks, and which is this thread's first: two i64."""
        return str(e.lanes), "0"

    def gathered(self, e: FunctionWriter, kind: str, dtype: DType, value: str) -> tuple[str, str]:
        """Combine what threads that run together have gathered: the value, and whether this thread speaks for all
        (an i1, or "" if every thread speaks for itself).
        """
        return value, ""

    def divide(self, e: FunctionWriter, dtype: DType, a: str, b: str) -> str | None:
        """The quotient of two floats of one lane, if that is better not left to LLVM."""
        return None

    @property
    def together(self) -> int:
        """How many threads run side by side in lockstep (a warp); 0 where no thread can count on others."""
        return 0

    def agree(self, e: FunctionWriter, words: Sequence[str], condition: str) -> str:
        """Whether all threads that run side by side are here, each with the same words (i32), and each with a condition
        (i1) that holds: an i1.
        """
        raise NotImplementedError

    def totals(self, e: FunctionWriter, kind: str, dtype: DType, values: Sequence[str]) -> Sequence[str]:
        """Several values of each thread, each combined over all that run side by side, where all of them are here."""
        raise NotImplementedError

    def peers(self, e: FunctionWriter, kind: str, dtype: DType, pointer: str, value: str) -> tuple[str, str]:
        """The values of those threads that are here with the same pointer, combined; whether this one has them (i1)."""
        raise NotImplementedError

    def parting(self, e: FunctionWriter) -> Callable[[], None]:
        """Threads that run side by side may part from here on; gives what emits that those who are here meet again.

        What they compute does not depend on it, but those that have not met combine nothing.
        """
        return lambda: None

    def lane(self, e: FunctionWriter) -> str:
        """The number of this thread among those that run side by side (i32)."""
        raise NotImplementedError

    def reduce(self, e: FunctionWriter, word: str, pointer: str, dtype: DType, value: str) -> bool:
        """Emit `atomicrmw` of that word without a result, as one instruction; False if the machine has none."""
        return False

    def add_pair(self, e: FunctionWriter, pointer: str, values: Sequence[str]) -> None:
        """Add two f32 to memory, atomically each, where `adds_pairs` says so: at a pointer of twice their alignment."""
        raise NotImplementedError

    def print(self, e: FunctionWriter, site: int, words: str, count: int) -> None:
        """Hand over a text: the number of its site, and where its arguments are."""
        e.w.do(f"call void %print(i64 {site}, ptr {words})")


HOST: Final = Target()
