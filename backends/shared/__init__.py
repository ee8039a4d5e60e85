"""What code generators and backends of every kind have in common.

sites.py, reports.py, outside.py   what running code reports, and the errors that stand for it
kept.py, object_cache.py           files on disk, and compiled kernels among them
jit.py                             machine code of the host in this process
compiler.py, compiling.py          what LLVM makes of a text, in this process or in one of its own
elf.py                             object files
room.py, memory_left.py            whether memory is left for what comes next
own_size.py, bits.py               memory of one launch, scalar arguments as words
launch_words.py, extents.py        what a launch hands over, and how many iterations its tasks have
layouts.py                         where the adstacks of a launch's tasks are in the heap
standing.py                        whose depths of adstacks stand
leftovers.py                       what is given back once the device is idle

May import: adstack.ir, adstack.errors, the runtime's protocol.
"""
