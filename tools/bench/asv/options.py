"""The options of `adstack bench` for asv's files, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeVar

import click

from adstack import inspection
from adstack.conformance.harness.records import Record
from adstack.conformance.report.summary import machine

from .catalogue import RESULTS, Benchmark, catalogue
from .commits import committed, described, told
from .families import chosen, measured
from .recorded import of_run
from .results import Commit, Machine, memory, write

__all__ = ["Asv", "asv_of", "asv_options"]

Command = TypeVar("Command", bound=Callable[..., object])


@dataclass(frozen=True)
class Asv:
    """What is to be written, and where.

    Attributes:
        folder: of asv's results.
        commit: what is measured.
        machine: its name; empty for that of the GPU or the processor.
        families: benchmarks that run in this process.
    """

    folder: Path
    commit: Commit
    machine: str
    families: Sequence[Benchmark]

    def write(self, arches: Sequence[str], runs: Sequence[Record], note: Callable[[str], None]) -> Path:
        """Write figures of the runs, then of the families, which run on these backends: each as soon as it is there.

        Returns:
            The file of the figures; the folder if there are none.
        """
        identity = Machine.of(machine(), _gpu(arches), self.machine, memory())
        benchmarks, path = catalogue(), self.folder
        for figures in chain(map(of_run, runs), measured(self.families, arches, note)):
            path = write(self.folder, identity, self.commit, benchmarks, figures)
        return path


def _gpu(arches: Sequence[str]) -> str:
    """The first GPU that a backend runs on; empty if none does."""
    probes = [inspection.probe(arch) for arch in arches if not arch.startswith("cpu")]
    there = [probe for probe in probes if not isinstance(probe, inspection.Unavailable)]
    return next((probe.device for probe in there if probe.kind == "native"), "")


def asv_options(command: Command) -> Command:
    """Give a command the options --asv, --families, --machine, --commit and --commit-date."""
    options = (
        click.option(
            "--asv",
            "asv_folder",
            type=click.Path(file_okay=False, path_type=Path),
            help="Write asv's files of this machine and commit into a folder of asv's results.",
        ),
        click.option(
            "--families",
            metavar="PATTERNS",
            default="",
            help="For asv, also benchmarks of asv_benchmarks with a backend, such as 'dispatch.*,heap.*': in this "
            "process, without asv's environments. Without --rows, they alone.",
        ),
        click.option("--machine", default="", help="For asv: a name. Default: that of the GPU or of the processor."),
        click.option("--commit", default="", metavar="HASH", help="For asv, outside of a clone: all 40 digits."),
        click.option("--commit-date", default="", metavar="DATE", help="Its date, by ISO 8601, with its zone."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _here() -> Commit:
    """The clone's, if its files are those of the commit; LookupError if not."""
    if described().endswith("-dirty"):
        raise LookupError("files differ from those of the last commit")
    return committed("HEAD")


def asv_of(asv_folder: Path | None, families: str, machine: str, commit: str, commit_date: str) -> Asv | None:
    """What the options ask for; None without --asv.

    Raises:
        click.UsageError: they contradict each other, or no commit is known.
    """
    if asv_folder is None:
        if families or machine or commit or commit_date:
            raise click.UsageError("--families, --machine, --commit and --commit-date go with --asv")
        return None
    patterns = [part.strip() for part in families.split(",") if part.strip()]
    wanted = chosen(patterns, catalogue(RESULTS))
    if patterns and not wanted:
        raise click.UsageError(f"no benchmark with a backend is called {families}")
    try:
        of_commit = told(commit, commit_date) if commit or commit_date else _here()
    except (LookupError, ValueError) as error:
        raise click.UsageError(f"{error}: --commit HASH --commit-date DATE") from error
    return Asv(asv_folder, of_commit, machine, wanted)
