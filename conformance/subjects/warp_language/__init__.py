"""Warp as a subject: the part of the language that has a counterpart there, under the language's names.

Cases get this module as `qd`. Kernels are translated, from Python source to the source of Warp kernels; memory is
`warp.array`; gradients are those of Warp's own adjoint kernels. What has no counterpart, or can't be translated, raises
`MissingError`, which says why.

memory: fields and arrays. kinds: types and constants. scopes, expressions, statements: the translation. kernels: what
`@kernel` makes. ad: tapes. device: the Warp that is imported, warm.

Imports Warp, numpy and adstack.conformance.harness; nothing of adstack itself.
"""

from __future__ import annotations

from ...case import Data
from . import ad as ad
from . import types as types
from .device import version
from .kernels import func as func
from .kernels import kernel as kernel
from .kinds import NUMBERS, AbsentError
from .memory import field as field
from .memory import ndarray as ndarray
from .names import cpu as cpu
from .names import grouped as grouped
from .names import init as init
from .names import loop_config as loop_config
from .names import ndrange as ndrange
from .names import reset as reset
from .names import static as static
from .names import sync as sync

globals().update(NUMBERS)


def __getattr__(name: str) -> Data:
    """The version, functions of numbers; nothing else has a counterpart that the translation knows."""
    from .names import FUNCTIONS

    if name == "__version__":
        return version()
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AbsentError(f"Warp has no counterpart of {name} that the translation knows")
