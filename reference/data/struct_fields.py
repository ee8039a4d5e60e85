"""Struct fields: one field per member, seen as a field of structs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from types import MethodType
from typing import Any, Final, TypeAlias

from ..absent import missing
from ..errors import AdstackArgumentError, AdstackRuntimeTypeError
from ..runtime.memory.copying import Uncopied
from ..values.calling import takes
from ..values.matrices.struct import Struct, StructType, members_of
from ..values.matrices.types import MatrixType
from .fields import Field, make_field
from .refusals import Refusals

__all__ = ["StructField"]

_COMPANIONS: Final = frozenset({"grad", "dual"})

Member: TypeAlias = Any
"""A field, or a field of structs: which of them is known only where the type of the structs is."""


class StructField(Uncopied, Refusals):
    """A field of structs: `f[i].x` is an element of the member field `f.x`.

    `f.grad` and `f.dual` are struct fields of the gradients and duals of the members that have them.

    Attributes:
        field_dict: member name -> its field.

    Args:
        type_: the type of its elements.
        shape: extents of the index axes; without them it is to be placed under `root`.
        order, name: as for `field`.
        options: the further arguments of `field`.
    """

    COPY_WHAT = Field.COPY_WHAT
    COPY_DO = Field.COPY_DO

    def __init__(
        self, type_: StructType, shape: object = None, order: str | None = None, name: str = "", *options: Any
    ) -> None:
        self.type = type_
        self.name = name
        self.field_dict: dict[str, Member] = {
            member: _member(to, shape, order, f"{name}.{member}" if name else member, *options)
            for member, to in type_.members.items()
        }

    @classmethod
    def over(cls, type_: StructType, members: dict[str, object], name: str = "") -> StructField:
        """Fields that are there already, seen as one.

        Args:
            type_: the type of its elements.
            members: the name of a member -> its field.
            name: what messages call it.
        """
        struct = cls.__new__(cls)
        struct.type, struct.name, struct.field_dict = type_, name, members
        return struct

    @property
    def member_fields(self) -> tuple[Member, ...]:
        """The fields of the members, in order."""
        return tuple(self.field_dict.values())

    @property
    def keys(self) -> list[str]:
        """The names of the members."""
        return list(self.field_dict)

    @takes("get_member_field")
    def get_member_field(self, key: str) -> Member:
        """The field of the member called `key`; AdstackAttributeError, with names that are near, if there is none."""
        if key not in self.field_dict:
            raise self._without(str(key))
        return self.field_dict[key]

    def __getattr__(self, name: str) -> Member:
        members = self.__dict__.get("field_dict", {})
        if name in members:
            return members[name]
        beside = self._beside(name) if name in _COMPANIONS else None
        if beside is not None:
            return beside
        if members and name in _OF_PLACED:
            return _OF_PLACED[name](self)
        raise self._without(name)

    def _without(self, name: str) -> AttributeError:
        """The error for a member that is not there."""
        members = self.__dict__.get("field_dict", {})
        return missing("a struct field", name, members, f"its members are {', '.join(members)}")

    def _beside(self, which: str) -> StructField | None:
        """The gradients or duals of the members, None where no member has any."""
        beside = {member: getattr(field, which, None) for member, field in self.field_dict.items()}
        members = {member: field for member, field in beside.items() if field is not None}
        if not members:
            return None
        type_ = StructType({member: self.type.members[member] for member in members}, name=f"{self.type.name}.{which}")
        return StructField.over(type_, members, f"{self.name}.{which}" if self.name else which)

    def has_grad(self) -> bool:
        """Whether there is memory for the gradient of a member."""
        return any(field.has_grad() for field in self.member_fields)

    def has_dual(self) -> bool:
        """Whether there is memory for the dual of a member."""
        return any(field.has_dual() for field in self.member_fields)

    def __adstack_described__(self) -> str:
        return "a field of structs"

    @property
    def _first(self) -> Member:
        return self.member_fields[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes."""
        return tuple(self._first.shape)

    @property
    def offset(self) -> tuple[int, ...]:
        """The least index of each axis."""
        return tuple(self._first.offset)

    @property
    def is_placed(self) -> bool:
        """Whether it has a shape and may be used."""
        return all(field.is_placed for field in self.member_fields)

    def __getitem__(self, key: object) -> Struct:
        for field in self.member_fields:
            field[key]
        return Struct.over(LiveMembers(self.field_dict, key), self.type)

    def __setitem__(self, key: object, value: object) -> None:
        Struct.assign(self[key], value if isinstance(value, (Struct, dict)) else self.type.cast(value))

    @takes("fill")
    def fill(self, val: object) -> None:
        """Set all elements: `val` has the members of a struct or dict, or is one number for every number in them."""
        members = members_of(val) if isinstance(val, (Struct, dict)) else dict.fromkeys(self.field_dict, val)
        self._check_names(members)
        for name, member in members.items():
            self.field_dict[name].fill(member)

    @takes("copy_from")
    def copy_from(self, other: StructField) -> None:
        """Take over the elements of another struct field; AdstackRuntimeTypeError unless it has the same members."""
        if not isinstance(other, StructField) or other.keys != self.keys:
            raise AdstackRuntimeTypeError(f"copy_from takes a struct field with the members {', '.join(self.keys)}")
        for name, field in self.field_dict.items():
            field.copy_from(other.get_member_field(name))

    @takes("to_numpy")
    def to_numpy(self, *, copy: bool = True) -> dict[str, Any]:
        """Member name -> numpy array, with `copy` as `to_numpy` of its field takes it."""
        return {name: field.to_numpy(copy=copy) for name, field in self.field_dict.items()}

    @takes("from_numpy")
    def from_numpy(self, array_dict: dict[str, Any]) -> None:
        """Take over `array_dict`: the name of a member -> a numpy array of its field's shape, element axes last."""
        self._check_names(array_dict)
        for name, field in self.field_dict.items():
            field.from_numpy(array_dict[name])

    @takes("to_torch")
    def to_torch(self, device: object = None, *, copy: bool = True) -> dict[str, Any]:
        """All members: name -> torch tensor on the `device`, with `copy` as `to_torch` of its field takes it."""
        return {name: field.to_torch(device, copy=copy) for name, field in self.field_dict.items()}

    @takes("from_torch")
    def from_torch(self, array_dict: dict[str, object]) -> None:
        """Take over `array_dict`: the name of a member -> a torch tensor of its field's shape, element axes last."""
        self._check_names(array_dict)
        for name, field in self.field_dict.items():
            field.from_torch(array_dict[name])

    def _check_names(self, members: dict[str, object]) -> None:
        if not isinstance(members, dict) or set(members) != set(self.field_dict):
            got = ", ".join(map(str, members)) if isinstance(members, dict) else type(members).__name__
            raise AdstackArgumentError(f"a dict with the keys {', '.join(self.field_dict)} is needed, got {got}")

    def __str__(self) -> str:
        return str(self.to_numpy()) if self.is_placed else repr(self)

    def __repr__(self) -> str:
        return f"<adstack struct field: {', '.join(self.keys)}>"


def _method_of_lists(method: Callable[..., object]) -> Callable[[StructField], Member]:
    """What gives a method that all fields have in kernels, `append` for one, to a field of structs."""
    return lambda field: MethodType(method, field)


_OF_PLACED: Final[dict[str, Callable[[StructField], Member]]] = {
    "append": _method_of_lists(Field.append),
    "deactivate": _method_of_lists(Field.deactivate),
    "length": _method_of_lists(Field.length),
    "parent": lambda field: field.member_fields[0].parent,
    "snode": lambda field: field.member_fields[0].snode,
}
"""What fields have that are placed at a level, for a field of structs without a member of that name."""


def _member(
    to: Member,
    shape: object,
    order: str | None,
    name: str,
    offset: object = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: object = None,
) -> Field | StructField:
    """The field of a member; one of integers has neither gradient nor dual, whatever the other members have."""
    if isinstance(to, StructType):
        return StructField(to, shape, order, name, offset, needs_grad, needs_dual, layout)
    scalar, element = (to.dtype, to.shape) if isinstance(to, MatrixType) else (to, ())
    grad, dual = (wanted and _differentiable(scalar) for wanted in (needs_grad, needs_dual))
    return make_field(scalar, shape, element, order, name, offset, grad, dual, layout)


def _differentiable(dtype: object) -> bool:
    return dtype is float or bool(getattr(dtype, "is_float", False))


class LiveMembers(MutableMapping[str, Member]):
    """The members of one element of a struct field."""

    def __init__(self, fields: dict[str, Member], key: object) -> None:
        self._fields = fields
        self._key = key

    def __getitem__(self, name: str) -> Member:
        return self._fields[name][self._key]

    def __setitem__(self, name: str, value: object) -> None:
        self._fields[name][self._key] = value

    def __delitem__(self, name: str) -> None:
        raise AdstackRuntimeTypeError("a member of a struct can't be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)
