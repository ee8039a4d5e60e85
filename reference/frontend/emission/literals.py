"""Numbers that are known while compiling, and what to call a value in a message."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...values.elements import describe as describe_elements
from ...values.kinds import Operand

__all__ = ["describe", "is_number", "plain", "suggestion"]


def plain(value: object) -> Operand:
    """A numpy scalar as the Python number it is; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def is_number(value: object) -> bool:
    """Whether `value` is a weak literal."""
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def suggestion(name: str, names: Iterable[str]) -> str:
    """What to write instead of an unknown name: the nearest one that is known; nothing if none is near."""
    import difflib  # its import takes longer than most programs look for a name that is not there

    near = difflib.get_close_matches(name, [k for k in names if not k.startswith("_")], n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else ""


def describe(value: object) -> str:
    """What a value is, in a few words for a message."""
    if is_number(value):
        return repr(plain(value))
    return "None" if value is None else describe_elements(value)
