"""Text of C++ as machine code of the host: by clang, for what plays a device."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import Final

from adstack.errors import InternalError

from .jit import made_for
from .kept import default_folder
from .object_cache import ObjectCache
from .room import room

__all__ = ["FLAGS", "MISSING", "compiler", "host_object"]

FLAGS: Final = (
    *("-x", "c++", "-std=c++17", "-O1", "-march=native", "-mcmodel=large", "-fno-pic", "-ffp-contract=off"),
    *("-fno-strict-aliasing", "-fno-exceptions", "-fno-asynchronous-unwind-tables", "-nostdinc", "-w"),
)
MISSING: Final = "install clang (Debian: apt-get install clang-19)"
_COMPILERS: Final = (*(f"clang++-{version}" for version in range(22, 14, -1)), "clang++")
_OLDEST: Final = 15
_BYTES: Final = 200 << 20
"""What clang may take for a small source."""


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


def host_object(source: str, flags: Sequence[str] = FLAGS, *, keep: bool) -> bytes:
    """An object file of a text, which may be kept on disk with `keep`.

    Raises:
        AdstackMemoryError: there is no memory for clang.
        InternalError: clang refuses the text.
    """
    path, version = compiler() or ("", "")
    cached = ObjectCache(default_folder()) if keep else None
    key = "" if cached is None else cached.key(source, version, *flags, *made_for())
    image = None if cached is None else cached.read(key)
    if image is None:
        image = _compiled(path, source, flags)
        if cached is not None:
            cached.write(key, image)
    return image


def _compiled(path: str, source: str, flags: Sequence[str]) -> bytes:
    room(_BYTES, "compiling a kernel")
    done = subprocess.run([path, *flags, "-c", "-o", "-", "-"], input=source.encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise InternalError(f"clang refuses the code generated for it: {done.stderr.decode()}\n{source}")
    return done.stdout
