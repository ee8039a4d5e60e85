"""From a kernel call to a dispatch.

state.py      the one runtime in use: its backend, its options, what is dropped when it ends
options.py    what `init` may be told; registry.py: the arches, and where their backends are
backend.py    what a backend offers; reference_backend.py: the interpreter as one
blocks.py     memory, and generations that tell when it changed; buffers.py: fields and arrays; watches.py: what they held
words.py      what machine code reads and writes of them; provenance.py: whether memory was computed again
guards.py     what ends shortcuts; shortcuts.py: calls that machine code serves without Python
compiler.py   IR -> something to launch; plans.py: a launch with everything resolved beforehand; assume.py
modes.py      a kernel's IR in forward or reverse mode; recording.py: who sees the launches of a thread
races.py      races that launches find in debug mode; racing.py: those that are certain
ir_program.py IR written by hand, run on numpy arrays

May import: interpreter, sizing, autodiff, transforms, analysis, ir, errors. Backends are found by name through the
registry, never imported.
"""
