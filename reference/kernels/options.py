"""`init`, `reset`, `sync`, and the names of the arches."""

from __future__ import annotations

from typing import Final

from ..ir.types import f32, i32
from ..runtime import state
from ..runtime.protocol.options import Options, parse

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
    """
    from . import compiling  # noqa: F401 - the first call of a kernel should not wait for it

    state.start(arch, parse({"default_fp": default_fp, "default_ip": default_ip, **options}))


def reset() -> None:
    """Drop all fields and ndarrays. Kernels compile again when they are next called."""
    state.stop()


def sync() -> None:
    """Wait until everything launched has finished."""
    runtime = state.active()
    if runtime is not None:
        runtime.backend.synchronize()


def current_arch() -> str:
    """The arch in use, such as `qd.cpu` (for `qd.x64`, too) or `qd.cuda`; without `init` the default one."""
    return state.current().arch


def current_options() -> Options:
    """The options in force."""
    return state.current().options
