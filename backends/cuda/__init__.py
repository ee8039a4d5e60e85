"""The cuda target: NVIDIA GPUs, by way of PTX and the driver.

Imports adstack.ir, adstack.errors, the runtime's protocol and adstack.backends.codegen_llvm.
"""
