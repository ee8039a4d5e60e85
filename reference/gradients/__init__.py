"""Differentiation of programs: what stands around calls of kernels.

tape.py         Tape: launches are recorded, and differentiated in reverse when it is left
events.py       what happened inside; recorded.py: how a launch is made so that it can be wound back; journal.py: by a
                log; undo.py, guarded.py: what the tape needs to wind memory back; report.py: what it says of that
records.py      launches outside a tape (arguments.py: which is which); kept.py: those that keep what they overwrite
last_launch.py  their gradients; stale.py: what the reverse pass reads of what has changed
differentiated.py  a specialisation in another mode; checkpointed.py: where memory is short
dual.py         FwdMode: launches compute directional derivatives as well
custom.py       grad_replaced, grad_for, no_grad
access.py       validation: what a launch reads and overwrites; check.py: gradients against finite differences,
                nearness.py: within what rounding explains
losses.py       what may be a loss; reached.py: what a tape can't link is an error; clearing.py: gradients set to zero
links.py        what the host computes between launches; tangents.py: in forward mode
seeds.py        adjoints of what a kernel returned; returned.py: those of `.grad()`

May import: launch, data, values, autodiff, analysis, runtime, ir, errors.
"""
