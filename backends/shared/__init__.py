"""What code generators and backends of every kind have in common.

sites.py, reports.py, outside.py   what running code reports, and the errors that stand for it
kept.py, object_cache.py           files on disk, and compiled kernels among them
jit.py, clang.py, elf.py           machine code of the host in this process: LLVM's, and clang's of C++; object files
compiler.py, compiling.py          what LLVM makes of a text, in this process or in one of its own
room.py, memory_left.py            whether memory is left for what comes next
buffers.py, own_size.py, bits.py   memory that the host sees, and of one launch; scalar arguments as words
immediate*.py, repeating.py        launches of a device whose memory the host sees, and graphs of them
launch_words.py, extents.py, workgroups.py   what a launch hands over, its iterations, which of them are workgroups
layouts.py, handlers.py            where the adstacks of a launch's tasks are in the heap; what emits which operation
queueing.py, launch_memory.py      launches under way, and memory for what they are handed
standing.py, leftovers.py          whose depths of adstacks stand; what is given back once the device is idle

May import: adstack.analysis, adstack.ir, adstack.errors, the runtime's protocol.
"""
