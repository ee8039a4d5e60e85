"""IR to LLVM IR, shared by the targets that LLVM compiles for: cpu, cuda, amdgpu.

tasks.py   a program's tasks as LLVM functions: what the targets call
devices.py what devices have in common whose threads run tasks
waves.py   what threads do together that run side by side: sums by exchanges of values
workgroups.py  the same of all threads of a workgroup, which share memory: the sum of a loop
loops      branches, loops and the iteration space of a parallel loop; loop versions, safepoints, cold paths
adstacks   pushes and reads of adstacks, of either kind
memory     accesses, local arrays, atomics, reductions
safety     checks of debug mode and guarded accesses
function   one LLVM function: blocks, operands, the dispatch over ops; the module around it, the target's hooks
text       LLVM IR as text, and an emitter for every scalar operation

Each room imports those below it. May import: adstack.ir, adstack.analysis, adstack.errors, the runtime's protocol,
backends.shared. The targets import it; it imports none of them.
"""
