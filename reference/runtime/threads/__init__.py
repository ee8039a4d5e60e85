"""Threads, signals and processes around launches.

runtime_lock.py  one thread at a time works on the runtime
processes.py   drivers belong to the process that started them
scopes.py      values that are in force for the time of a `with` statement, in one thread
interrupts.py  steps that no handler of a signal breaks off; collection.py: Python's collector, paused
recording.py   who sees the launches of a thread; capturing.py: whether they are recorded for a graph
guards.py      words that machine code looks at before it serves a call without asking Python

May import: errors.
"""
