"""`kernel.grad()` outside a tape: reverse mode of the last launch with some arguments.

records.py      a record of each launch (record.py): its number, and what it keeps; what launches need
taped.py        launches inside tapes: their arguments, and what memory was after them
kept.py         launches that overwrite what their reverse pass needs: made so that it is kept
last_launch.py  reverse mode in the memory of now, or with what has changed put back
refusals.py     errors where something was not kept
stale.py        what has changed is refused where the reverse pass looks at it
May import: the rest of gradients but tapes and forward; launch and below.
"""
