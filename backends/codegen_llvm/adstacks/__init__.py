"""Adstacks: stacks of values that reverse mode saves.

counted.py    stacks whose count the program holds (`stack.put`, `stack.get`), over one lane or many
machine.py    stacks that count for themselves and hold adjoints, one lane at a time
heap_rows.py  where the stacks of a task that are in the adstack heap begin
in_frame.py   stacks in the frame of the function
overflow.py   the record of a stack that was asked for more than its capacity

May import: memory, safety, function, text.
"""
