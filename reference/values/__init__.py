"""Values of the language, on the host and in kernels: the same code serves numbers and runtime values.

scalars.py    operators and functions on single numbers; slopes.py: their derivatives on the host
functions.py  the functions of the language; atomics.py: atomic updates; func.py: `@func`
elements.py   what vectors and matrices are made of; nested.py: made of sequences; matrices/: the types
kinds.py      operands, objects of kernels, types as programs write them; specs.py: the seam between calls and frontend
annotations.py, templates.py: annotations of parameters
protocol.py   how functions reach the frontend; making.py: how types reach the data model
compile_time.py: what a kernel says to the compiler: static, ndrange, hints
linked.py     numbers of the host that remember what they were computed from

May import: runtime, ir, errors.
"""
