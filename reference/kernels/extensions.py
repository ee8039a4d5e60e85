"""What existing programs ask a backend for by name: `extension`, `is_extension_supported`, `is_extension_enabled`."""

from __future__ import annotations

import enum

from ..errors import AdstackRuntimeTypeError
from ..ir.types import f64, i64
from ..runtime import state
from ..runtime.protocol import registry
from ..runtime.protocol.backend import Capabilities
from ..values.calling import takes

__all__ = ["Extension", "extension", "is_extension_enabled", "is_extension_supported"]


class Extension(enum.Enum):
    """A feature that not every implementation of the language has on every arch."""

    adstack = "adstack"
    """Reverse mode of loops of any bound: on every arch, always on."""
    assertion = "assertion"
    """`assert` in kernels; checked with `init(debug=True)`."""
    data64 = "data64"
    """Fields and arithmetic of f64 and i64."""
    bls = "bls"
    extfunc = "extfunc"
    mesh = "mesh"
    quant = "quant"
    quant_basic = "quant_basic"
    sparse = "sparse"
    """Levels that are active in part: on every arch, always on."""


extension = Extension


@takes("is_extension_supported")
def is_extension_supported(arch: object, wanted: Extension) -> bool:
    """Whether an arch has a feature on this machine.

    Args:
        arch: an arch, such as `qd.cuda`; of `qd.gpu`, whether one of those that are available has it.
        wanted: the feature.

    Returns:
        False also for an arch that is not available.

    Raises:
        AdstackRuntimeTypeError: if `wanted` is no extension.
        AdstackArgumentError: if there is no such arch.
    """
    if not isinstance(wanted, Extension):
        raise AdstackRuntimeTypeError(
            f"{wanted!r} is no extension", do=f"use one of {', '.join(f'extension.{one.name}' for one in Extension)}"
        )
    name = registry.canonical(arch)
    names = registry.GPUS if name == "gpu" else (name,)
    return any(_has(probe, wanted) for probe in map(registry.probe, names) if isinstance(probe, Capabilities))


@takes("is_extension_enabled")
def is_extension_enabled(ext: Extension) -> bool:
    """Whether the arch in use has the feature `ext`; AdstackRuntimeTypeError if that is no extension."""
    return is_extension_supported(state.current().arch, ext)


def _has(capabilities: Capabilities, wanted: Extension) -> bool:
    if wanted is Extension.data64:
        return f64 in capabilities.dtypes and i64 in capabilities.dtypes
    return wanted in (Extension.adstack, Extension.assertion, Extension.sparse)
