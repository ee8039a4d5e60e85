"""Scalar arguments that are not constant are an error in forward mode, where a dual depends on them."""

from __future__ import annotations

from ...errors import AdstackRuntimeError
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...values.linked import Linked
from ..scalar_arguments import active_parameters, unlink

__all__ = ["check_constants"]


def check_constants(made: Specialisation, call: Call) -> None:
    """An error in forward mode for a scalar argument that is not constant, if something with a dual depends on it."""
    if not any(isinstance(scalar, Linked) for scalar in call.scalars):
        return
    active = active_parameters(made, "dual")
    for param, scalar in zip(made.kernel.params, call.scalars, strict=True):
        if param in active and isinstance(scalar, Linked) and scalar.chain.open and scalar.dual != 0.0:
            raise AdstackRuntimeError(
                f"the argument {param.name} of {made.kernel.name} has a dual of {scalar.dual}, and scalar arguments "
                "are constants",
                loc=made.kernel.loc,
                do=f"store the number in a field of shape () with needs_dual=True and read that in {made.kernel.name}, "
                "or write float(...) around it if it is a constant",
            )
    unlink(call)
