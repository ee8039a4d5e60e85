"""The cpu target: LLVM IR compiled in the process and run by its threads.

capability.py, layout.py, codegen.py, toolchain.py, runtime.py: what every backend has
lanes.py, grain.py          how many iterations run side by side, and how many are worth a thread
entry.py, fitting.py        the function that runs a program's tasks; which launches need no guards
executable.py, graphs.py    a compiled program with the memory of its launches; launches that are repeated
sharing.py, tiles.py, copies.py  tasks whose threads are kept apart, so that sums need no atomics
sequences.py                what calls of a tape that are followed must know of the processor
adstacks.py                 adstacks in the heap
passes.py                   what LLVM does to a module
pool.py, pool_code.py       the threads, and how their machine code (threads/) is loaded
machine.py, host.py, emulated.py  what runs code: this processor, or an emulated one; machines.py: what both are

May import: adstack.ir, adstack.analysis, adstack.errors, the runtime's protocol, codegen_llvm, hostcall, shared.
"""
