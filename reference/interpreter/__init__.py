"""The reference interpreter: it runs any verified Kernel or Program, and what it computes is what the program means.

execute.py    run(): runs the tasks, reports overflows; binding.py  buffers as memory; cache.py  prepared kernels
prepare.py    IR -> a list of steps per region; one short function per op, found by the op's name
lanes.py  launch.py  frame.py     what a step works on: lanes and memory, what a launch shares, lanes that run together
scalar.py  control.py  memory.py  local.py  effects.py    the steps
atomics.py  ordered.py  stacks.py  philox.py              the machines behind them
races.py  overlap.py  failures.py  messages.py            debug mode and messages

May import: numpy, `adstack.errors`, `adstack.ir`. Nothing else of adstack.
"""

from .execute import run
from .launch import RunOptions

__all__ = ["RunOptions", "run"]
