"""Scalar arguments that are not constant are an error in forward mode, where a dual depends on them."""

from __future__ import annotations

from ...errors import AdstackRuntimeError
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...values.linked import Linked
from ..scalar_arguments import active_parameters, unlink

__all__ = ["check_constants"]


def check_constants(specialisation: Specialisation, call: Call) -> None:
    """In forward mode, AdstackRuntimeError if a call passes a number with a dual as a scalar argument that matters.

    It matters if something with a dual depends on the parameter. The call passes plain numbers afterwards.
    """
    if not any(isinstance(scalar, Linked) for scalar in call.scalars):
        return
    active = active_parameters(specialisation, "dual")
    name = specialisation.kernel.name
    for param, scalar in zip(specialisation.kernel.params, call.scalars, strict=True):
        if param in active and isinstance(scalar, Linked) and scalar.chain.open and scalar.dual != 0.0:
            raise AdstackRuntimeError(
                f"the argument {param.name} of {name} has a dual of {scalar.dual}, and scalar arguments are constants",
                loc=specialisation.kernel.loc,
                do=f"store the number in a field of shape () with needs_dual=True and read that in {name}, "
                "or write float(...) around it if it is a constant",
            )
    unlink(call)
