"""The visitors of statements and expressions; importing a module registers its visitors in `dispatch.py`.

dispatch.py      the table by type of syntax node, and the way into it
operators.py     literals, arithmetic, comparisons, conditions; collections.py: tuples, lists, attributes
indexing.py      subscripts; printing.py: print and f-strings; assignment.py: names and assignments
control.py       blocks, if, while, break, continue, assert; loops.py, domains.py: `for`, and what it runs over
calls.py         calls; builtin.py: Python's builtins; inlining.py, annotations.py, returns.py: funcs;
once.py          what would act once, while compiling
foreign.py       the user's Python code, run while compiling; whole.py, stopping.py: fill, stop_grad

May import: frontend.emission and below, data, values, ir, errors.
"""
