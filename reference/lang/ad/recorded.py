"""How a launch is made so that it can be differentiated after memory went on: `recordable(made, call, runtime)`.

The first way that works is taken: the launch as it is, its reverse pass reading memory from before and after it; or the
kernel's stretches one by one, each a launch of its own.
"""

from __future__ import annotations

from ...errors import AdstackDataAccessError
from ...runtime.state import Runtime
from ..arguments import Call
from ..differentiated import companions, differentiated, parted
from ..specialisation import Specialisation
from .events import Launch

__all__ = ["recordable"]


def recordable(made: Specialisation, call: Call, runtime: Runtime, *, whole: bool = False) -> list[Launch]:
    """Launches that do, one after the other, what the call asks for; with `whole` there is one.

    AdstackDataAccessError if the launch would overwrite what its reverse pass needs.
    """
    try:
        return [_rewinding(made, call, runtime)]
    except AdstackDataAccessError:
        # each stretch on its own may overwrite what an earlier one needs
        pieces = [] if whole else parted(made, runtime)
        if not pieces:
            raise
        return [_rewinding(piece, call, runtime) for piece in pieces]


def _rewinding(made: Specialisation, call: Call, runtime: Runtime) -> Launch:
    mode = differentiated(made, "rewinding", runtime, strict=False) if companions(made, "grad") else None
    return Launch(made, call, mode)
