"""The `adstack` command: all of its commands, and what becomes of what they fail with."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Final

import click

from adstack.errors import AdstackError

from .bench.command import bench
from .cache import cache
from .completion import completion
from .conformance import conformance
from .doctor import doctor
from .fuzz import fuzz
from .kernels import dump, explain
from .loading.programs import ProgramError
from .locate import locate
from .profile import profile
from .terminal.console import console
from .worker import worker

__all__ = ["cli", "run"]

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What a write fails with where standard output, or another file, takes no more."""

EPILOG = """\b
Examples:
  adstack doctor                         what can run here
  adstack conformance -b reference       does it do what it must
  adstack fuzz -b cpu --time 10m         random kernels beside the reference
  adstack worker tcp://10.0.0.1:8786     take part in runs on several machines
  adstack bench --against quadrants      how fast is it
  adstack profile program.py             where its time goes
  adstack explain program.py:kernel      what became of a kernel
  adstack locate CASE -b vulkan          where a backend departs from the reference
  adstack cache info                     compiled kernels on disk
  adstack completion bash >> ~/.bashrc   complete on Tab
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="adstack", prog_name="adstack")
def cli() -> None:
    """Look at adstack from outside: what runs here, whether it is right, and what it makes of a kernel."""


for command in (doctor, conformance, fuzz, worker, bench, profile, explain, dump, locate, cache, completion):
    cli.add_command(command)


def run() -> None:
    """Run what the command line asks for: errors are shown as messages, not as tracebacks of adstack."""
    try:
        try:
            cli(prog_name="adstack")  # whatever started it: completion and messages go by this name
        finally:
            _flush()
    except ProgramError as error:
        console(stderr=True).print(str(error), style="red", markup=False)
        sys.exit(1)
    except AdstackError as error:
        console(stderr=True).print(f"{type(error).__name__}: {error}", style="red", markup=False)
        sys.exit(1)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _discard()
        console(stderr=True).print(f"the output can't be written: {error.strerror}", style="red", markup=False)
        sys.exit(1)


def _flush() -> None:
    """Write what is left while a failure can still be told; a reader that has gone is told nothing."""
    if sys.stdout is not None:
        with suppress(BrokenPipeError):
            sys.stdout.flush()


def _discard() -> None:
    """Let what standard output has not taken go nowhere: Python would try once more, and say so, as it ends."""
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
