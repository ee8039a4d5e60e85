"""From a call in Python straight to machine code of the host: builtins that check arguments and launch.

calls.py       makes a builtin for the calls of a kernel; entry.py: what it must know of the compiled program
served.py      the part of a backend whose launches such machine code makes
tables.py      the tables that a builtin reads, argument_tables.py: of arguments; record.py: which word says what, of
               objects.py, too
launching.py   the machine code that serves all kernels; one thread launches at a time
ir.py          that machine code: the way to a kernel's code; run.py: launches, one and several in a row
steps.py       launches and moves of memory in a row; sequences.py: calls of a tape, followed (lent.py) and reversed
serving.py     the function that Python calls; follow.py: the one for calls that are the next ones of a sequence
checks.py      its checks of a call, argument_checks.py, structured_checks.py, device_checks.py: of arguments
assembly.py    loops and loads
interpreter.py where CPython keeps what it reads, and in which interpreters; symbols.py: its functions that are called

May import: backends.shared, the runtime's protocol, ir, errors.
"""
