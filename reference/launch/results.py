"""What a kernel returns: from its annotation to a spec, from the scalars that come back to a value."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import AdstackSyntaxError
from ..ir.types import DType
from ..runtime.protocol.backend import Scalar, Scalars
from ..values.elements import Elements
from ..values.matrices.types import MatrixType, StructType
from ..values.scalars import scalar_type
from ..values.specs import MatrixSpec, ScalarSpec, Spec, StructSpec, TupleSpec
from .annotation_hints import annotation_text, type_instead

__all__ = ["mapped", "result_spec", "result_value"]


def result_spec(annotation: object) -> Spec:
    """The spec of a return annotation: a scalar type, a vector, matrix or struct type, or a tuple of them.

    AdstackSyntaxError for any other annotation.
    """
    members = _members(annotation)
    if members is not None:
        return TupleSpec(tuple(result_spec(m) for m in members))
    if isinstance(annotation, MatrixType):
        return MatrixSpec(scalar_type(annotation.dtype), annotation.shape)
    if isinstance(annotation, StructType):
        return StructSpec(annotation, tuple((n, result_spec(t)) for n, t in annotation.members.items()))
    dtype = scalar_type(annotation)
    if isinstance(dtype, DType):
        return ScalarSpec(dtype)
    instead = type_instead(annotation) or "return a scalar, vector, matrix or struct type, or a tuple of them"
    raise AdstackSyntaxError(f"a kernel can't return {annotation_text(annotation)}", do=instead)


def _members(annotation: object) -> Sequence[object] | None:
    """The members of a tuple annotation: `(i32, f32)`, `tuple[i32, f32]`."""
    if isinstance(annotation, (tuple, list)):
        return annotation
    return typing.get_args(annotation) if typing.get_origin(annotation) is tuple else None


def result_value(spec: Spec, scalars: Scalars) -> Any:
    """Build the value of a kernel's return type from the scalars that the launch returned, in order."""
    return _value(spec, iter(scalars))


def mapped(spec: Spec, value: object, function: Callable[[Scalar], Scalar]) -> Any:
    """A returned value in which each scalar is replaced by `function` of it, in order."""
    return _value(spec, iter([function(scalar) for scalar in _scalars(spec, value)]))


def _scalars(spec: Spec, value: Any) -> Iterator[Scalar]:
    """The scalars that make up a value."""
    if isinstance(spec, MatrixSpec):
        yield from value.entries
    elif isinstance(spec, TupleSpec):
        for member, part in zip(spec.members, value, strict=True):
            yield from _scalars(member, part)
    elif isinstance(spec, StructSpec):
        for name, member in spec.members:
            yield from _scalars(member, getattr(value, name))
    else:
        yield value


def _value(spec: Spec, scalars: Iterator[Scalar]) -> Any:
    if isinstance(spec, MatrixSpec):
        count = 1
        for extent in spec.shape:
            count *= extent
        return Elements.over([next(scalars) for _ in range(count)], spec.shape, spec.dtype)
    if isinstance(spec, TupleSpec):
        return tuple(_value(m, scalars) for m in spec.members)
    if isinstance(spec, StructSpec):
        return spec.type(**{name: _value(m, scalars) for name, m in spec.members})
    return next(scalars)
