"""The option that says which interpreter another implementation is installed for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import click

__all__ = ["python_option"]

Command = TypeVar("Command", bound=Callable[..., object])


def python_option(subjects: Collection[str]) -> Callable[[Command], Command]:
    """Decorator of a command: the option `--python NAME=PATH`, repeatable, with NAME one of the `subjects`.

    The command gets them as `pythons`: name -> path.
    """
    return click.option(
        "--python",
        "pythons",
        multiple=True,
        metavar="NAME=PATH",
        callback=_pythons_of(subjects),
        help="The interpreter for which NAME is installed; repeatable.",
    )


def _pythons_of(subjects: Collection[str]) -> Callable[[click.Context, click.Parameter, Sequence[str]], dict[str, str]]:
    """A callback that reads NAME=PATH, given any number of times, with names that are known."""

    def read(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, str]:
        pythons = {}
        for value in values:
            name, equals, path = value.partition("=")
            if name not in subjects or not equals or not path:
                raise click.BadParameter(f"{value!r} is not NAME=PATH with NAME one of {', '.join(subjects)}")
            pythons[name] = os.path.expanduser(path)
        return pythons

    return read
