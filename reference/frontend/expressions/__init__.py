"""The visitors of expressions; importing a module registers its visitors in `dispatch.py`.

dispatch.py   the table by type of syntax node, for statements as well, and the way into it
operators.py  literals, arithmetic, comparisons, conditions; lints.py: what looks like a mistake in them
races.py      iterations in parallel that read what others write
indexing.py   subscripts; lists.py: lists whose elements are variables
printing.py   print and f-strings; percent.py: formats by %
foreign.py    the user's Python code, run while compiling

May import: frontend.emission and below, data, values, ir, errors.
"""
