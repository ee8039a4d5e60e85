"""The amdgpu target (AMD GPUs). No code yet: the registry reports it as unavailable and says so.

Imports adstack.ir, adstack.errors, the runtime's protocol and adstack.backends.codegen_llvm.
"""
