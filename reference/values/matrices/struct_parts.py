"""What structs are made of, and what they hand out: lists of members, and the error for a member that is not there."""

from __future__ import annotations

from ...errors import AdstackCompilationError, AdstackTypeError
from ..kinds import Operand

__all__ = ["Listing", "MissingMemberError", "as_dict"]


class Listing(list[Operand]):
    """A list that a call gives as well: programs read `items` of a struct, or call it as that of a dict."""

    def __call__(self) -> Listing:
        return self


class MissingMemberError(AdstackCompilationError, AttributeError):
    """A member that the struct does not have."""


def as_dict(what: str, value: object) -> dict[str, Operand]:
    """Members or methods by their names, none for None; AdstackTypeError for what is no dict."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        do = "write qd.types.struct(x=qd.f32, v=qd.math.vec3)"
        raise AdstackTypeError(f"{what} are a dict by their names, got {value!r}", do=do)
    return value
