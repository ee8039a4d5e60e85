"""The command line of `adstack bench`."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..terminal.console import console
from ..terminal.pythons import pythons_of
from .environments import PEERS, EnvironmentFailedError, folder_of_peers, install
from .measure import measure
from .report import Run
from .rows import DEFAULT, ROWS, Row, chosen
from .subjects import Subject, compiled_backends, mine, peer

__all__ = ["bench"]

EPILOG: Final = """\b
Examples:
  adstack bench
  adstack bench --rows nop,args --rounds 30
  adstack bench -b cpu --rows '*program-*' --against quadrants,taichi --install --rounds 5
  adstack bench --against quadrants,jax --python quadrants=~/peers/bin/python --json bench.json

Exit status: 0 if adstack has a figure in every row, 1 if not; 2 if the command line is wrong.
"""


def _listed(known: Sequence[str]) -> Callable[[click.Context, click.Parameter, str], tuple[str, ...]]:
    """Reads names or patterns of names, with commas between them."""

    def read(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
        names: list[str] = []
        for pattern in filter(None, (part.strip() for part in value.split(","))):
            matches = fnmatch.filter(known, pattern)
            if not matches:
                raise click.BadParameter(f"{pattern!r}; there are {', '.join(known)}")
            names += matches
        return tuple(dict.fromkeys(names))

    return read


@click.command(epilog=EPILOG)
@click.option(
    "--backend", "-b", "backends", multiple=True, help="A backend; repeatable. Default: all that compile here."
)
@click.option(
    "--against",
    metavar="NAMES",
    default="",
    callback=_listed(tuple(PEERS)),
    help=f"Peers to compare with, with commas between them: {', '.join(PEERS)}.",
)
@click.option(
    "--rows",
    metavar="NAMES",
    default=",".join(DEFAULT),
    callback=_listed(tuple(ROWS)),
    help=f"What to measure, names or patterns with commas between them: {', '.join(ROWS)}.",
)
@click.option(
    "--size",
    type=click.Choice(["reduced", "full"]),
    default="full",
    show_default=True,
    help="Of the programs (the rows *program-*).",
)
@click.option("--rounds", type=click.IntRange(min=1), default=15, show_default=True, help="Samples of each.")
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="NAME=PATH",
    callback=pythons_of(PEERS),
    help="The interpreter for which a peer is installed; repeatable.",
)
@click.option(
    "--peers",
    "peers_folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder with an environment for each peer. Default: adstack-peers in the user's cache folder.",
)
@click.option("--install", "is_installing", is_flag=True, help="Make the environments that this folder lacks.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write all figures as JSON.")
@click.pass_context
def bench(
    context: click.Context,
    /,
    backends: tuple[str, ...],
    against: tuple[str, ...],
    rows: tuple[str, ...],
    size: str,
    rounds: int,
    pythons: dict[str, str],
    peers_folder: Path | None,
    is_installing: bool,
    json_file: Path | None,
) -> None:
    """Measure the same work on adstack and on its peers, in turn, on this machine: a ratio per row.

    Every implementation runs in processes of its own, under the interpreter that has it installed. A round takes one
    sample of each, so what disturbs one disturbs all; ratios are of samples of the same round.
    """
    available = compiled_backends()
    missing = [name for name in backends if name not in available]
    if missing or not available:
        raise click.UsageError(f"no backend {', '.join(missing)} that compiles here; there are {', '.join(available)}")
    folder = peers_folder or folder_of_peers()
    if is_installing:
        _install(against, folder)
    peers = {arch: [peer(name, arch, pythons, folder) for name in against] for arch in backends or available}
    runs = [_run(arch, peers[arch], chosen(rows, size), rounds) for arch in peers]
    for run in runs:
        run.show(console())
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps([run.record() for run in runs], indent=1, allow_nan=False) + "\n", "utf-8")
    context.exit(1 if any(run.failed for run in runs) else 0)


def _install(names: Sequence[str], folder: Path) -> None:
    try:
        install(names, folder)
    except EnvironmentFailedError as failed:
        raise click.ClickException(str(failed)) from failed


def _run(arch: str, peers: Sequence[Subject], rows: Sequence[Row], rounds: int) -> Run:
    subjects = [mine(arch), *peers]
    before = os.getloadavg()[0]
    with _progress() as progress:
        task: Any = progress.add_task(arch, total=len(rows) * rounds)
        samples = measure(rows, subjects, rounds, lambda row: progress.update(task, advance=1, description=row.name))
    return Run(arch, rows, subjects, samples, (before, os.getloadavg()[0]))


def _progress() -> Progress:
    shown_on = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal)
