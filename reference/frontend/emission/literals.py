"""Numbers that are known while compiling, and what to call a value in a message."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...values.elements import describe as describe_elements

__all__ = ["describe", "is_number", "plain"]


def plain(value: Any) -> Any:
    """A numpy scalar as the Python number it is; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def is_number(value: Any) -> bool:
    """Whether `value` is a weak literal."""
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def describe(value: Any) -> str:
    """What a value is, in a few words for a message."""
    if is_number(value):
        return repr(plain(value))
    return "None" if value is None else describe_elements(value)
