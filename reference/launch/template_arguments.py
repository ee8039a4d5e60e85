"""Arguments that are compile-time objects, and those of `Tensor` parameters, which are whatever comes."""

from __future__ import annotations

from ..data.fields import Field
from ..errors import AdstackRuntimeTypeError
from ..runtime.protocol.shortcuts import Argument, SameArgument
from ..runtime.state import current
from ..values.specs import Spec, TemplateSpec
from .arguments import Call, invalid
from .array_arguments import NdarrayParameter, is_array
from .contents import CONTAINERS, template_key
from .lifetimes import Same

__all__ = ["TemplateParameter", "TensorParameter"]


class TemplateParameter:
    """A compile-time object; arrays are passed as arrays."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.array = NdarrayParameter(name)

    def take(self, value: object, call: Call) -> None:
        """See `Parameter.take`."""
        if is_array(value):
            self.array.take(value, call)
        else:
            if isinstance(value, float) and current().options.raise_on_templated_floats:
                raise AdstackRuntimeTypeError(
                    f"argument {self.name} is a template, and a float is passed: {value!r}",
                    do="annotate it with a float type, or leave out raise_on_templated_floats",
                )
            call.key.append(template_key(value))

    def spec(self, value: object) -> Spec:
        """See `Parameter.spec`."""
        return self.array.spec(value) if is_array(value) else TemplateSpec(value, template_key(value))

    def described(self, value: object) -> Argument | None:
        """A description that only this object fits; None if its contents may change, and with them its key."""
        if is_array(value):
            return self.array.described(value)
        if isinstance(value, CONTAINERS):
            return None
        key = template_key(value)
        return SameArgument(id(value), None if isinstance(key, Same) and key.is_weak else value)


class TensorParameter(TemplateParameter):
    """A tensor, field, ndarray, numpy array, torch tensor, or None."""

    def take(self, value: object, call: Call) -> None:
        """See `Parameter.take`."""
        if not (value is None or isinstance(value, Field) or is_array(value)):
            raise invalid(self.name, "a tensor, a field, an ndarray or None", value)
        super().take(value, call)
