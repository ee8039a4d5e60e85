"""From a call in Python straight to machine code of the host: builtins that check arguments and launch.

calls.py   what a builtin is made for; checks.py: its checks of arguments; ir.py: its way to the kernel's code
run.py     launches, one and several in a row; record.py: the words that say what a kernel's calls are
symbols.py the functions of CPython that it calls

May import: backends.shared, the runtime's protocol, ir, errors.
"""
