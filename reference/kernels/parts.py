"""Arguments that have parts, vectors, matrices and structs, taken apart: into numbers, ndarrays and other objects."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..runtime.protocol.shortcuts import Argument, MatrixArgument, StructArgument
from ..values.elements import Elements

__all__ = ["apart", "have_parts"]


def have_parts(arguments: Iterable[Argument]) -> bool:
    """Whether some of these arguments have parts."""
    return any(isinstance(one, (MatrixArgument, StructArgument)) for one in arguments)


def apart(values: Sequence[object], arguments: Sequence[Argument]) -> list[object] | None:
    """The parts of a call's arguments, one for each of `leaves`; None if machine code leaves such a call to Python."""
    if len(values) != len(arguments):
        return None
    parts: list[object] = []
    pairs = zip(values, arguments, strict=True)
    return parts if all(_take(value, argument, parts) for value, argument in pairs) else None


def _take(value: object, argument: Argument, parts: list[object]) -> bool:
    if isinstance(argument, StructArgument):
        return value.__class__ is argument.kind and all(
            _take(getattr(value, name), member, parts) for name, member in argument.members
        )
    if not isinstance(argument, MatrixArgument):
        parts.append(value)
        return True
    entries: object = value
    if isinstance(value, Elements):
        if value.__class__ is not argument.kind or value.shape != argument.shape:
            return False
        entries = value.storage
    elif len(argument.shape) > 1:
        return False
    if entries.__class__ is not list or len(entries) != math.prod(argument.shape):
        return False
    parts += entries
    return True
