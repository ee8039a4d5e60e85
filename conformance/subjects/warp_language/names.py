"""The language's names outside of kernels; within, the translation knows them by these objects."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from ...case import Data
from .device import DEVICE, WP
from .kinds import ABSENT, NUMBERS, Kind, settings

__all__ = ["FUNCTIONS", "Function", "cpu", "grouped", "init", "loop_config", "ndrange", "reset", "static", "sync"]

cpu: Final = "cpu"
_IGNORED: Final = ("random_seed", "debug", "offline_cache")
"""Options that do not change what a valid program computes."""


def init(
    arch: str = cpu, default_fp: Kind = NUMBERS["f32"], default_ip: Kind = NUMBERS["i32"], **options: Data
) -> None:
    """See `adstack.init`. MissingError: an option has no counterpart."""
    others = [name for name in options if name not in _IGNORED]
    if others or options.get("debug"):
        raise ABSENT(f"Warp has no option {', '.join(others) or 'debug'}")
    random.seed(options.get("random_seed"))
    settings.real, settings.whole = default_fp, default_ip


def reset() -> None:
    """Nothing is kept."""


def sync() -> None:
    """Wait for the device."""
    WP.synchronize_device(DEVICE)


def static(value: Data) -> Data:
    """In a kernel: what is known when it is translated."""
    return value


def _only_in_kernels(*args: Data, **options: Data) -> Data:
    raise ABSENT("this is translated in kernels alone")


def grouped(*args: Data) -> Data:
    """In a kernel: an index of as many numbers as a field has axes."""
    return _only_in_kernels(*args)


def ndrange(*args: Data) -> Data:
    """In a kernel: all indices of a box."""
    return _only_in_kernels(*args)


def loop_config(*, serialize: bool = False, **options: Data) -> Data:
    """In a kernel: how the next loop runs."""
    return _only_in_kernels(serialize, options)


class Function:
    """A function of numbers.

    Args:
        name: the language's name.
        warp: Warp's; it takes and gives numbers of one float type, or with `whole`, of any one type.
        whole: whether integers stay integers.
    """

    def __init__(self, name: str, warp: str, whole: bool = False) -> None:
        self.name, self.warp, self.whole = name, warp, whole

    __call__: Callable[..., Data] = staticmethod(_only_in_kernels)


_SAME: Final = ("sin", "cos", "tan", "asin", "acos", "tanh", "sqrt", "exp", "log", "floor", "ceil", "atan2", "pow")
FUNCTIONS: Final[dict[str, Function]] = {
    **{name: Function(name, name) for name in _SAME},
    **{name: Function(name, name, whole=True) for name in ("abs", "max", "min")},
    "select": Function("select", "where"),
    "cast": Function("cast", ""),
    **{f"atomic_{name}": Function(f"atomic_{name}", f"atomic_{name}") for name in ("add", "sub", "max", "min")},
}
