"""The terminal: colours where there is one, none where there isn't or where NO_COLOR asks for none."""

from __future__ import annotations

import io
import sys
from typing import Final

from rich.console import Console

__all__ = ["console"]

PIPED_WIDTH: Final = 160


def console(*, stderr: bool = False) -> Console:
    """A console on standard output, or error; in a pipe its lines are long enough not to be folded."""
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")  # a terminal without these characters still gets the words
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)
