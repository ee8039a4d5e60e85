"""`template()`: the annotation of parameters that are compile-time objects."""

from __future__ import annotations

__all__ = ["Template", "template"]


class Template:
    """The annotation of a parameter that is a compile-time object (kernels) or passed by reference (funcs)."""

    def __repr__(self) -> str:
        return "template()"


def template() -> Template:
    """An annotation: a compile-time object of a kernel, a parameter by reference of a func."""
    return Template()
