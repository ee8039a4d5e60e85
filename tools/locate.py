"""`adstack locate`: where a backend departs from the reference in a case of the conformance suite."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

import adstack
from adstack.conformance.harness.capture import Capture, flush
from adstack.conformance.harness.execute import Request, Target
from adstack.conformance.harness.explain import departures_of
from adstack.conformance.harness.loading import CASES, Entry, collect
from adstack.inspection import ARCHES, Departure

from .loading.programs import ProgramError
from .terminal.console import console

__all__ = ["locate", "located"]

EPILOG: Final = """\b
Examples:
  adstack locate gradients/masses-and-springs:f32 --backend vulkan
  adstack locate 'arith/floor-division-of-negatives' -b cpu --mode forward
"""


@click.command(epilog=EPILOG)
@click.argument("case")
@click.option("--backend", "-b", required=True, type=click.Choice(ARCHES), help="The backend of adstack to look at.")
@click.option("--mode", "-m", help="Only this mode of the case. Default: all that it has.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of everything random.")
def locate(case: str, backend: str, mode: str | None, seed: int) -> None:
    """Find the first value at which a backend departs from the reference in a case, forward or in reverse.

    Every launch is made twice in copies of its memory, by the backend and by the reference interpreter, and all that it
    computes is compared: up to 256 lanes, 2048 values of each. CASE is the id of a case; without a variant (":f32") all
    variants are run. The exit status is 1 if there is a departure. Launches are deterministic.
    """
    entries = [entry for entry in collect(CASES) if case in (entry.id, entry.id.partition(":")[0])]
    if not entries:
        raise ProgramError(f"there is no case {case!r}; adstack conformance --list names all")
    out, departed = console(), False
    for entry in entries:
        for one in [mode] if mode else entry.case.modes:
            departures = located(entry, backend, one, seed, CASES)
            departed = departed or bool(departures)
            out.print(f"{entry.id}, {one}: {_told(departures)}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(1 if departed else 0)


def _told(departures: list[Departure]) -> str:
    if not departures:
        return "no departure"
    more = f", of {len(departures)} launches that depart" if len(departures) > 1 else ""
    return f"first departure{more}\n  {departures[0]}"


def located(entry: Entry, backend: str, mode: str, seed: int = 0, root: Path = CASES) -> list[Departure]:
    """The departures of a backend in a cell of the suite, the first value of each launch.

    Whether the cell passes does not matter: what it computed until an error came is compared.
    """
    with tempfile.TemporaryDirectory() as folder, _streams_kept():
        request = Request(str(root), entry.path, entry.id, mode, seed)
        return departures_of(request, Target(adstack, backend), Capture(Path(folder)))


@contextmanager
def _streams_kept() -> Iterator[None]:
    """A block after which standard output and error go where they went before, whatever was done to them."""
    flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    try:
        yield
    finally:
        flush()
        for descriptor, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, descriptor)
            os.close(copy)
