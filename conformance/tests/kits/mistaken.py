"""adstack with a mistake: the derivative of the sine is that of the cosine."""

import adstack
from adstack import *  # noqa: F403 - it is the whole language
from adstack.ir.ops import TABLE

__version__ = adstack.__version__
object.__setattr__(TABLE["sin"], "pulls", TABLE["cos"].pulls)


def __getattr__(name: str) -> object:
    return getattr(adstack, name)
