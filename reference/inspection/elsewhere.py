"""Launches that somebody else carries out: a compiler of adstack's IR that is no backend of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..ir.text.printer import print_ir
from ..runtime.protocol.backend import Array, Bindings, Scalars
from ..runtime.protocol.registry import beside_devices
from ..runtime.reference_backend import Executable, ReferenceBackend

__all__ = ["Launch", "launches_by"]


@dataclass(frozen=True)
class Launch:
    """What is to be launched.

    Attributes:
        program: the IR as backends get it, in its text form: tasks, which run one after the other.
        scalars: one for each scalar parameter.
        arrays: what places hold, by name; the launch changes them.
        debug: whether accesses and arithmetic are to be checked.
        seed: of random numbers.
        number: of the launch; random numbers depend on it, too.
    """

    program: str
    scalars: Scalars
    arrays: dict[str, Array]
    debug: bool
    seed: int
    number: int


@contextmanager
def launches_by(run: Callable[[Launch], Scalars]) -> Iterator[None]:
    """A block in which `run` carries out what `init(arch=reference)` opens: it changes arrays and returns scalars."""
    with beside_devices(lambda backend: _Elsewhere(run)):
        yield


class _Elsewhere(ReferenceBackend):
    """The reference's memory, and launches by somebody else."""

    def __init__(self, run: Callable[[Launch], Scalars]) -> None:
        super().__init__()
        self._run = run

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        self.launches += 1
        options = executable.options
        program = executable.without if bindings.sized else executable.program
        arrays = {**bindings.storages, **executable.depths}
        asked = Launch(print_ir(program), scalars, arrays, options.debug, options.random_seed, self.launches)
        return self._run(asked)
