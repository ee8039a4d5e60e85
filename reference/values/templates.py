"""`template()`, `ref(type)`: the annotations of parameters that are compile-time objects, or passed by reference."""

from __future__ import annotations

from .calling import takes

__all__ = ["Reference", "Template", "ref", "template"]


class Template:
    """The annotation of a parameter that is a compile-time object (kernels) or passed by reference (funcs).

    Args:
        element_type: what existing programs say of the elements of a field that is passed; nobody looks at it.
        ndim: the same of its axes.

    Existing programs call them `tensor` and `dim` as well.
    """

    @takes("template", tensor="element_type", dim="ndim")
    def __init__(self, element_type: object = None, ndim: object = None) -> None:
        """Nothing is kept: the object that is passed has a type and axes of its own."""

    def __repr__(self) -> str:
        return "template()"


def template(*args: object, **options: object) -> Template:
    """An annotation: a compile-time object of a kernel, a parameter by reference of a func; see `Template`."""
    return Template(*args, **options)


class Reference:
    """The annotation of a parameter of a func that stands for a variable of the caller.

    Attributes:
        type: of the variable: a scalar, vector, matrix or struct type.
    """

    def __init__(self, type_: object) -> None:
        self.type = type_

    def __repr__(self) -> str:
        return f"ref({self.type})"


@takes("ref")
def ref(tp: object) -> Reference:
    """An annotation of a func's parameter: a local, or an element of a field or ndarray, that the func may assign to.

    It must be of the type `tp`, a scalar, vector, matrix or struct type; AdstackTypeError where the func is called
    with anything else.
    """
    return Reference(tp)
