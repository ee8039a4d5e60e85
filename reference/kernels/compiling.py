"""All that the first call of a kernel, of its gradient, or under a tape compiles with.

`import adstack` leaves it out, and `init` loads it, so that the first call does not wait for it.
"""

from ..frontend import lower
from ..gradients.modes import making
from ..gradients.tapes import tape
from ..runtime import compiler

__all__ = ["compiler", "lower", "making", "tape"]
