"""Source of the Metal Shading Language as machine code of the host: clang, with a header for the standard library."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import Final

from adstack.backends.shared.jit import Library, linked, made_for
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.room import room
from adstack.errors import InternalError

from .shim import SHIM

__all__ = ["compiler", "grid_name", "host_library", "host_source"]

_COMPILERS: Final = (*(f"clang++-{version}" for version in range(22, 14, -1)), "clang++")
_OLDEST: Final = 15
_FLAGS: Final = (
    *("-x", "c++", "-std=c++17", "-O1", "-march=native", "-mcmodel=large", "-fno-pic", "-ffp-contract=off"),
    *("-fno-strict-aliasing", "-fno-exceptions", "-fno-asynchronous-unwind-tables", "-nostdinc", "-w"),
)
_INCLUDE: Final = "#include <metal_stdlib>"
_BYTES: Final = 200 << 20
"""Bytes of memory that clang may take for a small source."""


@cache
def compiler() -> tuple[str, str] | None:
    """The path of clang and what it says of its version; None if there is none that knows half floats."""
    for name in _COMPILERS:
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"version (\d+)", said)
        if version is not None and int(version.group(1)) >= _OLDEST:
            return path, said.splitlines()[0]
    return None


def grid_name(name: str) -> str:
    """The function that runs all threads of a kernel function, one after another."""
    return f"grid_{name}"


def host_source(text: str, names: Sequence[str]) -> str:
    """The text with the header in front, and what runs each kernel function behind it."""
    assert _INCLUDE in text
    runners = (
        f'extern "C" void {grid_name(name)}(ulong words, uint threads) {{ '
        f"for (uint thread = 0; thread < threads; ++thread) {name}(*(device Launch*)words, thread, threads); }}"
        for name in names
    )
    return "\n".join([text.replace(_INCLUDE, SHIM, 1), *runners, ""])


def host_library(text: str, names: Sequence[str], *, keep: bool) -> Library:
    """Machine code of the host: the address of each function of `grid_name`, which goes with the library.

    Raises:
        InternalError: clang refuses the text.
    """
    path, version = compiler() or ("", "")
    source = host_source(text, names)
    cached = ObjectCache(default_folder()) if keep else None
    key = "" if cached is None else cached.key(source, version, *_FLAGS, *made_for())
    image = None if cached is None else cached.read(key)
    if image is None:
        image = _compiled(path, source, text)
        if cached is not None:
            cached.write(key, image)
    return linked(image, [grid_name(name) for name in names])


def _compiled(path: str, source: str, text: str) -> bytes:
    room(_BYTES, "compiling a kernel")
    command = [path, *_FLAGS, "-c", "-o", "-", "-"]
    done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise InternalError(f"clang refuses the code generated for it: {done.stderr.decode()}\n{text}")
    return done.stdout
