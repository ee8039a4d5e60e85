"""What the runtime and a backend know of each other.

backend.py    what every backend offers; abilities.py: five optional parts, and what happens without each
following.py  sequences of calls that a backend follows and reverses
shortcuts.py  calls that machine code serves without Python; words.py: what it reads and writes of memory
options.py    what `init` may be told; registry.py: the arches, and where their backends are

May import: adstacks, threads, ir, errors.
"""
