"""The cpu target: LLVM IR compiled in the process and run by its threads.

Imports adstack.ir, adstack.errors, the runtime's protocol and adstack.backends.codegen_llvm.
"""
