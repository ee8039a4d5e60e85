"""From a call in Python straight to machine code: builtins that check the arguments and run the kernel.

One function of machine code (`native_ir`) serves all kernels; what differs stands in a record that it reads.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np

from adstack.backends.shared.jit import runtime_library
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache
from adstack.errors import AdstackRuntimeError
from adstack.ir.structure import Program
from adstack.runtime.adstack_heap import HeapLimit
from adstack.runtime.guards import GUARD, invalidate
from adstack.runtime.memory import ADDRESS, CHANGED, EXTENTS, GENERATION, MARK, UNCHANGED, UNWATCHED, WRITTEN
from adstack.runtime.shortcuts import (
    RECORD_NAME,
    ArrayArgument,
    Before,
    HostArgument,
    NumberArgument,
    Shortcut,
    Still,
)
from adstack.runtime.stats import SIZINGS

from .ir import text
from .record import ARGUMENT, CONDITION, KINDS, MEMO, RECORD, RESULTS
from .symbols import python_symbols

__all__ = ["Context", "Entry", "alone", "make", "prepare", "repeat", "run"]

_METHOD_FLAGS: Final = 0x80 | 0x02
"""METH_FASTCALL and METH_KEYWORDS."""
_PAUSE_SECONDS: Final = 5e-5
_LAST_SECONDS: Final = 2.0
"""How long a process that exits waits for a launch of another thread."""
_TYPES: Final = {
    "address_name": id(RECORD_NAME),
    "int_type": id(int),
    "float_type": id(float),
    "int32_type": id(np.int32),
    "int64_type": id(np.int64),
    "float32_type": id(np.float32),
    "float64_type": id(np.float64),
    "none": id(None),
}
"""The words about objects of Python and numpy that are always there."""
Words = Any
Result = TypeVar("Result")


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Context(Protocol):
    """Which slot holds what, of any code generator's: see `adstack.backends.codegen_llvm.function.context`."""

    @property
    def pointers(self) -> Mapping[str, int]: ...

    @property
    def extents(self) -> Mapping[tuple[str, int], int]: ...

    @property
    def params(self) -> tuple[int, ...]: ...

    @property
    def own(self) -> Mapping[str, int]: ...


@dataclass(frozen=True)
class Entry:
    """A compiled program, as native code sees it.

    Attributes:
        program, context: what runs, and where its arguments stand.
        run: address of its entry.
        slots, errors, overflow, launches: addresses of the context, of the two reports, of the number of launches.
        results: place name -> address, of what it returns.
        long: whether it may run for long, so that other threads of Python should go on.
        failed: raises the error that was reported.
        goes_on: runs the rest of a launch that stopped for its heap.
        keep: what all these addresses point to.
        marks: place name -> slot of the address where launches note that they use its memory, if they do.
        depths: address of the word that says whose depths of adstacks stand: see `native_record`; 0 if it has none.
    """

    program: Program
    context: Context
    run: int
    slots: int
    errors: int
    overflow: int
    launches: int
    results: dict[str, int]
    long: bool
    failed: Callable[[], Any]
    goes_on: Callable[[int], Any]
    keep: tuple[Any, ...] = field(repr=False)
    marks: Mapping[str, int] = field(default_factory=dict)
    depths: int = 0


@cache
def _library() -> tuple[Any, _Method, Any]:
    """(machine code, how Python calls it, the function that makes a builtin of it)."""
    exported = ("adstack_call", "adstack_begin", "adstack_end", "adstack_run", "adstack_repeat")
    code = text()
    library = runtime_library(code, exported, ObjectCache(default_folder()), python_symbols(code))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_TURN.forget)
    atexit.register(_TURN.end)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))  # builtins may be called until the very end
    method = _Method(b"kernel", library["adstack_call"], _METHOD_FLAGS, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p]
    return library, method, new


def prepare() -> None:
    """Have the machine code that serves all kernels."""
    _entries()


class _Entries(NamedTuple):
    """What Python calls: take the word, give it back, run a program, run several."""

    begin: Callable[[int], int]
    end: Callable[[int], None]
    run: Callable[[int, int, int], int]
    repeat: Callable[[int, int, int, int], int]


@cache
def _entries() -> _Entries:
    library = _library()[0]
    word, number = ctypes.c_void_p, ctypes.c_int64
    return _Entries(
        ctypes.PYFUNCTYPE(number, word)(library["adstack_begin"]),
        ctypes.PYFUNCTYPE(None, word)(library["adstack_end"]),
        ctypes.PYFUNCTYPE(number, word, word, number)(library["adstack_run"]),
        ctypes.PYFUNCTYPE(number, word, number, number, word)(library["adstack_repeat"]),
    )


def run(entry: int, slots: int, from_: int = 0) -> int:
    """Run a program's entry without the interpreter's lock; what a signal handler raises meanwhile is raised here.

    Gives 0 at the end, or a number to go on with once the heap is ready: see `codegen`.
    """
    return _entries().run(entry, slots, from_)


def repeat(steps: int, from_: int, count: int, launches: int) -> int:
    """Launch what a table of `native_run.STEP` words describes, from one on; launches are counted at an address.

    Gives the first that stopped or reported something, or how many there are.
    """
    return _entries().repeat(steps, from_, count, launches)


class _Turn:
    """Who may launch: one thread at a time, in Python (the mutex) as in machine code (the word)."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.word = ctypes.c_int64(0)
        self.address = ctypes.addressof(self.word)
        self.ender = 0

    def forget(self) -> None:
        """In a forked child: whoever launched is not there, and every call asks Python whether it may launch."""
        self.mutex = threading.RLock()
        self.word.value = self.ender = 0
        invalidate()

    def end(self) -> None:
        """As the process exits: wait a moment for the thread that launches; from then on only this thread may.

        A launch that takes longer is not waited for: the process ends in the middle of it.
        """
        self.ender = threading.get_ident()
        last = time.monotonic() + _LAST_SECONDS
        while self.is_taken() and time.monotonic() < last:
            time.sleep(_PAUSE_SECONDS)

    def is_taken(self) -> bool:
        """Whether another thread launches; if not, the word is this thread's from now on."""
        return _entries().begin(self.address) not in (0, threading.get_ident())


_TURN: Final = _Turn()


def alone(work: Callable[[], Result]) -> Result:
    """Do work as the one thread that launches, after any other has finished."""
    me = threading.get_ident()
    if _TURN.ender and _TURN.ender != me:
        raise SystemExit  # which threads do not report: the process ends, and what this one would use goes with it
    if _TURN.ender and not _TURN.is_taken():
        return work()
    if _TURN.word.value == me:
        raise AdstackRuntimeError(
            "a kernel was launched while another one runs on the same thread",
            do="don't launch kernels in signal handlers, or in what prints for kernels",
        )
    begin, end, *_ = _entries()
    address = _TURN.address
    with _TURN.mutex:
        try:
            while begin(address):
                if _TURN.ender not in (0, me):
                    raise SystemExit
                time.sleep(_PAUSE_SECONDS)
            return work()
        finally:
            end(address)  # one step of machine code: no signal comes in between


def make(entry: Entry, shortcut: Shortcut) -> Callable[..., Any] | None:
    """A builtin for the calls that `shortcut` describes; None if machine code can't check or return what it should."""
    result = _result(entry, shortcut)
    tables = _arguments(entry, shortcut)
    if result is None or tables is None or not _complete(entry, shortcut):
        return None
    if not entry.context.pointers.keys() >= {name for pair in shortcut.distinct for name in pair}:
        return None  # where they are is not passed on, so that nobody could compare
    _fixed(entry, shortcut)
    arguments, keep = tables
    slots, pointers = entry.slots, entry.context.pointers
    changed = [buffer for name, buffer in shortcut.buffers.items() if name in shortcut.written]
    rows = {
        "written": _table([[_address(buffer.record()) + 8 * WRITTEN] for buffer in changed]),
        "attributes": _table([[one.owner, id(one.name), one.value] for one in shortcut.attributes]),
        "conditions": _table([_condition(one) for one in shortcut.conditions]),
        "distinct": _table([[slots + 8 * pointers[name] for name in pair] for pair in shortcut.distinct]),
        "memo": _memo(entry, shortcut),
        "arguments": arguments,
    }
    record = (ctypes.c_int64 * len(RECORD))()
    words = {
        **_program_words(entry),
        **_TYPES,
        **{name: _address(table) for name, table in rows.items()},
        "guard": ctypes.addressof(GUARD),
        "epoch": GUARD[0],
        "lock": _TURN.address,
        "count": len(shortcut.arguments),
        "attribute_count": len(shortcut.attributes),
        "written_count": len(changed),
        "condition_count": len(shortcut.conditions),
        "distinct_count": len(shortcut.distinct),
        "memo_count": len(rows["memo"]) // len(MEMO),
        "result_kind": result[0],
        "result": result[1],
        "sizings": ctypes.addressof(SIZINGS),
        "reductions": shortcut.reductions,
    }
    for name, value in words.items():
        record[RECORD[name]] = value
    if entry.depths and shortcut.sizes is not None:
        _remember(entry.depths, rows["memo"])
    _, method, new = _library()
    goes_on = entry.goes_on if shortcut.short is None else _or_short(entry.goes_on, shortcut.short, record)
    own = (_address(record), shortcut.otherwise, entry.failed, goes_on, (rows, keep, record, shortcut, entry))
    made: Callable[..., Any] = new(ctypes.byref(method), own, None)
    return made


def _fixed(entry: Entry, shortcut: Shortcut) -> None:
    """Tell the context of memory that is the same in every call."""
    for name, buffer in shortcut.buffers.items():
        for slots, word in ((entry.context.pointers, ADDRESS), (entry.marks, MARK)):
            if name in slots:
                ctypes.c_int64.from_address(entry.slots + 8 * slots[name]).value = buffer.record()[word]


def _program_words(entry: Entry) -> dict[str, int]:
    """The words about a program."""
    own = entry.context.own
    return {
        "run": entry.run,
        "ctx": entry.slots,
        "errors": entry.errors,
        "overflow": entry.overflow,
        "launches": entry.launches,
        "launch_slot": entry.slots + 8 * own["launch"],
        "release": int(entry.long),
        "depths": entry.depths,
        "sized_slot": entry.slots + 8 * own["sized"] if entry.depths else 0,
    }


def _or_short(
    goes_on: Callable[[int], Any], short: Callable[[HeapLimit, tuple[Any, ...]], None], record: Words
) -> Callable[[int], Any]:
    """Go on, or, where adstacks have no room, let others serve the call: with other launches, if need be."""

    def either(code: int) -> None:
        try:
            goes_on(code)
        except HeapLimit as reason:
            at = record[RECORD["given"]]
            given = tuple(ctypes.py_object.from_address(at + 8 * k).value for k in range(record[RECORD["count"]]))
            begin, end, *_ = _entries()
            end(_TURN.address)
            try:
                short(reason, given)
            finally:
                while begin(_TURN.address):  # whoever called has the word to the end
                    time.sleep(_PAUSE_SECONDS)

    return either


def _memo(entry: Entry, shortcut: Shortcut) -> Words:
    """What the depths of adstacks depend on."""
    if shortcut.sizes is None:
        return _table([[entry.launches, 0]])  # which is never what it was
    records = [_address(shortcut.buffers[name].record()) for name in shortcut.sizes]
    words = [record + 8 * word for record in records for word in (WRITTEN, GENERATION)]
    slots = (*entry.context.params, *entry.context.extents.values())
    words += [entry.slots + 8 * slot for slot in slots]
    return _table([[address, 0] for address in words])


def _remember(depths: int, memo: Words) -> None:
    """Take over the depths of the launch that Python has just made, if they stand."""
    word = ctypes.c_int64.from_address(depths)
    if word.value == 1:
        for row in range(len(memo) // len(MEMO)):
            at = row * len(MEMO)
            memo[at + MEMO["value"]] = ctypes.c_int64.from_address(memo[at + MEMO["address"]]).value
        word.value = _address(memo)


def _condition(one: Still | Before) -> list[int]:
    words = {"address": one.address, "other": 0, "value": 0}
    if isinstance(one, Still):
        words["value"] = one.value
    else:
        words["other"] = one.other
    return [words[name] for name in CONDITION]


def _complete(entry: Entry, shortcut: Shortcut) -> bool:
    """Whether every place has its memory."""
    arrays = [a for a in shortcut.arguments if isinstance(a, (ArrayArgument, HostArgument))]
    given = {a.place for a in arrays} | set(shortcut.buffers)
    given |= {a.beside for a in arrays if isinstance(a, ArrayArgument)}
    places = entry.program.places.values()
    return all(place.name in given for place in places if place.kind in ("field", "ndarray"))


def _result(entry: Entry, shortcut: Shortcut) -> tuple[int, int] | None:
    """(kind, address) of what a call gives."""
    names = entry.program.results
    if not names and not shortcut.returns:
        return RESULTS["none"], 0
    if len(names) != 1 or not shortcut.returns:
        return None
    kind = RESULTS.get(entry.program.places[names[0]].dtype.name)
    return None if kind is None else (kind, entry.results[names[0]])


def _arguments(entry: Entry, shortcut: Shortcut) -> tuple[Words, list[Words]] | None:
    """The arguments' words, and the tables that they point to."""
    keep: list[Words] = []
    rows, scalars = [], iter(entry.context.params)
    for argument in shortcut.arguments:
        words = dict.fromkeys(ARGUMENT, 0)
        if isinstance(argument, NumberArgument):
            number = _number(argument)
            if number is None:
                return None
            words["kind"], words["low"], words["high"] = number
            words["slot"] = entry.slots + 8 * next(scalars)
        elif isinstance(argument, (ArrayArgument, HostArgument)):
            words["kind"], words["low"], words["high"] = _array(argument)
            words |= _memory(entry, shortcut, argument.place, keep)
            beside = argument.beside if isinstance(argument, ArrayArgument) else ""
            if beside in entry.program.places:
                gradient = _table([[(words | _memory(entry, shortcut, beside, keep))[name] for name in ARGUMENT]])
                words["beside"] = _address(gradient)
                keep.append(gradient)
        else:
            words["kind"], words["low"] = KINDS["same"], argument.address
        rows.append([words[name] for name in ARGUMENT])
    return _table(rows), keep


def _memory(entry: Entry, shortcut: Shortcut, place: str, keep: list[Words]) -> dict[str, int]:
    """The words that say where the memory of a place is passed."""
    context, slot = entry.context, entry.context.pointers.get(place)
    axes = [(axis, slot) for (name, axis), slot in context.extents.items() if name == place]
    if place in entry.marks:
        axes.append((MARK - EXTENTS, entry.marks[place]))  # it stands in front of them
    extents, unused = _table([[axis, entry.slots + 8 * slot] for axis, slot in axes]), _table([])
    keep += [extents, unused]
    return {
        "slot": _address(unused) if slot is None else entry.slots + 8 * slot,
        "extents": _address(extents),
        "extent_count": len(axes),
        "written": int(place in shortcut.written),
        "histories": _histories(place, shortcut),
    }


def _histories(place: str, shortcut: Shortcut) -> int:
    """The states of a buffer's past in which Python need not know of the call, as bits."""
    states = {UNWATCHED, UNCHANGED, CHANGED}
    if place in shortcut.written:
        states &= {UNWATCHED}
    if place in shortcut.needed:
        states &= {UNCHANGED}
    return sum(1 << state for state in states)


def _number(argument: NumberArgument) -> tuple[int, int, int] | None:
    """(kind, low, high) of a number; None if machine code does not convert it."""
    dtype = argument.dtype
    if dtype.is_bool:
        return KINDS["bool"], id(False), id(True)
    if dtype.is_float:
        kind = KINDS.get(dtype.name)
        return None if kind is None else (kind, _double(argument.least), _double(argument.most))
    return KINDS["int"], int(argument.least), min(int(argument.most), 2**63 - 1)


def _array(argument: ArrayArgument | HostArgument) -> tuple[int, int, int]:
    """(kind, low, high) of an array."""
    if isinstance(argument, ArrayArgument):
        return KINDS["array"], id(argument.kind), argument.tag
    return KINDS["host"], id(argument.kind), ord(argument.format) | argument.rank << 16


def _double(value: float) -> int:
    """The bits of a double."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


def _table(rows: Sequence[Sequence[int]]) -> Words:
    """Rows of words, one after another."""
    flat = [word for row in rows for word in row]
    return (ctypes.c_int64 * max(1, len(flat)))(*flat)


def _address(words: Words) -> int:
    return ctypes.addressof(words)
