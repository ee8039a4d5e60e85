"""Numbers that may not change unnoticed: `python -m adstack.tools.gates`, and with `--write` a new golden file.

The numbers are those of benchmarks in `asv_benchmarks` that count: adstacks and their bytes per thread, operations of
the IR, Python functions that a call runs. They do not depend on the machine, and may not move by 1. Functions that
compiling runs stand for its time: they may move by 1 %, and are compared on machines of the same kind alone, since code
generators do what suits the processor or the driver. `asv_benchmarks/exact.json` has what all of them are; a number
that moves on purpose is written there by this tool, and stands in the commit that moves it.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import click

from adstack import inspection

from .bench.asv.catalogue import FOLDER, importable

__all__ = ["GATES", "GOLDEN", "Gate", "differences", "main", "measure"]

GOLDEN: Final = FOLDER / "exact.json"


@dataclass(frozen=True)
class Gate:
    """One setting of a benchmark and the methods of it that count.

    Attributes:
        module: of `asv_benchmarks/benchmarks`.
        cls: the benchmark's class.
        setting: its parameters, of which the first one is the backend.
        methods: what is called once it has been set up.
        limit: by which part a number may move either way; above 0 for what stands for a time.
    """

    module: str
    cls: str
    setting: tuple[str, ...]
    methods: tuple[str, ...]
    limit: float = 0.0

    def numbers(self) -> Iterator[tuple[str, int]]:
        """The numbers and their names; nothing where the backend is not available."""
        benchmark = getattr(importlib.import_module(f"benchmarks.{self.module}"), self.cls)()
        try:
            benchmark.setup(*self.setting)
        except NotImplementedError as error:
            click.echo(f"not measured: {error}", err=True)
            return
        for method, name in zip(self.methods, self.names, strict=True):
            yield name, int(getattr(benchmark, method)(*self.setting))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that asv has for the numbers; with the kind of this machine where they depend on it."""
        where = f"{_ON}{_machine(self.setting[0])}" if self.limit else ""
        return tuple(f"{self.module}.{self.cls}.{method}({', '.join(self.setting)}){where}" for method in self.methods)


_ON: Final = " on "


def _machine(backend: str) -> str:
    """What decides how a backend compiles, besides adstack: Python, and the processor's vectors or the device."""
    probed = inspection.probe(backend)
    device = "" if isinstance(probed, inspection.Unavailable) else probed.details.get("vectors", probed.device)
    return f"Python {sys.version_info.major}.{sys.version_info.minor}, {device}"


_HEAP: Final = ("track_stacks", "track_slot_bytes", "track_stride")
_OVERWRITTEN: Final = ("track_calls_there_and_back", "track_calls_in_place", "track_calls_of_sixteen_steps")
_CHAINS: Final = ("an ndarray by hand",)  # of a tape with numpy's arrays the number is not the same in each process
GATES: Final = (
    *(Gate("heap", "Adstacks", ("cpu", kernel), _HEAP) for kernel in ("recurrence", "ragged", "many")),
    Gate("heap", "Adstacks", ("vulkan", "recurrence"), _HEAP),
    *(Gate("code_size", "Code", ("cpu", kernel), ("track_ir_ops",)) for kernel in ("nop", "recurrence", "gather")),
    *(Gate("code_size", "GradientCode", ("cpu", kernel), ("track_ir_ops",)) for kernel in ("recurrence", "ragged")),
    *(
        Gate("dispatch", "Call", (backend, work), ("track_python_calls",))
        for backend in ("cpu", "vulkan")
        for work in ("nop", "args", "vector", "dataclass", "gradient")
    ),
    Gate("dispatch", "Recorded", ("cpu", "tape of 100"), ("track_python_calls",)),
    Gate("records", "Overwritten", ("cpu",), _OVERWRITTEN),
    Gate("records", "History", ("cpu",), ("track_python_calls",)),
    *(Gate("chains", "Chain", ("cpu", work), ("track_python_calls",)) for work in _CHAINS),
    *(
        Gate("compile_time", "PythonCalls", setting, ("track_first_call_and_gradient",), limit=0.01)
        for setting in (("cpu", "recurrence"), ("cpu", "many"), ("vulkan", "recurrence"))
    ),
)


def measure(gates: Sequence[Gate] = GATES) -> dict[str, int]:
    """The numbers by name; those of backends that are not available here are left out."""
    numbers: dict[str, int] = {}
    with importable():
        for gate in gates:
            numbers.update(gate.numbers())
    return numbers


def differences(golden: Mapping[str, int], numbers: Mapping[str, int]) -> list[str]:
    """A line for each number that is not what the golden file says, or that only one of them knows.

    What depends on the kind of machine is not told of where the golden file knows no such machine.
    """
    backends = {_backend(name) for name in numbers}
    limits = {name: gate.limit for gate in GATES for name in gate.names}
    moved = [
        f"{name}: {golden.get(name, 'not there')} -> {number}"
        for name, number in numbers.items()
        if (name not in golden and _ON not in name)
        or abs(number - golden.get(name, number)) > limits.get(name, 0.0) * golden.get(name, 0)
    ]
    gone = [name for name in golden if name not in numbers and _ON not in name and _backend(name) in backends]
    return moved + [f"{name}: {golden[name]} -> not measured" for name in gone]


def _backend(name: str) -> str:
    return name.partition("(")[2].partition(",")[0]


@click.command()
@click.option("--write", is_flag=True, help="Write what is measured into the golden file.")
def main(write: bool) -> None:
    """Compare numbers with the golden file; exit status 1 if one has moved, by more than it may."""
    golden, numbers = json.loads(GOLDEN.read_text()), measure()
    lines = differences(golden, numbers)
    click.echo("\n".join(lines) or f"{len(numbers)} numbers are as they were")
    if write:
        gates = {name.partition(_ON)[0] for gate in GATES for name in gate.names}
        kept = {name: number for name, number in golden.items() if name.partition(_ON)[0] in gates}
        GOLDEN.write_text(json.dumps(dict(sorted({**kept, **numbers}.items())), indent=1) + "\n")
    elif lines:
        sys.exit(1)


if __name__ == "__main__":
    main()
