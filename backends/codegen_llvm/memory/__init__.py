"""Memory: elements of places and local arrays, atomics, and memory of the C heap.

access.py              addresses, loads, stores
atomics.py             atomic updates, plain where no other iteration touches the element
exclusive_updates.py   whether places that the caller hands in overlap, seen when the task runs
joined.py              updates that threads side by side combine first, where they update one element
one_lane.py            atomic updates by one lane
pairs.py               two additions to neighbours in memory by one instruction
reductions.py          updates of one element, combined by each thread and applied once
thread_heap.py         memory that a task's function takes and gives back

May import: safety, function, text, adstack.analysis.
"""
