"""Machine code of a module, wherever there is memory for LLVM.

LLVM ends its process when an allocation fails in it. With ample memory it runs in this process. Where memory is short
it runs in one of its own, which takes 0.3 s more: that one may end, and then a kernel is refused.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import llvmlite

from adstack.errors import InternalError

from . import compiler
from .compiler import REFUSED, Recipe
from .room import has_room, room, room_in_the_system, short

__all__ = ["accepted", "bytes_for", "compiled"]

_TEXT_BYTES: Final = 8 << 20
_BYTES_PER_LETTER: Final = 400
_SPARE_BYTES: Final = 256 << 20
_SPARE_FACTOR: Final = 4
"""Memory is ample where so much is left: other threads of this process may take some of it meanwhile."""
_PROCESS_BYTES: Final = 64 << 20
"""What a process with LLVM in it takes for itself."""


def bytes_for(text: str) -> int:
    """A bound on what LLVM takes for a module; what was measured is 0.04 to 0.16 KiB a letter, and a MiB."""
    return _TEXT_BYTES + _BYTES_PER_LETTER * len(text)


@contextmanager
def accepted(text: str = "") -> Iterator[None]:
    """A block in which LLVM must do what it is asked for; otherwise InternalError, with the code, `text`."""
    try:
        yield
    except RuntimeError as error:
        raise _refused(str(error), text) from error


def compiled(text: str, recipe: Recipe, what: str = "compiling a kernel") -> bytes:
    """What `compiler.code` gives.

    Args:
        text: the module, as LLVM's assembly.
        recipe: how code is made of it.
        what: that is, for messages.

    Raises:
        AdstackMemoryError: if there is no memory for that.
        InternalError: if LLVM refuses the text.
    """
    if has_room(_SPARE_BYTES + _SPARE_FACTOR * bytes_for(text)):
        with accepted(text):
            return compiler.code(text, recipe)
    return _compiled_apart(text, recipe, what)


def _compiled_apart(text: str, recipe: Recipe, what: str) -> bytes:
    """The same by another process."""
    program = sys.executable or ""
    if not Path(program).name.startswith("python"):  # that of another program, which has Python in it
        room(bytes_for(text), what)
        with accepted(text):
            return compiler.code(text, recipe)
    room_in_the_system(_PROCESS_BYTES + bytes_for(text), what)
    command = [program, "-I", "-S", compiler.__file__, str(Path(llvmlite.__file__).parents[1])]
    try:
        done = subprocess.run(command, input=compiler.request(text, recipe), capture_output=True, check=False)
    except OSError as error:
        raise short(what, f"no process can be started for it: {error}") from error
    if done.returncode == REFUSED:
        raise _refused(done.stdout.decode(), text)
    if done.returncode != 0:
        raise short(what, f"the process that does so ended with {done.returncode}")
    return done.stdout


def _refused(why: str, text: str) -> InternalError:
    return InternalError(f"LLVM refuses the code generated for it: {why}\n{text}")
