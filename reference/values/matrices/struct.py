"""Structs: named members, nestable, with functions of their own; on the host and in kernels.

`types.struct(a=f32, b=vec3)` and `@dataclass` make a `StructType`; calling it makes a `Struct`. Members lie in a
mapping, as elements of vectors lie in a storage: a plain dict, or one that makes the struct a view of what it reaches.
"""

from __future__ import annotations

import inspect
import types as python_types
from collections.abc import Iterator, MutableMapping
from typing import TypeVar

from ...errors import AdstackCompilationError, AdstackTypeError
from ...ir.types import DType
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

__all__ = ["Struct", "StructType", "dataclass", "struct"]

Members = MutableMapping[str, Operand]
T = TypeVar("T")


class StructType:
    """The type of structs with these members: an annotation, and a constructor.

    Args:
        members: name -> scalar, vector, matrix or struct type.
        methods: name -> function whose first parameter is the struct.
        name: what the user calls it, for messages.
    """

    def __init__(
        self, members: dict[str, Operand], methods: dict[str, Operand] | None = None, name: str = "struct"
    ) -> None:
        if not members:
            raise AdstackTypeError(f"{name} has no members", do="name at least one, such as types.struct(x=qd.f32)")
        self.members = {_member_name(k): _member_type(k, v) for k, v in members.items()}
        self.methods = dict(methods or {})
        self._funcs = {k: _as_func(v) for k, v in self.methods.items()}
        self.name = self.__name__ = self.__qualname__ = name

    def __call__(self, *values: object, **named: object) -> Struct:
        """A struct of these members, in order or by name; those not given are 0. One struct or dict is converted."""
        if len(values) == 1 and not named and isinstance(values[0], (Struct, dict)):
            return self.cast(values[0])
        members = dict(zip(self.members, values, strict=False)) | named
        self._refuse_unknown(members)
        if len(values) > len(self.members) or len(members) < len(values) + len(named):
            raise AdstackTypeError(f"{self!r} has {len(self.members)} members, got {len(values) + len(named)} values")
        return Struct.over({k: convert(members.get(k, 0), t) for k, t in self.members.items()}, self)

    def cast(self, value: object) -> Struct:
        """A struct or dict with exactly these members, converted; 0 gives zeros."""
        if not isinstance(value, (Struct, dict)):
            if isinstance(value, (int, float)) and value == 0:
                return self()
            raise AdstackTypeError(f"{self!r} can't be made of a {type(value).__name__}", do="pass a struct or a dict")
        members = dict(value.items())
        self._refuse_unknown(members)
        missing = [k for k in self.members if k not in members]
        if missing:
            raise AdstackTypeError(f"members {', '.join(missing)} of {self!r} are missing")
        return self(**members)

    def _refuse_unknown(self, given: dict[str, Operand]) -> None:
        unknown = [k for k in given if k not in self.members]
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

    def field(self, shape: object = None, **options: object) -> Operand:
        """A field of structs of this type."""
        return factories().struct_field(self, shape, **options)

    def __getattr__(self, name: str) -> Operand:
        if name not in self.__dict__.get("methods", {}):
            raise AttributeError(f"a struct type has no attribute '{name}'")
        return self.function(name)

    def function(self, name: str, owner: object = None) -> Operand:
        """A function of the struct, bound to `owner` if that is given: plain Python on the host, a func in kernels."""
        func, bare = self._funcs[name], owner is None or isinstance(self.methods[name], staticmethod)
        if current_emitter() is None:
            return func.function if bare else python_types.MethodType(func.function, owner)
        return func if bare else BoundFunc(func, owner)

    def __reduce__(self) -> str | tuple[object, ...]:
        # A type made by a class statement is found again by its name, as classes are.
        return self.__qualname__ if self.methods else (StructType, (self.members, {}, self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructType) and (self.members, self.methods) == (other.members, other.methods)

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
    if hasattr(to, "cast") and hasattr(to, "spec"):
        return to
    try:
        return dtype_of(to)
    except AdstackTypeError as error:
        raise AdstackTypeError(
            f"member '{name}' has no type that a struct can hold",
            note=f"got {to!r}",
            do="use a scalar, vector, matrix or struct type",
        ) from error


def convert(value: object, to: object) -> Operand:
    """`value` as a member of type `to`: a scalar, vector, matrix or struct type."""
    return to.cast(value) if hasattr(to, "cast") else cast(value, to)


class Struct:
    """A struct: `Struct(a=1, b=[2, 3])`, or of a type: `particle(x=..., v=...)`. Its members are attributes."""

    __slots__ = ("_members", "_type")
    _members: Members
    _type: StructType | None

    def __init__(self, values: dict[str, Operand] | None = None, /, **named: object) -> None:
        members = {**(values or {}), **named}
        if not members:
            raise AdstackTypeError("a struct needs a member", do="write Struct(a=1, b=2)")
        _adopt(self, {_member_name(k): _free(v) for k, v in members.items()}, None)

    @classmethod
    def over(cls, members: Members, type_: StructType | None = None) -> Struct:
        """A struct whose members are those of the mapping, not a copy of them."""
        view = object.__new__(cls)
        _adopt(view, members, type_)
        return view

    def __adstack_members__(self) -> Members:
        """The mapping in which the members lie."""
        return self._members

    @staticmethod
    def field(members: dict[str, Operand], shape: object = None, **options: object) -> Operand:
        """A field of structs with these members."""
        return StructType(members).field(shape, **options)

    @property
    def entries(self) -> dict[str, Operand]:
        """The members as they are now."""
        return {k: self._members[k] for k in self._members}

    @property
    def methods(self) -> dict[str, Operand]:
        """The functions of the struct's type."""
        return {} if self._type is None else self._type.methods

    @property
    def type(self) -> StructType | None:
        """The type it was made with, if any."""
        return self._type

    def keys(self) -> list[str]:
        """The names of the members."""
        return list(self._members)

    def items(self) -> Iterator[tuple[str, Operand]]:
        """Names and members."""
        return iter(self.entries.items())

    def to_dict(self) -> dict[str, Operand]:
        """The members as plain dicts, lists and numbers."""
        return {k: _to_plain(v) for k, v in self.items()}

    def copy(self) -> Struct:
        """A struct of its own with the members of now."""
        members = {k: v.copy() if isinstance(v, (Struct, Elements)) else v for k, v in self.items()}
        return Struct.over(members, self._type)

    def assign(self, value: object) -> None:
        """Set every member to that of a struct or dict with the same names."""
        members = dict(value.items()) if isinstance(value, (Struct, dict)) else None
        if members is None or set(members) != set(self.keys()):
            names = ", ".join(members) if members is not None else f"a {type(value).__name__}"
            raise AdstackTypeError(f"a struct of {', '.join(self.keys())} can't be assigned {names}")
        for name, member in members.items():
            setattr(self, name, member)

    def __getattr__(self, name: str) -> Operand:
        if name in self._members:
            return self._members[name]
        if self._type is not None and name in self._type.methods:
            return self._type.function(name, self)
        raise MissingMemberError(f"{self._label} has no member '{name}'", do=f"members: {', '.join(self.keys())}")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._members:
            raise MissingMemberError(f"{self._label} has no member '{name}'", do=f"members: {', '.join(self.keys())}")
        old = self._members[name]
        if isinstance(old, (Struct, Matrix)):
            # In place, so that a view of this member sees it, and the shape stays what it is.
            old.assign(value if self._type is None else convert(value, self._type.members[name]))
        else:
            self._members[name] = self._converted(name, value)

    def _converted(self, name: str, value: object) -> Operand:
        return _free(value) if self._type is None else convert(value, self._type.members[name])

    @property
    def _label(self) -> str:
        return "the struct" if self._type is None else repr(self._type)

    def __getitem__(self, name: str) -> Operand:
        return getattr(self, name)

    def __setitem__(self, name: str, value: object) -> None:
        setattr(self, name, value)

    def __deepcopy__(self, memo: object) -> Struct:
        return self.copy()

    def __reduce__(self) -> str | tuple[object, ...]:
        return Struct.over, (self.copy().entries, self._type)

    def __repr__(self) -> str:
        return f"Struct({self.to_dict()})" if self._type is None else f"{self._type!r}({self.to_dict()})"

    def __str__(self) -> str:
        return str(self.to_dict())


def _adopt(struct: Struct, members: Members, type_: StructType | None) -> None:
    """Fill the slots of a new struct, whose attributes are its members."""
    object.__setattr__(struct, "_members", members)
    object.__setattr__(struct, "_type", type_)


class MissingMemberError(AdstackCompilationError, AttributeError):
    """A member that the struct does not have."""


_RESERVED = {name for name in dir(Struct) if not name.startswith("__")}


def _free(value: object) -> Operand:
    """A member without a declared type: lists become vectors or matrices, dicts structs; the rest is copied."""
    if isinstance(value, dict):
        return Struct(value)
    if isinstance(value, Struct):
        return value.copy()
    return Matrix(value) if as_list(value) is not None else value


def _to_plain(value: object) -> Operand:
    if isinstance(value, Struct):
        return value.to_dict()
    return value.to_list() if isinstance(value, Elements) else value


def struct(members: dict[str, Operand] | None = None, /, **named: object) -> StructType:
    """The type of structs with these members: `types.struct(x=qd.f32, v=qd.math.vec3)`, or of a dict."""
    types = {**(members or {}), **named}
    methods = types.pop("__struct_methods", None)
    return StructType(types, methods)


def dataclass(cls: type[Operand]) -> StructType:
    """A class decorator: the annotations become members, the functions in the body functions of the struct.

    In kernels they are funcs, with or without `@func`; on the host they run as plain Python.
    """
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    hints = _annotations(cls, {} if caller is None else caller.f_locals)
    body = {k: v for k, v in vars(cls).items() if not k.startswith("__")}
    defaults = [k for k in hints if k in body]
    if defaults:
        raise AdstackTypeError(
            f"member '{defaults[0]}' of {cls.__name__} has a default", do="pass the value when making one"
        )
    other = [k for k, v in body.items() if not (callable(v) or isinstance(v, staticmethod))]
    if other:
        raise AdstackTypeError(
            f"'{other[0]}' of {cls.__name__} is neither a member nor a function of it",
            do="annotate members with their type, and write functions with self or as @staticmethod",
        )
    struct_type = StructType(hints, body, cls.__name__)
    struct_type.__module__, struct_type.__qualname__ = cls.__module__, cls.__qualname__
    return struct_type


def _annotations(cls: type[Operand], names: dict[str, Operand]) -> dict[str, Operand]:
    """Member name -> type; types in strings (`from __future__ import annotations`) are looked up where the class is."""
    try:
        return inspect.get_annotations(cls, locals={**names, **vars(cls)}, eval_str=True)
    except NameError as error:
        raise AdstackTypeError(f"an annotation of {cls.__name__} is not known: {error}", do="import it") from error
