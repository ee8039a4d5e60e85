"""Which functions a profile times, and as what."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .spans import Kind

__all__ = ["CALLS", "SEAMS", "SERVED", "Seam", "owner_of"]

Name = Callable[[tuple[Any, ...]], str]
"""The kernel's name, from the arguments of the function that is timed; "": that of the stretch around it."""


@dataclass(frozen=True)
class Seam:
    """A function that is timed.

    Attributes:
        module: where it is looked up when it is called.
        path: a name there, or Class.name.
        kind: what its time counts as.
        name: for which kernel.
        waits: whether the device is waited for when it has returned.
    """

    module: str
    path: str
    kind: Kind
    name: Name
    waits: bool = False


def _around(args: Sequence[object]) -> str:
    return ""


def _tape(args: Sequence[object]) -> str:
    return "(tape)"


def gradient_name(name: str) -> str:
    """What rows call the gradient of a kernel."""
    return f"{name}.grad"


SEAMS: Final = (
    Seam("adstack.kernels.kernel", "specialise", "compile", lambda args: str(args[0].function.__name__)),
    Seam("adstack.gradients.modes.compiled", "derived", "compile", lambda args: gradient_name(args[0].kernel.name)),
    Seam("adstack.gradients.modes.making", "compile_kernel", "compile", lambda args: str(args[0].name)),
    Seam("adstack.runtime.plans", "Plan.launch", "python", lambda args: str(args[0].compiled.program.name)),
    Seam("adstack.runtime.plans", "Plan.serve", "python", lambda args: str(args[0].compiled.program.name)),
    Seam("adstack.runtime.compiled", "Compiled.launch", "device", _around, waits=True),
    Seam("adstack.runtime.plans", "launched", "device", _around, waits=True),
    Seam("adstack.gradients.tapes.tape", "Tape.__enter__", "python", _tape),
    Seam("adstack.gradients.tapes.tape", "Tape.leave", "python", _tape),
)
CALLS: Final = (
    ("adstack.kernels.kernel", "Kernel", lambda served: str(served.signature.name)),
    ("adstack.kernels.gradient", "Gradient", lambda served: gradient_name(served.kernel.signature.name)),
)
"""What programs call: the class has machine code, or what serves a call in Python, in the slot `__call__`."""
SERVED: Final = (("adstack.kernels.kernel", "Kernel._call"), ("adstack.kernels.gradient", "Gradient._serve"))
"""What serves a call in Python, by the kernel or gradient that is called."""


def owner_of(module: str, path: str) -> tuple[Any, str]:
    """The module or class that has a function, and the function's name there."""
    owner: Any = importlib.import_module(module)
    *classes, name = path.split(".")
    for one in classes:
        owner = getattr(owner, one)
    return owner, name
