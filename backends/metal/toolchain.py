"""Source of the Metal Shading Language as machine code of the host: clang, with a header for the standard library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from adstack.backends.shared.clang import host_object
from adstack.backends.shared.jit import Library, linked

from .shim import SHIM

__all__ = ["grid_name", "host_library", "host_source"]

_INCLUDE: Final = "#include <metal_stdlib>"
_SHARED: Final = re.compile(r"^( *)threadgroup\b", re.MULTILINE)
"""Where a variable begins that the threads of a threadgroup share."""


def grid_name(name: str) -> str:
    """The function that runs all threads of a kernel function, in threadgroups of so many; it gives what `run` does."""
    return f"grid_{name}"


def host_source(text: str, names: Sequence[str]) -> str:
    """The text with the header in front, and what runs each kernel function behind it."""
    assert _INCLUDE in text
    runners = (
        f'extern "C" uint {grid_name(name)}(ulong words, uint threads, uint group) {{ '
        f"return lanes::run({name}, *(device Launch*)words, threads, group); }}"
        for name in names
    )
    text = _SHARED.sub(r"\1static threadgroup", text)  # one threadgroup runs at a time
    return "\n".join([text.replace(_INCLUDE, SHIM, 1), *runners, ""])


def host_library(text: str, names: Sequence[str], *, keep: bool) -> Library:
    """Machine code of the host: the address of each function of `grid_name`, which goes with the library.

    Raises:
        InternalError: clang refuses the text.
    """
    return linked(host_object(host_source(text, names), keep=keep), [grid_name(name) for name in names])
