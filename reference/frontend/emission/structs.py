"""Structs in kernels: locals, elements of struct fields and arguments, whose members are references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping

from ...errors import AdstackTypeError
from ...values.kinds import KernelObject, TypeLike
from ...values.matrices.struct import Struct, members_of
from .references import CellRef, ScalarRef, references_of

__all__ = [
    "LiveMembers",
    "argument",
    "is_live_struct",
    "is_local_struct",
    "live_struct",
    "local_struct",
    "store_struct",
]


class LiveMembers(MutableMapping[str, KernelObject]):
    """Members that are references; reading a scalar gives its value now."""

    def __init__(self, targets: dict[str, KernelObject]) -> None:
        self.targets = targets

    def __getitem__(self, name: str) -> KernelObject:
        target = self.targets[name]
        return target.get() if isinstance(target, ScalarRef) else target

    def __setitem__(self, name: str, value: object) -> None:
        self.targets[name].set(value)

    def __delitem__(self, name: str) -> None:
        raise AdstackTypeError(f"member '{name}' can't be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self.targets)

    def __len__(self) -> int:
        return len(self.targets)


def live_struct(targets: dict[str, KernelObject], type_: TypeLike) -> Struct:
    """Make a struct whose members are these references."""
    return Struct.over(LiveMembers(targets), type_)


def is_live_struct(value: object) -> bool:
    """Whether `value` is a struct of references."""
    return isinstance(value, Struct) and isinstance(value.__adstack_members__(), LiveMembers)


def is_local_struct(value: Struct) -> bool:
    """Whether all that a live struct holds are locals of the kernel, and none of it memory that threads share."""
    leaves = (member_reference(value, name) for name in value.__adstack_members__())
    return all(is_local_struct(leaf) if isinstance(leaf, Struct) else _is_local(leaf) for leaf in leaves)


def _is_local(reference: KernelObject) -> bool:
    references = [reference] if isinstance(reference, ScalarRef) else references_of(reference).entries
    return all(isinstance(element, CellRef) for element in references)


def member_reference(value: Struct, name: str) -> KernelObject:
    """The reference of a member of a live struct; None if there is no such member."""
    members = value.__adstack_members__()
    assert isinstance(members, LiveMembers)
    return members.targets.get(name)


def local_struct(value: Struct, local: Callable[[str, KernelObject], KernelObject]) -> Struct:
    """A live copy of a struct, whose members `local(name, member)` makes."""
    return live_struct(
        {name: local(name, member) for name, member in members_of(value).items()}, value.__adstack_type__()
    )


def store_struct(target: Struct, value: object, store: Callable[[KernelObject, KernelObject, str], None]) -> None:
    """Store the members of a struct or dict to those of a live one by `store(reference, value, name)`."""
    members = members_of(value) if isinstance(value, (Struct, dict)) else None
    if members is None or set(members) != set(target.__adstack_members__()):
        names = ", ".join(target.__adstack_members__())
        raise AdstackTypeError(f"a struct of {names} can't become a {type(value).__name__}", do="assign such a struct")
    for name, member in members.items():
        store(member_reference(target, name), member, name)


def argument(type_: TypeLike, members: dict[str, KernelObject]) -> KernelObject:
    """A struct, or an instance of a Python dataclass, that was passed member by member."""
    if not isinstance(type_, type):
        return Struct.over(members, type_)
    instance: KernelObject = object.__new__(type_)
    for name, member in members.items():
        object.__setattr__(instance, name, member)
    return instance
