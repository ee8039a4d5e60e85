"""The adjoints of what a kernel returns: from what the host says of them to one number per real scalar returned."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from ..data.hostvalues import number
from ..errors import AdstackArgumentError, AdstackRuntimeTypeError
from ..ir.types import DType
from ..values.elements import Elements
from ..values.matrices.struct import Struct, members_of
from ..values.specs import MatrixSpec, ScalarSpec, Spec, StructSpec, TupleSpec

__all__ = ["SEED", "is_real", "real_scalars", "seeds_of"]

SEED: Final = "seed"
"""The keyword of `kernel.grad` that takes them."""


def real_scalars(spec: Spec | None) -> list[DType | None]:
    """The types of the scalars that a kernel returns, in order; None for those that carry no derivative."""
    if isinstance(spec, ScalarSpec):
        return [spec.dtype if spec.dtype.is_float else None]
    if isinstance(spec, MatrixSpec):
        return [spec.dtype if spec.dtype.is_float else None] * math.prod(spec.shape)
    return [dtype for _, member in _members(spec) for dtype in real_scalars(member)]


def is_real(spec: Spec | None) -> bool:
    """Whether there is a real number among what a kernel returns."""
    return spec is not None and any(dtype is not None for dtype in real_scalars(spec))


def seeds_of(spec: Spec | None, value: object, kernel: str) -> tuple[float, ...]:
    """The adjoints of the real scalars that a kernel returns, in order.

    Args:
        spec: what the kernel returns.
        value: a number for a scalar; for a vector or matrix one or a list of its shape; for a tuple or struct one of
            each member, where None stands for nothing. What has no real number takes None or 0, and a dict may leave it
            out.
        kernel: its name, for messages.
    """
    return tuple(_flat(spec, value, kernel))


def _members(spec: Spec | None) -> list[tuple[Any, Spec]]:
    if isinstance(spec, TupleSpec):
        return list(enumerate(spec.members))
    return list(spec.members) if isinstance(spec, StructSpec) else []


def _flat(spec: Spec | None, value: Any, kernel: str) -> Iterator[float]:
    real = [dtype for dtype in real_scalars(spec) if dtype is not None]
    if value is None:
        yield from [0.0] * len(real)
    elif isinstance(spec, (ScalarSpec, MatrixSpec)):
        yield from _numbers(spec, value, kernel)
    else:
        for key, member in _members(spec):
            yield from _flat(member, _member(spec, value, key, kernel), kernel)


def _numbers(spec: ScalarSpec | MatrixSpec, value: object, kernel: str) -> list[float]:
    """The seeds of a scalar, vector or matrix, in row-major order."""
    shape = spec.shape if isinstance(spec, MatrixSpec) else ()
    entries = np.asarray(value.to_list() if isinstance(value, Elements) else value, object)
    if entries.shape != shape:
        wanted = f"{spec.dtype} elements of shape {shape}" if shape else f"one number of type {spec.dtype}"
        raise AdstackArgumentError(
            f"{kernel}.grad(): the kernel returns {wanted}, and its seed has the shape {entries.shape}",
            do=f"pass {SEED}= with an adjoint for every number that the kernel returns",
        )
    if spec.dtype.is_float:
        return [number(entry, spec.dtype, f"the seed of {kernel}.grad()") for entry in entries.reshape(-1).tolist()]
    if any(entry != 0 for entry in entries.reshape(-1)):
        raise AdstackArgumentError(
            f"{kernel}.grad(): the kernel returns {spec.dtype}, and integers carry no gradient", do="pass None for it"
        )
    return []


def _member(spec: Spec | None, value: Any, key: Any, kernel: str) -> Any:
    """The seed of one member."""
    if isinstance(spec, TupleSpec):
        if isinstance(value, (tuple, list)) and len(value) == len(spec.members):
            return value[key]
        wanted = f"a tuple of {len(spec.members)} adjoints, one for each value returned"
    else:
        if isinstance(value, (Mapping, Struct)):
            return _named(spec, members_of(value), key, kernel)
        wanted = "a dict of adjoints by the names of the members"
    raise AdstackRuntimeTypeError(f"the seed of {kernel}.grad() must be {wanted}, got {value!r}")


def _named(spec: Spec | None, adjoints: Mapping[str, Any], name: str, kernel: str) -> Any:
    """The adjoint of a struct's member: a name that is mistyped may not count as an adjoint of 0."""
    members = dict(_members(spec))
    unknown = sorted(map(str, adjoints.keys() - members.keys()))
    if unknown or (name not in adjoints and is_real(members[name])):
        what = f"has {', '.join(unknown)}" if unknown else f"lacks {name}"
        raise AdstackArgumentError(
            f"the seed of {kernel}.grad() {what}: the kernel returns {', '.join(members)}",
            do="pass an adjoint for each member that has real numbers, or None for nothing",
        )
    return adjoints.get(name)
