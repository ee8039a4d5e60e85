"""`template()`, `ref(type)`: the annotations of parameters that are compile-time objects, or passed by reference."""

from __future__ import annotations

__all__ = ["Reference", "Template", "ref", "template"]


class Template:
    """The annotation of a parameter that is a compile-time object (kernels) or passed by reference (funcs)."""

    def __repr__(self) -> str:
        return "template()"


def template() -> Template:
    """An annotation: a compile-time object of a kernel, a parameter by reference of a func."""
    return Template()


class Reference:
    """The annotation of a parameter of a func that stands for a variable of the caller.

    Attributes:
        type: of the variable: a scalar, vector, matrix or struct type.
    """

    def __init__(self, type_: object) -> None:
        self.type = type_

    def __repr__(self) -> str:
        return f"ref({self.type})"


def ref(type_: object) -> Reference:
    """An annotation of a func's parameter: a local, or an element of a field or ndarray, that the func may assign to.

    It must be of the type `type_`, a scalar, vector, matrix or struct type; AdstackTypeError where the func is called
    with anything else.
    """
    return Reference(type_)
