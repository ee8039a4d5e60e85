"""Gradients of launches: what is recorded while kernels run, and how adjoints and tangents go through them.

modes/        a specialisation in forward and reverse mode; the state of one specialisation's derivatives
memory/       the undo log of memory
events.py     what happens to memory: launches, writes of the host; journal.py: launches that log what they overwrite
access.py     whether a launch overwrites what it has read
tapes/        Tape; launches/: kernel.grad() outside a tape; forward/: FwdMode
seeds.py      adjoints of what kernels return; returned.py: where none is passed
clearing.py   gradients set to zero; custom.py: gradients that the user writes; no_grad.py: launches
without any; scalar_arguments.py: which scalar arguments are constants
May import: launch, frontend, data, values, runtime, interpreter, autodiff, transforms, analysis, ir, errors.
"""
