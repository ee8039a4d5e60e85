"""What structs hand out of themselves: lists of names and members, and the error for a member that is not there."""

from __future__ import annotations

from ...errors import AdstackCompilationError
from ..kinds import Operand

__all__ = ["Listing", "MissingMemberError"]


class Listing(list[Operand]):
    """A list that a call gives as well: programs read `items` of a struct, or call it as that of a dict."""

    def __call__(self) -> Listing:
        return self


class MissingMemberError(AdstackCompilationError, AttributeError):
    """A member that the struct does not have."""
