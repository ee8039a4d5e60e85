"""Structs: named members, nestable, with functions of their own; on the host and in kernels.

`types.struct(a=f32, b=vec3)` and `@dataclass` make a `StructType`; calling it makes a `Struct`. Members lie in a
mapping, as elements of vectors lie in a storage: a plain dict, or one that makes the struct a view of what it reaches.
"""

from __future__ import annotations

import functools
import types as python_types
from collections.abc import Iterable, Mapping, MutableMapping
from typing import TypeVar

from ...absent import missing
from ...errors import AdstackTypeError
from ...ir.types import DType
from ..calling import methods_take, takes
from ..elements import Elements
from ..func import BoundFunc, Func
from ..functions import cast
from ..kinds import Operand
from ..making import factories
from ..nested import as_list
from ..protocol import current_emitter
from ..scalars import dtype_of, resolve
from ..specs import ScalarSpec, StructSpec
from .matrix import Matrix
from .struct_operators import StructOperators
from .struct_parts import Listing, MissingMemberError, as_dict

__all__ = ["Struct", "StructType", "members_of", "struct"]

Members = MutableMapping[str, Operand]
T = TypeVar("T")


class StructType:
    """The type of structs with these members: an annotation, and a constructor.

    Args:
        members: name -> scalar, vector, matrix or struct type.
        methods: name -> function whose first parameter is the struct.
        name: what the user calls it, for messages.
        defaults: name -> value of a member that a constructor call leaves out; 0 without one.
    """

    def __init__(
        self,
        members: dict[str, Operand],
        methods: dict[str, Operand] | None = None,
        name: str = "struct",
        defaults: dict[str, Operand] | None = None,
    ) -> None:
        if not members and not methods:
            raise AdstackTypeError(f"{name} has no members", do="name at least one, such as types.struct(x=qd.f32)")
        self.defaults = dict(defaults or {})
        self.members = {_member_name(k): _member_type(k, v) for k, v in members.items()}
        self.methods = dict(as_dict("the methods of a struct", methods))
        self._funcs = {k: _as_func(v) for k, v in self.methods.items()}
        self.name = self.__name__ = self.__qualname__ = name

    def __call__(self, *values: object, **named: object) -> Struct:
        """A struct of these members, in order or by name; one struct or dict is converted.

        A member that is not given has the default of its declaration, or is 0.
        """
        if len(values) == 1 and not named and isinstance(values[0], (Struct, dict)):
            return self.cast(values[0])
        members = dict(zip(self.members, values, strict=False)) | named
        self._refuse_unknown(members)
        if len(values) > len(self.members) or len(members) < len(values) + len(named):
            message = f"{self!r} has {len(self.members)} members, got {len(values) + len(named)} values"
            raise AdstackTypeError(message, do=f"give one for each of {', '.join(self.members)}")
        left_out = {k: self.defaults.get(k, 0) for k in self.members if k not in members}
        members |= left_out
        return Struct.over({k: convert(members[k], t) for k, t in self.members.items()}, self)

    def cast(self, value: object) -> Struct:
        """A struct or dict with exactly these members, converted; a number stands for every number in the struct."""
        if _is_one_number(value):
            return self(**dict.fromkeys(self.members, value))
        if not isinstance(value, (Struct, dict)):
            raise AdstackTypeError(f"{self!r} can't be made of a {type(value).__name__}", do="pass a struct or a dict")
        members = members_of(value)
        self._refuse_unknown(members)
        missing = [k for k in self.members if k not in members]
        if missing:
            raise AdstackTypeError(f"members {', '.join(missing)} of {self!r} are missing")
        return self(**members)

    def _refuse_unknown(self, members: dict[str, Operand]) -> None:
        unknown = [k for k in members if k not in self.members]
        if unknown:
            raise AdstackTypeError(f"{self!r} has no member '{unknown[0]}'", do=f"members: {', '.join(self.members)}")

    def spec(self, default_fp: DType, default_ip: DType) -> StructSpec:
        """What the frontend is told of a parameter with this annotation."""

        def of(to: object) -> Operand:
            return (
                to.spec(default_fp, default_ip)
                if hasattr(to, "spec")
                else ScalarSpec(resolve(to, default_fp, default_ip))
            )

        return StructSpec(self, tuple((k, of(t)) for k, t in self.members.items()))

    def field(self, *args: object, **options: object) -> Operand:
        """A field of structs of this type: the arguments are those of `field` after the type.

        AdstackTypeError if the type has no members.
        """
        if not self.members:
            raise AdstackTypeError(f"{self!r} has no members, so that a field of it would hold nothing")
        return factories().field(self, *args, **options)

    def __getattr__(self, name: str) -> Operand:
        if name not in self.__dict__.get("methods", {}):
            raise missing("a struct type", name, dir(self))
        return self.function(name)

    def function(self, name: str, owner: object = None) -> Operand:
        """A function of the struct, bound to `owner` if that is given: plain Python on the host, a func in kernels."""
        func, bare = self._funcs[name], owner is None or isinstance(self.methods[name], staticmethod)
        if current_emitter() is None:
            return func.function if bare else python_types.MethodType(func.function, owner)
        return func if bare else BoundFunc(func, owner)

    def __reduce__(self) -> str | tuple[object, ...]:
        # A type made by a class statement is found again by its name, as classes are.
        return self.__qualname__ if self.methods else (StructType, (self.members, {}, self.name, self.defaults))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StructType) or repr(self.defaults) != repr(other.defaults):
            return False
        return (self.members, self.methods) == (other.members, other.methods)

    def __hash__(self) -> int:
        return hash(tuple(self.members))

    def __repr__(self) -> str:
        return self.name if self.name != "struct" else f"types.struct({', '.join(self.members)})"


def _as_func(method: Operand) -> Func:
    inner = method.__func__ if isinstance(method, staticmethod) else method
    return inner if isinstance(inner, Func) else Func(inner)


def _member_name(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier() or name in _RESERVED:
        raise AdstackTypeError(f"{name!r} can't be the name of a struct member", do="use another identifier")
    return name


def _member_type(name: str, to: object) -> Operand:
    if hasattr(type(to), "cast") and hasattr(type(to), "spec"):
        return to
    try:
        return dtype_of(to)
    except AdstackTypeError as error:
        raise AdstackTypeError(
            f"member '{name}' has no type that a struct can hold",
            note=f"got {to!r}",
            do="use a scalar, vector, matrix or struct type",
        ) from error


def _is_one_number(value: object) -> bool:
    """Whether it is a number: one of the host, or a scalar of a kernel."""
    return isinstance(value, (int, float)) or (hasattr(type(value), "dtype") and not hasattr(type(value), "shape"))


def convert(value: object, to: object) -> Operand:
    """`value` as a member of type `to`: a scalar, vector, matrix or struct type."""
    return to.cast(value) if hasattr(to, "cast") else cast(value, to)


@methods_take
class Struct(StructOperators):
    """A struct: `Struct(a=1, b=[2, 3])`, or of a type: `particle(x=..., v=...)`. Its members are attributes.

    A member, or a function of the struct's type, hides an attribute of this class that has its name.
    """

    __slots__ = ("_members", "_type")
    _members: Members
    _type: StructType | None

    def __new__(cls, values: dict[str, Operand] | None = None, /, **named: object) -> Struct:
        return object.__new__(_class_with((*(values or ()), *named)))

    def __init__(self, values: dict[str, Operand] | None = None, /, **named: object) -> None:
        members = {**(values or {}), **named}
        if not members:
            raise AdstackTypeError("a struct needs a member", do="write Struct(a=1, b=2)")
        _adopt(self, {_member_name(k): _free(v) for k, v in members.items()}, None)

    @classmethod
    def over(cls, members: Members, type_: StructType | None = None) -> Struct:
        """A struct whose members are those of the mapping, not a copy of them."""
        view = object.__new__(_class_with(members if type_ is None else (*type_.members, *type_.methods)))
        _adopt(view, members, type_)
        return view

    def __adstack_members__(self) -> Members:
        """The mapping in which the members lie."""
        return self._members

    def __adstack_type__(self) -> StructType | None:
        """The type it was made with, if any."""
        return self._type

    def __adstack_described__(self) -> str:
        if self._type is None or self._type.name == "struct":
            return f"a struct of {', '.join(self._members)}"
        return f"a struct of the type {self._type.name}"

    @staticmethod
    @takes("Struct.field")
    def field(
        members: dict[str, Operand],
        methods: dict[str, Operand] | None = None,
        shape: object = None,
        name: str = "",
        offset: object = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: object = None,
    ) -> Operand:
        """A field of structs with these members, name -> type, and methods, name -> function of a struct.

        The other arguments are those of `field`.
        """
        made = StructType(members, methods)
        return made.field(shape, None, name, offset, needs_grad, needs_dual, layout)

    @property
    def entries(self) -> dict[str, Operand]:
        """The members as they are now."""
        return members_of(self)

    @property
    def methods(self) -> dict[str, Operand]:
        """The functions of the struct's type."""
        return {} if self._type is None else self._type.methods

    @property
    def type(self) -> StructType | None:
        """The type it was made with, if any."""
        return self._type

    @property
    def keys(self) -> Listing:
        """The names of the members: a list, `keys()` as well as `keys`."""
        return Listing(self._members)

    @property
    def items(self) -> Listing:
        """Pairs of the names and the members: a list, `items()` as well as `items`."""
        return Listing(members_of(self).items())

    def to_dict(self, include_methods: bool = False, include_ndim: bool = False) -> dict[str, Operand]:
        """The members as plain dicts, lists and numbers.

        Args:
            include_methods: whether `__struct_methods` is the functions of the struct's type.
            include_ndim: whether `__matrix_ndim` is the number of axes of each member that is a vector or matrix.
        """
        members = members_of(self)
        plain = {k: _to_plain(v) for k, v in members.items()}
        if include_methods:
            plain["__struct_methods"] = {} if self._type is None else dict(self._type.methods)
        if include_ndim:
            plain["__matrix_ndim"] = {k: len(v.shape) for k, v in members.items() if isinstance(v, Elements)}
        return plain

    def copy(self) -> Struct:
        """A struct of its own with the members of now."""
        return Struct.over({k: _copied(v) for k, v in members_of(self).items()}, self._type)

    def assign(self, value: object) -> None:
        """Set every member to that of a struct or dict; AdstackTypeError if `value` has not the same names."""
        members = members_of(value) if isinstance(value, (Struct, dict)) else None
        if members is None or set(members) != set(self._members):
            names = ", ".join(members) if members is not None else f"a {type(value).__name__}"
            raise AdstackTypeError(f"a struct of {', '.join(self._members)} can't be assigned {names}")
        for name, member in members.items():
            setattr(self, name, member)

    def __getattr__(self, name: str) -> Operand:
        if name in self._members:
            return self._members[name]
        if self._type is not None and name in self._type.methods:
            return self._type.function(name, self)
        raise self._missing(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._members:
            raise self._missing(name)
        old = self._members[name]
        if isinstance(old, (Struct, Matrix)):
            # In place, so that a view of this member sees it, and the shape stays what it is.
            new = value if self._type is None else convert(value, self._type.members[name])
            Struct.assign(old, new) if isinstance(old, Struct) else old.assign(new)
        else:
            self._members[name] = self._converted(name, value)

    def _missing(self, name: str) -> MissingMemberError:
        return MissingMemberError(f"{self._label} has no member '{name}'", do=f"members: {', '.join(self._members)}")

    def _converted(self, name: str, value: object) -> Operand:
        return _free(value) if self._type is None else convert(value, self._type.members[name])

    @property
    def _label(self) -> str:
        return "the struct" if self._type is None else repr(self._type)

    def __getitem__(self, name: str) -> Operand:
        return self.__getattr__(name)

    def __setitem__(self, name: str, value: object) -> None:
        setattr(self, name, value)

    def __deepcopy__(self, memo: object) -> Struct:
        return Struct.copy(self)

    def __reduce__(self) -> str | tuple[object, ...]:
        return Struct.over, (members_of(Struct.copy(self)), self._type)

    def __repr__(self) -> str:
        return f"{'Struct' if self._type is None else repr(self._type)}({Struct.to_dict(self)})"

    def __str__(self) -> str:
        return str(Struct.to_dict(self))


def members_of(value: Struct | Mapping[str, Operand]) -> dict[str, Operand]:
    """The members of a struct or dict as they are now, whatever they are called."""
    members = value.__adstack_members__() if isinstance(value, Struct) else value
    return {name: members[name] for name in members}


def _class_with(names: Iterable[str]) -> type[Struct]:
    """The class of structs with these members and functions."""
    hidden = _PUBLIC.intersection(names)
    return _hiding(hidden) if hidden else Struct


@functools.cache
def _hiding(names: frozenset[str]) -> type[Struct]:
    """A class of structs that have members or functions of these names, which are attributes of `Struct`, too."""
    members = {name: _hidden(name) for name in names}
    return type("Struct", (Struct,), {"__slots__": (), "__module__": Struct.__module__, **members})


def _hidden(name: str) -> property:
    def read(struct: Struct) -> Operand:
        return struct.__getattr__(name)

    return property(read)


def _adopt(struct: Struct, members: Members, type_: StructType | None) -> None:
    """Fill the slots of a new struct, whose attributes are its members."""
    object.__setattr__(struct, "_members", members)
    object.__setattr__(struct, "_type", type_)


_PUBLIC = frozenset(name for name in dir(Struct) if not name.startswith("_"))
_RESERVED = frozenset(name for name in dir(Struct) if name.startswith("_"))


def _copied(member: Operand) -> Operand:
    if isinstance(member, Struct):
        return Struct.copy(member)
    return member.copy() if isinstance(member, Elements) else member


def _free(value: object) -> Operand:
    """A member without a declared type: lists become vectors or matrices, dicts structs; the rest is copied."""
    if isinstance(value, dict):
        return Struct(value)
    if isinstance(value, Struct):
        return Struct.copy(value)
    return Matrix(value) if as_list(value) is not None else value


def _to_plain(value: object) -> Operand:
    if isinstance(value, Struct):
        return Struct.to_dict(value)
    return value.to_list() if isinstance(value, Elements) else value


def struct(members: dict[str, Operand] | None = None, /, **named: object) -> StructType:
    """The type of structs with these members: `types.struct(x=qd.f32, v=qd.math.vec3)`, or of a dict."""
    types = {**as_dict("the members of a struct", members), **named}
    methods = types.pop("__struct_methods", None)
    return StructType(types, methods)
