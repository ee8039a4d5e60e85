"""IR to LLVM IR, shared by the targets that LLVM compiles for: cpu, cuda, amdgpu.

Imports adstack.ir and adstack.errors; the targets import it, it imports none of them.
"""
