"""The record that says what a kernel's calls are: where its words stand, and assembly that reads them."""

from __future__ import annotations

from typing import Final

__all__ = ["ARGUMENT", "ATTRIBUTE", "CONDITION", "KINDS", "MEMO", "RECORD", "RESULTS", "word", "words"]

_RECORD: Final = (
    "guard", "epoch", "count", "arguments", "attributes", "attribute_count", "run", "ctx", "errors", "overflow",
    "launches", "launch_slot", "lock", "release", "written", "written_count", "result_kind", "result", "address_name",
    "int_type", "float_type", "int32_type", "int64_type", "float32_type", "float64_type", "none", "conditions",
    "condition_count", "distinct", "distinct_count", "given", "depths", "sized_slot", "memo", "memo_count",
    "sizings", "reductions", "tensor_method",
)  # fmt: skip
RECORD: Final = {name: at for at, name in enumerate(_RECORD)}
"""Where each word of a record stands. `guard` points to an epoch, which must be `epoch`, and a word that must be 0:
whether calls have to ask Python; `written` to the words to count up when the launch is over; `distinct` to pairs of
addresses of words that must differ. The arguments of the call under way are at `given`. Where launches compute depths
of adstacks, `memo` has the words that they depend on, and what these were; `depths` points to a word that is the memo's
address while those stand that it tells of, and `sized_slot` is where the launch is told so. `sizings` has counters: of
launches for which they stood, of others, and of parallel loops that these ran, `reductions` each."""

MEMO: Final = {name: at for at, name in enumerate(("address", "value"))}
"""The words of a memo."""

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
)
ARGUMENT: Final = {name: at for at, name in enumerate(_ARGUMENT)}
"""The words of an argument. What low and high mean depends on the kind; extents are (axis, slot) pairs;
`written` is 1 for an array that the kernel writes; `beside` points to the words of its gradient, or is 0; what stands
at `CHANGED` in its buffer's record must be from `earliest` to `latest`; `tensor` is a tensor's type."""

ATTRIBUTE: Final = {name: at for at, name in enumerate(("owner", "name", "value"))}
"""The words of an attribute that must be what it was."""

CONDITION: Final = {name: at for at, name in enumerate(("address", "other", "value"))}
"""The words of a condition: what is at an address is less than what is at another one, or, if that is 0, is a value."""

KINDS: Final = {name: at for at, name in enumerate(("int", "f64", "f32", "bool", "same", "array", "host", "tensor"))}
_RESULTS: Final = ("none", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "u1")
RESULTS: Final = {name: at for at, name in enumerate(_RESULTS)}


def word(result: str, kind: str, record: str, at: int) -> str:
    """Load a word of a record."""
    address = f"  {result}.at = getelementptr i64, ptr {record}, i64 {at}\n"
    return f"{address}  {result} = load {kind}, ptr {result}.at, align 8\n"


def words(**wanted: str) -> str:
    """Load words of `%record`: name -> type; the values are named alike."""
    return "".join(word(f"%{name}", kind, "%record", RECORD[name]) for name, kind in wanted.items())
