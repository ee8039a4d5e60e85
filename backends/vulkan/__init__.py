"""The vulkan target: compute shaders on any Vulkan 1.2 driver, made from SPIR-V.

Imports adstack.ir, adstack.errors, the runtime's protocol and adstack.backends.codegen_spirv.
"""
