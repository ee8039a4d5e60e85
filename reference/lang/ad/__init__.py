"""Differentiation of programs: what stands around calls of kernels.

tape.py       Tape: launches are recorded, and differentiated in reverse when it is left
undo.py       what the tape needs to wind memory back; report.py: what it says of that
recorded.py   how a launch is made so that it can be wound back; journal.py: launches that log; events.py: what happened
records.py    launches outside a tape (arguments.py: which is which); kept.py: those that keep what they overwrite
last_launch.py  their gradients; stale.py: what the reverse pass reads of what has changed
dual.py       FwdMode: launches compute directional derivatives as well
custom.py     grad_replaced, grad_for, no_grad
access.py     validation: what a launch reads and overwrites; check.py: gradients against finite differences
losses.py     what may be a loss; reached.py: what a tape can't link is an error; clearing.py: gradients set to zero
links.py      what the host computes between launches; tangents.py: in forward mode; returned.py: seeds of `.grad()`
May import: the rest of lang but the frontend, runtime, ir, errors.
"""

from ..compile_time import stop_grad
from .clearing import clear_all_gradients
from .custom import grad_for, grad_replaced, no_grad
from .dual import FwdMode
from .tape import Tape

__all__ = ["FwdMode", "Tape", "clear_all_gradients", "grad_for", "grad_replaced", "no_grad", "stop_grad"]
