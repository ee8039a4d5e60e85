"""The machine code of the thread pool, as text of LLVM.

ir.py       all of it, for an operating system and a kind of processor
words.py    the words that threads share, and where they stand
sharing.py  how iterations are shared out, and stolen; check.py: when a thread looks whether it is to stop
system.py   waiting and waking, by what the operating system has for it

notes.py    what tasks call at their end where an access was outside

Imports the form of such notes from codegen_llvm, and nothing else of adstack.
"""
