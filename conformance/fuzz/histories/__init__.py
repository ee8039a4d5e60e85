"""Random histories of launches, gradients, and whatever changes memory between them, held against plain programs.

numbers.py    numbers that remember what they were computed from
simulated.py  memory of such numbers: what a program makes of it, and its derivatives
forms.py      what a kernel is; kernels.py, over_fields.py: kernels, each with the same program in plain Python
functions.py  functions of Python with a gradient of their own, and with none
memory.py     fields and arrays of every kind, with a copy of what they should hold
world.py      one history: launches and gradients, each compared
blocks.py     tapes, forward mode and graphs
play.py       random steps
many.py       many histories, in several processes; results.py: a file of what came of them
command.py    `python -m adstack.conformance.fuzz.histories cpu --count 10000` plays many histories
"""
