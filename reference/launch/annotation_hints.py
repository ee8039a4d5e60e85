"""What to write in place of an annotation that makes values, and is no type of them."""

from __future__ import annotations

from typing import Final

from ..values.matrices.matrix import Matrix, Vector
from ..values.matrices.struct import Struct

__all__ = ["annotation_text", "type_instead"]

_INSTEAD: Final = (
    (Vector, "qd.Vector", "qd.types.vector(n, dtype), as qd.types.vector(3, qd.f32)"),
    (Matrix, "qd.Matrix", "qd.types.matrix(n, m, dtype), as qd.types.matrix(2, 2, qd.f32)"),
    (Struct, "qd.Struct", "qd.types.struct(...), or a class under @qd.dataclass"),
)


def annotation_text(annotation: object) -> str:
    """How a program wrote an annotation."""
    return next((name for kind, name, _ in _INSTEAD if annotation is kind), repr(annotation))


def type_instead(annotation: object) -> str:
    """What to write for an annotation that makes vectors, matrices or structs; nothing for others."""
    return next((f"write the type, {type_}" for kind, _, type_ in _INSTEAD if annotation is kind), "")
