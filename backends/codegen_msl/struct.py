"""What a launch hands over, as a struct: the words of `backends/shared/launch_words.py`, with names and types."""

from __future__ import annotations

from adstack.backends.shared.launch_words import OWN, Context
from adstack.backends.shared.own_size import own_size
from adstack.ir.structure import Program

from .spelling import memory_type, symbol, type_name

__all__ = ["member_names", "struct_of"]

_OWN = {
    "errors": "device ulong* errors",
    "overflow": "device ulong* overflow",
    "print": "device ulong* print",
    "seed": "ulong seed",
    "launch": "ulong number",
}


def member_names(program: Program) -> dict[str, str]:
    """What the members that stand for places are called."""
    names: dict[str, str] = {}
    for number, place in enumerate(program.places):
        name = f"at_{symbol(place)}"
        names[place] = f"{name}_{number}" if name in names.values() else name
    return names


def struct_of(program: Program, context: Context) -> str:
    """The text of the struct; its members stand in the order of the words."""
    places, names = program.places, member_names(program)

    def pointer(name: str) -> str:
        return f"device {memory_type(places[name].dtype)}* {names[name]}"

    def array(name: str) -> str:
        place = places[name]
        return f"alignas(16) {memory_type(place.dtype)} {names[name]}[{own_size(place) // place.dtype.size}]"

    members = [f"alignas(8) {type_name(dtype)} param_{k}" for k, dtype in enumerate(program.params)]
    members += map(pointer, context.pointers)
    members += [f"long extent_{names[name]}_{axis}" for name, axis in context.extents]
    members += [_OWN[name] for name in OWN]
    members += map(pointer, context.depths)
    heaps = []
    for number, words in context.heaps.items():
        heaps.append(_heap(number, len(words.heap.parts), len(words.heap.groups)))
        members.append(f"Heap_{number} heap_{number}")
    members += map(array, context.inside)
    lines = ["struct Launch {", *(f"    {member};" for member in members), "};"]
    return "\n\n".join([*heaps, "\n".join(lines)])


def _heap(number: int, parts: int, groups: int) -> str:
    """What a task is told about its adstacks."""
    members = ["device uchar* rows", "ulong lanes", "ulong threads", "ulong taken", f"ulong before[{parts}]"]
    members.append(f"long capacity[{groups}]")
    return "\n".join([f"struct Heap_{number} {{", *(f"    {member};" for member in members), "};"])
