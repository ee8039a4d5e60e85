"""Code that the host runs in place of a device's: how it plays the threads of a kernel.

`blocks` runs threads one after another, and, where iterations are blocks of threads, from one barrier to the next.
`emulator.py`, outside, plays the driver.

May import: `codegen_llvm`, `shared`, `analysis` and `ir`.
"""
