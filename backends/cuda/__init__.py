"""The cuda target: NVIDIA GPUs, by way of PTX and the driver.

capability.py, layout.py, codegen.py, toolchain.py, runtime.py: what every backend has
threads.py                   a task as a kernel, whose threads divide its iterations
device_code/                 sums of a warp, quotients of f32
executable.py, building.py   a compiled program with the memory of its launches, and how one is loaded
interface/                   what a device is asked for, and how that fails; emulator.py plays a device
native.py, native_graphs.py, bindings.py: a device by way of NVIDIA's driver, which cuda.bindings declares
graphs.py                    launches that are repeated; overlap.py: launches that overlap
commands/                    what followed tapes queue, as CUDA graphs
sequences.py                 what calls of a tape that are followed must know of the device
adstacks.py, adds.py         adstacks in the heap; whether memory adds floats as the language does

May import: adstack.ir, adstack.analysis, adstack.errors, the runtime's protocol, codegen_llvm, hostcall, shared.
"""
