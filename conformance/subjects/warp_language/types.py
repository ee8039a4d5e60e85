"""Annotations of parameters."""

from __future__ import annotations

from ...case import Data
from .kinds import ABSENT

__all__ = ["ndarray"]


class ndarray:  # noqa: N801 - the language's name
    """An array of any type and number of axes."""

    def __init__(self, *args: Data, **options: Data) -> None:
        self.args = (*args, *options.values())


def __getattr__(name: str) -> Data:
    raise ABSENT(f"types.{name} is not translated")
