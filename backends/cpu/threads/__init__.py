"""The machine code of the thread pool, as text of LLVM.

ir.py       all of it, for an operating system and a kind of processor
words.py    the words that threads share, and where they stand
sharing.py  how iterations are shared out, and stolen; check.py: when a thread looks whether it is to stop
system.py   waiting and waking, by what the operating system has for it

Imports nothing of adstack.
"""
