"""The visitors of statements and calls; importing a module registers its visitors in `expressions/dispatch.py`.

assignment.py    names and assignments; collections.py: tuples, lists, attributes; lists.py: lists with names
control.py       blocks, if, while, break, continue, assert
loops.py         `for`; domains.py: what it runs over; sparse_loops.py: over what is active
calls.py         calls; builtin.py: Python's builtins; sparse.py: functions of sparse levels
inlining.py      funcs; entering.py, annotations.py, returns.py: how they begin, and what they return
real.py          real functions, which may call themselves
once.py          what would act once, while compiling; whole.py, stopping.py: fill, stop_grad

May import: frontend.expressions and below, data, values, ir, errors.
"""
