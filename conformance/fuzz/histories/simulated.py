"""Memory as a plain Python program sees it, with derivatives of everything that has them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .numbers import Number, constant, pull, value_of

__all__ = ["Cells", "Program", "State"]

State = Mapping[str, Sequence[float]]
"""What memory holds, by its name."""


class Program:
    """A run that begins with some memory; launches and writes of the host go on with it.

    Args:
        state: what memory holds.
        smooth: the memory that has gradients, or duals.
        tangents: of what memory holds, where they are not 0.

    Attributes:
        cells: what memory holds now.
        inputs: for each element, all numbers that it was given from outside.
    """

    def __init__(self, state: State, smooth: Collection[str], tangents: State | None = None) -> None:
        self.smooth = smooth
        tangents = tangents or {}
        self.cells = {
            name: [Number(v, t) for v, t in zip(values, tangents.get(name, [0.0] * len(values)), strict=True)]
            for name, values in state.items()
        }
        self.inputs = {name: [[number] for number in numbers] for name, numbers in self.cells.items()}
        self.cells = {name: list(numbers) for name, numbers in self.cells.items()}

    def __getitem__(self, name: str) -> Cells:
        return Cells(self, name, range(len(self.cells[name])))

    @property
    def state(self) -> dict[str, list[float]]:
        """What memory holds now."""
        return {name: [number.value for number in numbers] for name, numbers in self.cells.items()}

    def write(self, name: str, index: int, value: float, tangent: float = 0.0) -> None:
        """Let the host write a number from outside."""
        number = Number(value, tangent)
        self.cells[name][index] = number
        self.inputs[name][index].append(number)

    def pulled(self, adjoints: State, returned: Sequence[tuple[Number, float]] = ()) -> dict[str, list[float]]:
        """Gradients before the run, by those after it, and by adjoints of what was returned."""
        seeds = [pair for name in self.smooth for pair in zip(self.cells[name], adjoints[name], strict=True)]
        pulled = pull([*seeds, *returned])
        return {
            name: [sum(pulled.get(one, 0.0) for one in numbers) for numbers in self.inputs[name]]
            for name in self.smooth
        }

    def tangents(self) -> dict[str, list[float]]:
        """What the duals are now."""
        return {name: [number.tangent for number in self.cells[name]] for name in self.smooth}


@dataclass(frozen=True)
class Cells:
    """Elements of memory, as an argument has them.

    Attributes:
        program: whose memory it is.
        name: of the memory.
        where: the elements.
    """

    program: Program
    name: str
    where: Sequence[int]

    def __getitem__(self, index: int) -> Number:
        return self.program.cells[self.name][self.where[index]]

    def __setitem__(self, index: int, value: Number | float) -> None:
        number = value if isinstance(value, Number) and self.name in self.program.smooth else constant(value)
        self.program.cells[self.name][self.where[index]] = number

    def __iter__(self) -> Iterator[Number]:
        return (self[index] for index in range(len(self.where)))

    def integer(self, index: int) -> int:
        """An element as an integer."""
        return int(value_of(self[index]))
