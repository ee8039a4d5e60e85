"""Kernels become programs of tasks.

tasks.py     split(kernel): each outermost loop is a parallel task; crossing.py: values that cross tasks
gather.py    gather(task): loops that add to neighbours run over the elements instead; gathering.py: which updates do
jam.py       jam(task): an iteration does the work of several, which add to one element together
races.py     watched(program): tasks that leave marks, by which races are found

May import: ir, analysis, the transforms of scalars, memory and loops, errors.
"""
