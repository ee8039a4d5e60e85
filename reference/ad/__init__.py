"""Differentiation of programs, as users call it: `qd.ad.Tape`, `qd.ad.FwdMode`, custom gradients. See `gradients/`."""

from ..frontend.compile_time import stop_grad
from ..gradients.clearing import clear_all_gradients
from ..gradients.custom import grad_for, grad_replaced, no_grad
from ..gradients.forward.dual import FwdMode
from ..gradients.tapes.tape import Tape

__all__ = ["FwdMode", "Tape", "clear_all_gradients", "grad_for", "grad_replaced", "no_grad", "stop_grad"]
