"""What a running program reported: errors raised from a record, lines printed."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.errors import (
    AdstackAssertionError,
    AdstackError,
    AdstackMemoryError,
    AdstackOutOfBoundsError,
    AdstackOverflowError,
    AdstackRuntimeError,
    AdstackStaleBoundError,
    SourceSpan,
)
from adstack.ir.location import Loc
from adstack.ir.structure import Place
from adstack.ir.texts import Format, Part, local_array, parts_of
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.adstacks.layout import TaskHeap

from .sites import Site

__all__ = [
    "OVERFLOW",
    "PRINT_WORDS",
    "check_room",
    "failure",
    "number",
    "outgrown",
    "outgrown_in_graph",
    "overflow_error",
    "printed",
    "taken_prints",
    "taken_records",
    "written",
]

OVERFLOW: Final = 3
"""Words of the overflow record (see `overflow_error`); the record of failed checks stands behind it."""
PRINT_WORDS: Final = 1 << 17
"""What one launch may print where a device keeps it until the launch is over: arguments, and a word for each print."""

_SMALLER = "make the array smaller, lower ad_stack_size, or use fewer threads (cpu_max_num_threads)"
_WORD = (1 << 64) - 1


def number(bits: int, dtype: DType) -> np.generic:
    """A recorded argument of a type, given by its `bits`, a word of 64 with or without a sign, as a numpy scalar."""
    raw = struct.pack("<Q", bits & _WORD)[: dtype.size]
    scalar: np.generic = np.frombuffer(raw, dtype.numpy)[0]
    return scalar


def written(value: np.generic) -> str:
    """A number as Python prints it: a float `value` with as few digits as give it back in its own precision."""
    return repr(float(str(value))) if isinstance(value, np.floating) else str(value)


def formatted(value: np.generic, part: Part) -> str:
    """A number where a part of a text stands for one.

    A specification that says nothing about digits places the digits that tell the number apart in its own precision.
    """
    if not isinstance(part, Format):
        return written(value)
    shortest = part.keeps_digits and isinstance(value, np.floating)
    return format(float(str(value)) if shortest else value.item(), part.spec)


def filled(parts: Iterable[Part], values: Iterable[np.generic]) -> str:
    """A text of parts, in which each that is no string stands for the next of the values."""
    numbers = iter(values)
    return "".join(part if isinstance(part, str) else formatted(next(numbers), part) for part in parts)


def listed(numbers: Iterable[object]) -> str:
    """`(1, 2)`: numbers as an index is written."""
    return "(" + ", ".join(map(str, numbers)) + ")"


def printed(site: Site, bits: Sequence[int]) -> str:
    """The text of a `print`: of a site, and the bits of its arguments."""
    return filled(site.parts, (number(b, t) for b, t in zip(bits, site.types, strict=False)))


def taken_records(words: npt.NDArray[np.uint64]) -> tuple[list[int], list[int]] | None:
    """The overflow record and the record of failed checks in these words of 64 bits, which are then clear.

    None if neither reports anything. The first word of each is 0 where it does not.
    """
    overflow, record = words[:OVERFLOW].tolist(), words[OVERFLOW:].tolist()
    if not overflow[0] and not record[0]:
        return None
    words[:] = 0
    return overflow, record


def failure(sites: Sequence[Site], record: Sequence[int], extents: dict[str, tuple[int, ...]]) -> AdstackError:
    """The error that a record stands for.

    Args:
        sites: what may be reported.
        record: a flag, the number of a site, the indices of the iteration, and arguments, each a word of 64 bits.
        extents: place name -> extents, in the launch.
    """
    site = sites[record[1]]
    words = zip(record[2:], (*site.indices, *site.types), strict=False)
    numbers = [number(bits, dtype) for bits, dtype in words]
    point, values = numbers[: len(site.indices)], numbers[len(site.indices) :]
    where = f", in iteration {listed(point)}" if point else ""
    loc = site.loc if site.loc.line else None
    if site.kind == "bounds":
        assert site.place is not None
        index, limits_read = values[: site.place.rank], values[site.place.rank :]
        limits: Sequence[object] = limits_read or _extents(site.place, extents)
        return _bounds(site.place.called, index, limits, loc, where)
    if site.kind == "local":
        length, _, name = site.message.partition(" ")
        return _bounds(local_array(name), values, (int(length),), loc, where)
    if site.kind == "memory":
        return AdstackMemoryError(f"no memory for the local arrays or stacks of a kernel{where}", loc=loc, do=_SMALLER)
    if site.kind == "slots":
        return AdstackMemoryError(
            f"an adstack of {site.task} wants {values[0]} slots, and a thread has room for {site.message}{where}",
            loc=loc,
            do="use arch=cpu, or give the stack a capacity that does not depend on what the thread has computed",
        )
    if site.kind == "loops":
        return AdstackRuntimeError(
            f"the driver ended a loop in {site.task} too early: it lets a thread make so many turns and no more{where}",
            loc=loc,
            do="use a newer driver (Mesa 25's llvmpipe has no such limit), another device or arch, or shorter loops",
        )
    text = filled(parts_of(site.message), values) if site.kind == "assert" else site.message
    return AdstackAssertionError(text + where, loc=loc)


def overflow_error(sites: Sequence[Site], record: Sequence[int]) -> AdstackOverflowError:
    """The error that an overflow record (site + 1, capacity, depth), whose site is one of `sites`, stands for."""
    site, (_, capacity, wanted) = sites[record[0] - 1], record
    return AdstackOverflowError(
        f"Adstack overflow in {site.task}: a stack of capacity {capacity} was pushed {wanted} deep",
        loc=site.loc if site.loc.line else None,
        note=f"it keeps {site.message}" if site.message else "",
        do=f"give it room for {wanted}: raise ad_stack_size, or leave the depth to be computed",
    )


def _extents(place: Place, extents: dict[str, tuple[int, ...]]) -> Sequence[int]:
    """The extents of a place: as compiled, if these are constants, else those of the last launch."""
    fixed = [extent for extent in place.shape if extent is not None]
    return fixed if len(fixed) == place.rank else extents[place.name]


def _bounds(what: str, index: Sequence[object], extents: Sequence[object], loc: Loc | None, where: str) -> AdstackError:
    return AdstackOutOfBoundsError(
        f"Accessing {what} at {listed(index)}, outside its extents {listed(extents)}{where}",
        loc=loc,
        do="keep every index at 0 or above and below the extent of its axis",
    )


def check_room(kernel: str, use: TaskUse, heap: TaskHeap, capacities: Sequence[int], lanes: int) -> None:
    """Raise AdstackStaleBoundError if the adstacks of a task in a graph are too small now.

    Args:
        kernel: what was captured.
        use: the room they had then.
        heap: what they are.
        capacities: how deep each group must be now.
        lanes: how many iterations keep values at once now.
    """
    for group, wanted, room in zip(heap.groups, capacities, use.capacities, strict=True):
        if wanted > room:
            stack = group.stacks[0]
            what = f"{wanted} values of {stack.result.name or 'a loop'} have to be kept"
            raise outgrown(kernel, use.task, what, room, stack.loc)
    if use.blocks == use.wanted < lanes:
        loc = heap.groups[0].stacks[0].loc
        raise outgrown(kernel, use.task, f"{lanes} iterations keep values at once", use.blocks, loc)


def outgrown(kernel: str, task: str, what: str, room: int, loc: SourceSpan | None) -> AdstackStaleBoundError:
    """The error for a graph whose adstacks are too small now.

    Args:
        kernel: its name.
        task: the name of the task whose adstacks they are.
        what: what the task needs, in words.
        room: how much there was room for.
        loc: where in the program; None if that is not known.
    """
    return AdstackStaleBoundError(
        f"{kernel}, in a graph: a loop bound has grown since the graph was captured: in {task} {what}, "
        f"and there was room for {room}",
        loc=loc if loc is not None and loc.line else None,
        do="capture the graph again: renew() it, or record it anew",
    )


def outgrown_in_graph(
    kernel: str, sites: Sequence[Site], uses: Iterable[TaskUse], overflow: Sequence[int], record: Sequence[int]
) -> AdstackStaleBoundError:
    """The error for adstacks that were too small in a launch of a graph.

    Args:
        kernel: its name.
        sites: what it may report.
        uses: the room that its adstacks had.
        overflow: the record of overflows.
        record: the record of failed checks, of which only one about claims may be there.
    """
    if record[0]:
        site = sites[record[1]]
        room = next(use.blocks for use in uses if use.task == site.task)
        return outgrown(kernel, site.task, "more iterations keep values at once", room, site.loc)
    site = sites[overflow[0] - 1]
    return outgrown(kernel, site.task, f"{overflow[2]} values have to be kept", overflow[1], site.loc)


def taken_prints(name: str, sites: Sequence[Site], words: npt.NDArray[np.uint64]) -> str:
    """What a launch that is over has printed, in the order in which it came; the record is empty then.

    Args:
        name: of the program.
        sites: of the program.
        words: how many words are taken, how many there may be, and these: of each print its site and its arguments.

    Raises:
        AdstackRuntimeError: the launch printed more than there is room for.
    """
    taken, room = int(words[0]), int(words[1])
    words[0] = 0
    if taken > room:
        raise AdstackRuntimeError(
            f"{name} printed more than fits: {8 * taken} bytes of numbers in one launch, with room for {8 * room}",
            do="print from fewer iterations",
        )
    numbers, texts, at = words[2 : 2 + taken].tolist(), list[str](), 0
    while at < len(numbers):
        site = sites[numbers[at]]
        end = at + 1 + len(site.types)
        texts.append(printed(site, numbers[at + 1 : end]))
        at = end
    return "".join(texts)
