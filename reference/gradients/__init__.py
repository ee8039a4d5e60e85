"""Differentiation of programs: what stands around calls of kernels.

tape.py            Tape; events.py: what happened inside; reached.py, losses.py: what can't be linked is an error
recorded.py        how launches are made so that they can be wound back: journal.py, undo.py, guarded.py; report.py
records.py         launches outside a tape (arguments.py: which is which); kept.py: those that keep what they overwrite
last_launch.py     their gradients; stale.py: what the reverse pass reads of what has changed
differentiated.py  a specialisation in another mode; checkpointed.py: where memory is short
dual.py            FwdMode; links.py, tangents.py: what the host computes between launches
custom.py          grad_replaced, grad_for, no_grad; seeds.py, returned.py: adjoints of what a kernel returns
access.py          validation of the data access rule; clearing.py: gradients set to zero
check.py           gradients against finite differences; nearness.py: within what rounding explains

May import: launch, data, values, autodiff, analysis, runtime, ir, errors.
"""
