"""From a call in Python straight to machine code of the host: builtins that check arguments and launch.

calls.py       makes a builtin for the calls of a kernel; entry.py: what it must know of the compiled program
tables.py      the tables that a builtin reads; record.py: which word of its record says what
launching.py   the machine code that serves all kernels; one thread launches at a time
ir.py          that machine code: the way to a kernel's code; run.py: launches, one and several in a row
follow.py      calls that are the next ones of a sequence
checks.py      its checks of a call, argument_checks.py: of an argument; symbols.py: functions of CPython that it calls
interpreter.py where CPython keeps what it reads, and in which interpreters

May import: backends.shared, the runtime's protocol, ir, errors.
"""
