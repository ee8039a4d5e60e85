"""The amdgpu target: AMD's GPUs. Kernels become code objects, which HIP launches, or the host, playing a device.

codegen.py, threads.py     programs as modules of kernels: LLVM IR, by codegen_llvm; division.py has quotients
lanes.py, groups.py        how the threads of a wave exchange values, and those of a workgroup wait, to be added up
toolchain.py, linker.py    from there to assembly, and to code objects
layout.py                  what a code object says of its kernels
listing.py                 assembly to read: `adstack dump --stage amdgcn`
capability.py              which device there is, and what it does not do
runtime.py, executable.py  the backend, and programs compiled for it
driver.py                  what it asks of a device: native.py does it by HIP (hip.py), emulator.py by `rdna`

May import: adstack.ir, adstack.errors, the runtime's protocol, codegen_llvm, rdna, shared.
"""
