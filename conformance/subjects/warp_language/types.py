"""Annotations of parameters."""

from __future__ import annotations

from typing import Any

from .kinds import ABSENT

__all__ = ["ndarray"]


class ndarray:  # noqa: N801 - the language's name
    """An array of any type and number of axes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.args = (*args, *options.values())


def __getattr__(name: str) -> Any:
    raise ABSENT(f"types.{name} is not translated")
