"""What code generators and backends of every kind have in common.

sites.py, reports.py, outside.py   what running code reports, and the errors that stand for it
kept.py, object_cache.py           files on disk, and compiled kernels among them
jit.py, clang.py                   machine code of the host in this process: LLVM's, and clang's of C++
compiler.py, compiling.py          what LLVM makes of a text, in this process or in one of its own
elf.py                             object files
room.py, memory_left.py            whether memory is left for what comes next
buffers.py, own_size.py, bits.py   memory that the host sees, memory of one launch, scalar arguments as words
immediate*.py, queueing.py         launches of a device whose memory the host sees, and those under way
launch_words.py, extents.py        what a launch hands over, and how many iterations its tasks have
layouts.py, launch_memory.py       where adstacks are in the heap, and what launches are handed
standing.py, leftovers.py          whose depths of adstacks stand; what is given back once the device is idle

May import: adstack.ir, adstack.errors, the runtime's protocol.
"""
