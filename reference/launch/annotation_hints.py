"""What to write in place of an annotation that makes values, and is no type of them."""

from __future__ import annotations

import types
from typing import Final, Union, get_origin

import numpy as np

from ..data.factories import field, ndarray
from ..values.matrices.matrix import Matrix, Vector
from ..values.matrices.struct import Struct

__all__ = ["annotation_text", "parameter_instead", "type_instead"]

_INSTEAD: Final = (
    (Vector, "qd.Vector", "qd.types.vector(n, dtype), as qd.types.vector(3, qd.f32)"),
    (Matrix, "qd.Matrix", "qd.types.matrix(n, m, dtype), as qd.types.matrix(2, 2, qd.f32)"),
    (Struct, "qd.Struct", "qd.types.struct(...), or a class under @qd.dataclass"),
)
_ARRAYS: Final = "qd.types.ndarray()"
_OTHERS: Final = (
    (np.ndarray, "np.ndarray", _ARRAYS),
    (ndarray, "qd.ndarray", _ARRAYS),
    (field, "qd.field", "qd.template()"),
)


def annotation_text(annotation: object) -> str:
    """How a program wrote an annotation."""
    return next((name for kind, name, _ in _INSTEAD + _OTHERS if annotation is kind), repr(annotation))


def type_instead(annotation: object) -> str:
    """What to write for an annotation that makes vectors, matrices or structs; nothing for others."""
    return next((f"write the type, {type_}" for kind, _, type_ in _INSTEAD if annotation is kind), "")


def parameter_instead(annotation: object) -> str:
    """What to write for an annotation of a parameter that is no type of kernels; nothing for most."""
    if get_origin(annotation) in (Union, types.UnionType):
        return (
            "a parameter has one type: write the one that holds all, or qd.template() for values known while compiling"
        )
    if annotation in (str, bytes):
        return "write qd.template() for a text that is known while compiling; kernels compute with numbers"
    return type_instead(annotation) or next((f"write {type_}" for kind, _, type_ in _OTHERS if annotation is kind), "")
