"""What emits the parts of a reverse kernel.

sweep.py     the forward part once more; rotate.py prepares its `while`s
backward.py  the reversal
state.py     what both carry along; trips.py: how often loops run
journal.py   values that the launch has logged
May import: saving, activities; transforms and below.
"""
