"""From a kernel call to a dispatch: compiled programs, plans, and the runtime in use.

compiler.py   IR -> something to launch (compiled.py); dumps.py: its stages as files
modes.py      a kernel in forward or reverse mode (derived.py)
plans.py      a launch with everything resolved beforehand; writes.py: what it writes
sizes.py      whether depths of adstacks are still known
graphs.py     launches that a backend keeps; adstack_report.py: what a reverse program keeps on adstacks
state.py      the one runtime in use; reference_backend.py: the interpreter as a backend
races.py      races that launches find in debug mode; racing.py: those that are certain; assume.py
ir_program.py IR written by hand, run on numpy arrays

memory/, protocol/, adstacks/ and threads/ stand below, in this order.

May import: interpreter, sizing, autodiff, transforms, analysis, ir, errors. Backends are found by name through the
registry, never imported.
"""
