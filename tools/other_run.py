"""The option that names another run, with which one is compared."""

from __future__ import annotations

import json
from pathlib import Path

import click

from adstack.conformance.harness.records import Record
from adstack.conformance.report.comparison import before_of

__all__ = ["read_run"]


def read_run(context: click.Context, parameter: click.Parameter, path: Path | None) -> Record | None:
    """A callback: the report of a run that `--json` wrote; None if none is named."""
    if path is None:
        return None
    try:
        run: Record = json.loads(path.read_text("utf-8"))
        before_of(run)
    except (ValueError, KeyError, TypeError) as error:
        raise click.BadParameter(f"{path} is no report of a run, as --json writes it") from error
    return run
