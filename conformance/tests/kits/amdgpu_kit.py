"""What the tests of the amdgpu backend share: a device that compiles programs and runs none, and code to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cpu_kit
from toy.runtime import Toy

from adstack.backends.amdgpu.capability import SUMS
from adstack.backends.amdgpu.codegen import Module, emit_module
from adstack.errors import AdstackError
from adstack.ir.structure import Kernel, Program
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.protocol.backend import Bindings, Capabilities, Scalars
from adstack.runtime.protocol.options import Options
from adstack.transforms.memory.accumulate import accumulate


def module_of(source: str | Kernel | Program, *, debug: bool = False) -> Module:
    """The module of a program whose sums are planned for threads of a device."""
    return emit_module(tasks_of(source, debug=debug), debug=debug)


def tasks_of(source: str | Kernel | Program, *, debug: bool = False) -> Program:
    """A program whose sums are planned for threads of a device."""
    program = cpu_kit.tasks_of(source, debug)
    for task in program.tasks:
        accumulate(task, SUMS)
    return program


class Compiling(Toy):
    """A device that emits every program, and whose launches do nothing.

    Attributes:
        texts: LLVM text -> the name of its program.
        failures: what emission raised that is not the kernel's own error.
    """

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = Capabilities("amdgpu", "compiled only", "no device", claims=True, holds=True, sums=SUMS)
        self.texts: dict[str, str] = {}
        self.failures: list[Exception] = []

    def compile(self, program: Program, options: Options) -> Any:
        """Emit the program, which stands for what is compiled."""
        try:
            module = emit_module(program, debug=options.debug)
        except AdstackError:
            raise
        except Exception as error:
            self.failures.append(error)
            raise
        self.texts.setdefault(module.text, program.name)
        return program

    def launch(self, executable: Any, scalars: Scalars, bindings: Bindings) -> Scalars:
        """Nothing, with zeros for what the program returns."""
        return [0 for _ in executable.results]

    def adstacks(self, executable: Any) -> list[TaskUse]:
        """None."""
        return []


def lines(assembly: str, *words: str) -> Sequence[str]:
    """The instructions of an assembly that begin with one of some words."""
    stripped = (line.strip() for line in assembly.splitlines())
    return [line for line in stripped if line.startswith(words)]
