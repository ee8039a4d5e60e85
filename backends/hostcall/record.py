"""The layout of the record that describes the calls which a builtin serves, and assembly that reads its words.

A record is an array of 64-bit words. Its tables are arrays of rows of such words.
"""

from __future__ import annotations

from typing import Final

from adstack.runtime.protocol.shortcuts import DEVICE_NAMES

__all__ = ["ARGUMENT", "ATTRIBUTE", "CONDITION", "KINDS", "MEMO", "RECORD", "RESULTS", "word", "words"]

_RECORD: Final = (
    "guard", "epoch", "count", "arguments", "attributes", "attribute_count", "run", "ctx", "errors", "overflow",
    "launches", "launch_slot", "lock", "release", "written", "written_count", "result_kind", "result", "address_name",
    "int_type", "float_type", "int32_type", "int64_type", "float32_type", "float64_type", "none", "conditions",
    "condition_count", "distinct", "distinct_count", "given", "depths", "sized_slot", "memo", "memo_count",
    "sizings", "reductions", "tensor_method", "true", "false", "zero", "modules", "cupy",
    "list_type", "entries_name", "shape_name", "held", "held_count",
    *(f"ask_{name}" for name in DEVICE_NAMES),
)  # fmt: skip
RECORD: Final = {name: at for at, name in enumerate(_RECORD)}
"""Name of a word -> its index in a record.

guard, epoch: `guard` points to two words. The first must equal `epoch`; the second must be 0, else calls ask Python.
count, arguments: how many arguments a call has, and the address of their table (`ARGUMENT`).
attributes, conditions, distinct: addresses of tables, each with its number of rows in the word `..._count`: attributes
    that must be unchanged (`ATTRIBUTE`), conditions that must hold (`CONDITION`), pairs of addresses of words that must
    differ.
written: the address of a table of addresses of words, which are incremented when the launch is over.
given: the address of the arguments of the call that is being served.
memo, depths, sized_slot: where launches compute depths of adstacks. `memo` is the address of a table of the words that
    the depths depend on, with their values at the time (`MEMO`). `depths` points to a word that equals `memo` while the
    depths in memory are those of this memo. At `sized_slot` the launch is told whether they are valid.
held: the address of a table of the addresses of the words `held` of members.
sizings: the address of three counters: launches whose depths were valid, launches that computed them, and the parallel
    loops which these ran for it, `reductions` each.
ask_...: the addresses of strings, what tensors on devices are asked (`shortcuts.DEVICE_NAMES`); true to cupy: those of
    objects that answers are compared with, of the modules that are loaded, and of a name among these.
"""

MEMO: Final = {name: at for at, name in enumerate(("address", "value"))}
"""The words of a row of a memo: the address of a word that depths depend on, and its value then."""

_ARGUMENT: Final = (
    "kind",
    "slot",
    "low",
    "high",
    "extents",
    "extent_count",
    "written",
    "beside",
    "earliest",
    "latest",
    "tensor",
    "device",
    "stream",
    "number",
    "entries",
    "shape",
    "name",
    "holds",
    "held",
)
ARGUMENT: Final = {name: at for at, name in enumerate(_ARGUMENT)}
"""The words of an argument.

kind: one of `KINDS`, on which depends what `low` and `high` mean (see `tables.argument_tables`).
slot: the address at which the kernel finds the argument.
extents: the address of `extent_count` pairs (axis, address at which the kernel finds the extent of that axis).
written: 1 for an array that the kernel writes.
beside: the address of the words of the array's gradient, or 0.
earliest, latest: between which values the word `CHANGED` of its buffer's record must be for the call to be served.
tensor: the address of a tensor's type.
device, stream, number: the addresses of the device of a tensor, and of the function and its argument that tell of a
    stream: see `shortcuts.DeviceArgument`.
entries, shape: of a vector or matrix, the address of the words of its `high` numbers, and of its shape, a tuple; of a
    vector the latter is 0. Of a struct, the address of the words of its `high` members.
name, holds, held: of a member, the address of its attribute's name; 1 if it has memory, which must not go while the
    kernel runs; and the address of the attribute's object meanwhile, else 0.
"""

ATTRIBUTE: Final = {name: at for at, name in enumerate(("owner", "name", "value", "is_key"))}
"""The words of an attribute that must be what it was: addresses of its owner, its name and its value; 1 if the owner is
a dictionary, of which it is a key."""

CONDITION: Final = {name: at for at, name in enumerate(("address", "other", "value"))}
"""The words of a condition: the word at `address` is less than the word at `other`; if `other` is 0, it is `value`."""

_KINDS: Final = ("int", "f64", "f32", "bool", "same", "array", "host", "tensor", "device", "matrix", "struct")
KINDS: Final = {name: at for at, name in enumerate(_KINDS)}
_RESULTS: Final = ("none", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "u1")
RESULTS: Final = {name: at for at, name in enumerate(_RESULTS)}


def word(result: str, kind: str, record: str, at: int) -> str:
    """LLVM's assembly that loads a word, the `at`th of a record, as `result` of the type `kind`."""
    address = f"  {result}.at = getelementptr i64, ptr {record}, i64 {at}\n"
    return f"{address}  {result} = load {kind}, ptr {result}.at, align 8\n"


def words(**wanted: str) -> str:
    """Load words of `%record`: name -> type; the values are named alike."""
    return "".join(word(f"%{name}", kind, "%record", RECORD[name]) for name, kind in wanted.items())
