"""The seam between the host side of the language and the frontend.

`kernel.py` turns a call's arguments into one spec per parameter; equal specs mean that the same compiled kernel serves
the call. The frontend reads the function's source under these specs and gives back a `Lowered`. Neither side looks
further into the other than this page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from ..ir.structure import Kernel, Place
from ..ir.types import DType
from .kinds import KernelObject, PythonFunction, TypeLike

__all__ = [
    "FieldLike",
    "Lowered",
    "MatrixSpec",
    "NdarraySpec",
    "Request",
    "ScalarSpec",
    "Spec",
    "StructSpec",
    "TemplateSpec",
    "TupleSpec",
]


class FieldLike(Protocol):
    """What the frontend needs of a scalar, vector or matrix field.

    Attributes:
        name: what the user calls it, for messages.
        dtype: element type.
        shape: extents of the index axes; reading it raises AdstackRuntimeError while the field is unplaced.
        element_shape: () for a scalar field, (n,) for vectors, (n, m) for matrices.
        offset: one per axis; the domain of axis k is offset[k] .. offset[k] + shape[k] - 1.
        place: its `Place` (kind "field"; shape is shape + element_shape; name unique in the process).
        grad, dual: the companion fields, or None. They exist while unplaced; `is_placed` tells.
    """

    name: str
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes."""

    @property
    def element_shape(self) -> tuple[int, ...]:
        """() for scalars, (n,) for vectors, (n, m) for matrices."""

    @property
    def offset(self) -> tuple[int, ...]:
        """The least index of each axis."""

    @property
    def place(self) -> Place:
        """What it is in the IR."""

    @property
    def grad(self) -> KernelObject:
        """Its gradient, None if there is none."""

    @property
    def dual(self) -> KernelObject:
        """Its dual, None if there is none."""

    @property
    def is_placed(self) -> bool:
        """Whether it has a shape and may be used."""


@dataclass(frozen=True)
class ScalarSpec:
    """A number passed by value: one kernel parameter of this type."""

    dtype: DType


@dataclass(frozen=True)
class MatrixSpec:
    """A vector (n,) or matrix (n, m) passed by value: its elements, row by row, are kernel parameters."""

    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class NdarraySpec:
    """An array argument: `ndim` index axes (extents unknown until launch), then the element's own axes.

    Its place is called like the parameter; its gradient's, if `has_grad`, has ".grad" appended, its dual's ".dual".
    If it is `clamped`, an index outside means the nearest one inside. If the annotation demands a gradient, which the
    array can't have, as numpy's have none, `lacks` is the name of the parameter.
    """

    dtype: DType
    ndim: int
    element_shape: tuple[int, ...] = ()
    has_grad: bool = False
    has_dual: bool = False
    clamped: bool = False
    lacks: str = ""


@dataclass(frozen=True)
class TemplateSpec:
    """A compile-time object. Two specs are equal when the frontend would do the same with both (`key`)."""

    value: KernelObject = field(compare=False)
    key: object = None


@dataclass(frozen=True)
class StructSpec:
    """A struct or dataclass whose members are passed one by one; place names are joined with dots."""

    type: TypeLike
    members: tuple[tuple[str, Spec], ...]


@dataclass(frozen=True)
class TupleSpec:
    """A return annotation `-> (i32, f32)`."""

    members: tuple[Spec, ...]


Spec = ScalarSpec | MatrixSpec | NdarraySpec | TemplateSpec | StructSpec | TupleSpec


@dataclass(frozen=True)
class Request:
    """What the frontend is asked to lower.

    Attributes:
        function: the Python function under `@kernel`.
        specs: one per parameter, in order, `self` of a data-oriented method included (a TemplateSpec).
        returns: spec of the return annotation, or None.
        options: those of `init` that change what is emitted (default_fp, default_ip, debug, short_circuit_operators,
            unrolling_limit, fast_math), as attributes.
    """

    function: PythonFunction
    specs: tuple[Spec, ...]
    returns: Spec | None
    options: object


@dataclass(frozen=True)
class Lowered:
    """What the frontend gives back.

    Attributes:
        kernel: verified IR. Its scalar parameters are the scalar specs flattened in order; its places are the fields
            it touches and its array parameters.
        fields: place name -> the field object (a FieldLike) that it stands for; gradients and duals included.
        captured: what was captured and must not change unnoticed: (how to read it now, what it was) pairs.
    """

    kernel: Kernel
    fields: dict[str, KernelObject] = field(default_factory=dict)
    captured: tuple[tuple[partial[object], object], ...] = ()
