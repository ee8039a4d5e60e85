"""The amdgpu target: AMD's GPUs. Kernels become code objects; nothing launches them yet.

codegen.py, threads.py     programs as modules of kernels: LLVM IR, by codegen_llvm
toolchain.py, linker.py    from there to assembly, and to code objects
layout.py                  what a code object says of its kernels
listing.py                 assembly to read: `adstack dump --stage amdgcn`
capability.py, runtime.py  why there is no device

May import: adstack.ir, adstack.errors, the runtime's protocol, codegen_llvm, shared.
"""
