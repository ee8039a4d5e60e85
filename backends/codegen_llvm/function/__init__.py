"""One LLVM function while it is written, and the module around it.

blocks.py, values.py, region.py   basic blocks and masks; operands; the dispatch over ops (each extends the last)
frame.py, context.py              what a task knows of itself; the slots of its one argument
module.py, library_calls.py       the text of a module; math functions, written when they are first called
target.py                         what each machine does in its own way
teams.py                          blocks of threads that a machine runs side by side
phis.py, lanes.py                 values carried around a loop; a loop over the running lanes
address.py, adstack_state.py, heap_table.py   where an access goes, and where adstacks are
random.py                         random numbers

May import: text, adstack.analysis.
"""
