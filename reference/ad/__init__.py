"""Differentiation of programs, as users call it: `qd.ad.Tape`, `qd.ad.FwdMode`, custom gradients. See `gradients/`.

matrices.py  Jacobians, Hessians and products of these with vectors
"""

from ..absent import missing as _missing
from ..absent import with_absent as _with_absent
from ..gradients.clearing import clear_all_gradients
from ..gradients.custom import grad_for, grad_replaced, no_grad
from ..gradients.forward.dual import FwdMode
from ..gradients.tapes.tape import Tape
from ..values.compile_time import stop_grad
from .matrices import hessian, hvp, jacobian

__all__ = [
    "FwdMode",
    "Tape",
    "clear_all_gradients",
    "grad_for",
    "grad_replaced",
    "hessian",
    "hvp",
    "jacobian",
    "no_grad",
    "stop_grad",
]


_with_absent("qd.ad.Tape")(Tape)
_with_absent("qd.ad.FwdMode")(FwdMode)


def __getattr__(name: str) -> object:
    """The error for a name that is not there, which says what to use."""
    raise _missing("qd.ad", name, __all__)


def __dir__() -> list[str]:
    """The names that users are to use."""
    return [*__all__]
