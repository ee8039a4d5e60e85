"""The heap of adstacks on a device.

layout.py   where every element is; heap.py: how the heap grows, and what is done where memory is short
budget.py   how much memory of the device a runtime may use; stats.py: counters of what became of adstacks

May import: threads, ir, errors.
"""
