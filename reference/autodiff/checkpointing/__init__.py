"""Sequential loops reversed with little memory: binomial checkpointing (treeverse, revolve).

blocks.py     emits the sweep and the reversal of such loops, block by block
schedule.py   where snapshots are taken; snapshots.py takes them, and goes back to them
site.py       a loop that is checkpointed, and what its state consists of; cells.py: elements of memory among that
May import: emission, saving, activities; transforms and below.
"""
