"""Warp, imported and warm: it has compiled something, so that its compiler's headers are at hand for what follows.

Those are a file of the process that compiled first, which the end of any process that it has forked would remove. So
these leave without the ends of what was there before them.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
from functools import cache
from os import _exit as leave_at_once
from pathlib import Path
from typing import Final, TypeAlias

from ...case import Data

__all__ = ["DEVICE", "WP", "loaded", "version"]

Module: TypeAlias = Data
"""The module `warp`, or one of kernels: Warp comes without types for it."""

DEVICE: Final = "cpu"
_FOLDER: Final = "warp-kernels"
"""In the folder where a process runs: nothing is there that an earlier run has compiled."""
_HEAD: Final = "import warp as wp\n\n\n"
_FIRST: Final = """@wp.kernel
def first(a: wp.array(dtype=wp.float32)):
    i = wp.tid()
    a[i] = wp.sin(a[i])
"""


def version() -> str:
    """Of Warp, which is imported and warmed now, if it is not yet. ImportError: it is not there."""
    return str(_warm().config.version)


class _Warp:
    """The module `warp`, imported and warmed when it is first used."""

    def __getattr__(self, name: str) -> Data:
        return getattr(_warm(), name)


WP: Final = _Warp()


def loaded(source: str, name: str) -> Module:
    """A module of kernels with this source, which Warp reads from a file."""
    path = _folder() / f"{name}_{os.getpid()}.py"
    path.write_text(_HEAD + source, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _folder() -> Path:
    """Of what this process compiles: a child has one of its own, and the cache of the process that forked it."""
    folder = Path.cwd() / _FOLDER
    folder.mkdir(exist_ok=True)
    return folder


@cache
def _warm() -> Module:
    warp, folder = importlib.import_module("warp"), _folder()
    os.register_at_fork(after_in_child=lambda: atexit.register(leave_at_once, 0))
    warp.config.quiet = True
    warp.config.kernel_cache_dir = str(folder / "cache")
    warp.init()
    array = warp.zeros(1, dtype=warp.float32, device=DEVICE)
    warp.launch(loaded(_FIRST, "first").first, dim=1, inputs=[array], device=DEVICE)
    return warp
