"""A process of another processor: a program under qemu-user, which shares memory with this process and makes calls.

arena.py       memory that stands at the same addresses in both
objects.py     relocatable objects for aarch64, linked for an address of the arena
executables.py the program that qemu starts, as an ELF file
server_ir.py   what runs there: it waits for calls and makes them, and serves what called code needs
caller_ir.py   what runs here: it hands over a call, and waits for its result
guest.py       the process: started, linked into, called

Imports `backends.shared`. It knows nothing of kernels.
"""
