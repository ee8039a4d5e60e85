"""What memory held: nothing here knows of modes, tapes or launches.

undo.py       the undo log: elements that are needed, and what they held before they changed
needed.py     elements that are needed, kept when somebody is about to write them
arguments.py  what tells the launches of a kernel apart: numbers, and the memory of arrays
contents.py   versions of memory, also of what others write
positions.py  the elements of a buffer at an index
May import: launch, runtime, analysis, errors.
"""
