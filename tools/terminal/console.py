"""The terminal: colours where there is one, none where there isn't or where NO_COLOR asks for none."""

from __future__ import annotations

import io
import sys
from typing import Final

import click
from rich.console import Console

__all__ = ["console"]

PIPED_WIDTH: Final = 160


def console(*, stderr: bool = False) -> Console:
    """A console on standard output, or error; in a pipe its lines are long enough not to be folded.

    click.ClickException if the process has no standard output; what it would tell on standard error goes nowhere.
    """
    stream = sys.stderr if stderr else sys.stdout
    if stream is None:
        if not stderr:
            raise click.ClickException("standard output is closed; redirect it to a file, or to /dev/null")
        return Console(file=io.StringIO())
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")  # a terminal without these characters still gets the words
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)
