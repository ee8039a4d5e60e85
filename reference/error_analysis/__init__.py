"""Running error analysis: bounds on what rounding, and the order of atomic sums, can do to a run and to its gradient.

rounding.py   the error that one operation brings and makes
bounds.py     bounds beside the numbers of a recorded run and of its gradient
chain.py      the same through several launches on one memory

May import: numpy, `adstack.errors`, `adstack.ir`, `adstack.interpreter`, `adstack.oracle`.
"""
