"""Launches recorded by machine code of the host: its LLVM assembly, and the words that Python and it share.

`extents` says how many iterations a task has, `counting` how many workgroups that are, `state` what is recorded and not
handed over, `plan` whether adstacks are ready for a launch, and `recorder` records it.

May import: adstack.ir, backends.hostcall, backends.shared and the room `driver`.
"""
