"""What a function of kernels does on the host. May import the errors."""

from __future__ import annotations

from typing import NoReturn

from ...errors import AdstackSyntaxError

__all__ = ["refused"]


def refused(name: str) -> NoReturn:
    """Raise AdstackSyntaxError: this function is for the threads of a block."""
    do = "call it in a parallel loop of a kernel, with qd.loop_config(block_dim=...) before the loop"
    raise AdstackSyntaxError(f"{name} has a meaning only in a kernel", do=do)
