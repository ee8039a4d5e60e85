"""One room per target, all with the same furniture: capability, layout, codegen, toolchain, runtime.

`llvm` (for cpu, cuda, amdgpu) and `spirv` (for vulkan) are shared code generators. A backend imports adstack.ir,
adstack.errors and the protocol in adstack.runtime; never another backend, never adstack.lang.
"""
