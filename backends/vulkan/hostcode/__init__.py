"""Launches recorded by machine code of the host: its LLVM assembly, and the words that Python and it share.

`counting` says how many workgroups run, `state` what is recorded and not
handed over, `plan` whether adstacks are ready for a launch, and `recorder` records it; `copies` records copies of
memory, and `locking` has the lock of both.

May import: adstack.ir, the runtime's locks, backends.hostcall, backends.shared and the room `driver`.
"""
