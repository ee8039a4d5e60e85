"""IR to SPIR-V words, for vulkan: every task of a program as a compute shader (`tasks`).

The rooms below: `assembly` (words, modules, functions) and `scalars` (scalar operations, to the bit). Here are regions,
control flow, memory, checks and adstacks; `trials` is what is tried on a device to know how it computes.

May import: adstack.ir, adstack.analysis, adstack.errors, the layout of the heap in adstack.runtime, backends.shared.
"""
