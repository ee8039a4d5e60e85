"""What a user calls: `@kernel`, `kernel.grad`, `graph`, and `init`, `reset`, `sync`.

kernel.py     kernels; decorator.py: @kernel; oriented.py: classes whose methods are kernels
explain.py    what `kernel.explain()` says
gradient.py   kernel.grad; reverse_shortcut.py: reverse modes served by machine code
graph.py      calls recorded and launched together; recorded.py: what they do to each other
followers.py  what serves calls that a tape follows; announced.py: calls that write what gradients need, whose
              arguments parts.py takes apart
noted.py      whose launches leave records
as_graph.py   a kernel's tasks launched as one
options.py    init, reset, sync; compiling.py: what init loads for the first call
extensions.py what a backend is asked for by name

May import: gradients, launch, data, values, runtime, ir, errors.
"""
