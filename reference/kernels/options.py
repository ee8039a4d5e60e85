"""`init`, `reset`, `sync`, and the names of the arches."""

from __future__ import annotations

import os
import sys
from typing import Final

from ..ir.types import f32, i32
from ..runtime import state
from ..runtime.protocol.options import Options, parse
from ..runtime.protocol.registry import canonical
from ..values.calling import takes
from ..version import VERSION

__all__ = [
    "amdgpu",
    "arm64",
    "cpu",
    "cuda",
    "current_arch",
    "gpu",
    "init",
    "metal",
    "reference",
    "reset",
    "sync",
    "vulkan",
    "x64",
    "x86_64",
]

reference: Final = "reference"
cpu: Final = "cpu"
x64: Final = "x64"
x86_64: Final = "x86_64"
arm64: Final = "arm64"
cuda: Final = "cuda"
vulkan: Final = "vulkan"
metal: Final = "metal"
amdgpu: Final = "amdgpu"
gpu: Final = "gpu"


def init(arch: object = None, default_fp: object = f32, default_ip: object = i32, **options: object) -> None:
    """Start over: drop all data, then open `arch`.

    Args:
        arch: reference, cpu (x64, arm64), cuda, vulkan, metal, amdgpu, or gpu for the first that is available; or a
            list of these, of which the first that is available is taken. Without it the environment variable
            ADSTACK_ARCH, then the best one that is available, decides.
        default_fp: the type of float literals, f16, f32 or f64.
        default_ip: the type of integer literals.
        options: see `adstack.runtime.protocol.options.Options`.

    A line on standard error says which device was taken and why, unless `announce=False`.
    """
    from . import compiling  # noqa: F401 - the first call of a kernel should not wait for it

    runtime = state.start(arch, parse({"default_fp": default_fp, "default_ip": default_ip, **options}))
    if runtime.options.announce and os.environ.get("ADSTACK_ANNOUNCE") != "0":
        _announce(runtime, arch)


_ANNOUNCED: Final[set[str]] = set()
"""What has been said: `init` may be called many times."""


def _announce(runtime: state.Runtime, arch: object) -> None:
    """Say which device was taken, and why."""
    capabilities, wanted = runtime.backend.capabilities, os.environ.get("ADSTACK_ARCH")
    if arch is not None:
        names = arch if isinstance(arch, (list, tuple)) else (arch,)
        asked = canonical(names[0]) == runtime.arch
        why = "as asked for" if asked else f"the best available of {', '.join(map(str, names))}"
    elif wanted:
        why = f"as ADSTACK_ARCH={wanted} asks for"
    else:
        why = "the default; arch=qd.gpu takes a GPU"
    software = ", a driver that runs on the cpu" if capabilities.kind == "software" else ""
    line = f"adstack {VERSION}: arch={capabilities.name} on {capabilities.device}{software} ({why})"
    if line not in _ANNOUNCED:
        _ANNOUNCED.add(line)
        print(line, file=sys.stderr)


@takes("reset")
def reset() -> None:
    """Drop all fields and ndarrays. Kernels compile again when they are next called."""
    state.stop()


@takes("sync")
def sync() -> None:
    """Wait until everything launched has finished."""
    runtime = state.active()
    if runtime is not None:
        runtime.backend.synchronize()


@takes("current_arch")
def current_arch() -> str:
    """The arch in use, such as `qd.cpu` (for `qd.x64`, too) or `qd.cuda`; without `init` the default one."""
    return state.current().arch


def current_options() -> Options:
    """The options in force."""
    return state.current().options
