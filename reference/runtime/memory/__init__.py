"""Memory of a backend as Python sees it, and what it held at earlier launches.

blocks.py      memory, and versions that tell when it changed; pages.py: what the host has looked at
buffers.py     blocks that the host writes, behind fields, ndarrays and array arguments; streams.py: others do so too
overlaps.py    whether two buffers are the same memory
observers.py   who is told of what other threads write; copying.py: what `copy` and `pickle` do with such objects
watches.py     what a buffer held at launches; saved.py, keeping.py, ledger.py: how that is kept, and how much of it
provenance.py  whether memory was computed again, by the same launches; scalar_bits.py: arguments as kernels get them
history.py     which launches wrote a buffer; origins.py: its boxes; rows.py: those near one, and when they were written
clearing.py    several that are set to zero together; staging.py: memory of a device for copies of arrays of the host

May import: protocol, adstacks, threads, analysis, ir, errors.
"""
