"""asv's files of records that are kept: `python -m adstack.tools.bench.asv RECORD... [--results FOLDER]`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from .catalogue import RESULTS, catalogue
from .commits import committed
from .recorded import of_record
from .results import Machine, write

__all__ = ["main"]


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--results", default=RESULTS, type=click.Path(file_okay=False, path_type=Path), help="asv's folder.")
def main(records: Sequence[Path], results: Path) -> None:
    """Write asv's files of RECORDS: what `adstack bench --json`, or tools for devices, have written.

    A record must tell its commit, which this clone has, and its machine. Figures that are there of the same commit and
    machine stay, where the record has no others.
    """
    benchmarks = catalogue()
    for file in records:
        for part in of_record(json.loads(file.read_text("utf-8"))):
            machine = Machine.of(part.about, part.gpu)
            path = write(results, machine, committed(part.commit), benchmarks, part.figures, part.variables)
            click.echo(f"{file.name}: {sum(map(len, part.figures.values()))} figures into {path.relative_to(results)}")


if __name__ == "__main__":
    main()
