"""Options that take a library which is not among those that adstack always needs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeVar

import click

__all__ = ["needs"]

T = TypeVar("T")


def needs(library: str, extra: str) -> Callable[[click.Context, click.Parameter, T], T]:
    """A callback that refuses a value where a library is missing, before anything has been run."""

    def check(context: click.Context, parameter: click.Parameter, value: T) -> T:
        if value is not None and find_spec(library) is None:
            raise click.BadParameter(f"this takes {library}, which is not installed: install adstack[{extra}]")
        return value

    return check
