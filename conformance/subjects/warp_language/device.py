"""Warp, imported and warm: it has compiled something, so that its compiler's headers are at hand for what follows.

Those are a file of the process that compiled first, which the end of any process that it has forked would remove. So
these leave without the ends of what was there before them.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
from os import _exit as leave_at_once
from pathlib import Path
from typing import Any, Final, TypeAlias

__all__ = ["DEVICE", "VERSION", "WP", "loaded"]

Module: TypeAlias = Any
"""The module `warp`, or one of kernels: Warp comes without types for it."""

WP: Final[Module] = importlib.import_module("warp")
VERSION: Final[str] = WP.config.version
DEVICE: Final = "cpu"
_FOLDER: Final = Path.cwd() / "warp-kernels"
"""Of this process and those that it forks: nothing is found there that an earlier run has compiled."""
_HEAD: Final = "import warp as wp\n\n\n"
_FIRST: Final = """@wp.kernel
def first(a: wp.array(dtype=wp.float32)):
    i = wp.tid()
    a[i] = wp.sin(a[i])
"""


def loaded(source: str, name: str) -> Module:
    """A module of kernels with this source, which Warp reads from a file."""
    path = _FOLDER / f"{name}_{os.getpid()}.py"
    path.write_text(_HEAD + source, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _warm() -> None:
    os.register_at_fork(after_in_child=lambda: atexit.register(leave_at_once, 0))
    _FOLDER.mkdir(exist_ok=True)
    WP.config.quiet = True
    WP.config.kernel_cache_dir = str(_FOLDER / "cache")
    WP.init()
    array = WP.zeros(1, dtype=WP.float32, device=DEVICE)
    WP.launch(loaded(_FIRST, "first").first, dim=1, inputs=[array], device=DEVICE)


_warm()
