"""One room per target, all with the same furniture: capability, layout, codegen, toolchain, runtime.

`codegen_llvm` (for cpu, cuda, amdgpu), `codegen_spirv` (for vulkan) and `codegen_msl` (for metal) are code generators;
`hostcall` is the way from a call in Python to machine code. A backend imports adstack.ir, adstack.analysis,
adstack.errors and the protocol in adstack.runtime; never another backend, never the language.
"""
