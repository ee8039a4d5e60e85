"""Memory that a kernel overwrites though its reverse pass needs it.

conflicts.py  refuses that, naming both lines; repeat.py refuses code that can't run once more
before.py     loads of memory from before the launch; replay.py: scratch memory in which it runs again
parts.py      the kernel as several; versions.py: each read of a local sees its own version
updates.py    atomic updates whose order matters, as loads and stores
May import: transforms and below.
"""
