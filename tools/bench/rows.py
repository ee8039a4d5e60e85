"""The rows: what is measured, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from adstack.conformance.harness.programs import NAMES, title

__all__ = ["DEFAULT", "OF_KERNELS", "ROWS", "Row", "chosen", "of_kernel"]

Kind = Literal["steady", "cold", "cached"]


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        name: how it is asked for.
        title: what is timed.
        kind: "steady": calls in a process that has made them before. "cold": one call, the first in a process of its
            own, nothing compiled on disk. "cached": the same, with the disk holding what an earlier process compiled.
        calls: calls that are timed together; 0: as many as take a while.
        size: of a program of `conformance/programs`: "reduced" or "full"; empty for other rows.
        target: FILE:KERNEL, of rows about a user's kernel.
        arguments: of that kernel, expressions in terms of the names in the file.
    """

    name: str
    title: str
    kind: Kind = "steady"
    calls: int = 1
    size: str = ""
    target: str = ""
    arguments: str = ""


_ADJOINTS: Final = {
    "stencil": "16 steps of a nonlinear wave equation, 512 x 512",
    "bodies": "1,024 bodies, each attracted by all others",
    "springs": "64 steps of 128 x 128 masses with springs to 8 neighbours",
    "product": "the product of two matrices of 322 x 322 and its squared norm, as three loops",
    "newton": "65,536 roots by 2 to 31 iterations",
    "table": "1,048,576 elements gathered by a table and scattered by another",
    "sums": "sums over the rows and the columns of 1,024 x 1,024",
    "dense": "a dense layer of 256 x 256 on a batch of 4,096",
    "histogram": "1,048,576 weights in 256 bins",
    "particles": "4 steps of 32,768 material points in a grid of 64^3",
}
"""Works of `asv_benchmarks/benchmarks/adjoint_kernels.py`, whose reverse modes add to memory that iterations share."""


def _adjoints() -> Iterator[Row]:
    """Each work forward, and forward with its gradient."""
    for name, work in _ADJOINTS.items():
        yield Row(f"adjoint-{name}", work)
        yield Row(f"adjoint-{name}-both", f"the same and its gradient: {name}")


def _programs() -> list[Row]:
    """The first iteration of each program, and later ones."""
    later = [Row(f"program-{name}", f"later iterations: {title(name)}", calls=3, size="full") for name in NAMES]
    return later + [
        Row(f"first-{row.name}", f"first iteration: {title(name)}", "cold", size="full")
        for name, row in zip(NAMES, later, strict=True)
    ]


_ROWS: Final = (
    Row("nop", "a call without arguments that stores a value, drained every 2,000", calls=2000),
    Row("args", "the same with one array and one scalar", calls=2000),
    Row("nop-reverse", "the gradient of y = x * x, of single numbers, by x", calls=2000),
    Row("args-reverse", "y[0] = x[1] * s, of two arrays, and its gradient: two calls (one in JAX)", calls=2000),
    Row("args-torch", "args with a tensor of torch in place of the array", calls=2000),
    Row("adstack-reverse", "the gradient of recurrence for one thread of 8 steps, which adstacks keep", calls=2000),
    Row("tape", "a tape of 100 calls of x[t + 1] = x[t] * x[t], and its gradients", calls=20),
    Row("recurrence", "65,536 threads of 64 steps of v = sin(v) * 0.9 + 0.1, summed", calls=3),
    Row("recurrence-reverse", "the gradient of recurrence by its 65,536 inputs, forward part included", calls=3),
    Row("gather", "65,536 rows of up to 16 products of gathered elements", calls=10),
    Row("element-read", "read one element of a field on the host", calls=2000),
    Row("element-write", "write one element of a field on the host", calls=2000),
    Row("first", "first call of recurrence in a process, nothing on disk", "cold"),
    Row("first-nop", "first call of nop in a process, nothing on disk", "cold"),
    Row("first-cached", "first call of recurrence in a process, compiled by an earlier one", "cached"),
    Row("many16", "first call of a loop that carries 16 variables", "cold"),
    Row("many64", "first call of a loop that carries 64 variables", "cold"),
    Row("many256", "first call of a loop that carries 256 variables", "cold"),
    Row("many1024", "first call of a loop that carries 1,024 variables", "cold"),
    Row("first-gradient", "first gradient of recurrence in a process that has called it, nothing on disk", "cold"),
    Row("gradient-many-16", "first gradient of a loop that carries 16 variables, after a call", "cold"),
    Row("gradient-many-64", "first gradient of a loop that carries 64 variables, after a call", "cold"),
    Row("gradient-many-256", "first gradient of a loop that carries 256 variables, after a call", "cold"),
    *_adjoints(),
    *_programs(),
)
ROWS: Final = {row.name: row for row in _ROWS}
DEFAULT: Final = tuple(
    name
    for name, row in ROWS.items()
    if not row.size and not name.startswith("adjoint-") and name not in ("many1024", "gradient-many-256")
)


OF_KERNELS: Final = {
    row.name: row
    for row in (
        Row("call", "a call", calls=0),
        Row("gradient", "a call of its gradient", calls=0),
        Row("first", "the first call in a process, nothing on disk", "cold"),
        Row("first-cached", "the first call in a process, compiled by an earlier one", "cached"),
        Row("first-gradient", "the first gradient, after a call, nothing on disk", "cold"),
    )
}
"""What is measured of a user's kernel."""


def of_kernel(target: str, arguments: str, names: Sequence[str]) -> list[Row]:
    """Rows of these names, all if there are none, about a kernel; KeyError if there is no such row."""
    return [replace(OF_KERNELS[name], target=target, arguments=arguments) for name in names or OF_KERNELS]


def chosen(names: Sequence[str], size: str = "full") -> list[Row]:
    """The rows of these names, in the table's order, programs of that size; KeyError if there is no such row."""
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        raise KeyError(unknown[0])
    return [replace(row, size=row.size and size) for row in _ROWS if row.name in names]
