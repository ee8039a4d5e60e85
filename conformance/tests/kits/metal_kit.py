"""What the tests of the metal backend share: programs run by the host playing a device, and by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import cpu_kit
import immediate_kit
import numpy.typing as npt
from cpu_kit import Case

from adstack.backends.codegen_msl.tasks import emit_program
from adstack.backends.metal.capability import SUMS, offered
from adstack.backends.metal.emulator import Emulator
from adstack.backends.metal.runtime import MetalBackend
from adstack.ir.structure import Kernel, Program
from adstack.transforms.memory.accumulate import accumulate

Array = npt.NDArray[Any]


def tasks_of(source: str | Kernel | Program, debug: bool = False) -> Program:
    """A program whose sums are planned for threads of a device."""
    program = cpu_kit.tasks_of(source, debug)
    for task in program.tasks:
        accumulate(task, SUMS)
    return program


def text_of(source: str | Kernel | Program, *, debug: bool = False) -> str:
    """The source of a program, without what stands in front of all of them."""
    return emit_program(tasks_of(source, debug), debug=debug).text


@cache
def backend(*sizes: int) -> MetalBackend:
    """The host, playing a device; `sizes` are those of `Emulator`."""
    driver = Emulator(*sizes)
    return MetalBackend(offered(driver, {}), driver)


def compiled(source: str | Kernel | Program, *, debug: bool = False) -> Callable[..., Sequence[Any]]:
    """A function of buffers and scalars that launches the program, and leaves in the buffers what the device has."""
    return immediate_kit.compiled(backend(), tasks_of(source, debug), debug=debug)


def agree_on(source: str | Kernel | Program, cases: Iterable[Case], *, debug: bool = False) -> list[Any]:
    """The interpreter and the device leave the same bits, or fail alike; what they leave."""
    return immediate_kit.agree_on(backend(), tasks_of(source, debug), cases, debug=debug)


def agree(
    source: str | Kernel | Program, buffers: dict[str, Array] | None = None, scalars: Sequence[Any] = (), **how: Any
) -> Any:
    """The same for one input."""
    (left,) = agree_on(source, [(buffers or {}, scalars)], **how)
    return left
