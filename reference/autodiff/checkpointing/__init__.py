"""Sequential loops reversed with little memory: binomial checkpointing (treeverse, revolve).

loops.py      which loops are checkpointed, and what their state is; refusals.py: which can't be
cells.py      elements of memory that are part of a state; slabs.py: many at once
schedule.py   where snapshots are taken; snapshots.py takes them, and goes back to them
blocks.py     emits the sweep and the reversal of such loops, block by block
May import: emission, saving, activities; transforms and below.
"""
