"""Arguments that have parts, which are passed one by one: vectors, matrices, structs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MemberDescriptorType
from typing import Any

from ..data.hostvalues import storable
from ..errors import AdstackArgumentError
from ..ir.types import DType
from ..runtime.protocol.shortcuts import Argument, MatrixArgument, NumberArgument, StructArgument
from ..values.elements import Elements, as_elements
from ..values.specs import MatrixSpec, Spec, StructSpec
from .arguments import Call, Parameter, ScalarParameter, invalid

__all__ = ["MatrixParameter", "StructParameter"]


class MatrixParameter:
    """A vector or matrix by value."""

    def __init__(self, name: str, dtype: DType, shape: tuple[int, ...]) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.element = ScalarParameter(name, dtype)

    def take(self, value: object, call: Call) -> None:
        """See `Parameter.take`."""
        elements = as_elements(value)
        if not isinstance(elements, Elements):
            raise invalid(self.name, f"{self.dtype} elements of shape {self.shape}", value)
        if elements.shape != self.shape:
            raise AdstackArgumentError(
                f"Invalid value for argument {self.name} - expected shape {self.shape}, got shape {elements.shape}",
                do=f"pass a value of the shape {self.shape}, or annotate {self.name} with another type",
            )
        for entry in elements.entries:
            self.element.take(entry, call)

    def spec(self, value: object) -> Spec:
        """See `Parameter.spec`."""
        return MatrixSpec(self.dtype, self.shape)

    def described(self, value: object) -> Argument | None:
        """See `Parameter.described`."""
        number = NumberArgument(self.dtype, *storable(self.dtype))
        return MatrixArgument(number, Elements.kinds[len(self.shape)], self.shape)


class StructParameter:
    """A struct or a dataclass instance: its members are passed one by one."""

    def __init__(
        self,
        name: str,
        type_: object,
        members: dict[str, Parameter],
        accepts: Callable[[object], bool],
        get: Callable[[Any, str], Any] = getattr,
    ) -> None:
        self.name = name
        self.type = type_
        self.members = members
        self.accepts = accepts
        self.get = get

    def take(self, value: object, call: Call) -> None:
        """See `Parameter.take`."""
        if not self.accepts(value):
            raise invalid(self.name, f"a {getattr(self.type, '__name__', self.type)}", value)
        for member, parameter in self.members.items():
            parameter.take(self._member(value, member), call)

    def _member(self, value: Any, member: str) -> Any:
        """AdstackArgumentError for one that was never set, or was deleted."""
        try:
            return self.get(value, member)
        except AttributeError as error:
            raise AdstackArgumentError(
                f"Invalid value for argument {self.name} - its member {member} has no value: {error}",
                do=f"set {self.name}.{member}",
            ) from error

    def spec(self, value: object) -> Spec:
        """See `Parameter.spec`."""
        members = ((m, p.spec(self.get(value, m))) for m, p in self.members.items())
        return StructSpec(self.type, tuple(members))

    def described(self, value: object) -> Argument | None:
        """See `Parameter.described`: machine code reads attributes that are no code of Python's."""
        if self.get is not getattr or not _has_own(value, self.members):
            return None
        members = []
        for member, parameter in self.members.items():
            described = parameter.described(getattr(value, member))
            if described is None:
                return None
            members.append((member, described))
        return StructArgument(type(value), tuple(members))


def _has_own(value: object, names: Iterable[str]) -> bool:
    """Whether an object has these attributes in its dictionary or slots: to read them runs no code of Python's."""
    kind, own = type(value), getattr(value, "__dict__", {})
    if kind.__getattribute__ is not object.__getattribute__ or hasattr(kind, "__getattr__"):
        return False
    inherited = {name: next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None) for name in names}
    return all(
        isinstance(one, MemberDescriptorType) or (name in own and not hasattr(one, "__get__"))
        for name, one in inherited.items()
    )
