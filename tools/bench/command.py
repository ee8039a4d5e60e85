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

from ..loading.programs import split_target
from ..terminal.console import console
from ..terminal.pythons import python_option
from .asv.options import Asv, asv_of, asv_options
from .environments import PEERS, EnvironmentFailedError, folder_of_peers, install
from .goals import ROWS_OF_GOALS
from .judged import judged, of_runs, sources
from .judged import write as write_tables
from .measure import measure
from .plot import draw, refuse_without_matplotlib
from .report import Run
from .rows import DEFAULT, OF_KERNELS, ROWS, Row, chosen, of_kernel
from .subjects import Subject, Variant, compiled_backends, mine, peer

__all__ = ["bench"]

EPILOG: Final = """\b
Examples:
  adstack bench
  adstack bench --rows nop,args --rounds 30
  adstack bench -b cpu --rows '*program-*' --against quadrants,taichi --install --rounds 5
  adstack bench program.py:step --backends cpu,vulkan --against quadrants --plot step
  adstack bench -b cuda --families 'dispatch.*,heap.*' --rows nop,recurrence --asv asv_benchmarks/results
  adstack bench -b cpu --against quadrants,jax --install --rounds 3 --tables goals.md
  adstack bench -b cpu --variant unchecked:bounds=off --variant before:python=~/before/bin/python
  adstack bench --against quadrants,jax --python quadrants=~/peers/bin/python --json bench.json

Exit status: 0 if adstack has a figure in every row, 1 if not; 2 if the command line is wrong.
"""


def _several(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Names with commas between them, in one option or in several."""
    return tuple(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))


def _listed(choices: Sequence[str]) -> Callable[[click.Context, click.Parameter, str], tuple[str, ...]]:
    """Reads names or patterns of names, with commas between them."""

    def read(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
        names: list[str] = []
        for pattern in filter(None, (part.strip() for part in value.split(","))):
            matches = fnmatch.filter(choices, pattern)
            if not matches:
                raise click.BadParameter(f"{pattern!r}; there are {', '.join(choices)}")
            names += matches
        return tuple(dict.fromkeys(names))

    return read


def _variants(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[Variant, ...]:
    """Reads NAME:OPTION=VALUE,..., in one option or in several."""
    variants: dict[str, Variant] = {}
    for value in values:
        name, _, stated = value.partition(":")
        pairs = [part.partition("=")[::2] for part in stated.split(",")]
        if not name or name in ("adstack", *PEERS, *variants) or not all(key and text for key, text in pairs):
            raise click.BadParameter(f"{value!r} is not NAME:OPTION=VALUE,... with a name that nothing else has")
        options = {key.strip(): _literal(text) for key, text in pairs}
        python = os.path.expanduser(str(options.pop("python", "")))
        variants[name] = Variant(name, options, python)
    return tuple(variants.values())


def _drawable(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Refuses pictures that can't be drawn before anything is measured."""
    if value is not None:
        refuse_without_matplotlib()
    return value


def _literal(text: str) -> Any:
    """A value as JSON has it, in Python's words too; else a text."""
    words = {"True": True, "False": False, "None": None}
    try:
        return words[text] if text in words else json.loads(text)
    except ValueError:
        return text


@click.command(epilog=EPILOG)
@click.argument("target", metavar="[FILE:KERNEL]", required=False)
@click.option(
    "--backend",
    "--backends",
    "-b",
    "backends",
    multiple=True,
    metavar="NAMES",
    callback=_several,
    help="Backends, with commas between them; repeatable. Default: all that compile here.",
)
@click.option(
    "--args", "arguments", metavar="EXPRESSIONS", default="", help="Of the kernel, in terms of the file's names."
)
@click.option(
    "--against",
    metavar="NAMES",
    default="",
    callback=_listed(tuple(PEERS)),
    help=f"Peers to compare with, with commas between them: {', '.join(PEERS)}.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME:OPTION=VALUE,...",
    callback=_variants,
    help="adstack itself with options of init to compare with, under a NAME; the option python is the interpreter that "
    "another version of adstack is installed for. Repeatable.",
)
@click.option(
    "--rows",
    metavar="NAMES",
    default="",
    callback=_listed((*ROWS, *(name for name in OF_KERNELS if name not in ROWS))),
    help=f"What to measure, names or patterns with commas between them: {', '.join(ROWS)}; of a kernel: "
    f"{', '.join(OF_KERNELS)}.",
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
    "--processes",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many, one after the other, steady rows are measured in: rounds are divided among them.",
)
@python_option(PEERS)
@click.option(
    "--peers",
    "peers_folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder with an environment for each peer. Default: adstack-peers in the user's cache folder.",
)
@click.option("--install", "is_installing", is_flag=True, help="Make the environments that this folder lacks.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write all figures as JSON.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_drawable,
    help="Draw the ratios: PATH-BACKEND-light.svg and -dark.svg, by matplotlib, which the extra [site] installs.",
)
@click.option(
    "--tables",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the tables of goals, as Markdown or, to FILE.json, as data: of this run, and for what it lacks of the "
    "newest committed one. Without --rows, all rows that goals are about.",
)
@asv_options
@click.pass_context
def bench(
    context: click.Context,
    /,
    target: str | None,
    backends: tuple[str, ...],
    against: tuple[str, ...],
    variants: tuple[Variant, ...],
    arguments: str,
    rows: tuple[str, ...],
    size: str,
    rounds: int,
    processes: int,
    pythons: dict[str, str],
    peers_folder: Path | None,
    is_installing: bool,
    json_file: Path | None,
    plot: Path | None,
    tables: Path | None,
    **for_asv: Any,
) -> None:
    """Measure the same work on adstack and on its peers, in turn, on this machine: a ratio per row.

    Every implementation runs in processes of its own, under the interpreter that has it installed. A round takes one
    sample of each, so what disturbs one disturbs all; ratios are of samples of the same round.

    With FILE:KERNEL it is the kernel of a program that is measured: its calls, its gradient, first calls, and what its
    gradient keeps. The program runs in every process before its kernel is timed, but not what stands under
    `if __name__ == "__main__"`; peers run it with themselves in the place of adstack.
    """
    asv = asv_of(**for_asv)
    names = rows or (() if tables is None or target else ROWS_OF_GOALS)
    wanted = [] if asv and asv.families and not rows else _rows(target, arguments, names, size, against)
    arches = _arches(backends)
    folder, measured = _folder(peers_folder, against if is_installing else ()), arches if wanted else ()
    beside = ([*(v.on(arch) for v in variants), *_peers(against, arch, pythons, folder)] for arch in measured)
    runs = [_run(arch, others, wanted, rounds, processes) for arch, others in zip(measured, beside, strict=True)]
    _report(runs, json_file, plot, tables)
    if asv is not None:
        _for_asv(asv, arches, runs)
    context.exit(1 if any(run.failed for run in runs) else 0)


def _peers(names: Sequence[str], arch: str, pythons: dict[str, str], folder: Path) -> list[Subject]:
    return [peer(name, arch, pythons, folder) for name in names]


def _arches(backends: Sequence[str]) -> Sequence[str]:
    """These backends, or all that compile here."""
    available = compiled_backends()
    missing = [name for name in backends if name not in available]
    if missing or not available:
        raise click.UsageError(f"no backend {', '.join(missing)} that compiles here; there are {', '.join(available)}")
    return backends or available


def _report(runs: Sequence[Run], json_file: Path | None, plot: Path | None, tables: Path | None) -> None:
    for run in runs:
        run.show(console())
    if json_file is not None:
        _write(json_file, runs)
    if tables is not None:
        write_tables(tables, judged([of_runs([run.record() for run in runs]), *sources()]))
    if plot is not None:
        draw(plot, runs)


def _for_asv(asv: Asv, arches: Sequence[str], runs: Sequence[Run]) -> None:
    path = asv.write(arches, [run.record() for run in runs], lambda name: click.echo(name, err=True))
    click.echo(f"for asv: {path}")


def _write(file: Path, runs: Sequence[Run]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([run.record() for run in runs], indent=1, allow_nan=False) + "\n", "utf-8")


def _rows(target: str | None, arguments: str, names: Sequence[str], size: str, against: Sequence[str]) -> Sequence[Row]:
    table = OF_KERNELS if target else ROWS
    asked = [name for name in names if name in table]
    if names and not asked:
        raise click.UsageError(f"no row {', '.join(names)} {'of kernels' if target else 'without a kernel'}")
    if target is None:
        return chosen(asked or DEFAULT, size)
    path, name = split_target(target)
    if name is None or not path.is_file():
        raise click.UsageError(f"{target!r} is not FILE:KERNEL with a file that is there")
    if "jax" in against:
        raise click.UsageError("JAX has no kernels of this language: a FILE:KERNEL runs on quadrants and taichi")
    return of_kernel(f"{path.resolve()}:{name}", arguments, asked)


def _folder(folder: Path | None, installed: Sequence[str]) -> Path:
    """The folder of the peers' environments, with these made if it lacks them."""
    folder = folder or folder_of_peers()
    try:
        install(installed, folder)
    except EnvironmentFailedError as failed:
        raise click.ClickException(str(failed)) from failed
    return folder


def _run(arch: str, peers: Sequence[Subject], rows: Sequence[Row], rounds: int, processes: int) -> Run:
    subjects = [mine(arch), *peers]
    before = os.getloadavg()[0]
    with _progress() as progress:
        task = progress.add_task(arch, total=len(rows) * rounds)

        def tell(row: Row) -> None:
            progress.update(task, advance=1, description=row.name)

        samples = measure(rows, subjects, rounds, tell, processes)
    return Run(arch, rows, subjects, samples, (before, os.getloadavg()[0]))


def _progress() -> Progress:
    shown_on = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal)
