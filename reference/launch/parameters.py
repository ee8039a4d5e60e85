"""From the signature of a kernel to the parameters it takes."""

from __future__ import annotations

import dataclasses
import inspect
import operator
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import CellType
from typing import Any

from ..errors import AdstackError, AdstackSyntaxError, AdstackTypeError
from ..ir.location import Loc
from ..ir.types import DType
from ..values.annotations import NdarrayType, Tensor
from ..values.matrices.struct import Struct, StructType, members_of
from ..values.matrices.types import MatrixType
from ..values.scalars import scalar_type
from ..values.templates import Template, template
from .annotation_hints import annotation_text, parameter_instead
from .arguments import Parameter, ScalarParameter
from .array_arguments import NdarrayParameter
from .structured_arguments import MatrixParameter, StructParameter
from .template_arguments import TemplateParameter, TensorParameter

__all__ = ["Signature"]


class Signature:
    """The parameters and the return annotation of a kernel's function, checked.

    Args:
        function: the function.
        around: the names known where it was decorated; postponed annotations may use them.

    Attributes:
        names: of the parameters, in order; a method's object included.
        annotations: one per parameter; a method's object counts as a template.
        returns: what it returns, or None.
        is_method: whether the first parameter is the object: it is called `self`, or has no annotation in a class.
    """

    def __init__(self, function: Callable[..., object], around: Mapping[str, object]) -> None:
        self.function = function
        self.loc = Loc(function.__code__.co_filename, function.__code__.co_firstlineno, 1)
        signature = inspect.signature(function)
        self.names = tuple(signature.parameters)
        self.is_method = _is_method(function, next(iter(signature.parameters.values()), None))
        self._raw = [self._annotation(p) for p in signature.parameters.values()]
        self._raw_return = None if signature.return_annotation is signature.empty else signature.return_annotation
        used = {name for raw in (*self._raw, self._raw_return) for name in _names_in(raw)}
        self._around = {name: around[name] for name in used if name in around}

    def _annotation(self, parameter: inspect.Parameter) -> object:
        if self.is_method and parameter.name == self.names[0] and parameter.annotation is parameter.empty:
            return Template()
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY, parameter.KEYWORD_ONLY):
            raise self._error(f"kernel {self.name} has *{parameter.name}", "name every parameter")
        if parameter.annotation is parameter.empty:
            raise self._error(
                f"parameter {parameter.name!r} of kernel {self.name} is not annotated",
                f"write {parameter.name}: qd.f32, or the type that it has",
            )
        if parameter.default is not parameter.empty:
            raise self._error(
                f"parameter {parameter.name!r} of kernel {self.name} has a default value", "pass it in every call"
            )
        return parameter.annotation

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    def parameters(self) -> tuple[Parameter, ...]:
        """One per argument, under the default types in force."""
        pairs = zip(self.names, self._raw, strict=True)
        return tuple(self._parameter(name, self._evaluated(raw)) for name, raw in pairs)

    def returns(self) -> object:
        """What the return annotation evaluates to; None if there is none."""
        return self._evaluated(self._raw_return)

    def _evaluated(self, annotation: object) -> object:
        names = {**self.function.__globals__, **self._around, **_closure(self.function)}
        return _evaluated(annotation, names, f"kernel {self.name}", self.loc)

    def _parameter(self, name: str, annotation: object) -> Parameter:
        taken = parameter(name, annotation)
        if taken is None:
            raise self._error(
                f"parameter {name!r} of kernel {self.name} has the annotation {annotation_text(annotation)}, "
                "which is not a type",
                parameter_instead(annotation)
                or "use a scalar type, types.vector, types.ndarray, a dataclass, or template()",
            )
        return taken

    def _error(self, message: str, do: str) -> AdstackSyntaxError:
        return AdstackSyntaxError(message, loc=self.loc, do=do)


def _is_method(function: Callable[..., object], first: inspect.Parameter | None) -> bool:
    around = function.__qualname__.rpartition(".")[0]
    in_class = bool(around) and not around.endswith("<locals>")
    return first is not None and (first.name == "self" or (in_class and first.annotation is first.empty))


def _names_in(annotation: object) -> tuple[str, ...]:
    """The names that a postponed annotation uses."""
    try:
        return compile(annotation, "<annotation>", "eval").co_names if isinstance(annotation, str) else ()
    except SyntaxError:
        return ()


def evaluated(annotation: object, names: dict[str, object]) -> object:
    """An annotation as an object; postponed ones are strings, and may have been quoted before that."""
    while isinstance(annotation, str):
        annotation = eval(annotation, names)  # the user's own annotation
    return annotation


def _evaluated(annotation: object, names: dict[str, object], what: str, loc: Loc | None = None) -> object:
    """An annotation of `what` as an object; AdstackSyntaxError if evaluating it fails."""
    message = f"the annotation {annotation!r} of {what} can't be evaluated"
    try:
        return evaluated(annotation, names)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        do = "define the names it uses at module level, or drop `from __future__ import annotations`"
        if isinstance(error, AdstackError):
            raise AdstackSyntaxError(f"{message}: {error.message}", loc=loc, do=error.do or do) from None
        raise AdstackSyntaxError(f"{message}: {error}", loc=loc, do=do) from None
    except (AdstackError, MemoryError):
        raise
    except Exception as error:  # it is the program's expression, and may fail with anything
        told = f"{message}: {type(error).__name__}: {error}"
        raise AdstackSyntaxError(told, loc=loc, do="write a type, or an expression that gives one") from error


def _closure(function: Callable[..., object]) -> dict[str, object]:
    """The variables of enclosing functions that have a value by now."""
    pairs = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in pairs if cell != CellType()}


def parameter(name: str, annotation: object) -> Parameter | None:
    """What an annotation takes; None if it is not one of a kernel parameter."""
    if annotation in (template, Template) or isinstance(annotation, Template):
        return TemplateParameter(name)
    if annotation is Tensor:
        return TensorParameter(name)
    if isinstance(annotation, NdarrayType) or annotation is NdarrayType:
        return _ndarray(name, NdarrayType() if isinstance(annotation, type) else annotation)
    if isinstance(annotation, MatrixType):
        return MatrixParameter(name, scalar_type(annotation.dtype), annotation.shape)
    if isinstance(annotation, StructType):
        return _struct(name, annotation, annotation.members, partial(_has_members, annotation), operator.getitem)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _struct(name, annotation, _members(annotation), lambda value: isinstance(value, annotation))
    dtype = scalar_type(annotation)
    return ScalarParameter(name, dtype) if isinstance(dtype, DType) else None


def _members(cls: type[Any]) -> dict[str, object]:
    """Member name -> annotation, of a Python dataclass."""
    return {member.name: _member(cls, member) for member in dataclasses.fields(cls)}


def _member(cls: type[object], member: dataclasses.Field[object]) -> object:
    module = sys.modules.get(cls.__module__)  # there is none for a class in source text that a program executes
    return _evaluated(member.type, {} if module is None else vars(module), f"{cls.__name__}.{member.name}")


def _ndarray(name: str, annotation: NdarrayType) -> Parameter:
    element, dtype = None, annotation.dtype
    if isinstance(dtype, MatrixType):
        element, dtype = dtype.shape, dtype.dtype
    elif annotation.element_shape is not None:
        element = annotation.element_shape
    elif dtype is not None and not annotation.element_dim:
        element = ()
    clamped = annotation.boundary == "clamp"
    ndim, element_dim = annotation.ndim, annotation.element_dim
    if element is not None and element_dim not in (None, len(element)):
        raise AdstackTypeError(
            f"element_dim={element_dim} of the annotation of {name} is not that of {dtype!r}", do="leave it out"
        )
    return NdarrayParameter(name, scalar_type(dtype), element, ndim, annotation.needs_grad, clamped, element_dim or 0)


def _has_members(type_: StructType, value: object) -> bool:
    return isinstance(value, (Struct, dict)) and set(members_of(value)) == set(type_.members)


def _struct(
    name: str,
    type_: object,
    members: dict[str, object],
    accepts: Callable[[object], bool],
    get: Callable[[Any, str], Any] = getattr,
) -> Parameter | None:
    parameters = {member: parameter(f"{name}.{member}", annotation) for member, annotation in members.items()}
    complete = {member: p for member, p in parameters.items() if p is not None}
    return StructParameter(name, type_, complete, accepts, get) if len(complete) == len(parameters) else None
