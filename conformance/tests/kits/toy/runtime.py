"""The toy device. `registry.BACKENDS["toy"] = "toy.runtime"` registers it."""

from __future__ import annotations

import numpy as np

from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.protocol.backend import Array, Bindings, Scalars
from adstack.runtime.protocol.options import Options

from . import capability, codegen, layout, toolchain
from .capability import probe as probe


def open_device(device: str = "") -> Toy:
    return Toy()


class Toy:
    """What every backend offers, and none of the optional parts."""

    def __init__(self) -> None:
        self.capabilities, self.launches = capability.CAPABILITIES, 0

    def compile(self, program: Program, options: Options) -> codegen.Executable:
        return codegen.executable(program, options)

    def listing(self, executable: codegen.Executable) -> dict[str, str]:
        return {}

    def launch(self, executable: codegen.Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        self.launches += 1
        memory = {name: piece.elements for name, piece in bindings.storages.items()}
        return toolchain.run(executable, memory, scalars, self.launches)

    def adstacks(self, executable: codegen.Executable) -> list[TaskUse]:
        return toolchain.heaps(executable)

    def synchronize(self) -> None: ...

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> layout.Piece:
        return layout.piece(dtype, shape)

    def adopt(self, array: Array) -> None: ...

    def free(self, storage: layout.Piece) -> None: ...

    def address(self, storage: layout.Piece) -> int:
        return 0

    def host_view(self, storage: layout.Piece) -> None: ...

    def download(self, storage: layout.Piece) -> Array:
        return np.array(storage.elements)

    def upload(self, storage: layout.Piece, array: Array) -> None:
        storage.elements[...] = array
