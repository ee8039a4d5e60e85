"""The vulkan target: compute shaders on any Vulkan 1.2 driver, made from SPIR-V.

capability.py, layout.py, codegen.py, toolchain.py, runtime.py: what every backend has
driver/                      Vulkan itself: its functions, the instance, devices' features, pipelines
hostcode/                    launches recorded by machine code of the host; shortcuts.py: what it is told of a program
device.py, stream.py, shared.py  the opened device, what is recorded on it, and what all backends of a process share
compiling.py, executable.py, records.py  a compiled program with what its launches use and report
launches.py, graphs.py       launches that Python makes; launches that are repeated
adstacks.py                  adstacks in the heap
bound.py, descriptors.py     devices whose memory is reached by bindings, not by addresses
traits.py, transfers.py      how a device computes; what the host reads and writes of its memory
sequences.py                 what calls of a tape that are followed must know of the device

May import: adstack.ir, adstack.errors, the runtime's protocol, codegen_spirv, hostcall, shared.
"""
